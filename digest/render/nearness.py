"""The name that was meant, as far as one is near to what was written."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def suggest_near(word: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest of the known words; "" where none is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean `{near[0]}`?" if near else ""
