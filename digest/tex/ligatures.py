r"""Characters that mean something else in a row or between words: `--`, ``` `` ```, `''` and `~`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.tex.pieces import Kind, Piece, Role

if TYPE_CHECKING:
    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token

_DASHES = {"--": "–", "---": "—"}
_LONGEST_ADDRESS = 200
_TIE = re.compile(r"(?<=[A-Za-z]{2})|(?<=[.,;:$}])")
"""What stands before a tie that a figure follows: `Fig.~3`, `in~2016`, but not `z~3` or `(~10%)`."""


def read_ligature(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read dashes and quotation marks; `''` closes only what was opened (it may be seconds of arc)."""
    written = reader.written(token)
    if written in _DASHES:
        is_printed = _is_in_address(reader.text, token.start)
        printed, role = (written if is_printed else _DASHES[written]), Role.INFIX
    elif setting.is_formula:
        printed, role = ("″", Role.SCRIPT) if written == "''" else (written, Role.WORD)
    elif written == "``":
        reader.open_quotes += 1
        printed, role = "“", Role.OPEN
    else:
        printed, role = ("”" if reader.open_quotes else written), Role.CLOSE
        reader.open_quotes = max(0, reader.open_quotes - 1)
    kind = Kind.TEXT if printed == written else Kind.SYMBOL
    return [Piece(token.start, token.end, kind, printed, setting.tags, role)]


def read_tie(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read `~`: TeX's unbreakable blank between words, or the "about" of people who write plain text."""
    if setting.is_formula or _is_tie(reader.text, token.start):
        return [Piece(token.start, token.end, Kind.BLANK, "\u00a0", setting.tags)]
    return [Piece(token.start, token.end, Kind.TEXT, "~", setting.tags)]


def _is_tie(text: str, place: int) -> bool:
    before, behind = text[place - 1 : place], text[place + 1 : place + 2]
    if not before or not behind or before in " \t\n(<>=/~|[" or behind in " \t\n" or _is_in_address(text, place):
        return False
    if behind.isdigit() or behind in "+-.":
        return _TIE.match(text, place) is not None
    is_order_of_growth = behind == "(" and before.isalpha() and not text[place - 2 : place - 1].isalpha()
    return not is_order_of_growth


def _is_in_address(text: str, place: int) -> bool:
    beginning = max(text.rfind(" ", 0, place), text.rfind("\n", 0, place), place - _LONGEST_ADDRESS)
    return "://" in text[beginning + 1 : place]
