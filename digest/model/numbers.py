"""Numbers as people read them."""

from __future__ import annotations


def count(number: int, one: str, many: str = "") -> str:
    """Write `1 paper`, `2 papers`, `1,000 papers`; a plural without s is given: `2 deliveries`."""
    noun = one if number == 1 else many or f"{one}s"
    return f"{number:,} {noun}"
