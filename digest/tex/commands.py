"""What each command prints: those of text, then those of formulas.

Accents, environments and signs are in files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from digest.tex.accents import read_formula_accent, read_text_accent
from digest.tex.environments import read_environment
from digest.tex.formulas import arrange, is_several_letters, make_fraction, make_script
from digest.tex.signs import Command, read_row_end
from digest.tex.symbols import MATH_ACCENTS, RAISED, shift
from digest.tex.tokens import DROPPED, PieceKind, Role, TexPiece, TexSetting, Token, print_pieces
from digest.tex.units import write_chemistry, write_ion, write_number, write_quantity, write_unit

if TYPE_CHECKING:
    from digest.tex.reader import Reader  # which calls the commands

Divider: TypeAlias = "Callable[[Reader, Token, list[TexPiece], TexSetting], list[TexPiece]]"
"""Reads the rest of the group, and returns the pieces for it and for what came before."""

_SetParts: TypeAlias = "Callable[[_TwoParts, TexSetting], list[TexPiece]]"
"""Returns the pieces for two parts that are set as one."""

_VERBATIM = re.compile(
    rf"\*?([^\w\s{{\\{DROPPED}\ud800-\udfff])([^{DROPPED}\ud800-\udfff\n]{{0,200}}?)\1"
)
"""A sign, what is as typed, and the same sign again."""

_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}
"""What is set above or below a sign, and that sign -> one sign for both."""

WITH_ARGUMENTS = {
    **dict.fromkeys(("rm", "normalfont"), "textrm"),
    **{name: f"text{name}" for name in ("sf", "sc", "bf", "tt", "it", "sl")},
    **{name: f"math{name}" for name in ("cal", "frak")},
    "em": "emph",
}
r"""What people mean by a declaration with an argument, `\rm{Fe}`, outside formulas."""
_ANGLES = {"<": "⟨", ">": "⟩"}
"""What is typed as a bracket -> the bracket."""

_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
"""The degree of a root -> its sign."""


class _TwoParts(NamedTuple):
    """Two parts that a command sets as one.

    Attributes:
        start: where the command with its parts begins.
        token: the command.
        end: where it ends with its parts.
        first: the part that is written first, as read.
        second: the other part.
    """

    start: int
    token: Token
    end: int
    first: list[TexPiece]
    second: list[TexPiece]


def _named(names: str, command: Command) -> dict[str, Command]:
    """Return one command under several names, with blanks between them."""
    return dict.fromkeys(names.split(), command)


def _print_nothing(reader: Reader, _: Token, setting: TexSetting) -> list[TexPiece]:
    """Print nothing; in words, the blank after the name goes too."""
    if not setting.is_formula:
        reader.skip_blanks()
    return []


def _print_blank(_: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    return [token.blank(setting)]


def _drop_argument(reader: Reader, token: Token, _: TexSetting) -> list[TexPiece]:
    """Print nothing for a command and its argument; without an argument, it is printed as typed."""
    reader.skip_character("*")
    return [] if reader.take_raw() is not None else reader.print_command(token)


def _drop_dimension(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Print a blank for a command and its argument, which is a length."""
    pieces = _drop_argument(reader, token, setting)
    return [*pieces, token.blank(setting)]


