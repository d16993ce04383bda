r"""What environments print: `\begin{…}` and `\end{…}` around words, formulas and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.tex.formulas import arrange
from digest.tex.tokens import PieceKind, Role, TexPiece, TexSetting, Token, environment_name

if TYPE_CHECKING:
    from digest.tex.reader import Reader  # which calls the commands

_FORMULA_NAMES = """
equation displaymath math align gather multline eqnarray alignat flalign subequations
"""
_FORMULAS = frozenset(_FORMULA_NAMES.split())
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
"""The name of a table -> the signs around it."""
_KNOWN = _FORMULAS | _PARTS_OF_FORMULAS | _TABLES.keys()
_WORD_NAMES = """
abstract itemize enumerate description center quote quotation document flushleft theorem thm lemma
proposition corollary conjecture definition proof remark small
"""
_WORDS = frozenset(_WORD_NAMES.split())


def read_environment(reader: Reader, token: Token, setting: TexSetting) -> list[TexPiece]:
    r"""Read an environment known by its name; others are printed as typed, `\begin` and all.

    An `\end` alone is read as a `\begin` alone is.
    """
    found = environment_name(reader.text, token)
    if found is None:
        return reader.print_command(token)
    written, after = found
    name = written.removesuffix("*")
    closing = reader.partners.get(reader.at - 1, reader.end)
    is_open = closing >= reader.end
    if name in _WORDS or (is_open and name in _PARTS_OF_FORMULAS):
        reader.skip_to(after)
        return [TexPiece(token.start, after, PieceKind.BLANK, " ", setting.tags)]
    if is_open or name not in _KNOWN:
        return reader.print_command(token)
    reader.skip_to(after)
    ending = environment_name(reader.text, reader.tokens[closing])
    pieces = _read_inside(reader, name, closing, setting)
    reader.at = closing
    if ending is not None:
        _, end = ending
        reader.skip_to(end)
    else:
        reader.skip_to(reader.offset)
    return pieces


def _read_inside(reader: Reader, name: str, closing: int, setting: TexSetting) -> list[TexPiece]:
    end = reader.tokens[closing]
    if name not in _TABLES:
        start = reader.offset
        formula = reader.read_formula(closing, setting, start, end.end)
        return [_blank(start, setting), *formula, _blank(end.start, setting)]
    if name == "array":
        reader.take_option()
        reader.take_raw()
    start = reader.offset
    before, after = _TABLES[name]
    rows = reader.read(closing, setting._replace(is_formula=True, row_break=";"))
    pieces = [
        setting.symbol(start, start, before, Role.OPEN),
        *rows,
        setting.symbol(end.start, end.start, after, Role.CLOSE),
    ]
    return pieces if setting.is_formula else arrange(pieces)


def _blank(place: int, setting: TexSetting) -> TexPiece:
    return TexPiece(place, place, PieceKind.BLANK, " ", setting.tags)
