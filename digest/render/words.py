"""Small words shared by all media: counts and sentence openings."""

from __future__ import annotations

_KEPT_LOWER = ("arXiv",)


def count_papers(number: int) -> str:
    """Write how many papers: `1 paper`, `1,412 papers`."""
    return f"{number:,} paper{'' if number == 1 else 's'}"


def open_sentence(text: str) -> str:
    """Write the first letter large, except of names that are written small."""
    return text if text.startswith(_KEPT_LOWER) else text[:1].upper() + text[1:]
