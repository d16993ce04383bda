r"""TeX accents as UTF-8: arXiv's search interface shows names so, OAI-PMH leaves `\"o` as typed.

Written anew on purpose: what the fake arXiv serves must not depend on the code it is used to test.
"""

from __future__ import annotations

import re
import unicodedata

_MARKS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "c": "\u0327",
    "k": "\u0328",
    "H": "\u030b",
    "r": "\u030a",
}
_LETTERS = {
    "i": "\N{LATIN SMALL LETTER DOTLESS I}",
    "j": "ȷ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ss": "ß",
    "aa": "å",
    "AA": "Å",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
}
_MATH = re.compile(r"(\$[^$]*\$)")
_SIGN = re.compile(r"\\([\"'`^~=.])\s*(?:\{\s*\\?([A-Za-z])\s*\}|\\?([A-Za-z]))")
_WORD = re.compile(r"\\([uvckHr])(?=[\s{\\])\s*(?:\{\s*\\?([A-Za-z])\s*\}|\\?([A-Za-z]))")
_LETTER = re.compile(
    r"\{\\(?P<braced>i|j|o|O|l|L|ss|aa|AA|ae|AE|oe|OE)\s*\}"
    r"|\\(?P<bare>i|j|o|O|l|L|ss|aa|AA|ae|AE|oe|OE)(?![A-Za-z])(?:\{\}|\s+(?=[A-Za-z]))?"
)
_LONELY_BRACES = re.compile(r"\{(\w)\}")


def to_utf8(text: str) -> str:
    """Return the text with its accents as letters; formulae between dollars stay as they are."""
    parts = _MATH.split(text)
    return "".join(part if part.startswith("$") else _convert(part) for part in parts)


def _convert(text: str) -> str:
    text = _WORD.sub(_compose, _SIGN.sub(_compose, text))
    text = _LETTER.sub(lambda met: _LETTERS[met["braced"] or met["bare"]], text)
    return _LONELY_BRACES.sub(r"\1", text)


def _compose(met: re.Match[str]) -> str:
    sign, braced, bare = met.groups()
    return unicodedata.normalize("NFC", (braced or bare) + _MARKS[sign])
