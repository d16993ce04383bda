"""What a reader of a query should know: remarks on one that can be read, refusals of one that cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NoReturn

from digest.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence


WILDCARDS: Final = "a * ends a word, and nothing else stands for letters"
"""What a sign that can't stand where it does is told."""


class NoteKind(StrEnum):
    """What a remark is about.

    `MISSING_OPERATOR`: read as AND. `LEFT_OUT`: says nothing by itself, such as a stop word.
    `UNKNOWN_CATEGORY`, `RETIRED_CATEGORY`: no, or only old, papers carry it. `READ_AS`: not what the
    words might suggest, or what was made of something pasted.

    The others come from `lint_query` alone. `QUOTED_OPERATOR`: AND, OR … between quotes is a word.
    `VOLUME`: how much a lone category brings. `ALL`: what `all:` is at arXiv. `WILDCARD`, `PHRASE`: what a word
    with a `*`, and several words, find.
    """

    MISSING_OPERATOR = "missing operator"
    LEFT_OUT = "left out"
    UNKNOWN_CATEGORY = "unknown category"
    RETIRED_CATEGORY = "retired category"
    READ_AS = "read as"
    QUOTED_OPERATOR = "quoted operator"
    VOLUME = "volume"
    ALL = "all"
    WILDCARD = "wildcard"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark: what was understood, and where (0-based, in code points of the query's text)."""

    kind: NoteKind
    position: int
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """The text being read, the remarks collected on the way, and the one way to refuse it.

    Attributes:
        text: the query that is read.
        notes: the remarks so far; they stand in `written`.
        written: what was pasted, where the query was made from that; else the same text.
        places: for each character of such a query, and its end, which one of `written` it comes from.
    """

    text: str
    notes: list[Note] = field(default_factory=list)
    written: str = ""
    places: Sequence[int] = ()

    def locate(self, position: int) -> int:
        """Return where a place of the text stands in what was written."""
        return self.places[min(position, len(self.places) - 1)] if self.places else position

    def note(self, kind: NoteKind, position: int, message: str) -> None:
        """Remember a remark."""
        self.notes.append(Note(kind, self.locate(position), message))

    def fail(self, position: int, message: str, hint: str = "") -> NoReturn:
        """Refuse the query.

        Raises:
            QueryError: always.
        """
        raise QueryError(message, text=self.written or self.text, position=self.locate(position), hint=hint)
