"""arXiv: pure readers of what its interfaces answer, and the one client that asks them."""
