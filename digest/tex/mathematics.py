"""Commands of formulas: letters, fractions, roots, brackets, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.tex.commands import Command, named, print_nothing, read_formula_accent, read_plain_table, read_row_end
from digest.tex.formulas import arrange, is_several_letters, make_fraction, make_script
from digest.tex.symbols import MATH_ACCENTS, shift
from digest.tex.symbols import RAISED as RAISED_LETTERS
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.tex.reader import Reader

_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}


def _in_face(face: str) -> Command:
    def read_face(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(face=face))
        return reader.print_command(token) if pieces is None else pieces

    return read_face


def _read_ensured_formula(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    pieces = reader.read_argument(setting)
    return reader.print_command(token) if pieces is None else pieces


def _read_delimiter(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read the bracket behind `\left` and `\right`; a full stop there prints nothing."""
    if reader.skip_character("."):
        return []
    pieces = reader.read_argument(setting)
    if pieces is None:
        return []
    role = Role.CLOSE if reader.written(token).startswith("\\r") else Role.OPEN
    angles = {"<": "⟨", ">": "⟩"}
    return [
        piece._replace(role=role, text=angles.get(piece.text, piece.text), kind=PieceKind.SYMBOL)
        for piece in pieces
    ]


def _read_name(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read a function's name that has no command of its own: `\operatorname{Hom}`."""
    reader.skip_character("*")
    pieces = reader.read_argument(setting._replace(face="upright"))
    if not pieces:
        return reader.print_command(token)
    name = "".join(piece.text for piece in arrange(pieces))
    return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, name, setting.tags, Role.NAME)]