def _read_in_words(tag: str = "") -> Command:
    """Return a command that reads its argument as words, also in a formula."""

    def read_words(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        setting_of_words = setting._replace(is_formula=False, face="").with_tag(tag)
        pieces = reader.read_argument(setting_of_words)
        if pieces is None:
            return reader.print_command(token)
        return list(map(_as_word, pieces))

    return read_words


def _as_word(piece: TexPiece) -> TexPiece:
    return piece if piece.kind is PieceKind.BLANK else piece._replace(role=Role.WORD)


def _print_raw_between(opening: str, closing: str) -> Command:
    """Return a command that prints its argument as typed, between two signs."""

    def read_raw(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.skip_character("*")
        while reader.take_option() is not None:
            pass
        pieces = reader.take_raw(setting.tags)
        if pieces is None:
            return reader.print_command(token)
        signs = (opening, closing)
        return reader.enclose(token, setting, signs, pieces, roles=(Role.WORD, Role.WORD))

    return read_raw


_read_as_typed = _print_raw_between("", "")


def _convert(write: Callable[..., str], count: int = 1) -> Command:
    """Return a command that writes its arguments, as typed, as one."""

    def read_converted(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        command_at = reader.at - 1
        reader.take_option()
        arguments = [reader.take_raw() for _ in range(count)]
        if None in arguments:
            return reader.as_typed(command_at, reader.at)
        written = write(*map(print_pieces, arguments))
        return [setting.symbol(token.start, reader.offset, written)]

    return read_converted


def _write_range(first: str, last: str, unit: str) -> str:
    return write_quantity(f"{first}–{last}", unit)


def _read_isotope(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read `\isotope[12]{C}`; the second number, of protons, is the element's own."""
    number = reader.take_option() or ""
    reader.take_option()
    element = reader.take_raw(setting.tags)
    if element is None:
        return reader.print_command(token)
    raised = shift(number, RAISED) or number
    return [token.symbol(raised, setting), *element]


def _read_verbatim(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read what is between two equal signs, `\verb|x_i|`, or in braces."""
    found = _VERBATIM.match(reader.text, reader.offset)
    if found is None or reader.end < len(reader.tokens):
        return _read_as_typed(reader, token, setting)
    reader.skip_to(found.end())
    start, end = found.span(2)
    tags = setting.with_tag("code").tags
    return [TexPiece(start, end, PieceKind.TEXT, found[2], tags)]


def _read_second_argument(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Drop the first argument, and read the second as text."""
    if reader.take_raw() is None:
        return reader.print_command(token)
    return reader.read_argument(setting._replace(is_formula=False)) or []


def _script_of_words(kind: PieceKind) -> Command:
    """Return a command that raises or lowers its argument, which is text."""

    def read_script(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(is_formula=False))
        if pieces is None:
            return reader.print_command(token)
        end = reader.offset
        script = make_script(kind, token.start, end, pieces)
        return arrange(script, followed_by=reader.text[end : end + 1])

    return read_script


def _read_with(**changes: Any) -> Command:  # noqa: ANN401 - as `TexSetting._replace` has it
    """Return a command that reads its argument in a setting with some changes."""

    def read_changed(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(**changes))
        return reader.print_command(token) if pieces is None else pieces

    return read_changed


def _read_delimiter(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read the bracket after `\left` and `\right`; a full stop there prints nothing."""
    if reader.skip_character("."):
        return []
    pieces = reader.read_argument(setting) or []
    is_right = reader.written(token).startswith("\\r")
    role = Role.CLOSE if is_right else Role.OPEN
    brackets: list[TexPiece] = []
    for piece in pieces:
        text = _ANGLES.get(piece.text, piece.text)
        brackets.append(piece._replace(role=role, text=text, kind=PieceKind.SYMBOL))
    return brackets


def _read_name(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read a function's name that has no command of its own: `\operatorname{Hom}`."""
    reader.skip_character("*")
    pieces = reader.read_argument(setting._replace(face="upright"))
    if not pieces:
        return reader.print_command(token)
    name = print_pieces(arrange(pieces))
    return [setting.symbol(token.start, reader.offset, name, Role.NAME)]


def _read_two_arguments(set_parts: _SetParts) -> Command:
    """Return a command that sets its two arguments as one."""

    def read_two_arguments(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        first = reader.read_argument(setting)
        if first is None:
            return [reader.typed(token)]
        second = reader.read_argument(setting)
        if second is None:
            return [reader.typed(token), *first]
        return set_parts(_TwoParts(token.start, token, reader.offset, first, second), setting)

    return read_two_arguments


def _divide(set_parts: _SetParts) -> Divider:
    """Return a divider that sets what comes before and after it in its group as one."""

    def divide(
        reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting
    ) -> list[TexPiece]:
        below = reader.read(reader.end, setting)
        start = above[0].start if above else token.start
        return set_parts(_TwoParts(start, token, reader.offset, above, below), setting)

    return divide


def _set_fraction(two: _TwoParts, _: TexSetting) -> list[TexPiece]:
    return [make_fraction(two.start, two.end, two.first, two.second)]


def _set_binomial(two: _TwoParts, _: TexSetting) -> list[TexPiece]:
    name_end = two.token.end
    closing_start = max(name_end, two.end - 1)
    closing_end = max(name_end, two.end)
    without_tags = TexSetting()
    return [
        without_tags.symbol(two.start, name_end, "(", Role.OPEN),
        *two.first,
        without_tags.symbol(name_end, name_end, "choose", Role.NAME),
        *two.second,
        without_tags.symbol(closing_start, closing_end, ")", Role.CLOSE),
    ]


def _bracket(opening: str, closing: str, middle: str = "") -> Command:
    """Return a command that puts its argument between brackets.

    With a sign for the middle it takes several, and puts the sign between each two.
    """

    def read_bracketed(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        if reader.peek_character() not in ("{", "\\"):  # `\abs x` is a name of the author's own
            return reader.print_command(token)
        pieces = reader.read_argument(setting) or []
        while middle and reader.closing() is not None:  # one more argument in braces
            place = reader.offset
            pieces.append(TexPiece(place, place, PieceKind.SYMBOL, middle, role=Role.BAR))
            pieces += reader.read_argument(setting) or ()
        return reader.enclose(token, setting, (opening, closing), pieces)

    return read_bracketed


def _read_root(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    degree = (reader.take_option() or "").strip()
    pieces = reader.read_argument(setting)
    if pieces is None:
        return [token.symbol("√", setting, Role.VARIABLE)]
    sign = _ROOTS.get(degree)
    if sign is None:
        raised = shift(degree, RAISED) or degree
        sign = f"{raised}√"
    inside = arrange(pieces)
    if _is_single(inside):
        return [token.symbol(sign, setting, Role.OPEN), *inside]
    return reader.enclose(token, setting, (f"{sign}(", ")"), inside)


def _is_single(pieces: Sequence[TexPiece]) -> bool:
    """Tell whether what is under a root is one letter or number, perhaps with an index."""
    bases = [piece for piece in pieces if piece.role is not Role.SCRIPT]
    if len(bases) != 1:
        return False
    if is_several_letters(bases[0]) and bases[0].text != "Hz":  # `fT/√Hz`, the one unit there
        return False
    scripts = [piece for piece in pieces if piece.role is Role.SCRIPT]
    return all(script.kind is PieceKind.SUBSCRIPT for script in scripts)


def _stack(kind: PieceKind) -> _SetParts:
    """Return what sets the first part above or below the second, as a script of this kind."""

    def set_stack(two: _TwoParts, setting: TexSetting) -> list[TexPiece]:
        script = two.first
        base = two.second
        signs = (_print_sign(script), _print_sign(base))
        sign_of_both = _STACKED.get(signs)
        if sign_of_both:
            return [setting.symbol(two.start, two.end, sign_of_both, Role.RELATION)]
        return [*base, *make_script(kind, two.start, two.end, script)]

    return set_stack


def _print_sign(pieces: list[TexPiece]) -> str:
    """Print pieces without what says that they are lowered."""
    text = print_pieces(pieces).strip()
    return text.lstrip("_") or text


def _read_arrow(arrow: str) -> Command:
    """Return a command that prints an arrow, and its argument above it."""

    def read_arrow(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.take_option()
        pieces = reader.read_argument(setting) or []
        above = make_script(PieceKind.SUPERSCRIPT, token.end, reader.offset, pieces)
        return [token.symbol(arrow, setting, Role.RELATION), *above]

    return read_arrow


def _read_modulus(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Print a number as a modulus, in parentheses after a blank."""
    pieces = reader.read_argument(setting) or []
    blank = TexPiece(token.start, token.start, PieceKind.BLANK, " ")
    return [blank, *reader.enclose(token, setting, ("(mod ", ")"), pieces)]


def _divide_lines(
    reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting
) -> list[TexPiece]:
    """Put a comma between two lines, one above the other."""
    below = reader.read(reader.end, setting)
    comma = token.symbol(",", setting, Role.PUNCTUATION)
    blank = TexPiece(token.end, token.end, PieceKind.BLANK, " ")
    return [*above, comma, blank, *below]


def _declare(setting: TexSetting, face: str, tag: str) -> TexSetting:
    """Return the setting after a declaration: a formula gets a face, and text a tag.

    Calligraphic and Fraktur letters are those of formulas: text with them is read as a formula.
    """
    if setting.is_formula:
        return setting._replace(face=face)
    if face in ("calligraphic", "fraktur"):
        return setting._replace(is_formula=True, face=face)
    return setting.with_tag(tag)


TEXT_COMMANDS: dict[str, Command] = {
    **_named("emph textit textsl", _read_in_words("i")),
    **_named("textbf", _read_in_words("b")),
    **_named("texttt", _read_in_words("code")),
    **_named(
        "text textrm textsf textsc textup textmd textnormal mbox hbox fbox makebox uline",
        _read_in_words(),
    ),
    **_named("enquote", _print_raw_between("“", "”")),
    **_named("footnote thanks", _print_raw_between(" (", ")")),
    **_named("url path nolinkurl", _read_as_typed),
    **_named("verb lstinline", _read_verbatim),
    **_named("ac Ac acs acl acf gls Gls GLS acrshort acrlong acrfull", _read_as_typed),
    **_named("acp acsp aclp acfp glspl Glspl", _print_raw_between("", "s")),
    **_named("ce", _convert(write_chemistry)),
    **_named("ion", _convert(write_ion, 2)),
    **_named("num", _convert(write_number)),
    **_named("ang", _convert("{}°".format)),
    **_named("unit si", _convert(write_unit)),
    **_named("SI qty SIlist qtylist", _convert(write_quantity, 2)),
    **_named("SIrange qtyrange", _convert(_write_range, 3)),
    **_named("isotope", _read_isotope),
    **_named("xspace", lambda reader, token, setting: []),  # noqa: ARG005 - a Command
    **_named("href textcolor", _read_second_argument),
    **_named(
        "cite citep citet citealt citealp citeauthor citeyear autocite parencite textcite",
        _print_raw_between("[", "]"),
    ),
    **_named("ref cref Cref autoref pageref", _print_raw_between("[", "]")),
    **_named("eqref", _print_raw_between("(", ")")),
    **_named("tag", _print_raw_between("(", ")")),
    **_named("label color phantom hphantom vphantom vspace nocite", _drop_argument),
    **_named("hspace", _drop_dimension),
    **_named("quad qquad enspace thinspace newline linebreak par hfill item", _print_blank),
    **_named(
        "tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge", _print_nothing
    ),
    **_named(
        "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag",
        _print_nothing,
    ),
    **_named(
        "noindent centering protect relax allowbreak nobreakdash smash negthinspace mathstrut",
        _print_nothing,
    ),
    **_named("textsuperscript", _script_of_words(PieceKind.SUPERSCRIPT)),
    **_named("textsubscript", _script_of_words(PieceKind.SUBSCRIPT)),
    **_named("begin end", read_environment),
    **_named("u v H c d b k r t", read_text_accent),
}
"""Commands of text, which formulas may hold, too."""

DECLARATIONS: dict[str, Callable[[TexSetting], TexSetting]] = {
    **dict.fromkeys(
        ("it", "em", "sl", "mit", "itshape"), lambda setting: _declare(setting, "", "i")
    ),
    **dict.fromkeys(("bf", "bfseries"), lambda setting: _declare(setting, "bold", "b")),
    **dict.fromkeys(("tt", "ttfamily"), lambda setting: _declare(setting, "upright", "code")),
    **dict.fromkeys(
        ("rm", "sf", "sc", "scshape", "normalfont"),
        lambda setting: _declare(setting, "upright", ""),
    ),
    "cal": lambda setting: _declare(setting, "calligraphic", ""),
    "frak": lambda setting: _declare(setting, "fraktur", ""),
}
"""Commands that change the letters up to the end of the group."""

FORMULA_COMMANDS: dict[str, Command] = {
    **_named("mathrm mathup mathsf mathtt mathnormal rmfamily", _read_with(face="upright")),
    **_named("mathit", _read_with(face="")),
    **_named("mathbf boldsymbol bm pmb mathbold", _read_with(face="bold")),
    **_named("mathbb Bbb mathds mathbbm", _read_with(face="blackboard")),
    **_named("mathcal mathscr", _read_with(face="calligraphic")),
    **_named("mathfrak EuFrak", _read_with(face="fraktur")),
    **_named(
        "ensuremath mathbin mathrel mathord mathclose mathopen overbrace underbrace", _read_with()
    ),
    **_named("operatorname mathop", _read_name),
    **_named("left right middle", _read_delimiter),
    **_named(
        "big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm",
        _print_nothing,
    ),
    **_named("frac dfrac tfrac cfrac sfrac nicefrac", _read_two_arguments(_set_fraction)),
    **_named("binom dbinom tbinom", _read_two_arguments(_set_binomial)),
    **_named("sqrt", _read_root),
    **_named("ket Ket", _bracket("|", "⟩")),
    **_named("bra Bra", _bracket("⟨", "|")),
    **_named("braket Braket expval ev mel matrixelement", _bracket("⟨", "⟩", "|")),
    **_named("ketbra dyad outerproduct", _bracket("|", "|", "⟩⟨")),
    **_named("abs", _bracket("|", "|")),
    **_named("norm", _bracket("‖", "‖")),
    **_named("stackrel overset buildrel", _read_two_arguments(_stack(PieceKind.SUPERSCRIPT))),
    **_named("underset", _read_two_arguments(_stack(PieceKind.SUBSCRIPT))),
    **_named("xrightarrow", _read_arrow("→")),
    **_named("xleftarrow", _read_arrow("←")),
    **_named("pmod", _read_modulus),
    **_named("substack", _read_with(row_break=",")),
    **_named("cr", read_row_end),
    **dict.fromkeys(MATH_ACCENTS, read_formula_accent),
}
"""Commands whose arguments are formulas, also in text."""

DIVIDERS: dict[str, Divider] = {
    "over": _divide(_set_fraction),
    "choose": _divide(_set_binomial),
    "atop": _divide_lines,
}
"""Commands that split the group around them: `{a \\over b}`."""
