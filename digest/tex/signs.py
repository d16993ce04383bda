r"""What signs print: control symbols such as `\%`, dashes, quotation marks and `~`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from digest.tex.accents import read_text_accent
from digest.tex.symbols import TEXT_ACCENTS
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token

if TYPE_CHECKING:
    from digest.tex.reader import Reader  # which calls the commands

Command: TypeAlias = "Callable[[Reader, Token, TexSetting], list[TexPiece]]"
"""Reads what follows a command's name, and returns the pieces for the command and its arguments."""

_PRINTED = {
    **{sign: (sign, Role.WORD) for sign in "%$#_"},
    "&": ("&", Role.INFIX),
    "{": ("{", Role.OPEN),
    "}": ("}", Role.CLOSE),
    "|": ("‖", Role.BAR),
}
_BLANKS = frozenset(",;:>")
_NOTHING = frozenset("!/-@")

_DASHES = {"--": "–", "---": "—"}
_LONGEST_ADDRESS = 200
_TIE = re.compile(r"(?<=[A-Za-z]{2})|(?<=[.,;:$}])")
"""What comes before a tie if a figure follows: `Fig.~3`, `in~2016`, but not `z~3` or `(~10%)`."""


def read_escape(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read a control symbol; one that has no meaning is printed as typed."""
    character = reader.text[token.start + 1]
    if character in TEXT_ACCENTS:
        return read_text_accent(reader, token, setting)
    if character in _NOTHING:
        return []
    if character in _BLANKS or character.isspace():
        return [token.blank(setting)]
    if character in _STRUCTURE:
        return _STRUCTURE[character](reader, token, setting)
    # A letter beyond ASCII stood for a command before some form converted it: `\λ` was `\lambda`.
    letter = character if character.isalpha() else ""
    symbol, role = _PRINTED.get(character, (letter, Role.VARIABLE))
    return [token.symbol(symbol, setting, role) if symbol else reader.typed(token)]


def read_row_end(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read the end of a line: a sign between the rows of a table, a blank elsewhere."""
    reader.skip_character("*")
    reader.take_option()
    blank = token.blank(setting)
    if not setting.row_break:
        return [blank]
    return [token.symbol(setting.row_break, setting, Role.PUNCTUATION), blank]


def _read_formula(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    closing = reader.partners.get(reader.at - 1, reader.end)
    if closing >= reader.end:
        return [reader.typed(token, setting.tags)]
    pieces = reader.read_formula(closing, setting, token.start, reader.tokens[closing].end)
    reader.at = closing + 1
    return pieces


_STRUCTURE: dict[str, Command] = {"\\": read_row_end, "[": _read_formula, "(": _read_formula}


def read_ligature(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read dashes and quotation marks.

    `''` closes only what was opened: it may be seconds of arc.
    """
    written = reader.written(token)
    printed = written
    if written in _DASHES:
        role = Role.INFIX
        if not _is_in_address(reader.text, token.start):
            printed = _DASHES[written]
    elif setting.is_formula:
        role = Role.WORD
        if written == "''":
            printed = "″"
            role = Role.SCRIPT
    elif written == "``":
        role = Role.OPEN
        printed = "“"
        reader.open_quotes += 1
    else:
        role = Role.CLOSE
        if reader.open_quotes > 0:
            printed = "”"
            reader.open_quotes -= 1
    kind = PieceKind.TEXT if printed == written else PieceKind.SYMBOL
    return [TexPiece(token.start, token.end, kind, printed, setting.tags, role)]


def read_tie(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read `~`: TeX's unbreakable blank between words, or the "about" of those who write no TeX."""
    if setting.is_formula or _is_tie(reader.text, token.start):
        return [token.blank(setting, "\u00a0")]
    return [TexPiece(token.start, token.end, PieceKind.TEXT, "~", setting.tags)]


def _is_tie(text: str, place: int) -> bool:
    before = text[place - 1 : place]
    after = text[place + 1 : place + 2]
    if not before or before in " \t\n(<>=/~|[":
        return False
    if not after or after in " \t\n" or _is_in_address(text, place):
        return False
    if after.isdigit() or after in "+-.":
        return _TIE.match(text, place) is not None
    if after != "(" or not before.isalpha():
        return True
    is_order_of_growth = not text[place - 2 : place - 1].isalpha()  # `O~(n)`
    return not is_order_of_growth


def _is_in_address(text: str, place: int) -> bool:
    last_blank = text.rfind(" ", 0, place)
    last_line = text.rfind("\n", 0, place)
    beginning = max(last_blank, last_line, place - _LONGEST_ADDRESS)
    return "://" in text[beginning + 1 : place]
