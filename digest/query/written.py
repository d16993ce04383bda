"""Puts right what people write otherwise than the language has it, before it is read.

Signs of other keyboards are read as ours, and invisible signs are left out. Quotes around a query are parentheses;
around mere words they make a phrase. A row of categories means any of them, whatever sign or blank parts them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import unescape

from digest.model import taxonomy
from digest.query.tokens import CURLY_QUOTES, PREFIXES

_WIDE = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFE10, 0xFE17), *range(0xFE50, 0xFE6C), *range(0xFF01, 0xFF5F), 0x3000)
} | {0x2236: ":", 0xA789: ":", 0x3001: ",", 0x3002: ".", 0xAC: "!", 0x2212: "-"}
_WIDE |= dict.fromkeys(range(0x2010, 0x2016), "-")
"""Signs of other keyboards and of word processors -> ours. Raised and lowered ones are formulas."""
_ENTITY = re.compile(r"&#?\w+;")

_NAME = (
    rf"\b(?=[A-Za-z])(?i:{'|'.join(sorted(taxonomy.ARCHIVES, key=len, reverse=True))})"
    r"(?:\.(?:[A-Za-z-]*\*|[A-Za-z-]{2,}))?(?![\w*?:]|[-.]\w|/\d)"
)
_LABEL = (
    rf"(?<![\w.:=/{CURLY_QUOTES}\"'-])(?!(?i:cat)\s*:)"
    r"(?i:cat(?:egor(?:y|ies))?|subjects?|primary)\s*(?:[:.=]|-*>)+\s*(?:cat:)?"
)
"""What may precede a category in place of `cat:`."""
_QUOTES = f"\"{CURLY_QUOTES}'`"
_ALONE = re.compile(r'("[^"]*"|\$[^$]*\$)|(?<!\w)\|+|\|+(?!\w)')
_NO_SIGN = re.compile(rf"(?i:cat)\s*:|[\s{_QUOTES}]")
_NEGATION = re.compile(r"(?:[-!]|NOT\s+)\Z", re.IGNORECASE)
"""Before categories with blanks between them it goes with the first."""
_QUOTED_QUERY = re.compile(
    rf"[\"{CURLY_QUOTES}][\s(!-]*(?!(?:Ti|Co|Au):\w)(?i:{'|'.join(PREFIXES)})\s*:"  # Ti:sapphire is a crystal
)


def normalise_signs(text: str) -> str:
    """Return a text without invisible signs, and with the language's own signs for those of other keyboards."""
    text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    if text.isascii():
        return text
    return "".join(sign for sign in text.translate(_WIDE) if unicodedata.category(sign) != "Cf")


def write_out(text: str) -> str:
    """Return a text with `cat:(… OR …)` for a row of categories, and `(…)` for a query between quotes."""
    name_pattern, label_pattern, row_pattern = _patterns()
    names = name_pattern.findall(text)
    for name in dict.fromkeys(map(taxonomy.spell_name, names)):
        if title := re.escape(taxonomy.CATEGORIES.get(name, "")) * ("(" in text):  # as arXiv prints it
            text = re.sub(rf"(?i)\b{title} *\({name}\)|\b{name} *\({title}\)", f"cat:{name}", text)
    if names:
        text = label_pattern.sub("cat:", text)
    if len(names) > 1 or _QUOTED_QUERY.search(text):
        text = row_pattern.sub(_write_out, text)
    return _ALONE.sub(lambda found: found[1] or " OR ", text) if "|" in text else text


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a name, a label, and a row or a value that holds none; compiled at first use."""
    one = rf"(?:(?i:cat)\s*:\s*)?(?:{_NAME}|[{_QUOTES}]\s*{_NAME}\s*[{_QUOTES}])"
    between = r"(?:\s*[,;|/\\+&•·・]+\s*(?:(?:and/or|and|or)\s+)?|\s+(?:and/or|[-*])\s+|\s+)"
    row = rf"(?P<row>{one}(?:{between}{one})+(?:\s+(?:and|or)\s+{one})?)"
    enclosed = rf"(?P<open>[\[{{<({_QUOTES}]\s*)?{row}(?(open)\s*[\]}}>){_QUOTES}])(?P<tail>\s*[,;|/\\+&.]+)?"
    begin = r"(?<![\w.:=/@#+'’])(?<!\w-)(?<!:\()(?:(?i:cat)\s*:\s*)?"
    quoted = rf'"[^"]*"|[{CURLY_QUOTES}][^"{CURLY_QUOTES}]*["{CURLY_QUOTES}]'
    row_or_value = rf"{begin}{enclosed}|(?:(?<!\w)[^\W\d]+\s*:\s*)?=*(?:{quoted})|(?<!\w)[^\W\d]+\s*:\s*[^\s(\"]+"
    return re.compile(_NAME), re.compile(rf"{_LABEL}(?={_NAME})"), re.compile(row_or_value)


def _write_out(found: re.Match[str]) -> str:
    whole, row = found[0], found["row"]
    if row is None:
        return f"({write_out(whole[1:-1])})" if _QUOTED_QUERY.match(whole) else whole
    names = re.findall(_NAME, row)
    named = ["." in name or "-" in name for name in names]  # `math, physics` may be words
    if all(_NO_SIGN.sub("", gap) for gap in re.split(_NAME, row)[1:-1]):
        is_row = any(named) or ":" in whole
    else:
        before = found.string[max(found.start() - len("ANDNOT "), 0) : found.start()]
        is_row = (all(named) or whole.count(":") == len(names)) and not _NEGATION.search(before)
    return f"cat:({' OR '.join(names)}){' ' * bool(found['tail'])}" if is_row else whole
