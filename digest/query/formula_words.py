"""Formulas as text that has their words: those of what the reader makes of them, at a fraction of the price.

Edges between the parts of a formula are marked (`tex.parting`).

How a formula is set is a matter of blanks, and few of them part words: `x = 1` and `x=1` have the same ones.
So the parts of a formula, each read once, are put one behind the other as they are, unless a blank stands
between two that words might go across, or something else asks for a closer look.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from digest.query.words import cut_words
from digest.tex.formulas import settle_script
from digest.tex.parting import join_parts, join_texts, write_part
from digest.tex.pieces import Kind, Piece, Role
from digest.tex.quick_formulas import read_part, set_parts, split_formula

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORDY, _SCRIPT, _ENCLOSED, _SIGN, _OPERATOR, _POINT, _BLANK, _ASKED, _OTHER = "wseor, ~?"
"""What a piece is: `_SIGN`s and `_OPERATOR`s part words wherever they stand, and the first three may not. Of
`_ENCLOSED` scripts what follows decides whether they keep their parentheses. An `_OPERATOR` may stand off from
what follows its script, too. A `_POINT` keeps a blank behind it, and none before. A blank that was `_ASKED` for
may stand at an edge of the formula, where a `_BLANK` merely typed goes."""

_NEEDS_SETTING = re.compile(r"[wse][ ~]+[wse,]|ew|r[ ~]*[se]|\?|\A *~|~ *\Z")


def spell_formula(before: str, formula: str, behind: str) -> str | None:
    """Return plain text that has, between the same characters, the words of a formula; None as `set_parts`.

    Args:
        before: the character before the opening delimiter, "" for none.
        formula: without its delimiters.
        behind: the character behind the closing delimiter, "" for none.
    """
    parts = split_formula(formula)
    if not parts:
        return None if parts is None else ""
    texts, kinds = zip(*map(_spell_part, parts), strict=True)
    marks = "".join(kinds)
    if _NEEDS_SETTING.search(marks) or (behind.isalnum() and marks.rstrip().endswith(_ENCLOSED)):
        pieces = set_parts(before, formula, behind)
        return None if pieces is None else join_parts(pieces)
    return join_texts(chain.from_iterable(texts)).strip()


@lru_cache(maxsize=2**14)
def _spell_part(part: str) -> tuple[Sequence[str], str]:
    """Return the plain form of each piece of a part, and what each of them is."""
    pieces = read_part(part)
    if pieces is None:
        return (), _OTHER
    spelled = list(map(_spell_piece, pieces))
    return tuple([text for text, _ in spelled]), "".join([mark for _, mark in spelled])


def _spell_piece(piece: Piece) -> tuple[str, str]:
    if piece.kind is Kind.BLANK:
        return " ", _BLANK if piece.role is Role.LOOSE else _ASKED
    settled = settle_script(piece)
    if piece.kind is Kind.FRACTION or piece.role is Role.NAME or piece.text != piece.text.strip():
        return settled.text, _OTHER
    return write_part(settled), _classify(piece) if settled is piece else _ENCLOSED


def _classify(piece: Piece) -> str:
    if _is_sign(piece.text):
        return _OPERATOR if piece.role in (Role.INFIX, Role.RELATION) else _SIGN
    if piece.role is Role.PUNCTUATION:
        return _POINT
    return _SCRIPT if piece.role is Role.SCRIPT else _WORDY


def _is_sign(text: str) -> bool:
    """Tell whether words end before a text and begin behind it, whatever stands there."""
    return not text.isalnum() and all(cut_words(f"{beside}{text}{beside}") == [beside, beside] for beside in "a1")
