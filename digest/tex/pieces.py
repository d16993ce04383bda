"""What TeX-flavoured text is read into: pieces, in reading order, each knowing the raw text it stands for.

Roles exist because TeX sets blanks in a formula by what its parts are, not by what was typed (Knuth,
The TeXbook, chapter 18); plain Unicode has to settle that question too.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Tags = tuple[str, ...]
"""HTML elements around a text, outermost first: `("b", "i")`."""


class Kind(Enum):
    """What a piece is, and so how it is written and how a highlight cuts it."""

    TEXT = auto()
    """Characters exactly as in the raw text: `text == raw[start:end]`, may be cut anywhere."""
    SYMBOL = auto()
    """Characters standing for the raw text as a whole."""
    BLANK = auto()
    """White space."""
    SUPERSCRIPT = auto()
    """`inside`, raised; `text` is its plain form, such as `⁻³` or `^(3/2)`."""
    SUBSCRIPT = auto()
    """`inside`, lowered; `text` is its plain form, such as `₂` or `_(g,n)`."""
    FRACTION = auto()
    """A fraction not yet set in its formula; never part of what `parse_tex` returns."""


class Role(Enum):
    """What a piece does in a formula; it decides the blanks around it."""

    WORD = auto()
    VARIABLE = auto()
    NUMBER = auto()
    NAME = auto()
    BIG = auto()
    INFIX = auto()
    """A sign between two operands, set off by blanks as typed."""
    RELATION = auto()
    """A named relation or arrow between two operands, always set off by blanks."""
    OPEN = auto()
    CLOSE = auto()
    BAR = auto()
    PUNCTUATION = auto()
    SCRIPT = auto()
    """Raised, lowered or a prime: part of what stands before it."""
    LOOSE = auto()
    """A blank typed between the parts of a formula, which TeX would ignore."""


class Piece(NamedTuple):
    """A part of the text.

    Attributes:
        start: the first code point of the raw text it stands for.
        end: one behind the last; equal to `start` for a blank the raw text does not have.
        kind: what it is.
        text: its plain Unicode form.
        tags: the HTML elements around it.
        role: what it does in a formula.
        inside: what is raised or lowered, for scripts.
    """

    start: int
    end: int
    kind: Kind
    text: str
    tags: Tags = ()
    role: Role = Role.WORD
    inside: tuple[Piece, ...] = ()


def join_text(pieces: Iterable[Piece]) -> list[Piece]:
    """Join text that continues text, so that a word is one piece wherever its tokens were cut."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.kind is Kind.TEXT
            and piece.kind is Kind.TEXT
            and (last.end, last.tags) == (piece.start, piece.tags)
        ):
            joined[-1] = Piece(last.start, piece.end, Kind.TEXT, last.text + piece.text, last.tags, last.role)
        else:
            joined.append(piece)
    return joined


class Segment(NamedTuple):
    """Plain Unicode that is highlighted as a whole or not at all."""

    text: str
    is_marked: bool
