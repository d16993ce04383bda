"""Numbers of things in words."""

from __future__ import annotations


def count(number: int, one: str) -> str:
    """Write `1 paper`, `2 papers`, `1,000 papers`."""
    return f"{number:,} {one}{'s' * (number != 1)}"
