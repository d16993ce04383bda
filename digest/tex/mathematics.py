"""Commands of formulas: letters, fractions, roots, brackets, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.tex.commands import Command, named, print_nothing, read_formula_accent, read_plain_table, read_row_end
from digest.tex.formulas import arrange, is_several_letters, make_fraction, make_script
from digest.tex.symbols import MATH_ACCENTS, shift
from digest.tex.symbols import RAISED as RAISED_LETTERS
from digest.tex.tokens import Kind, Piece, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.tex.reader import Reader
    from digest.tex.tokens import Setting, Token

_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}


def _in_face(face: str) -> Command:
    def read_face(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        pieces = reader.read_argument(setting._replace(face=face))
        return reader.print_command(token) if pieces is None else pieces

    return read_face


def _read_ensured_formula(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    pieces = reader.read_argument(setting)
    return reader.print_command(token) if pieces is None else pieces


def _read_delimiter(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    r"""Read the bracket behind `\left` and `\right`; a full stop there prints nothing."""
    if reader.skip_character("."):
        return []
    pieces = reader.read_argument(setting)
    if pieces is None:
        return []
    role = Role.CLOSE if reader.written(token).startswith("\\r") else Role.OPEN
    angles = {"<": "⟨", ">": "⟩"}
    return [
        piece._replace(role=role, text=angles.get(piece.text, piece.text), kind=Kind.SYMBOL) for piece in pieces
    ]


def _read_name(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    r"""Read a function's name that has no command of its own: `\operatorname{Hom}`."""
    reader.skip_character("*")
    pieces = reader.read_argument(setting._replace(face="upright"))
    if not pieces:
        return reader.print_command(token)
    name = "".join(piece.text for piece in arrange(pieces))
    return [Piece(token.start, reader.offset, Kind.SYMBOL, name, setting.tags, Role.NAME)]


def _read_fraction(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    above = reader.read_argument(setting)
    below = reader.read_argument(setting) if above is not None else None
    if above is None or below is None:
        return [reader.typed(token), *(above or ())]
    return [make_fraction(token.start, reader.offset, above, below)]


def _read_binomial(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    above = reader.read_argument(setting)
    below = reader.read_argument(setting) if above is not None else None
    if above is None or below is None:
        return [reader.typed(token), *(above or ())]
    return _choose(token.start, token.end, reader.offset, above, below)


def _choose(start: int, middle: int, end: int, above: list[Piece], below: list[Piece]) -> list[Piece]:
    return [
        Piece(start, middle, Kind.SYMBOL, "(", role=Role.OPEN),
        *above,
        Piece(middle, middle, Kind.SYMBOL, "choose", role=Role.NAME),
        *below,
        Piece(max(middle, end - 1), max(middle, end), Kind.SYMBOL, ")", role=Role.CLOSE),
    ]


def _read_root(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    degree = (reader.take_option() or "").strip()
    pieces = reader.read_argument(setting)
    if pieces is None:
        return [Piece(token.start, token.end, Kind.SYMBOL, "√", setting.tags, Role.VARIABLE)]
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or f"{shift(degree, RAISED_LETTERS) or degree}√"
    inside = arrange(pieces)
    bases = [piece for piece in inside if piece.role is not Role.SCRIPT]
    is_single = (
        len(bases) == 1
        and (not is_several_letters(bases[0]) or bases[0].text == "Hz")  # `fT/√Hz`, the one unit under a root
        and all(piece.kind is Kind.SUBSCRIPT for piece in inside if piece.role is Role.SCRIPT)
    )
    if is_single:
        return [Piece(token.start, token.end, Kind.SYMBOL, sign, setting.tags, Role.OPEN), *inside]
    return [
        Piece(token.start, token.end, Kind.SYMBOL, f"{sign}(", setting.tags, Role.OPEN),
        *inside,
        Piece(max(token.end, reader.offset - 1), reader.offset, Kind.SYMBOL, ")", setting.tags, Role.CLOSE),
    ]


def _read_stack(kind: Kind) -> Command:
    def read_stack(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        beside = reader.read_argument(setting)
        base = reader.read_argument(setting) if beside is not None else None
        if beside is None or base is None:
            return [reader.typed(token), *(beside or ())]
        script = make_script(kind, token.start, reader.offset, beside)
        together = _STACKED.get((_printed(beside), _printed(base)))
        if together:
            return [Piece(token.start, reader.offset, Kind.SYMBOL, together, setting.tags, Role.RELATION)]
        return [*base, *script]

    return read_stack


def _printed(pieces: list[Piece]) -> str:
    text = "".join(piece.text for piece in pieces).strip()
    return text.lstrip("_") or text


def _read_arrow(arrow: str) -> Command:
    def read_arrow(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        reader.take_option()
        above = reader.read_argument(setting) or []
        printed = Piece(token.start, token.end, Kind.SYMBOL, arrow, setting.tags, Role.RELATION)
        return [printed, *make_script(Kind.SUPERSCRIPT, token.end, reader.offset, above)]

    return read_arrow


def _read_modulus(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    pieces = reader.read_argument(setting) or []
    return [
        Piece(token.start, token.start, Kind.BLANK, " "),
        Piece(token.start, token.end, Kind.SYMBOL, "(mod ", setting.tags, Role.OPEN),
        *pieces,
        Piece(max(token.end, reader.offset - 1), max(token.end, reader.offset), Kind.SYMBOL, ")", role=Role.CLOSE),
    ]


def _read_rows(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    pieces = reader.read_argument(setting._replace(row_break=","))
    return reader.print_command(token) if pieces is None else pieces


def _divide(reader: Reader, token: Token, above: list[Piece], setting: Setting) -> list[Piece]:
    start = above[0].start if above else token.start
    below = reader.read(reader.end, setting)
    return [make_fraction(start, reader.offset, above, below)]


def _divide_binomial(reader: Reader, token: Token, above: list[Piece], setting: Setting) -> list[Piece]:
    start = above[0].start if above else token.start
    below = reader.read(reader.end, setting)
    return _choose(start, token.end, reader.offset, above, below)


def _divide_lines(reader: Reader, token: Token, above: list[Piece], setting: Setting) -> list[Piece]:
    below = reader.read(reader.end, setting)
    comma = Piece(token.start, token.end, Kind.SYMBOL, ",", setting.tags, Role.PUNCTUATION)
    return [*above, comma, Piece(token.end, token.end, Kind.BLANK, " "), *below]


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
    **named("stackrel overset buildrel", _read_stack(Kind.SUPERSCRIPT)),
    **named("underset", _read_stack(Kind.SUBSCRIPT)),
    **named("xrightarrow", _read_arrow("→")),
    **named("xleftarrow", _read_arrow("←")),
    **named("pmod", _read_modulus),
    **named("substack", _read_rows),
    **named("cases matrix pmatrix", read_plain_table),
    **named("cr", read_row_end),
    **dict.fromkeys(MATH_ACCENTS, read_formula_accent),
}
"""Commands whose arguments are formulas, wherever they stand."""

DIVIDERS: dict[str, Callable[[Reader, Token, list[Piece], Setting], list[Piece]]] = {
    "over": _divide,
    "choose": _divide_binomial,
    "atop": _divide_lines,
}
"""Commands that split the group they stand in: `{a \\over b}`."""
