r"""Commands with arguments, and what becomes of them where only characters can be printed.

A command is a function of the reader (just behind the command's name), the name's token and the setting;
it returns the pieces that stand for the whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from digest.tex.accents import read_formula_accent, read_text_accent
from digest.tex.alphabets import MATH_ACCENTS, shift
from digest.tex.alphabets import RAISED as RAISED_LETTERS
from digest.tex.environments import read_begin, read_end, read_plain_table
from digest.tex.escapes import read_row_end
from digest.tex.formulas import arrange, make_fraction, make_script
from digest.tex.pieces import Kind, Piece, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token


_LENGTH = re.compile(r"\s*[+-]?[0-9.]+\s*(?:pt|em|ex|mu|cm|mm|in)(?![A-Za-z])")
_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}


class Command(Protocol):
    """Reads what follows a command's name."""

    def __call__(self, reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        """Return the pieces for the command and its arguments."""


def _print_nothing(reader: Reader, token: Token, setting: Setting) -> list[Piece]:  # noqa: ARG001 - a Command
    if not setting.is_formula:
        reader.skip_blanks()
    return []


def _print_blank(reader: Reader, token: Token, setting: Setting) -> list[Piece]:  # noqa: ARG001 - a Command
    return [Piece(token.start, token.end, Kind.BLANK, " ", setting.tags)]


def _drop_argument(reader: Reader, token: Token, setting: Setting) -> list[Piece]:  # noqa: ARG001 - a Command
    reader.skip_character("*")
    return [] if reader.take_raw() is not None else reader.print_command(token)


def _drop_dimension(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    return [*_drop_argument(reader, token, setting), Piece(token.start, token.end, Kind.BLANK, " ", setting.tags)]


def _drop_length(reader: Reader, token: Token, setting: Setting) -> list[Piece]:  # noqa: ARG001 - a Command
    if match := _LENGTH.match(reader.text, token.end):
        reader.skip_to(match.end())
        return []
    return [reader.typed(token)]


def _in_words(*tags: str) -> Command:
    def read_words(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        words = setting._replace(is_formula=False, face="")
        for tag in tags:
            words = words.with_tag(tag)
        pieces = reader.read_argument(words)
        if pieces is None:
            return reader.print_command(token)
        return [piece._replace(role=Role.WORD) if piece.kind is not Kind.BLANK else piece for piece in pieces]

    return read_words


def _in_face(face: str) -> Command:
    def read_face(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        pieces = reader.read_argument(setting._replace(face=face))
        return reader.print_command(token) if pieces is None else pieces

    return read_face


def _in_quotes(opening: str, closing: str, tags: tuple[str, ...] = ()) -> Command:
    read_words = _in_words(*tags)

    def read_quoted(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        if reader.peek_character() != "{":
            return reader.print_command(token)
        pieces = read_words(reader, token, setting)
        return [
            Piece(token.start, token.end, Kind.SYMBOL, opening, setting.tags),
            *pieces,
            Piece(max(token.end, reader.offset - 1), reader.offset, Kind.SYMBOL, closing, setting.tags),
        ]

    return read_quoted


def _raw_between(opening: str, closing: str) -> Command:
    def read_raw(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        reader.skip_character("*")
        while reader.take_option() is not None:
            pass
        pieces = reader.take_raw()
        if pieces is None:
            return reader.print_command(token)
        return [
            Piece(token.start, token.end, Kind.SYMBOL, opening, setting.tags),
            *(piece._replace(tags=setting.tags) for piece in pieces),
            Piece(max(token.end, reader.offset - 1), reader.offset, Kind.SYMBOL, closing, setting.tags),
        ]

    return read_raw


def _read_address(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    pieces = reader.take_raw()
    return (
        reader.print_command(token) if pieces is None else [piece._replace(tags=setting.tags) for piece in pieces]
    )


def _read_second_argument(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    if reader.take_raw() is None:
        return reader.print_command(token)
    return reader.read_argument(setting._replace(is_formula=False)) or []


def _script_of_words(kind: Kind) -> Command:
    def read_script(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        pieces = reader.read_argument(setting._replace(is_formula=False))
        if pieces is None:
            return reader.print_command(token)
        script = make_script(kind, token.start, reader.offset, pieces)
        return arrange(script, followed_by=reader.text[reader.offset : reader.offset + 1])

    return read_script


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
    is_single = sum(piece.role is not Role.SCRIPT for piece in inside) == 1 and all(
        piece.kind is Kind.SUBSCRIPT for piece in inside if piece.role is Role.SCRIPT
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


def _read_list_sign(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    reader.take_option()
    return [
        Piece(token.start, token.start, Kind.BLANK, " "),
        Piece(token.start, token.end, Kind.SYMBOL, "•", setting.tags),
        Piece(token.end, token.end, Kind.BLANK, " "),
    ]


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


def _named(names: str, command: Command) -> dict[str, Command]:
    return dict.fromkeys(names.split(), command)


TEXT_COMMANDS: dict[str, Command] = {
    **_named("emph textit textsl", _in_words("i")),
    **_named("textbf", _in_words("b")),
    **_named("texttt", _in_words("code")),
    **_named("text textrm textsf textsc textup textmd textnormal mbox hbox fbox makebox uline", _in_words()),
    **_named("enquote", _in_quotes("“", "”")),
    **_named("footnote thanks", _in_quotes(" (", ")")),
    **_named("url path nolinkurl", _read_address),
    **_named("href textcolor", _read_second_argument),
    **_named(
        "cite citep citet citealt citealp citeauthor citeyear autocite parencite textcite", _raw_between("[", "]")
    ),
    **_named("ref cref Cref autoref pageref", _raw_between("[", "]")),
    **_named("eqref", _raw_between("(", ")")),
    **_named("tag", _raw_between("(", ")")),
    **_named("label color phantom hphantom vphantom vspace nocite", _drop_argument),
    **_named("hspace", _drop_dimension),
    **_named("kern mkern hskip mskip", _drop_length),
    **_named("quad qquad enspace thinspace newline linebreak par hfill", _print_blank),
    **_named("tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge", _print_nothing),
    **_named(
        "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag", _print_nothing
    ),
    **_named(
        "noindent centering protect relax allowbreak nobreakdash smash negthinspace mathstrut", _print_nothing
    ),
    **_named("textsuperscript", _script_of_words(Kind.SUPERSCRIPT)),
    **_named("textsubscript", _script_of_words(Kind.SUBSCRIPT)),
    **_named("item", _read_list_sign),
    **_named("begin", read_begin),
    **_named("end", read_end),
    **_named("u v H c d b k r t", read_text_accent),
}
"""Commands of text, allowed in formulas too."""

FORMULA_COMMANDS: dict[str, Command] = {
    **_named("mathrm mathup mathsf mathtt mathnormal rmfamily", _in_face("upright")),
    **_named("mathit", _in_face("")),
    **_named("mathbf boldsymbol bm pmb mathbold", _in_face("bold")),
    **_named("mathbb Bbb mathds mathbbm", _in_face("blackboard")),
    **_named("mathcal mathscr", _in_face("calligraphic")),
    **_named("mathfrak EuFrak", _in_face("fraktur")),
    **_named("ensuremath mathbin mathrel mathord mathclose mathopen overbrace underbrace", _read_ensured_formula),
    **_named("operatorname mathop", _read_name),
    **_named("left right middle", _read_delimiter),
    **_named(
        "big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm", _print_nothing
    ),
    **_named("frac dfrac tfrac cfrac sfrac nicefrac", _read_fraction),
    **_named("binom dbinom tbinom", _read_binomial),
    **_named("sqrt", _read_root),
    **_named("stackrel overset buildrel", _read_stack(Kind.SUPERSCRIPT)),
    **_named("underset", _read_stack(Kind.SUBSCRIPT)),
    **_named("xrightarrow", _read_arrow("→")),
    **_named("xleftarrow", _read_arrow("←")),
    **_named("pmod", _read_modulus),
    **_named("substack", _read_rows),
    **_named("cases matrix pmatrix", read_plain_table),
    **_named("cr", read_row_end),
    **dict.fromkeys(MATH_ACCENTS, read_formula_accent),
}
"""Commands whose arguments are formulas, wherever they stand."""

DIVIDERS: dict[str, Callable[[Reader, Token, list[Piece], Setting], list[Piece]]] = {
    "over": _divide,
    "choose": _divide_binomial,
    "atop": _divide_lines,
}
"""Commands that split the group they stand in: `{a \\over b}`."""

DECLARATIONS: dict[str, Callable[[Setting], Setting]] = {
    **dict.fromkeys(("it", "em", "sl", "itshape"), lambda setting: _declared(setting, "", "i")),
    **dict.fromkeys(("bf", "bfseries"), lambda setting: _declared(setting, "bold", "b")),
    **dict.fromkeys(("tt", "ttfamily"), lambda setting: _declared(setting, "upright", "code")),
    **dict.fromkeys(
        ("rm", "sf", "sc", "scshape", "normalfont"), lambda setting: _declared(setting, "upright", "")
    ),
    **dict.fromkeys(("cal", "mit"), lambda setting: _declared(setting, "calligraphic", "")),
    "frak": lambda setting: _declared(setting, "fraktur", ""),
}
"""Commands that change the letters up to the end of the group."""


def _declared(setting: Setting, face: str, tag: str) -> Setting:
    if setting.is_formula:
        return setting._replace(face=face)
    if face in ("calligraphic", "fraktur"):
        return setting._replace(is_formula=True, face=face)
    return setting.with_tag(tag) if tag else setting
