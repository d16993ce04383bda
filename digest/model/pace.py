"""The pace at which arXiv may be asked (https://info.arxiv.org/help/api/tou.html)."""

from __future__ import annotations

SPACING = 3.0
"""Seconds from the end of one request to the start of the next."""

REQUEST_DEADLINE = 240.0
"""Seconds one request may take in all, answer included."""

LEASE = 270.0
"""Seconds a grant holds the gate: longer than any request lives."""
