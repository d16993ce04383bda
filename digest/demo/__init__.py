"""The demo: one story of two evenings, over a small arXiv, mail server and Slack on 127.0.0.1."""
