"""What arXiv announces, and when: the kinds of announcement and their calendar.

arXiv announces at 20:00 US Eastern time on Sunday to Thursday evenings
(https://info.arxiv.org/help/availability.html). An announcement is named by the Eastern date of its
evening. Holidays are data, published by arXiv for each year; a deferred announcement is announced
with the next, and that is learnt from the ids: nothing here takes the calendar for the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from statistics import median_high
from zoneinfo import ZoneInfo

from digest.model.papers import Paper

EASTERN = ZoneInfo("America/New_York")
ANNOUNCEMENT_TIME = time(20, 0)
"""When an announcement goes out, Eastern time."""

DEADLINE = time(14, 0)
"""What is submitted until then goes into the evening's announcement, Eastern time."""

ALARM_TIME = time(6, 0)
"""Eastern time of the next morning by which an announcement that is not there is late."""

_FRIDAY = 4
_DAYS_END = time(23, 59)
_NEIGHBOURS = 20
"""So many papers on each side, at most, have a say in which announcement brought one.

Papers that were held back are outvoted. If announcements are small, so few have a say that no whole
announcement is outvoted."""

_NO_ANNOUNCEMENT_WEEKDAYS = frozenset({4, 5})  # Friday and Saturday, Monday being 0

NO_ANNOUNCEMENT_DAYS = frozenset(
    {
        date(2026, 1, 1),
        date(2026, 1, 19),
        date(2026, 6, 19),
        date(2026, 7, 3),
        date(2026, 9, 7),
        date(2026, 11, 26),
        date(2026, 12, 25),
        date(2026, 12, 29),
        date(2026, 12, 31),
    }
)
"""Evenings without an announcement, as arXiv published them for 2026."""


_LONGEST_PAUSE = timedelta(days=30)
"""Longer than arXiv announces nothing."""


class Kind(StrEnum):
    """What a run found out about a paper.

    `KNOWN` marks a paper stored without being new: found at the first start, or an old paper
    edited.
    """

    NEW = "new"
    CROSS_LIST = "cross-listed"
    REPLACEMENT = "replaced"
    WITHDRAWAL = "withdrawn"
    METADATA = "edited"
    KNOWN = "known"


DELIVERABLE_KINDS = (Kind.NEW, Kind.CROSS_LIST, Kind.REPLACEMENT, Kind.WITHDRAWAL, Kind.METADATA)
"""The kinds a subscription can ask for, in the order a digest shows them."""


def has_announcement(day: date) -> bool:
    """Whether an announcement is expected on the evening of this Eastern date."""
    return day.weekday() not in _NO_ANNOUNCEMENT_WEEKDAYS and day not in NO_ANNOUNCEMENT_DAYS


def announcement_moment(day: date) -> datetime:
    """Return when the announcement of this Eastern date goes out, in UTC."""
    return datetime.combine(day, ANNOUNCEMENT_TIME, tzinfo=EASTERN).astimezone(UTC)


def latest_announcement(moment: datetime) -> date:
    """Return the Eastern date of the last announcement expected at or before a moment."""
    day = moment.astimezone(EASTERN).date()
    while not (has_announcement(day) and announcement_moment(day) <= moment):
        day -= timedelta(days=1)
    return day


def next_announcement(moment: datetime) -> date:
    """Return the Eastern date of the first announcement expected after a moment."""
    return next(announcements_between(moment, moment + _LONGEST_PAUSE))


def find_announcement(found_at: datetime, datestamp: date | None) -> date | None:
    """Return the Eastern date of the announcement that brought what was found; None if unknown.

    It became public on the day of its record, which begins on the evening of the announcement. Of a
    new paper the ids around it say more (see `estimate_announcements`).

    Args:
        found_at: when it was found (UTC).
        datestamp: the day arXiv last changed the paper's record then (UTC); None if it is not
            known.
    """
    if datestamp is None:
        return None
    end_of_day = datetime.combine(datestamp, _DAYS_END, tzinfo=UTC)
    return latest_announcement(min(end_of_day, found_at))


def alarm_moment(announcement: date) -> datetime:
    """Return when an announcement that has not been seen yet counts as late, in UTC."""
    next_day = announcement + timedelta(days=1)
    return datetime.combine(next_day, ALARM_TIME, tzinfo=EASTERN).astimezone(UTC)


