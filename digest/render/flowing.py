"""Plain text broken into lines: format=flowed for mail (RFC 3676), hard lines elsewhere.

Both start from logical lines: one per paragraph, one per link. A line that is a link is never broken.
"""

from __future__ import annotations

import re

_FLOWED_WIDTH = 72
"""RFC 3676 §4.2 asks for at most 78 with the trailing blank."""

_SHORT_BEGINNING = 8
_STUFFED = re.compile(r"[ >]|From ")
_LINK = re.compile(r"\s*(?:https?://|mailto:)\S+\Z")
_SIGNATURE = "-- "


def flow_text(text: str) -> str:
    """Return text as format=flowed with delsp=no: a line ending in a blank goes on in the next one."""
    return "\n".join(map(_flow_line, text.split("\n")))


def wrap_text(text: str, width: int = 78) -> str:
    """Return text with lines of at most `width` characters, as far as words and links allow."""
    return "\n".join(part for line in text.split("\n") for part in _break_line(line.rstrip(" "), width))


def _flow_line(line: str) -> str:
    if line == _SIGNATURE:
        return line
    broken = _break_line(line.rstrip(" "), _FLOWED_WIDTH)
    return "\n".join([*(_stuff(part) + " " for part in broken[:-1]), _stuff(broken[-1])])


def _break_line(line: str, width: int) -> list[str]:
    if len(line) <= width or _LINK.fullmatch(line):
        return [line]
    parts: list[str] = []
    for word in line.split(" "):
        # A text without blanks, such as a title in Chinese, is too long for any line: its number stays with it.
        is_hopeless = len(word) > width and bool(parts) and len(parts[-1]) < _SHORT_BEGINNING
        if parts and (is_hopeless or len(parts[-1]) + 1 + len(word) <= width):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _stuff(line: str) -> str:
    return f" {line}" if _STUFFED.match(line) else line
