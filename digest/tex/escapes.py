r"""A backslash and one character that is no letter: `\%`, `\,`, `\\`, `\[ … \]`, and accents such as `\"o`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.tex.accents import read_text_accent
from digest.tex.alphabets import TEXT_ACCENTS
from digest.tex.pieces import Kind, Piece, Role

if TYPE_CHECKING:
    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token

_PRINTED = {
    **dict.fromkeys("%$#_", Role.WORD),
    "&": Role.INFIX,
    "{": Role.OPEN,
    "}": Role.CLOSE,
}
_BLANKS = frozenset(",;:>")
_NOTHING = frozenset("!/-@")


def read_escape(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read a control symbol; one that has no meaning is printed as typed."""
    character = reader.text[token.start + 1]
    if character in TEXT_ACCENTS:
        return read_text_accent(reader, token, setting)
    if character in _NOTHING:
        return []
    if character in _BLANKS or character.isspace():
        return [Piece(token.start, token.end, Kind.BLANK, " ", setting.tags)]
    if character in _STRUCTURE:
        return _STRUCTURE[character](reader, token, setting)
    symbol, role = _find_symbol(character)
    return [
        Piece(token.start, token.end, Kind.SYMBOL, symbol, setting.tags, role) if symbol else reader.typed(token)
    ]


def read_row_end(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read the end of a line: a sign between the rows of a table, a blank elsewhere."""
    reader.skip_character("*")
    reader.take_option()
    blank = Piece(token.start, token.end, Kind.BLANK, " ", setting.tags)
    if not setting.row_break:
        return [blank]
    return [Piece(token.start, token.end, Kind.SYMBOL, setting.row_break, setting.tags, Role.PUNCTUATION), blank]


def _find_symbol(character: str) -> tuple[str, Role]:
    if character == "|":
        return "‖", Role.BAR
    if character in _PRINTED:
        return character, _PRINTED[character]
    # A letter beyond ASCII stood for a command before some form converted it: `\λ` was `\lambda`.
    return (character, Role.VARIABLE) if character.isalpha() else ("", Role.WORD)


def _read_formula(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    closing = reader.partners.get(reader.at - 1, reader.end)
    if closing >= reader.end:
        return [reader.typed(token, setting.tags)]
    pieces = reader.read_formula(closing, setting, token.start, reader.tokens[closing].end)
    reader.at = closing + 1
    return pieces


_STRUCTURE = {"\\": read_row_end, "[": _read_formula, "(": _read_formula}
