# ruff: noqa: RUF001 - Greek letters look like others
"""Words that stand beside formulas: what parts a word, and the edges of formulas marked in a text.

`$N$body` shows as one word, though two were meant. So a search for words reads the pieces of a text as
`mark_edges` gives them: a `_`, which parts words wherever people type it, stands between a letter or digit of
a formula and the one that shows right beside it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from digest.tex.tokens import PieceKind, TexPiece

EDGE: Final = "_"
"""Stands between two parts of a word."""

_TABLE = """
α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi ο omicron
π pi ρ rho σ sigma τ tau υ upsilon φ phi χ chi ψ psi ω omega
"""
_NAMED = _TABLE.split()
GREEK: Final = dict(zip(_NAMED[::2], _NAMED[1::2], strict=True))
"""Greek letters, small, without accents -> their names, as TeX has them."""

STAND_INS: Final = {"ɑ": "α", "ɛ": "ε"}
"""Latin letters -> the Greek ones that they stand for where Unicode raises only these: `xᵅ`, `xᵋ`."""

ALONE: Final = "alone"
"""The level of a Greek letter: each is a part by itself."""


class _Levels(dict[str, str]):
    """Character -> its level: those side by side in a word that differ in it are in different parts."""

    def __missing__(self, character: str) -> str:
        letter = unicodedata.normalize("NFKD", character).casefold()[:1]
        if STAND_INS.get(letter, letter) in GREEK:
            found = ALONE
        else:
            shape = unicodedata.decomposition(character).partition(" ")[0]
            found = shape if shape in {"<super>", "<sub>"} else ""
        self[character] = found
        return found


LEVELS: Final = _Levels()


def is_edge(before: str, after: str) -> bool:
    """Tell whether an edge has to be marked between two characters, "" for none.

    Both belong to words, and none is a Greek letter or a raised or lowered sign, which part words by themselves.
    """
    if not after.isalnum() or not (before.isalnum() or (before > "\x7f" and unicodedata.combining(before))):
        return False
    return not (LEVELS[before] or LEVELS[after])


def _write_part(piece: TexPiece) -> str:
    """Return a piece's plain form; edges are marked within a script that Unicode can't raise or lower."""
    text = piece.text
    if len(piece.inside) < 2 or text[0] not in "^_":  # noqa: PLR2004 - two are needed for an edge
        return text
    inside = ""
    for part in filter(None, map(_write_part, piece.inside)):
        inside += f"{EDGE * is_edge(inside[-1:], part[0])}{part}"
    inside = inside.strip()
    return f"{text[0]}({inside})" if text[1] == "(" else text[0] + inside


def mark_edges(text: str, pieces: Iterable[TexPiece], formulas: Sequence[tuple[int, int]]) -> list[TexPiece]:
    r"""Return the pieces of a text that show, those that mark edges among them.

    Outside of formulas a blank behind a letter's command shows, but TeX ignores it: `\Lambda CDM`. It is an edge.
    """
    starts = [start for start, _ in formulas]
    marked: list[TexPiece] = []
    was_within = False
    for piece in pieces:
        if not piece.text:
            continue
        place = bisect_right(starts, piece.start) - 1
        is_within = place >= 0 and piece.start < formulas[place][1]
        shown = piece._replace(text=_write_part(piece)) if piece.inside else piece
        if marked:
            last = marked[-1]
            if (is_within or was_within) and is_edge(last.text[-1], piece.text[0]):
                marked.append(_mark(piece.start))
            elif not is_within and not was_within and _is_ignored_blank(text, last, piece):
                marked.append(_mark(piece.start))
                shown = piece._replace(start=piece.start + 1, text=piece.text[1:])
        if shown.text:
            marked.append(shown)
        was_within = is_within
    return marked


def _mark(place: int) -> TexPiece:
    return TexPiece(place, place, PieceKind.SYMBOL, EDGE)


def _is_ignored_blank(text: str, command: TexPiece, blank: TexPiece) -> bool:
    """Tell whether a piece begins with a blank that only ends the name of a command that prints a letter."""
    return (
        blank.text[0].isspace()
        and command.end == blank.start
        and command.kind is PieceKind.SYMBOL
        and len(command.text) == 1
        and command.text.isalnum()
        and text[blank.start : blank.start + 1].isspace()
        and text[command.start] == "\\"
        and text[command.start + 1 : command.end].isalpha()
    )
