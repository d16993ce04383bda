"""Puts right what people write otherwise than the language has it, before it is read.

Signs of other keyboards are read as ours, and invisible signs are left out. Quotes around a query are parentheses;
around mere words they make a phrase. A row of categories means any of them, whatever sign or blank parts them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from digest.model import taxonomy
from digest.query.tokens import CURLY_QUOTES, PREFIXES

_WIDE = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFE10, 0xFE17), *range(0xFE50, 0xFE6C), *range(0xFF01, 0xFF5F), 0x3000)
} | dict.fromkeys(map(ord, "\u2236\ua789"), ":")
"""Signs of other keyboards, and two that look like a colon -> ours. Raised and lowered ones are formulas."""

_QUOTES = f"\"{CURLY_QUOTES}'`"
_VALUE = rf'"[^"]*"|[{CURLY_QUOTES}][^"{CURLY_QUOTES}]*["{CURLY_QUOTES}]'
_QUOTED = re.compile(rf"(?:(?<!\w)[^\W\d]+\s*:\s*)?(?:{_VALUE})")
_BEGINS_WITH_PREFIX = re.compile(rf"[\s(!-]*(?!(?:Ti|Co|Au):\w)(?i:{'|'.join(PREFIXES)})\s*:")
"""Between quotes Ti:sapphire is a crystal."""

_NO_SIGN = re.compile(rf"(?i:cat)\s*:|[\s{_QUOTES}]")
_NEGATION = re.compile(r"(?:[-!–−]|NOT\s+)\Z", re.IGNORECASE)
"""Before categories with blanks between them it goes with the first."""


def straighten(text: str) -> str:
    """Return a text without invisible signs, and with the language's own signs for those of other keyboards."""
    if text.isascii():
        return text
    return "".join(sign for sign in text.translate(_WIDE) if unicodedata.category(sign) != "Cf")


def open_quotes(text: str) -> str:
    """Return a text with parentheses for the quotes around a query."""
    return _QUOTED.sub(_open, text)


def _open(quoted: re.Match[str]) -> str:
    return f"({quoted[0][1:-1]})" if _BEGINS_WITH_PREFIX.match(quoted[0], 1) else quoted[0]


@cache
def _name() -> str:
    """Return the pattern of a category's name, as it may be written, or of an archive's."""
    archives = "|".join(sorted(taxonomy.ARCHIVES, key=len, reverse=True))
    return rf"(?i:{archives})(?:\.(?:[A-Za-z-]*\*|[A-Za-z-]{{2,}}))?(?![\w*?:]|[-.]\w|/\d)"


@cache
def _row() -> re.Pattern[str]:
    """Return the pattern of a row of categories, or of a value in which none may be; compiled at first use."""
    one = rf"(?:(?i:cat)\s*:\s*)?(?:{_name()}|[{_QUOTES}]\s*{_name()}\s*[{_QUOTES}])"
    between = r"(?:\s*[,;|/+&、•]+\s*(?:(?:and/or|and|or)\s+)?|\s+(?:and/or|[-*])\s+|\s+)"
    row = rf"(?P<row>{one}(?:{between}{one})+(?:\s+(?:and|or)\s+{one})?)"
    enclosed = rf"(?P<open>[\[{{<({_QUOTES}]\s*)?{row}(?(open)\s*[\]}}>){_QUOTES}])(?P<tail>\s*[,;|/+&、.]+)?"
    value = rf"{_QUOTED.pattern}|(?<!\w)[^\W\d]+\s*:\s*[^\s(\"]+"
    return re.compile(rf"(?<![\w.:=/@#+'’])(?<!\w-)(?<!:\()(?:(?i:cat)\s*:\s*)?{enclosed}|{value}")


def join_categories(text: str) -> str:
    """Return a text with `cat:(… OR …)` for every row of categories."""
    return _row().sub(_join, text)


def _join(found: re.Match[str]) -> str:
    if found["row"] is None:
        return found[0]
    names = re.findall(_name(), found["row"])
    signs = [_NO_SIGN.sub("", gap) for gap in re.split(_name(), found["row"])[1:-1]]
    named = ["." in name or "-" in name for name in names]  # `math, physics` may be words
    if all(signs):
        is_row = any(named) or ":" in found[0]
    else:
        before = found.string[max(found.start() - len("ANDNOT "), 0) : found.start()]
        is_row = (all(named) or found[0].count(":") == len(names)) and not _NEGATION.search(before)
    return f"cat:({' OR '.join(names)}){' ' * bool(found['tail'])}" if is_row else found[0]
