"""A small world on 127.0.0.1: an arXiv, a mailbox, a Slack and made-up papers.

The demo command lives in it, and every test that needs the outside world does. Real sockets, real
protocols; no paper, person or workspace in it exists.
"""
