"""What a reader of a query should know: remarks on one that can be read, refusals of one that cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

from digest.errors import QueryError


class NoteKind(StrEnum):
    """What a remark is about.

    `MISSING_OPERATOR`: read as AND. `LEFT_OUT`: says nothing by itself, such as a stop word.
    `UNKNOWN_CATEGORY`, `RETIRED_CATEGORY`: no, or only old, papers carry it. `READ_AS`: not what the
    words might suggest.
    """

    MISSING_OPERATOR = "missing operator"
    LEFT_OUT = "left out"
    UNKNOWN_CATEGORY = "unknown category"
    RETIRED_CATEGORY = "retired category"
    READ_AS = "read as"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark: what was understood, and where (0-based, in code points of the query's text)."""

    kind: NoteKind
    position: int
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """The text being read, the remarks collected on the way, and the one way to refuse it."""

    text: str
    notes: list[Note] = field(default_factory=list)

    def note(self, kind: NoteKind, position: int, message: str) -> None:
        """Remember a remark."""
        self.notes.append(Note(kind, position, message))

    def fail(self, position: int, message: str, hint: str = "") -> NoReturn:
        """Refuse the query.

        Raises:
            QueryError: always.
        """
        raise QueryError(message, text=self.text, position=position, hint=hint)
