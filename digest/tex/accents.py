r"""Accents, in words (`\"o`, `\'{e}`, `\v s`) and in formulas (`\hat x`, `\bar{\psi}`, `\not=`)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from digest.tex.alphabets import MATH_ACCENTS, TEXT_ACCENTS, compose
from digest.tex.formulas import arrange
from digest.tex.pieces import Kind, Piece, Role
from digest.tex.symbols import SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token

_BROKEN_NAME = re.compile(r"\{([a-z]{2,})\}")
_LETTER_COMMAND = re.compile(r"\\(?:[ij]|ae|AE|oe|OE|o|O|aa|AA|l|L|[\"'`^~=.uvHcdbkrt])(?![A-Za-z])")
_ALONE = {"^": "^", "~": "~"}
_NEUTRAL_SCRIPTS = frozenset("⁰⁺⁻^±∓*\N{PRIME}\N{DOUBLE PRIME}")
_LINES = frozenset({"overline", "underline", "underbar"})
_SHORT, _SHORT_UNDER_LINE = 3, 8
_SPOKEN = {"widehat": "hat", "Hat": "hat", "widetilde": "tilde", "widecheck": "check", "overrightarrow": "vec"}


def read_text_accent(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read an accent and its letter; an accent without a letter is printed as typed."""
    name = reader.text[token.start + 1 : token.end]
    opening = reader.peek_character()
    if setting.is_formula and name.isalpha() and opening != "{":
        return reader.print_command(token)
    if opening == "{" and reader.closing() is not None:
        return _read_accented_group(reader, token, name, setting)
    if not _takes_accent(reader, name, opening):
        return [reader.typed(token, setting.tags)]
    letter = "".join(piece.text for piece in reader.read_argument(setting._replace(is_formula=False)) or ())
    return [_accented(reader, token, letter, TEXT_ACCENTS[name], setting)]


def _takes_accent(reader: Reader, name: str, opening: str) -> bool:
    if opening == "\\":
        return _LETTER_COMMAND.match(reader.text, reader.text.index("\\", reader.offset)) is not None
    if not opening.isalpha():
        return False
    if not reader.has_blank() or name.isalpha():
        return True
    # `R\' enyi` is an accent; `plane\" potential` is a quotation mark that some program escaped.
    return name != '"' and len(compose(opening, TEXT_ACCENTS[name])) == 1


def _read_accented_group(reader: Reader, token: Token, name: str, setting: Setting) -> list[Piece]:
    broken = _BROKEN_NAME.match(reader.text, reader.offset)
    if broken and name + broken[1] in SYMBOLS:
        # Some converter took `\beta` for the accent `\b` and wrote `\b{eta}`.
        reader.take_raw()
        return [Piece(token.start, broken.end(), Kind.SYMBOL, SYMBOLS[name + broken[1]][0], setting.tags)]
    pieces = reader.read_argument(setting._replace(is_formula=False)) or []
    letter = "".join(piece.text for piece in pieces)
    if not letter and name in _ALONE:
        return [Piece(token.start, reader.offset, Kind.SYMBOL, _ALONE[name], setting.tags)]
    if not letter[:1].isalpha():
        opening = reader.text.index("{", token.end)
        return [
            reader.typed(token, setting.tags),
            Piece(opening, opening + 1, Kind.TEXT, "{", setting.tags),
            *pieces,
            Piece(reader.offset - 1, reader.offset, Kind.SYMBOL, "}", setting.tags),
        ]
    return [_accented(reader, token, letter, TEXT_ACCENTS[name], setting)]


def _accented(reader: Reader, token: Token, letter: str, accent: str, setting: Setting) -> Piece:
    return Piece(token.start, reader.offset, Kind.SYMBOL, compose(letter, accent), setting.tags, Role.VARIABLE)


def read_formula_accent(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    """Read an accent of a formula: on its letter, on each of a few, else spelled out as `hat(f∗g)`."""
    name = reader.text[token.start + 1 : token.end]
    argument = reader.read_argument(setting)
    while argument == []:  # `\not\! E`: what moves the letter prints nothing itself
        argument = reader.read_argument(setting)
    if not argument:
        return [reader.typed(token, setting.tags)]
    pieces = arrange(argument)
    bases = [piece for piece in pieces if piece.role is not Role.SCRIPT]
    scripts = [piece for piece in pieces if piece.role is Role.SCRIPT]
    text = "".join(piece.text for piece in bases)
    letters = [character for character in text if not unicodedata.combining(character)]
    if len(letters) == 1 and pieces[: len(bases)] == bases and _keeps_its_meaning(scripts):
        role = bases[0].role
        accented = compose(text, MATH_ACCENTS[name])
        return [Piece(token.start, bases[-1].end, Kind.SYMBOL, accented, bases[0].tags, role), *scripts]
    longest = _SHORT_UNDER_LINE if name in _LINES else _SHORT
    if not scripts and 1 < len(letters) <= longest and "".join(letters).isalnum():
        accented = "".join(compose(cluster, MATH_ACCENTS[name]) for cluster in _clusters(text))
        return [Piece(token.start, reader.offset, Kind.SYMBOL, accented, bases[0].tags, Role.VARIABLE)]
    return _spell_out(reader, token, _SPOKEN.get(name, name), pieces, setting)


def _keeps_its_meaning(scripts: Sequence[Piece]) -> bool:
    r"""Whether `\bar{B_s}` may be read as `\bar{B}_s`; the mean of a square is not the square of a mean."""
    return all(piece.kind is Kind.SUBSCRIPT or set(piece.text) <= _NEUTRAL_SCRIPTS for piece in scripts)


def _clusters(text: str) -> list[str]:
    clusters: list[str] = []
    for character in text:
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _spell_out(reader: Reader, token: Token, name: str, pieces: list[Piece], setting: Setting) -> list[Piece]:
    return [
        Piece(token.start, token.end, Kind.SYMBOL, f"{name}(", setting.tags, Role.OPEN),
        *pieces,
        Piece(max(token.end, reader.offset - 1), reader.offset, Kind.SYMBOL, ")", setting.tags, Role.CLOSE),
    ]
