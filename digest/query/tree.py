"""A query as a tree: conditions at the leaves, AND, OR and NOT above them.

A condition is kept as text in one spelling (lower case, blanks folded, aliases resolved), never as
stems: it is what reasons show and what is sent to arXiv. Equal conditions compare equal, and the
parser makes one object of them, so that an index can share their work.

`a ANDNOT b` is `And(a, Not(b))`; chains of one operator are one node with many operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


class Prefix(StrEnum):
    """What a condition looks into, as written before the colon."""

    __hash__ = str.__hash__  # that of Enum is Python code, called whenever a condition is looked up

    TITLE = "ti"
    ABSTRACT = "abs"
    AUTHOR = "au"
    PERSON = "author"
    COMMENT = "co"
    JOURNAL_REF = "jr"
    CATEGORY = "cat"
    REPORT_NO = "rn"
    ID = "id"
    DOI = "doi"
    SUBMITTED = "submittedDate"
    ALL = "all"


class Shape(StrEnum):
    """How a condition's text is meant.

    `WORD`: all its words, anywhere in the field (one word as a rule, several where punctuation parts
    them, as in `self-supervised`); for identifiers and categories the whole value.
    `PHRASE`: its words one after the other; for authors, several words about one name.
    `BEGINNING`: as `WORD`, but the last word may go on: `transf*`. `RANGE`: from … TO ….
    """

    __hash__ = str.__hash__  # as above

    WORD = "word"
    PHRASE = "phrase"
    BEGINNING = "beginning"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Condition:
    """A leaf: one thing one field must hold.

    Attributes:
        prefix: which field.
        shape: how `text` is meant.
        text: in the one spelling its field has; never empty.
    """

    prefix: Prefix
    shape: Shape
    text: str


@dataclass(frozen=True, slots=True)
class And:
    """Every operand must be met; at least two."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One operand at least must be met; at least two."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The operand must not be met."""

    operand: Node


Node: TypeAlias = Condition | And | Or | Not


@lru_cache(maxsize=2**16)
def intern_condition(prefix: Prefix, shape: Shape, text: str) -> Condition:
    """Return the condition, the same object for the same values."""
    return Condition(prefix, shape, text)


def walk_conditions(node: Node) -> Iterator[Condition]:
    """Yield every leaf from left to right, repeated ones as often as they occur."""
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Condition() as condition:
                yield condition
            case Not(operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting.extend(reversed(operands))
