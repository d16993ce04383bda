r"""The commands of text: accents, environments, escapes, ligatures, words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from digest.tex.formulas import arrange, make_script
from digest.tex.symbols import MATH_ACCENTS, SYMBOLS, TEXT_ACCENTS, compose
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token, environment_name

if TYPE_CHECKING:
    from digest.tex.reader import Reader
_BROKEN_NAME = re.compile(r"\{([a-z]{2,})\}")
_LETTER_COMMAND = re.compile(r"\\(?:[ij]|ae|AE|oe|OE|o|O|aa|AA|l|L|[\"'`^~=.uvHcdbkrt])(?![A-Za-z])")
_ALONE = {"^": "^", "~": "~"}
_NEUTRAL_SCRIPTS = frozenset("⁰⁺⁻^±∓*\N{PRIME}\N{DOUBLE PRIME}")
_LINES = frozenset({"overline", "underline", "underbar"})
_SHORT, _SHORT_UNDER_LINE = 3, 8
_SPOKEN = {"widehat": "hat", "Hat": "hat", "widetilde": "tilde", "widecheck": "check", "overrightarrow": "vec"}

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
        *("abstract", "itemize", "enumerate", "description", "center", "quote", "quotation", "document"),
        *("flushleft", "theorem", "thm", "lemma", "proposition", "corollary", "conjecture", "definition"),
        *("proof", "remark", "small"),
    }
)

_PRINTED = {
    **dict.fromkeys("%$#_", Role.WORD),
    "&": Role.INFIX,
    "{": Role.OPEN,
    "}": Role.CLOSE,
}
_BLANKS = frozenset(",;:>")
_NOTHING = frozenset("!/-@")

_DASHES = {"--": "–", "---": "—"}
_LONGEST_ADDRESS = 200
_TIE = re.compile(r"(?<=[A-Za-z]{2})|(?<=[.,;:$}])")
"""What stands before a tie that a figure follows: `Fig.~3`, `in~2016`, but not `z~3` or `(~10%)`."""

_LENGTH = re.compile(r"\s*[+-]?[0-9.]+\s*(?:pt|em|ex|mu|cm|mm|in)(?![A-Za-z])")


def read_text_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
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
    return [_accented(reader, token, letter, name, setting)]


def _takes_accent(reader: Reader, name: str, opening: str) -> bool:
    if opening == "\\":
        return _LETTER_COMMAND.match(reader.text, reader.text.index("\\", reader.offset)) is not None
    if not opening.isalpha():
        return False
    if not reader.has_blank() or name.isalpha():
        return True
    # `R\' enyi` is an accent; `plane\" potential` is a quotation mark that some program escaped.
    return name != '"' and len(compose(opening, TEXT_ACCENTS[name])) == 1


def _read_accented_group(reader: Reader, token: Token, name: str, setting: TexSetting) -> list[TexPiece]:
    broken = _BROKEN_NAME.match(reader.text, reader.offset)
    if broken and name + broken[1] in SYMBOLS:
        # Some converter took `\beta` for the accent `\b` and wrote `\b{eta}`.
        reader.take_raw()
        return [TexPiece(token.start, broken.end(), PieceKind.SYMBOL, SYMBOLS[name + broken[1]][0], setting.tags)]
    pieces = reader.read_argument(setting._replace(is_formula=False)) or []
    letter = "".join(piece.text for piece in pieces)
    if not letter and name in _ALONE:
        return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, _ALONE[name], setting.tags)]
    if not letter[:1].isalpha():
        opening = reader.text.index("{", token.end)
        return [
            reader.typed(token, setting.tags),
            TexPiece(opening, opening + 1, PieceKind.TEXT, "{", setting.tags),
            *pieces,
            TexPiece(reader.offset - 1, reader.offset, PieceKind.SYMBOL, "}", setting.tags),
        ]
    return [_accented(reader, token, letter, name, setting)]


def _accented(reader: Reader, token: Token, letter: str, name: str, setting: TexSetting) -> TexPiece:
    composed = compose(letter, TEXT_ACCENTS[name])
    return TexPiece(token.start, reader.offset, PieceKind.SYMBOL, composed, setting.tags, Role.VARIABLE)


def read_formula_accent(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
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
        return [TexPiece(token.start, bases[-1].end, PieceKind.SYMBOL, accented, bases[0].tags, role), *scripts]
    longest = _SHORT_UNDER_LINE if name in _LINES else _SHORT
    if not scripts and 1 < len(letters) <= longest and "".join(letters).isalnum():
        accented = "".join(compose(cluster, MATH_ACCENTS[name]) for cluster in _clusters(text))
        return [TexPiece(token.start, reader.offset, PieceKind.SYMBOL, accented, bases[0].tags, Role.VARIABLE)]
    return enclose(reader, token, setting, (f"{_SPOKEN.get(name, name)}(", ")"), pieces)


def _keeps_its_meaning(scripts: Sequence[TexPiece]) -> bool:
    r"""Whether `\bar{B_s}` may be read as `\bar{B}_s`; the mean of a square is not the square of a mean."""
    return all(piece.kind is PieceKind.SUBSCRIPT or set(piece.text) <= _NEUTRAL_SCRIPTS for piece in scripts)


def _clusters(text: str) -> list[str]:
    clusters: list[str] = []
    for character in text:
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def enclose(
    reader: Reader,
    token: Token,
    setting: TexSetting,
    signs: tuple[str, str],
    pieces: Iterable[TexPiece],
    *,
    roles: tuple[Role, Role] = (Role.OPEN, Role.CLOSE),
) -> list[TexPiece]:
    """Print one sign for a command, what its argument was read into, and one for the end of the argument."""
    end = reader.offset
    last = TexPiece(max(token.end, end - 1), end, PieceKind.SYMBOL, signs[1], setting.tags, roles[1])
    return [token.symbol(signs[0], setting, roles[0]), *pieces, last]


class Command(Protocol):
    """Reads what follows a command's name."""

    def __call__(self, reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        """Return the pieces for the command and its arguments."""


def named(names: str, command: Command) -> dict[str, Command]:
    """One command under several names, separated by blanks."""
    return dict.fromkeys(names.split(), command)


def print_nothing(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:  # noqa: ARG001 - a Command
    """Print nothing; in words, the blank behind the name goes too."""
    if not setting.is_formula:
        reader.skip_blanks()
    return []


def read_begin(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read an environment known by its name; others are printed as typed, `\begin` and all."""
    named = environment_name(reader.text, token)
    if named is None:
        return reader.print_command(token)
    name, behind = named[0].removesuffix("*"), named[1]
    closing = reader.partners.get(reader.at - 1, reader.end)
    if name in _WORDS or (name in _PARTS_OF_FORMULAS and closing >= reader.end):
        reader.skip_to(behind)
        return [TexPiece(token.start, behind, PieceKind.BLANK, " ", setting.tags)]
    if closing >= reader.end or name not in _FORMULAS | _PARTS_OF_FORMULAS | _TABLES.keys():
        return reader.print_command(token)
    reader.skip_to(behind)
    end = environment_name(reader.text, reader.tokens[closing])
    pieces = _read_inside(reader, name, closing, setting)
    reader.at = closing
    reader.skip_to(end[1] if end else reader.offset)
    return pieces


def read_end(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read an `\end` whose `\begin` was not read as an environment."""
    named = environment_name(reader.text, token)
    if named is None or named[0].removesuffix("*") not in _WORDS:
        return reader.print_command(token)
    reader.skip_to(named[1])
    return [TexPiece(token.start, named[1], PieceKind.BLANK, " ", setting.tags)]


def read_plain_table(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read a table as plain TeX writes it: `\cases{a & b \cr c & d}`."""
    pieces = reader.read_argument(setting._replace(row_break=";")) if reader.peek_character() == "{" else None
    if pieces is None:
        return reader.print_command(token)
    return enclose(reader, token, setting, _TABLES[reader.text[token.start + 1 : token.end]], pieces)


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
        return read_text_accent(reader, token, setting)
    if character in _NOTHING:
        return []
    if character in _BLANKS or character.isspace():
        return [token.blank(setting)]
    if character in _STRUCTURE:
        return _STRUCTURE[character](reader, token, setting)
    symbol, role = _find_symbol(character)
    return [token.symbol(symbol, setting, role) if symbol else reader.typed(token)]


def read_row_end(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    """Read the end of a line: a sign between the rows of a table, a blank elsewhere."""
    reader.skip_character("*")
    reader.take_option()
    sign = [token.symbol(setting.row_break, setting, Role.PUNCTUATION)] if setting.row_break else []
    return [*sign, token.blank(setting)]


def _find_symbol(character: str) -> tuple[str, Role]:
    if character == "|":
        return "‖", Role.BAR
    if character in _PRINTED:
        return character, _PRINTED[character]
    # A letter beyond ASCII stood for a command before some form converted it: `\λ` was `\lambda`.
    return (character, Role.VARIABLE) if character.isalpha() else ("", Role.WORD)


def _read_formula(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    closing = reader.partners.get(reader.at - 1, reader.end)
    if closing >= reader.end:
        return [reader.typed(token, setting.tags)]
    pieces = reader.read_formula(closing, setting, token.start, reader.tokens[closing].end)
    reader.at = closing + 1
    return pieces


_STRUCTURE = {"\\": read_row_end, "[": _read_formula, "(": _read_formula}


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
    before, behind = text[place - 1 : place], text[place + 1 : place + 2]
    if not before or not behind or before in " \t\n(<>=/~|[" or behind in " \t\n" or _is_in_address(text, place):
        return False
    if behind.isdigit() or behind in "+-.":
        return _TIE.match(text, place) is not None
    is_order_of_growth = behind == "(" and before.isalpha() and not text[place - 2 : place - 1].isalpha()
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


def _drop_length(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:  # noqa: ARG001 - a Command
    if match := _LENGTH.match(reader.text, token.end):
        reader.skip_to(match.end())
        return []
    return [reader.typed(token)]


def _in_words(*tags: str) -> Command:
    def read_words(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        words = setting._replace(is_formula=False, face="")
        for tag in tags:
            words = words.with_tag(tag)
        pieces = reader.read_argument(words)
        if pieces is None:
            return reader.print_command(token)
        return [piece._replace(role=Role.WORD) if piece.kind is not PieceKind.BLANK else piece for piece in pieces]

    return read_words


def _in_quotes(opening: str, closing: str) -> Command:
    read_words = _in_words()

    def read_quoted(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        if reader.peek_character() != "{":
            return reader.print_command(token)
        pieces = read_words(reader, token, setting)
        return enclose(reader, token, setting, (opening, closing), pieces, roles=(Role.WORD, Role.WORD))

    return read_quoted


def _raw_between(opening: str, closing: str) -> Command:
    def read_raw(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
        reader.skip_character("*")
        while reader.take_option() is not None:
            pass
        pieces = reader.take_raw(setting.tags)
        if pieces is None:
            return reader.print_command(token)
        return enclose(reader, token, setting, (opening, closing), pieces, roles=(Role.WORD, Role.WORD))

    return read_raw


def _read_address(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    pieces = reader.take_raw(setting.tags)
    return reader.print_command(token) if pieces is None else pieces


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


def _read_list_sign(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    reader.take_option()
    return [
        TexPiece(token.start, token.start, PieceKind.BLANK, " "),
        token.symbol("•", setting),
        TexPiece(token.end, token.end, PieceKind.BLANK, " "),
    ]


TEXT_COMMANDS: dict[str, Command] = {
    **named("emph textit textsl", _in_words("i")),
    **named("textbf", _in_words("b")),
    **named("texttt", _in_words("code")),
    **named("text textrm textsf textsc textup textmd textnormal mbox hbox fbox makebox uline", _in_words()),
    **named("enquote", _in_quotes("“", "”")),
    **named("footnote thanks", _in_quotes(" (", ")")),
    **named("url path nolinkurl", _read_address),
    **named("href textcolor", _read_second_argument),
    **named(
        "cite citep citet citealt citealp citeauthor citeyear autocite parencite textcite", _raw_between("[", "]")
    ),
    **named("ref cref Cref autoref pageref", _raw_between("[", "]")),
    **named("eqref", _raw_between("(", ")")),
    **named("tag", _raw_between("(", ")")),
    **named("label color phantom hphantom vphantom vspace nocite", _drop_argument),
    **named("hspace", _drop_dimension),
    **named("kern mkern hskip mskip", _drop_length),
    **named("quad qquad enspace thinspace newline linebreak par hfill", _print_blank),
    **named("tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge", print_nothing),
    **named("displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag", print_nothing),
    **named("noindent centering protect relax allowbreak nobreakdash smash negthinspace mathstrut", print_nothing),
    **named("textsuperscript", _script_of_words(PieceKind.SUPERSCRIPT)),
    **named("textsubscript", _script_of_words(PieceKind.SUBSCRIPT)),
    **named("item", _read_list_sign),
    **named("begin", read_begin),
    **named("end", read_end),
    **named("u v H c d b k r t", read_text_accent),
}
"""Commands of text, allowed in formulas too."""

DECLARATIONS: dict[str, Callable[[TexSetting], TexSetting]] = {
    **dict.fromkeys(("it", "em", "sl", "mit", "itshape"), lambda setting: _declare(setting, "", "i")),
    **dict.fromkeys(("bf", "bfseries"), lambda setting: _declare(setting, "bold", "b")),
    **dict.fromkeys(("tt", "ttfamily"), lambda setting: _declare(setting, "upright", "code")),
    **dict.fromkeys(("rm", "sf", "sc", "scshape", "normalfont"), lambda setting: _declare(setting, "upright", "")),
    "cal": lambda setting: _declare(setting, "calligraphic", ""),
    "frak": lambda setting: _declare(setting, "fraktur", ""),
}
"""Commands that change the letters up to the end of the group."""


def _declare(setting: TexSetting, face: str, tag: str) -> TexSetting:
    if setting.is_formula:
        return setting._replace(face=face)
    if face in ("calligraphic", "fraktur"):
        return setting._replace(is_formula=True, face=face)
    return setting.with_tag(tag) if tag else setting
