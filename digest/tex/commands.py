"""What each command prints: those of text (accents, environments, escapes, ligatures), then those of formulas."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from digest.tex.formulas import arrange, is_several_letters, make_fraction, make_script
from digest.tex.symbols import MATH_ACCENTS, RAISED, SYMBOLS, TEXT_ACCENTS, compose, shift
from digest.tex.tokens import (
    DROPPED,
    PieceKind,
    Role,
    TexPiece,
    TexSetting,
    Token,
    environment_name,
)
from digest.tex.units import write_chemistry, write_ion, write_number, write_quantity, write_unit

if TYPE_CHECKING:
    from digest.tex.reader import Reader  # which calls the commands

Command: TypeAlias = "Callable[[Reader, Token, TexSetting], list[TexPiece]]"
"""Reads what follows a command's name, and returns the pieces for the command and its arguments."""

Divider: TypeAlias = "Callable[[Reader, Token, list[TexPiece], TexSetting], list[TexPiece]]"
"""Reads the rest of the group, and returns the pieces for it and for what came before the command."""

_SetTwo: TypeAlias = (
    "Callable[[int, Token, int, TexSetting, list[TexPiece], list[TexPiece]], list[TexPiece]]"
)
"""Sets two parts as one. It gets the start of the first, the command, the end of the second, and both as read."""

_BROKEN_NAME = re.compile(r"\{([a-z]{2,})\}")
_LETTER_COMMAND = re.compile(
    r"\\(?:[ij]|ae|AE|oe|OE|o|O|aa|AA|l|L|[\"'`^~=.uvHcdbkrt])(?![A-Za-z])"
)
_NAME_BEFORE_UMLAUT = re.compile(r"(?<![^\s(~{-])[A-Z][bcdfghj-np-tvwxz]{0,4}\Z")
"""`Schr\\" odinger` is a name, and `G\\" odel`; `Planck\\" era` ends a quotation."""
_LONGEST_BEFORE_UMLAUT = 6
_VERBATIM = re.compile(
    rf"\*?([^\w\s{{\\{DROPPED}\ud800-\udfff])([^{DROPPED}\ud800-\udfff\n]{{0,200}}?)\1"
)
_NEUTRAL_SCRIPTS = frozenset("⁰⁺⁻^±∓*\N{PRIME}\N{DOUBLE PRIME}")
_LINES = frozenset({"overline", "underline", "underbar"})
_SHORT, _SHORT_UNDER_LINE = 3, 8
_SPOKEN = {
    "widehat": "hat",
    "Hat": "hat",
    "widetilde": "tilde",
    "widecheck": "check",
    "overrightarrow": "vec",
}

_FORMULAS = frozenset(
    {
        *("equation", "displaymath", "math", "align", "gather"),
        *("multline", "eqnarray", "alignat", "flalign", "subequations"),
    }
)
_PARTS_OF_FORMULAS = frozenset({"aligned", "split", "gathered", "alignedat"})
_TABLES = {
    "cases": ("{", ""),
    "matrix": ("(", ")"),
    "smallmatrix": ("(", ")"),
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "array": ("", ""),
}
_WORDS = frozenset(
    {
        *(
            "abstract",
            "itemize",
            "enumerate",
            "description",
            "center",
            "quote",
            "quotation",
            "document",
        ),
        *(
            "flushleft",
            "theorem",
            "thm",
            "lemma",
            "proposition",
            "corollary",
            "conjecture",
            "definition",
        ),
        *("proof", "remark", "small"),
    }
)
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

_STACKED = {("<", "\N{TILDE OPERATOR}"): "≲", (">", "\N{TILDE OPERATOR}"): "≳"}


WITH_ARGUMENTS = {
    **dict.fromkeys(("rm", "normalfont"), "textrm"),
    **{name: f"text{name}" for name in ("sf", "sc", "bf", "tt", "it", "sl")},
    **{name: f"math{name}" for name in ("cal", "frak")},
    "em": "emph",
}
r"""What people mean by a declaration with an argument, `\rm{Fe}`, outside formulas."""


def _named(names: str, command: Command) -> dict[str, Command]:
    return dict.fromkeys(names.split(), command)


