"""Commands of formulas: letters, fractions, roots, brackets, tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from digest.tex.commands import (
    Command,
    enclose,
    named,
    print_nothing,
    read_formula_accent,
    read_plain_table,
    read_row_end,
)
from digest.tex.formulas import arrange, is_several_letters, make_fraction, make_script
from digest.tex.symbols import MATH_ACCENTS, RAISED, shift
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token

if TYPE_CHECKING:
    from digest.tex.reader import Reader

Divider: TypeAlias = "Callable[[Reader, Token, list[TexPiece], TexSetting], list[TexPiece]]"
_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}

_SetTwo: TypeAlias = "Callable[[int, Token, int, TexSetting, list[TexPiece], list[TexPiece]], list[TexPiece]]"
"""Sets two parts as one: where that begins, the command, where it ends, and what both were read into."""


def _read_with(**changes: Any) -> Command:  # noqa: ANN401 - as `TexSetting._replace` has it
    def read_changed(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(**changes))
        return reader.print_command(token) if pieces is None else pieces

    return read_changed


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


def _read_two(set_two: _SetTwo) -> Command:
    def read_two(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        first = reader.read_argument(setting)
        second = reader.read_argument(setting) if first is not None else None
        if first is None or second is None:
            return [reader.typed(token), *(first or ())]
        return set_two(token.start, token, reader.offset, setting, first, second)

    return read_two


def _divide(set_two: _SetTwo) -> Divider:
    def divide(reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting) -> list[TexPiece]:
        below = reader.read(reader.end, setting)
        return set_two(above[0].start if above else token.start, token, reader.offset, setting, above, below)

    return divide


def _set_fraction(
    start: int, _: Token, end: int, __: TexSetting, above: list[TexPiece], below: list[TexPiece]
) -> list[TexPiece]:
    return [make_fraction(start, end, above, below)]


def _set_binomial(
    start: int, token: Token, end: int, _: TexSetting, above: list[TexPiece], below: list[TexPiece]
) -> list[TexPiece]:
    middle = token.end
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
        return [token.symbol("√", setting, Role.VARIABLE)]
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or f"{shift(degree, RAISED) or degree}√"
    inside = arrange(pieces)
    bases = [piece for piece in inside if piece.role is not Role.SCRIPT]
    is_single = (
        len(bases) == 1
        and (not is_several_letters(bases[0]) or bases[0].text == "Hz")  # `fT/√Hz`, the one unit under a root
        and all(piece.kind is PieceKind.SUBSCRIPT for piece in inside if piece.role is Role.SCRIPT)
    )
    if is_single:
        return [token.symbol(sign, setting, Role.OPEN), *inside]
    return enclose(reader, token, setting, (f"{sign}(", ")"), inside)


def _stack(kind: PieceKind) -> _SetTwo:
    def set_stack(
        start: int, _: Token, end: int, setting: TexSetting, beside: list[TexPiece], base: list[TexPiece]
    ) -> list[TexPiece]:
        together = _STACKED.get((_printed(beside), _printed(base)))
        if together:
            return [TexPiece(start, end, PieceKind.SYMBOL, together, setting.tags, Role.RELATION)]
        return [*base, *make_script(kind, start, end, beside)]

    return set_stack


def _printed(pieces: list[TexPiece]) -> str:
    text = "".join(piece.text for piece in pieces).strip()
    return text.lstrip("_") or text


def _read_arrow(arrow: str) -> Command:
    def read_arrow(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.take_option()
        above = reader.read_argument(setting) or []
        printed = token.symbol(arrow, setting, Role.RELATION)
        return [printed, *make_script(PieceKind.SUPERSCRIPT, token.end, reader.offset, above)]

    return read_arrow


def _read_modulus(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    pieces = reader.read_argument(setting) or []
    blank = TexPiece(token.start, token.start, PieceKind.BLANK, " ")
    return [blank, *enclose(reader, token, setting, ("(mod ", ")"), pieces)]


def _divide_lines(reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting) -> list[TexPiece]:
    below = reader.read(reader.end, setting)
    comma = token.symbol(",", setting, Role.PUNCTUATION)
    return [*above, comma, TexPiece(token.end, token.end, PieceKind.BLANK, " "), *below]


FORMULA_COMMANDS: dict[str, Command] = {
    **named("mathrm mathup mathsf mathtt mathnormal rmfamily", _read_with(face="upright")),
    **named("mathit", _read_with(face="")),
    **named("mathbf boldsymbol bm pmb mathbold", _read_with(face="bold")),
    **named("mathbb Bbb mathds mathbbm", _read_with(face="blackboard")),
    **named("mathcal mathscr", _read_with(face="calligraphic")),
    **named("mathfrak EuFrak", _read_with(face="fraktur")),
    **named("ensuremath mathbin mathrel mathord mathclose mathopen overbrace underbrace", _read_with()),
    **named("operatorname mathop", _read_name),
    **named("left right middle", _read_delimiter),
    **named("big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm", print_nothing),
    **named("frac dfrac tfrac cfrac sfrac nicefrac", _read_two(_set_fraction)),
    **named("binom dbinom tbinom", _read_two(_set_binomial)),
    **named("sqrt", _read_root),
    **named("stackrel overset buildrel", _read_two(_stack(PieceKind.SUPERSCRIPT))),
    **named("underset", _read_two(_stack(PieceKind.SUBSCRIPT))),
    **named("xrightarrow", _read_arrow("→")),
    **named("xleftarrow", _read_arrow("←")),
    **named("pmod", _read_modulus),
    **named("substack", _read_with(row_break=",")),
    **named("cases matrix pmatrix", read_plain_table),
    **named("cr", read_row_end),
    **dict.fromkeys(MATH_ACCENTS, read_formula_accent),
}
"""Commands whose arguments are formulas, wherever they stand."""

DIVIDERS: dict[str, Divider] = {
    "over": _divide(_set_fraction),
    "choose": _divide(_set_binomial),
    "atop": _divide_lines,
}
"""Commands that split the group they stand in: `{a \\over b}`."""
