"""Asking arXiv for what is due, and recording what came with the coverage it proves."""
