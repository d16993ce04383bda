r"""What stands between `\begin` and `\end`: displayed formulas, tables of a formula, lists and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.tex.formulas import arrange
from digest.tex.pieces import Kind, Piece, Role
from digest.tex.tokens import environment_name

if TYPE_CHECKING:
    from digest.tex.cursor import Setting
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token

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


def read_begin(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    r"""Read an environment known by its name; others are printed as typed, `\begin` and all."""
    named = environment_name(reader.text, token)
    if named is None:
        return reader.print_command(token)
    name, behind = named[0].removesuffix("*"), named[1]
    closing = reader.partners.get(reader.at - 1, reader.end)
    if name in _WORDS or (name in _PARTS_OF_FORMULAS and closing >= reader.end):
        reader.skip_to(behind)
        return [Piece(token.start, behind, Kind.BLANK, " ", setting.tags)]
    if closing >= reader.end or name not in _FORMULAS | _PARTS_OF_FORMULAS | _TABLES.keys():
        return reader.print_command(token)
    reader.skip_to(behind)
    end = environment_name(reader.text, reader.tokens[closing])
    pieces = _read_inside(reader, name, closing, setting)
    reader.at = closing
    reader.skip_to(end[1] if end else reader.offset)
    return pieces


def read_end(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    r"""Read an `\end` whose `\begin` was not read as an environment."""
    named = environment_name(reader.text, token)
    if named is None or named[0].removesuffix("*") not in _WORDS:
        return reader.print_command(token)
    reader.skip_to(named[1])
    return [Piece(token.start, named[1], Kind.BLANK, " ", setting.tags)]


def read_plain_table(reader: Reader, token: Token, setting: Setting) -> list[Piece]:
    r"""Read a table as plain TeX writes it: `\cases{a & b \cr c & d}`."""
    opening, ending = _TABLES[reader.text[token.start + 1 : token.end]]
    pieces = reader.read_argument(setting._replace(row_break=";")) if reader.peek_character() == "{" else None
    if pieces is None:
        return reader.print_command(token)
    return [
        Piece(token.start, token.end, Kind.SYMBOL, opening, setting.tags, Role.OPEN),
        *pieces,
        Piece(max(token.end, reader.offset - 1), reader.offset, Kind.SYMBOL, ending, setting.tags, Role.CLOSE),
    ]


def _read_inside(reader: Reader, name: str, closing: int, setting: Setting) -> list[Piece]:
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
        Piece(reader.offset, reader.offset, Kind.SYMBOL, opening, setting.tags, Role.OPEN),
        *reader.read(closing, table),
        Piece(place, place, Kind.SYMBOL, ending, setting.tags, Role.CLOSE),
    ]
    return pieces if setting.is_formula else arrange(pieces)


def _blank(place: int, setting: Setting) -> Piece:
    return Piece(place, place, Kind.BLANK, " ", setting.tags)