def _print_nothing(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:  # noqa: ARG001 - a Command
    """Print nothing; in words, the blank after the name goes too."""
    if not setting.is_formula:
        reader.skip_blanks()
    return []


def _enclose(
    reader: Reader,
    token: Token,
    setting: TexSetting,
    signs: tuple[str, str],
    pieces: Iterable[TexPiece],
    *,
    roles: tuple[Role, Role] = (Role.OPEN, Role.CLOSE),
) -> list[TexPiece]:
    """Return the pieces of an argument between one sign for its command and one for its end."""
    end = reader.offset
    last = TexPiece(
        max(token.end, end - 1), end, PieceKind.SYMBOL, signs[1], setting.tags, roles[1]
    )
    return [token.symbol(signs[0], setting, roles[0]), *pieces, last]


def _read_text_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read an accent and its letter; an accent without a letter is printed as typed."""
    name = reader.text[token.start + 1 : token.end]
    opening = reader.peek_character()
    if setting.is_formula and name.isalpha() and opening != "{":
        return reader.print_command(token)
    if opening == "{" and reader.closing() is not None:
        return _read_accented_group(reader, token, name, setting)
    if not _takes_accent(reader, token, name, opening):
        return [reader.typed(token, setting.tags)]
    letter = _join_text(reader.read_argument(setting._replace(is_formula=False)))
    return [_accented(reader, token, letter, name, setting)]


def _takes_accent(reader: Reader, token: Token, name: str, opening: str) -> bool:
    if opening == "\\":
        return (
            _LETTER_COMMAND.match(reader.text, reader.text.index("\\", reader.offset)) is not None
        )
    if not opening.isalpha():
        return False
    if not reader.has_blank() or name.isalpha():
        return True
    # `R\' enyi` is an accent; `plane\" potential` is a quotation mark that some program escaped.
    if name == '"':
        first = max(token.start - _LONGEST_BEFORE_UMLAUT, 0)
        return (
            opening in "aou"
            and _NAME_BEFORE_UMLAUT.search(reader.text, first, token.start) is not None
        )
    return len(compose(opening, TEXT_ACCENTS[name])) == 1


def _read_accented_group(
    reader: Reader, token: Token, name: str, setting: TexSetting
) -> list[TexPiece]:
    broken = _BROKEN_NAME.match(reader.text, reader.offset)
    if broken and name + broken[1] in SYMBOLS:
        # Some converter took `\beta` for the accent `\b` and wrote `\b{eta}`.
        reader.take_raw()
        return [
            TexPiece(
                token.start,
                broken.end(),
                PieceKind.SYMBOL,
                SYMBOLS[name + broken[1]][0],
                setting.tags,
            )
        ]
    pieces = reader.read_argument(setting._replace(is_formula=False)) or []
    letter = _join_text(pieces)
    if not letter and name in ("^", "~"):
        return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, name, setting.tags)]
    if not letter[:1].isalpha():
        opening = reader.text.index("{", token.end)
        return [
            reader.typed(token, setting.tags),
            TexPiece(opening, opening + 1, PieceKind.TEXT, "{", setting.tags),
            *pieces,
            TexPiece(reader.offset - 1, reader.offset, PieceKind.SYMBOL, "}", setting.tags),
        ]
    return [_accented(reader, token, letter, name, setting)]


def _accented(
    reader: Reader, token: Token, letter: str, name: str, setting: TexSetting
) -> TexPiece:
    composed = compose(letter, TEXT_ACCENTS[name])
    return TexPiece(
        token.start, reader.offset, PieceKind.SYMBOL, composed, setting.tags, Role.VARIABLE
    )


def _read_formula_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
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
    text = _join_text(bases)
    letters = [character for character in text if not unicodedata.combining(character)]
    if len(letters) == 1 and pieces[: len(bases)] == bases and _keeps_its_meaning(scripts):
        role = bases[0].role
        accented = compose(text, MATH_ACCENTS[name])
        return [
            TexPiece(token.start, bases[-1].end, PieceKind.SYMBOL, accented, bases[0].tags, role),
            *scripts,
        ]
    longest = _SHORT_UNDER_LINE if name in _LINES else _SHORT
    if not scripts and 1 < len(letters) <= longest and "".join(letters).isalnum():
        accented = "".join(compose(cluster, MATH_ACCENTS[name]) for cluster in _clusters(text))
        return [
            TexPiece(
                token.start, reader.offset, PieceKind.SYMBOL, accented, bases[0].tags, Role.VARIABLE
            )
        ]
    return _enclose(reader, token, setting, (f"{_SPOKEN.get(name, name)}(", ")"), pieces)


def _keeps_its_meaning(scripts: Sequence[TexPiece]) -> bool:
    r"""Whether `\bar{B_s}` may be read as `\bar{B}_s`; the mean of a square is not the square of a mean."""
    return all(
        piece.kind is PieceKind.SUBSCRIPT or set(piece.text) <= _NEUTRAL_SCRIPTS
        for piece in scripts
    )


def _clusters(text: str) -> list[str]:
    clusters: list[str] = []
    for character in text:
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _read_environment(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read an environment known by its name; others are printed as typed, `\begin` and all.

    An `\end` alone is read as a `\begin` alone is.
    """
    found = environment_name(reader.text, token)
    if found is None:
        return reader.print_command(token)
    name, after = found[0].removesuffix("*"), found[1]
    closing = reader.partners.get(reader.at - 1, reader.end)
    if name in _WORDS or (name in _PARTS_OF_FORMULAS and closing >= reader.end):
        reader.skip_to(after)
        return [TexPiece(token.start, after, PieceKind.BLANK, " ", setting.tags)]
    if closing >= reader.end or name not in _FORMULAS | _PARTS_OF_FORMULAS | _TABLES.keys():
        return reader.print_command(token)
    reader.skip_to(after)
    end = environment_name(reader.text, reader.tokens[closing])
    pieces = _read_inside(reader, name, closing, setting)
    reader.at = closing
    reader.skip_to(end[1] if end else reader.offset)
    return pieces


def _read_inside(reader: Reader, name: str, closing: int, setting: TexSetting) -> list[TexPiece]:
    if name not in _TABLES:
        return [
            _blank(reader.offset, setting),
            *reader.read_formula(closing, setting, reader.offset, reader.tokens[closing].end),
            _blank(reader.tokens[closing].start, setting),
        ]
    if name == "array":
        reader.take_option()
        reader.take_raw()
    opening, ending = _TABLES[name]
    place = reader.tokens[closing].start
    table = setting._replace(is_formula=True, row_break=";")
    pieces = [
        TexPiece(reader.offset, reader.offset, PieceKind.SYMBOL, opening, setting.tags, Role.OPEN),
        *reader.read(closing, table),
        TexPiece(place, place, PieceKind.SYMBOL, ending, setting.tags, Role.CLOSE),
    ]
    return pieces if setting.is_formula else arrange(pieces)


def _blank(place: int, setting: TexSetting) -> TexPiece:
    return TexPiece(place, place, PieceKind.BLANK, " ", setting.tags)


def read_escape(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read a control symbol; one that has no meaning is printed as typed."""
    character = reader.text[token.start + 1]
    if character in TEXT_ACCENTS:
        return _read_text_accent(reader, token, setting)
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


def _read_row_end(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read the end of a line: a sign between the rows of a table, a blank elsewhere."""
    reader.skip_character("*")
    reader.take_option()
    sign = [token.symbol(setting.row_break, setting, Role.PUNCTUATION)] if setting.row_break else []
    return [*sign, token.blank(setting)]


def _read_formula(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    closing = reader.partners.get(reader.at - 1, reader.end)
    if closing >= reader.end:
        return [reader.typed(token, setting.tags)]
    pieces = reader.read_formula(closing, setting, token.start, reader.tokens[closing].end)
    reader.at = closing + 1
    return pieces


_STRUCTURE: dict[str, Command] = {"\\": _read_row_end, "[": _read_formula, "(": _read_formula}


def read_ligature(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
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
    kind = PieceKind.TEXT if printed == written else PieceKind.SYMBOL
    return [TexPiece(token.start, token.end, kind, printed, setting.tags, role)]


def read_tie(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read `~`: TeX's unbreakable blank between words, or the "about" of people who write plain text."""
    if setting.is_formula or _is_tie(reader.text, token.start):
        return [token.blank(setting, "\u00a0")]
    return [TexPiece(token.start, token.end, PieceKind.TEXT, "~", setting.tags)]


def _is_tie(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if (
        not before
        or not after
        or before in " \t\n(<>=/~|["
        or after in " \t\n"
        or _is_in_address(text, place)
    ):
        return False
    if after.isdigit() or after in "+-.":
        return _TIE.match(text, place) is not None
    is_order_of_growth = (
        after == "(" and before.isalpha() and not text[place - 2 : place - 1].isalpha()
    )
    return not is_order_of_growth


def _is_in_address(text: str, place: int) -> bool:
    beginning = max(text.rfind(" ", 0, place), text.rfind("\n", 0, place), place - _LONGEST_ADDRESS)
    return "://" in text[beginning + 1 : place]


def _print_blank(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:  # noqa: ARG001 - a Command
    return [token.blank(setting)]


def _drop_argument(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:  # noqa: ARG001 - a Command
    reader.skip_character("*")
    return [] if reader.take_raw() is not None else reader.print_command(token)


def _drop_dimension(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    return [*_drop_argument(reader, token, setting), token.blank(setting)]


def _in_words(tag: str = "") -> Command:
    def read_words(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(is_formula=False, face="").with_tag(tag))
        if pieces is None:
            return reader.print_command(token)
        return [
            piece._replace(role=Role.WORD) if piece.kind is not PieceKind.BLANK else piece
            for piece in pieces
        ]

    return read_words


def _raw_between(opening: str, closing: str) -> Command:
    def read_raw(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.skip_character("*")
        while reader.take_option() is not None:
            pass
        pieces = reader.take_raw(setting.tags)
        if pieces is None:
            return reader.print_command(token)
        return _enclose(
            reader, token, setting, (opening, closing), pieces, roles=(Role.WORD, Role.WORD)
        )

    return read_raw


_read_as_typed = _raw_between("", "")


def _join_text(pieces: Iterable[TexPiece] | None) -> str:
    return "".join([piece.text for piece in pieces or ()])


def _convert(write: Callable[..., str], count: int = 1) -> Command:
    """Return a command that writes its arguments, as typed, as one."""

    def read_converted(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        first = reader.at - 1
        reader.take_option()
        arguments = [reader.take_raw() for _ in range(count)]
        if None in arguments:
            return reader.as_typed(first, reader.at)
        written = write(*map(_join_text, arguments))
        return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, written, setting.tags)]

    return read_converted


def _read_isotope(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read `\isotope[12]{C}`; the second number, of protons, is the element's own."""
    number = reader.take_option() or ""
    reader.take_option()
    element = reader.take_raw(setting.tags)
    if element is None:
        return reader.print_command(token)
    return [token.symbol(shift(number, RAISED) or number, setting), *element]


def _read_verbatim(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read what is between two equal signs, `\verb|x_i|`, or in braces."""
    found = _VERBATIM.match(reader.text, reader.offset)
    if found is None or reader.end < len(reader.tokens):
        return _read_as_typed(reader, token, setting)
    reader.skip_to(found.end())
    return [TexPiece(*found.span(2), PieceKind.TEXT, found[2], setting.with_tag("code").tags)]


def _read_second_argument(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    if reader.take_raw() is None:
        return reader.print_command(token)
    return reader.read_argument(setting._replace(is_formula=False)) or []


def _script_of_words(kind: PieceKind) -> Command:
    def read_script(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(is_formula=False))
        if pieces is None:
            return reader.print_command(token)
        script = make_script(kind, token.start, reader.offset, pieces)
        return arrange(script, followed_by=reader.text[reader.offset : reader.offset + 1])

    return read_script


def _read_with(**changes: Any) -> Command:  # noqa: ANN401 - as `TexSetting._replace` has it
    def read_changed(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces = reader.read_argument(setting._replace(**changes))
        return reader.print_command(token) if pieces is None else pieces

    return read_changed


def _read_delimiter(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read the bracket after `\left` and `\right`; a full stop there prints nothing."""
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
    name = _join_text(arrange(pieces))
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
    def divide(
        reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting
    ) -> list[TexPiece]:
        below = reader.read(reader.end, setting)
        return set_two(
            above[0].start if above else token.start, token, reader.offset, setting, above, below
        )

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


def _bracket(opening: str, closing: str, middle: str = "") -> Command:
    """Return a command that puts its argument between brackets, or all of them with a sign between each two."""

    def read_bracketed(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        if reader.peek_character() not in ("{", "\\"):  # `\abs x` is a name of the author's own
            return reader.print_command(token)
        pieces = reader.read_argument(setting) or []
        while middle and reader.closing() is not None:
            pieces.append(
                TexPiece(reader.offset, reader.offset, PieceKind.SYMBOL, middle, role=Role.BAR)
            )
            pieces += reader.read_argument(setting) or ()
        return _enclose(reader, token, setting, (opening, closing), pieces)

    return read_bracketed


def _read_root(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    degree = (reader.take_option() or "").strip()
    pieces = reader.read_argument(setting)
    if pieces is None:
        return [token.symbol("√", setting, Role.VARIABLE)]
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(
        degree
    ) or f"{shift(degree, RAISED) or degree}√"
    inside = arrange(pieces)
    bases = [piece for piece in inside if piece.role is not Role.SCRIPT]
    is_single = (
        len(bases) == 1
        and (
            not is_several_letters(bases[0]) or bases[0].text == "Hz"
        )  # `fT/√Hz`, the one unit under a root
        and all(piece.kind is PieceKind.SUBSCRIPT for piece in inside if piece.role is Role.SCRIPT)
    )
    if is_single:
        return [token.symbol(sign, setting, Role.OPEN), *inside]
    return _enclose(reader, token, setting, (f"{sign}(", ")"), inside)


def _stack(kind: PieceKind) -> _SetTwo:
    def set_stack(
        start: int,
        _: Token,
        end: int,
        setting: TexSetting,
        beside: list[TexPiece],
        base: list[TexPiece],
    ) -> list[TexPiece]:
        together = _STACKED.get((_printed(beside), _printed(base)))
        if together:
            return [TexPiece(start, end, PieceKind.SYMBOL, together, setting.tags, Role.RELATION)]
        return [*base, *make_script(kind, start, end, beside)]

    return set_stack


def _printed(pieces: list[TexPiece]) -> str:
    text = _join_text(pieces).strip()
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
    return [blank, *_enclose(reader, token, setting, ("(mod ", ")"), pieces)]


def _divide_lines(
    reader: Reader, token: Token, above: list[TexPiece], setting: TexSetting
) -> list[TexPiece]:
    below = reader.read(reader.end, setting)
    comma = token.symbol(",", setting, Role.PUNCTUATION)
    return [*above, comma, TexPiece(token.end, token.end, PieceKind.BLANK, " "), *below]


def _declare(setting: TexSetting, face: str, tag: str) -> TexSetting:
    if setting.is_formula:
        return setting._replace(face=face)
    if face in ("calligraphic", "fraktur"):
        return setting._replace(is_formula=True, face=face)
    return setting.with_tag(tag)


TEXT_COMMANDS: dict[str, Command] = {
    **_named("emph textit textsl", _in_words("i")),
    **_named("textbf", _in_words("b")),
    **_named("texttt", _in_words("code")),
    **_named(
        "text textrm textsf textsc textup textmd textnormal mbox hbox fbox makebox uline",
        _in_words(),
    ),
    **_named("enquote", _raw_between("“", "”")),
    **_named("footnote thanks", _raw_between(" (", ")")),
    **_named("url path nolinkurl", _read_as_typed),
    **_named("verb lstinline", _read_verbatim),
    **_named("ac Ac acs acl acf gls Gls GLS acrshort acrlong acrfull", _read_as_typed),
    **_named("acp acsp aclp acfp glspl Glspl", _raw_between("", "s")),
    **_named("ce", _convert(write_chemistry)),
    **_named("ion", _convert(write_ion, 2)),
    **_named("num", _convert(write_number)),
    **_named("ang", _convert("{}°".format)),
    **_named("unit si", _convert(write_unit)),
    **_named("SI qty SIlist qtylist", _convert(write_quantity, 2)),
    **_named(
        "SIrange qtyrange",
        _convert(lambda first, last, unit: write_quantity(f"{first}–{last}", unit), 3),
    ),
    **_named("isotope", _read_isotope),
    **_named("xspace", lambda reader, token, setting: []),  # noqa: ARG005 - a Command
    **_named("href textcolor", _read_second_argument),
    **_named(
        "cite citep citet citealt citealp citeauthor citeyear autocite parencite textcite",
        _raw_between("[", "]"),
    ),
    **_named("ref cref Cref autoref pageref", _raw_between("[", "]")),
    **_named("eqref", _raw_between("(", ")")),
    **_named("tag", _raw_between("(", ")")),
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
    **_named("begin end", _read_environment),
    **_named("u v H c d b k r t", _read_text_accent),
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
    **_named("frac dfrac tfrac cfrac sfrac nicefrac", _read_two(_set_fraction)),
    **_named("binom dbinom tbinom", _read_two(_set_binomial)),
    **_named("sqrt", _read_root),
    **_named("ket Ket", _bracket("|", "⟩")),
    **_named("bra Bra", _bracket("⟨", "|")),
    **_named("braket Braket expval ev mel matrixelement", _bracket("⟨", "⟩", "|")),
    **_named("ketbra dyad outerproduct", _bracket("|", "|", "⟩⟨")),
    **_named("abs", _bracket("|", "|")),
    **_named("norm", _bracket("‖", "‖")),
    **_named("stackrel overset buildrel", _read_two(_stack(PieceKind.SUPERSCRIPT))),
    **_named("underset", _read_two(_stack(PieceKind.SUBSCRIPT))),
    **_named("xrightarrow", _read_arrow("→")),
    **_named("xleftarrow", _read_arrow("←")),
    **_named("pmod", _read_modulus),
    **_named("substack", _read_with(row_break=",")),
    **_named("cr", _read_row_end),
    **dict.fromkeys(MATH_ACCENTS, _read_formula_accent),
}
"""Commands whose arguments are formulas, also in text."""

DIVIDERS: dict[str, Divider] = {
    "over": _divide(_set_fraction),
    "choose": _divide(_set_binomial),
    "atop": _divide_lines,
}
"""Commands that split the group around them: `{a \\over b}`."""