def _read_fraction(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    above = reader.read_argument(setting)
    below = reader.read_argument(setting) if above is not None else None
    if above is None or below is None:
        return [reader.typed(token), *(above or ())]
    return [make_fraction(token.start, reader.offset, above, below)]


def _read_binomial(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    above = reader.read_argument(setting)
    below = reader.read_argument(setting) if above is not None else None
    if above is None or below is None:
        return [reader.typed(token), *(above or ())]
    return _choose(token.start, token.end, reader.offset, above, below)


def _choose(start: int, middle: int, end: int, above: list[TexPiece], below: list[TexPiece]) -> list[TexPiece]:
    return [
        TexPiece(start, middle, PieceKind.SYMBOL, "(", role=Role.OPEN),
        *above,
        TexPiece(middle, middle, PieceKind.SYMBOL, "choose", role=Role.NAME),
        *below,
        TexPiece(max(middle, end - 1), max(middle, end), PieceKind.SYMBOL, ")", role=Role.CLOSE),
    ]


def _read_root(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    degree = (reader.take_option() or "").strip()
    pieces = reader.read_argument(setting)
    if pieces is None:
        return [TexPiece(token.start, token.end, PieceKind.SYMBOL, "√", setting.tags, Role.VARIABLE)]
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or f"{shift(degree, RAISED_LETTERS) or degree}√"
    inside = arrange(pieces)
    bases = [piece for piece in inside if piece.role is not Role.SCRIPT]
    is_single = (
        len(bases) == 1
        and (not is_several_letters(bases[0]) or bases[0].text == "Hz")  # `fT/√Hz`, the one unit under a root
        and all(piece.kind is PieceKind.SUBSCRIPT for piece in inside if piece.role is Role.SCRIPT)
    )
    if is_single:
        return [TexPiece(token.start, token.end, PieceKind.SYMBOL, sign, setting.tags, Role.OPEN), *inside]
    return [
        TexPiece(token.start, token.end, PieceKind.SYMBOL, f"{sign}(", setting.tags, Role.OPEN),
        *inside,
        TexPiece(
            max(token.end, reader.offset - 1), reader.offset, PieceKind.SYMBOL, ")", setting.tags, Role.CLOSE
        ),
    ]


def _read_stack(kind: PieceKind) -> Command:
    def read_stack(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        beside = reader.read_argument(setting)
        base = reader.read_argument(setting) if beside is not None else None
        if beside is None or base is None:
            return [reader.typed(token), *(beside or ())]
        script = make_script(kind, token.start, reader.offset, beside)
        together = _STACKED.get((_printed(beside), _printed(base)))
        if together:
            return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, together, setting.tags, Role.RELATION)]
        return [*base, *script]

    return read_stack


def _printed(pieces: list[TexPiece]) -> str:
    text = "".join(piece.text for piece in pieces).strip()
    return text.lstrip("_") or text


def _read_arrow(arrow: str) -> Command:
    def read_arrow(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.take_option()
        above = reader.read_argument(setting) or []
        printed = TexPiece(token.start, token.end, PieceKind.SYMBOL, arrow, setting.tags, Role.RELATION)
        return [printed, *make_script(PieceKind.SUPERSCRIPT, token.end, reader.offset, above)]

    return read_arrow


def _read_modulus(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    pieces = reader.read_argument(setting) or []
    return [
        TexPiece(token.start, token.start, PieceKind.BLANK, " "),
        TexPiece(token.start, token.end, PieceKind.SYMBOL, "(mod ", setting.tags, Role.OPEN),
        *pieces,
        TexPiece(
            max(token.end, reader.offset - 1),
            max(token.end, reader.offset),
            PieceKind.SYMBOL,
            ")",
            role=Role.CLOSE,
        ),
    ]


def _read_rows(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    pieces = reader.read_argument(setting._replace(row_break=","))
    return reader.print_command(token) if pieces is None else pieces


def _divide(reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting) -> list[TexPiece]:
    start = above[0].start if above else token.start
    below = reader.read(reader.end, setting)
    return [make_fraction(start, reader.offset, above, below)]


def _divide_binomial(reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting) -> list[TexPiece]:
    start = above[0].start if above else token.start
    below = reader.read(reader.end, setting)
    return _choose(start, token.end, reader.offset, above, below)


def _divide_lines(reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting) -> list[TexPiece]:
    below = reader.read(reader.end, setting)
    comma = TexPiece(token.start, token.end, PieceKind.SYMBOL, ",", setting.tags, Role.PUNCTUATION)
    return [*above, comma, TexPiece(token.end, token.end, PieceKind.BLANK, " "), *below]


FORMULA_COMMANDS: dict[str, Command] = {
    **named("mathrm mathup mathsf mathtt mathnormal rmfamily", _in_face("upright")),
    **named("mathit", _in_face("")),
    **named("mathbf boldsymbol bm pmb mathbold", _in_face("bold")),
    **named("mathbb Bbb mathds mathbbm", _in_face("blackboard")),
    **named("mathcal mathscr", _in_face("calligraphic")),
    **named("mathfrak EuFrak", _in_face("fraktur")),
    **named("ensuremath mathbin mathrel mathord mathclose mathopen overbrace underbrace", _read_ensured_formula),
    **named("operatorname mathop", _read_name),
    **named("left right middle", _read_delimiter),
    **named("big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm", print_nothing),
    **named("frac dfrac tfrac cfrac sfrac nicefrac", _read_fraction),
    **named("binom dbinom tbinom", _read_binomial),
    **named("sqrt", _read_root),
    **named("stackrel overset buildrel", _read_stack(PieceKind.SUPERSCRIPT)),
    **named("underset", _read_stack(PieceKind.SUBSCRIPT)),
    **named("xrightarrow", _read_arrow("→")),
    **named("xleftarrow", _read_arrow("←")),
    **named("pmod", _read_modulus),
    **named("substack", _read_rows),
    **named("cases matrix pmatrix", read_plain_table),
    **named("cr", read_row_end),
    **dict.fromkeys(MATH_ACCENTS, read_formula_accent),
}
"""Commands whose arguments are formulas, wherever they stand."""

DIVIDERS: dict[str, Callable[[Reader, Token, list[TexPiece], TexSetting], list[TexPiece]]] = {
    "over": _divide,
    "choose": _divide_binomial,
    "atop": _divide_lines,
}
"""Commands that split the group they stand in: `{a \\over b}`."""
