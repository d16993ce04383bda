"""The six alarms that the operator gets: their names, and what is said in each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class AlarmName(StrEnum):
    """What can be wrong; each is one alarm, however often it happens."""

    ANNOUNCEMENT = "announcement"
    DIGEST = "digest"
    OUTBOX = "outbox"
    FAILED = "failed"
    SIGNUPS = "signups"


STUCK = frozenset({AlarmName.DIGEST, AlarmName.OUTBOX})
"""Alarms that say a process does not do its work; the others need a person."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """What has been due for too long, or has failed.

    Attributes:
        named: the one to name: the oldest, or of those that failed the last.
        due_at: since when there has been any (UTC); of those that failed, when the last did.
        delivery: the number of the delivery that is named; 0 for none.
    """

    number: int
    named: str
    due_at: datetime
    delivery: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing that somebody must know.

    Attributes:
        what: what is wrong, as a sentence without a full stop.
        failed_at: when a message failed last (UTC); None for other alarms.
    """

    name: AlarmName
    what: str
    remedy: str
    failed_at: datetime | None = None

    @property
    def detail(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.what}. {self.remedy}"
