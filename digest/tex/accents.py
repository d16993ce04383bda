"""What accents print: on a letter, in formulas on each of a few, or spelled out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from digest.tex.formulas import arrange
from digest.tex.symbols import MATH_ACCENTS, SYMBOLS, TEXT_ACCENTS, compose
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token, print_pieces

if TYPE_CHECKING:
    from digest.tex.reader import Reader  # which calls the commands

_BROKEN_NAME = re.compile(r"\{([a-z]{2,})\}")
_LETTER_COMMAND = re.compile(
    r"\\(?:[ij]|ae|AE|oe|OE|o|O|aa|AA|l|L|[\"'`^~=.uvHcdbkrt])(?![A-Za-z])"
)
_NAME_BEFORE_UMLAUT = re.compile(r"(?<![^\s(~{-])[A-Z][bcdfghj-np-tvwxz]{0,4}\Z")
"""`Schr\\" odinger` is a name, and `G\\" odel`; `Planck\\" era` ends a quotation."""
_LONGEST_BEFORE_UMLAUT = 6
_NEUTRAL_SCRIPTS = frozenset("⁰⁺⁻^±∓*\N{PRIME}\N{DOUBLE PRIME}")
_LINES = frozenset({"overline", "underline", "underbar"})
_SHORT = 3
_SHORT_UNDER_LINE = 8
"""Letters that each get the accent; more are put in parentheses."""
_SPOKEN = {
    "widehat": "hat",
    "Hat": "hat",
    "widetilde": "tilde",
    "widecheck": "check",
    "overrightarrow": "vec",
}


def read_text_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read an accent and its letter; an accent without a letter is printed as typed."""
    name = reader.text[token.start + 1 : token.end]
    opening = reader.peek_character()
    if setting.is_formula and name.isalpha() and opening != "{":
        return reader.print_command(token)
    if opening == "{" and reader.closing() is not None:
        return _read_accented_group(reader, token, name, setting)
    if not _takes_accent(reader, token, name, opening):
        return [reader.typed(token, setting.tags)]
    letter = print_pieces(reader.read_argument(setting._replace(is_formula=False)))
    return [_accented(reader, token, letter, name, setting)]


def _takes_accent(reader: Reader, token: Token, name: str, opening: str) -> bool:
    if opening == "\\":
        command = reader.text.index("\\", reader.offset)
        return _LETTER_COMMAND.match(reader.text, command) is not None
    if not opening.isalpha():
        return False
    if not reader.has_blank() or name.isalpha():
        return True
    # `R\' enyi` is an accent; `plane\" potential` is a quotation mark that some program escaped.
    if name != '"':
        return len(compose(opening, TEXT_ACCENTS[name])) == 1
    if opening not in "aou":
        return False
    first = max(token.start - _LONGEST_BEFORE_UMLAUT, 0)
    return _NAME_BEFORE_UMLAUT.search(reader.text, first, token.start) is not None


def _read_accented_group(
    reader: Reader, token: Token, name: str, setting: TexSetting
) -> list[TexPiece]:
    broken = _BROKEN_NAME.match(reader.text, reader.offset)
    if broken is not None and name + broken[1] in SYMBOLS:
        # Some converter took `\beta` for the accent `\b` and wrote `\b{eta}`.
        reader.take_raw()
        symbol, _ = SYMBOLS[name + broken[1]]
        return [setting.symbol(token.start, broken.end(), symbol)]
    pieces = reader.read_argument(setting._replace(is_formula=False)) or []
    letter = print_pieces(pieces)
    end = reader.offset
    if not letter and name in ("^", "~"):
        return [setting.symbol(token.start, end, name)]
    if letter[:1].isalpha():
        return [_accented(reader, token, letter, name, setting)]
    opening = reader.text.index("{", token.end)
    return [
        reader.typed(token, setting.tags),
        TexPiece(opening, opening + 1, PieceKind.TEXT, "{", setting.tags),
        *pieces,
        setting.symbol(end - 1, end, "}"),
    ]


def _accented(
    reader: Reader, token: Token, letter: str, name: str, setting: TexSetting
) -> TexPiece:
    composed = compose(letter, TEXT_ACCENTS[name])
    return setting.symbol(token.start, reader.offset, composed, Role.VARIABLE)


def read_formula_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read an accent of a formula: on its letter, on each of a few, or spelled out: `hat(f∗g)`."""
    name = reader.text[token.start + 1 : token.end]
    argument = reader.read_argument(setting)
    while argument == []:  # `\not\! E`: what moves the letter prints nothing itself
        argument = reader.read_argument(setting)
    if not argument:
        return [reader.typed(token, setting.tags)]
    pieces = arrange(argument)
    bases = [piece for piece in pieces if piece.role is not Role.SCRIPT]
    scripts = [piece for piece in pieces if piece.role is Role.SCRIPT]
    text = print_pieces(bases)
    letters = [character for character in text if not unicodedata.combining(character)]
    are_scripts_last = pieces[: len(bases)] == bases
    if len(letters) == 1 and are_scripts_last and _keeps_its_meaning(scripts):
        accented = compose(text, MATH_ACCENTS[name])
        base = bases[0]._replace(
            start=token.start, end=bases[-1].end, kind=PieceKind.SYMBOL, text=accented, inside=()
        )
        return [base, *scripts]
    longest = _SHORT_UNDER_LINE if name in _LINES else _SHORT
    is_short = 1 < len(letters) <= longest and "".join(letters).isalnum()
    if is_short and not scripts:
        accented = "".join([compose(cluster, MATH_ACCENTS[name]) for cluster in _clusters(text)])
        tags = bases[0].tags
        return [
            TexPiece(token.start, reader.offset, PieceKind.SYMBOL, accented, tags, Role.VARIABLE)
        ]
    spoken = _SPOKEN.get(name, name)
    return reader.enclose(token, setting, (f"{spoken}(", ")"), pieces)


def _keeps_its_meaning(scripts: Sequence[TexPiece]) -> bool:
    r"""Whether `\bar{B_s}` may be read as `\bar{B}_s`.

    The mean of a square is not the square of a mean.
    """
    raised = [script for script in scripts if script.kind is not PieceKind.SUBSCRIPT]
    return all(_NEUTRAL_SCRIPTS.issuperset(script.text) for script in raised)


def _clusters(text: str) -> list[str]:
    """Return the letters of a text, each with the accents that it has."""
    clusters: list[str] = []
    for character in text:
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters
