"""takes out of a text by strangers what must not be shown.

Control characters break XML, mail headers and terminals. Direction overrides (U+202A-U+202E,
U+2066-U+2069) let a text rewrite what is next to it on the screen. Invisible characters hide words
from search. Joiners that scripts need (U+200C, U+200D) stay.
"""

from __future__ import annotations

import re

UNWANTED = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0 and C1 controls that are no blanks
    # Invisible, or turning the direction.
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # not characters
    "\U000e0000-\U000e00ff"  # tags
)
"""To be put between brackets in a pattern."""

_UNWANTED = re.compile(
    f"[{UNWANTED}\ud800-\udfff]"
)  # halves of surrogate pairs, too, which no encoding takes
_BLANKS = re.compile("[\t\n\v\f\r\x1c-\x1f \x85\u2028\u2029]+")
_RARE_BLANKS = re.compile("[\v\f\x1c-\x1f\x85\u2028\u2029]")


def clean_markup(text: str) -> str:
    """Take out characters that must not be shown.

    Tabs and line ends stay; rarer blanks become plain ones.
    """
    return _RARE_BLANKS.sub(" ", _UNWANTED.sub("", text))


def clean_text(text: str) -> str:
    """Take out characters that must not be shown; fold white space, but U+00A0, to one blank."""
    return _BLANKS.sub(" ", _UNWANTED.sub("", text)).strip(" ")
