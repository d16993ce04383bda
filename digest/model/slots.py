"""Names of slots: what each digest of a subscription is made for. Only this file knows how they read.

A name is part of addresses, keys and file names, and unique within a subscription. So it is stored
as text, and no column beside it says the same again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Self

from digest.model.people import RequestKind

_KEPT = 1_024
"""Names kept as they were read: those of one morning are few."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_LETTER_MOMENT = "%Y%m%dT%H%M%S.%f"


class SlotKind(StrEnum):
    """What a digest is made for.

    A turn: that of a day, of a week or of an announcement. Or what some match run brought, as no
    turn comes; a note that a turn could not be checked; a sample for places that came later; what
    a lost database had sent; what was made while the clock was ahead. A letter is no digest.
    """

    DAY = "day"
    WEEK = "week"
    ANNOUNCEMENT = "announcement"
    RUN = "run"
    UNCHECKED = "unchecked"
    LATER_PLACES = "later places"
    RESTORED = "restored"
    EARLY = "early"
    LETTER = "letter"

    @property
    def prefix(self) -> str:
        """How its names begin; "" if dates or something else tell them apart."""
        return _PREFIXES.get(self, "")

    @property
    def pattern(self) -> str:
        """How its names look, as LIKE of SQL reads it; not for letters."""
        return _PATTERNS.get(self, f"{self.prefix}%")


_PREFIXES = {
    SlotKind.ANNOUNCEMENT: "mailing:",
    SlotKind.RUN: "run:",
    SlotKind.UNCHECKED: "unchecked:",
    SlotKind.LATER_PLACES: "new:",
    SlotKind.RESTORED: "restored:",
    SlotKind.EARLY: "early:",
}
_PATTERNS = {SlotKind.DAY: "____-__-__", SlotKind.WEEK: "____-W__"}

TURNS = (SlotKind.DAY, SlotKind.WEEK, SlotKind.ANNOUNCEMENT)
"""Slots that come by the calendar."""


@dataclass(frozen=True, slots=True)
class SlotName:
    """The name of a slot, read.

    Attributes:
        of: the date, the week (`2026-W47`), the number of the run, or the name of the turn that
            could not be checked.
    """

    kind: SlotKind
    of: str

    @classmethod
    @lru_cache(maxsize=_KEPT)
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote."""
        if _DAY.fullmatch(text):
            return cls(SlotKind.DAY, text)
        if _WEEK.fullmatch(text):
            return cls(SlotKind.WEEK, text)
        for kind, prefix in _PREFIXES.items():
            if text.startswith(prefix):
                return cls(kind, text.removeprefix(prefix))
        return cls(SlotKind.LETTER, text)

    @classmethod
    def of_week(cls, day: date) -> Self:
        """Return the name of the week that a date is in."""
        year, week, _ = day.isocalendar()
        return cls(SlotKind.WEEK, f"{year}-W{week:02d}")

    @classmethod
    def of_run(cls, match_run_id: int) -> Self:
        """Return the name of what a match run brought."""
        return cls(SlotKind.RUN, str(match_run_id))

    def __str__(self) -> str:
        return f"{self.kind.prefix}{self.of}"

    @property
    def day(self) -> date | None:
        """The date in it, or in that of the turn that could not be checked; None if it has none."""
        if self.kind is SlotKind.UNCHECKED:
            return SlotName.parse(self.of).day
        if self.kind in (SlotKind.DAY, SlotKind.ANNOUNCEMENT):
            return date.fromisoformat(self.of)
        return None

    def find_weekday(self, weekday: int) -> date | None:
        """Return a weekday (from 1) of the week in it; None if it is no week's."""
        week = _WEEK.fullmatch(self.of)
        return date.fromisocalendar(int(week[1]), int(week[2]), weekday) if week else None


@dataclass(frozen=True, slots=True)
class LetterSlot:
    """The name of a letter's slot. A database may give a signup's number again: so it has a moment."""

    kind: RequestKind
    signup_id: int
    asked_at: datetime

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote."""
        kind, number, moment = text.split(":")
        asked_at = datetime.strptime(moment, _LETTER_MOMENT).replace(tzinfo=UTC)
        return cls(RequestKind(kind), int(number), asked_at)

    def __str__(self) -> str:
        return f"{self.kind}:{self.signup_id}:{self.asked_at:{_LETTER_MOMENT}}"
