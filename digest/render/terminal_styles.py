"""Styles inside text for a terminal: marks that become colours, or brackets, or nothing.

Marks are control characters. Cleaned text holds none, so a paper cannot forge one, and no text needs
escaping.
"""

from __future__ import annotations

import re

END = "\x0f"
STARTS = {"bold": "\x10", "dim": "\x11", "accent": "\x12", "mark": "\x13"}
_SEQUENCES = {"\x10": "\x1b[1m", "\x11": "\x1b[2m", "\x12": "\x1b[1;32m", "\x13": "\x1b[1;36m", END: "\x1b[0m"}
_RESET_ONLY = str.maketrans(_SEQUENCES)
_MARKED = re.compile(f"{STARTS['mark']}([^{END}]*){END}")
_ALL = re.compile(f"[{END}{''.join(STARTS.values())}]")


def styled(text: object, style: str) -> str:
    """Return text with a style: bold, dim, accent or mark (what a query met)."""
    return f"{STARTS[style]}{text}{END}"


def strip_styles(text: str) -> str:
    """Return text without any mark, as measured and as printed without colour."""
    return _ALL.sub("", text)


def apply_styles(text: str, *, color: bool) -> str:
    """Return text for the terminal: with ANSI sequences, or with what was met in [brackets]."""
    if color:
        return text.translate(_RESET_ONLY)
    return strip_styles(_MARKED.sub(r"[\1]", text))
