"""Commands of words: emphasis, references, addresses, notes, and those that only move things on paper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.tex.accents import read_text_accent
from digest.tex.commands import Command, named, print_nothing
from digest.tex.environments import read_begin, read_end
from digest.tex.formulas import arrange, make_script
from digest.tex.pieces import Kind, Piece, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token

_LENGTH = re.compile(r"\s*[+-]?[0-9.]+\s*(?:pt|em|ex|mu|cm|mm|in)(?![A-Za-z])")


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


def _read_list_sign(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    reader.take_option()
    return [
        Piece(token.start, token.start, Kind.BLANK, " "),
        Piece(token.start, token.end, Kind.SYMBOL, "•", setting.tags),
        Piece(token.end, token.end, Kind.BLANK, " "),
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
    **named("textsuperscript", _script_of_words(Kind.SUPERSCRIPT)),
    **named("textsubscript", _script_of_words(Kind.SUBSCRIPT)),
    **named("item", _read_list_sign),
    **named("begin", read_begin),
    **named("end", read_end),
    **named("u v H c d b k r t", read_text_accent),
}
"""Commands of text, allowed in formulas too."""

DECLARATIONS: dict[str, Callable[[Setting], Setting]] = {
    **dict.fromkeys(("it", "em", "sl", "mit", "itshape"), lambda setting: _declare(setting, "", "i")),
    **dict.fromkeys(("bf", "bfseries"), lambda setting: _declare(setting, "bold", "b")),
    **dict.fromkeys(("tt", "ttfamily"), lambda setting: _declare(setting, "upright", "code")),
    **dict.fromkeys(("rm", "sf", "sc", "scshape", "normalfont"), lambda setting: _declare(setting, "upright", "")),
    "cal": lambda setting: _declare(setting, "calligraphic", ""),
    "frak": lambda setting: _declare(setting, "fraktur", ""),
}
"""Commands that change the letters up to the end of the group."""


def _declare(setting: Setting, face: str, tag: str) -> Setting:
    if setting.is_formula:
        return setting._replace(face=face)
    if face in ("calligraphic", "fraktur"):
        return setting._replace(is_formula=True, face=face)
    return setting.with_tag(tag) if tag else setting
