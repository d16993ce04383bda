"""Styles inside text for a terminal: marks that become colours, or brackets, or nothing.

Marks are control characters. Cleaned text holds none, so a paper cannot forge one, and no text needs
escaping.
"""

from __future__ import annotations

import re

END = "\x0f"
STARTS = {"bold": "\x10", "dim": "\x11", "accent": "\x12", "mark": "\x13", "gone": "\x14", "come": "\x15"}
_SEQUENCES = {
    "\x10": "\x1b[1m",
    "\x11": "\x1b[2m",
    "\x12": "\x1b[1;32m",
    "\x13": "\x1b[1;36m",
    "\x14": "\x1b[9;31m",
    "\x15": "\x1b[4;32m",
    END: "\x1b[0m",
}
_RESET_ONLY = str.maketrans(_SEQUENCES)
_MARKED = re.compile(f"{STARTS['mark']}([^{END}]*){END}")
_CHANGED = (
    (re.compile(f"{STARTS['gone']}([^{END}]*){END}"), r"[-\1-]"),
    (re.compile(f"{STARTS['come']}([^{END}]*){END}"), r"{+\1+}"),
)
_ALL = re.compile(f"[{END}{''.join(STARTS.values())}]")


def styled(text: object, style: str) -> str:
    """Return text with a style: bold, dim, accent, mark (what a query met), gone or come (what changed)."""
    return f"{STARTS[style]}{text}{END}"


def strip_styles(text: str) -> str:
    """Return text without any mark, as measured and as printed without colour."""
    return _ALL.sub("", text)


def apply_styles(text: str, *, color: bool) -> str:
    """Return text for the terminal: in ANSI sequences, or [met], [-gone-] and {+come+}."""
    if color:
        return text.translate(_RESET_ONLY)
    for pattern, plain in _CHANGED:
        text = pattern.sub(plain, text)
    return strip_styles(_MARKED.sub(r"[\1]", text))