def announcements_between(after: datetime, until: datetime) -> Iterator[date]:
    """Yield the Eastern dates, in order, of announcements expected after a moment until another."""
    day = after.astimezone(EASTERN).date()
    last = until.astimezone(EASTERN).date()
    while day <= last:
        if has_announcement(day) and after < announcement_moment(day) <= until:
            yield day
        day += timedelta(days=1)


def earliest_announcement(submitted: datetime) -> date:
    """Return the Eastern date of the first announcement that can bring what was submitted then.

    Source: the table of https://info.arxiv.org/help/availability.html. Moderation may hold a paper
    back for days or months after that.
    """
    local = submitted.astimezone(EASTERN)
    deadline = local.date()
    if local.time() > DEADLINE:
        deadline += timedelta(days=1)
    while deadline.weekday() > _FRIDAY:
        deadline += timedelta(days=1)
    evening = deadline
    if deadline.weekday() == _FRIDAY:  # Sunday's evening is next
        evening += timedelta(days=2)
    while not has_announcement(evening):
        evening += timedelta(days=1)
    return evening


def estimate_announcements(submitted: Sequence[datetime], candidates: Sequence[date]) -> list[date]:
    """Return which announcement brought each of some papers, from the order of their ids.

    Ids grow from announcement to announcement, and within one most papers were submitted just
    before it; the few that were held back are between neighbours that were not.

    Args:
        submitted: when the first versions were submitted (UTC), in the order of the papers' ids.
        candidates: Eastern dates of the announcements that may have brought them, at least one, in
            order.

    Returns:
        A candidate for each paper; never an earlier one after a later one.
    """
    own = [_find_first(earliest_announcement(moment), candidates) for moment in submitted]
    side = min(_NEIGHBOURS, len(own) // (2 * len(candidates)))
    reached = 0
    estimates = []
    for number in range(len(own)):
        around = own[max(0, number - side) : number + side + 1]
        reached = max(reached, median_high(around))
        estimates.append(candidates[reached])
    return estimates


def _find_first(earliest: date, candidates: Sequence[date]) -> int:
    """Return the place of the first announcement from a date on; of the last if all are before."""
    for place, day in enumerate(candidates):
        if day >= earliest:
            return place
    return len(candidates) - 1


@dataclass(frozen=True, slots=True)
class KnownPaper:
    """A paper as stored.

    Attributes:
        version_id: the row of its latest text.
        as_of: arXiv's own time of the answer that last changed it (UTC); None if that was not kept.
        earlier: `content_hash` of the other texts it had.
    """

    key: int
    version_id: int
    paper: Paper
    as_of: datetime | None = None
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """One finding about one paper.

    Attributes:
        paper: the paper as it is now; fields the source does not have are filled from what was
            stored.
        known: the paper as stored before; None for one never stored.
        fields: names of what differs from `known`, in a fixed order; "forgotten" for one that was.
    """

    kind: Kind
    paper: Paper
    known: KnownPaper | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change as committed: what matching and planning work on.

    Attributes:
        id: grows in the order changes were committed.
        paper: the paper as this change found it.
        previous: the paper as it was stored before; None for the first change of a paper.
        text_key: the key of the stored text it found; 0 if nothing is stored.
        previous_key: the key of the text that was stored before; 0 for the first change of a paper.
        announced_on: Eastern date of the announcement that brought it; None if only `found_at` is
            known.
    """

    id: int
    kind: Kind
    paper: Paper
    previous: Paper | None
    fields: tuple[str, ...]
    run_id: int
    found_at: datetime
    paper_key: int
    text_key: int = 0
    previous_key: int = 0
    announced_on: date | None = None

    @property
    def announced(self) -> date:
        """The Eastern date of the announcement that brought it, as near as is known."""
        return self.announced_on or latest_announcement(self.found_at)


def find_due_until(before: datetime) -> datetime:
    """Return until when papers and their turn must have come to be sent by a moment (both UTC).

    A digest `on announcement` waits for a complete announcement until the next morning, but not
    longer (see `digest.plan.slots`). Until then only what waited before that announcement is owed.
    """
    announcement = latest_announcement(before)
    is_past = alarm_moment(announcement) <= before
    return before if is_past else announcement_moment(announcement)
