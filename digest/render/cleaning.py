"""Text made fit for showing: what no reader sees and every renderer would trip over is taken out.

Titles, names, abstracts and comments are written by strangers. Control characters break XML and
mail headers; direction overrides (U+202A-U+202E, U+2066-U+2069) let a text rewrite what stands next
to it on the screen; invisible characters hide words from search. Joiners that scripts need
(U+200C, U+200D) stay.
"""

from __future__ import annotations

import re
import unicodedata

_BLANKS = re.compile("[\t\n\v\f\r\x1c-\x1f \x85\u2028\u2029]+")
_RARE_BLANKS = re.compile("[\v\f\x1c-\x1f\x85\u2028\u2029]")
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0 and C1 controls that are no blanks
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # invisible, or turning the direction
    "\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # not characters
    "\ud800-\udfff"  # halves of surrogate pairs
    "\U000e0000-\U000e00ff]"  # tags
)
_LEAST_KEPT = 0.6
"""A text is cut between words if that keeps this share of what is allowed; within a word otherwise."""


def clean_markup(text: str) -> str:
    """Take out characters that must not be shown; tabs and line ends stay, rarer blanks become plain ones."""
    return _RARE_BLANKS.sub(" ", _UNWANTED.sub("", text))


def clean_text(text: str) -> str:
    """Take out characters that must not be shown and fold white space (not U+00A0) to single blanks."""
    return _BLANKS.sub(" ", _UNWANTED.sub("", text)).strip(" ")


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` code points of a text, ending in an ellipsis where something is missing."""
    if len(text) <= limit:
        return text
    return text[: find_cut(text, limit - 2)].rstrip(" ,;:.-–—") + " …"


def find_cut(text: str, limit: int) -> int:
    """Return where to cut a text that is longer than `limit`: between words if one is near."""
    blank = text.rfind(" ", 0, limit + 1)
    if blank >= limit * _LEAST_KEPT:
        return blank
    cut = limit
    while cut > 0 and unicodedata.combining(text[cut]):
        cut -= 1
    return cut
