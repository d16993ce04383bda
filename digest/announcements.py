"""What arXiv announces, and when: the kinds of announcement and the mailing calendar.

arXiv announces in mailings at 20:00 US Eastern time on Sunday to Thursday evenings
(https://info.arxiv.org/help/availability.html). A mailing goes by the Eastern date of its evening.
Holidays are data, published by arXiv for each year; a deferred mailing is announced with the next.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

EASTERN = ZoneInfo("America/New_York")
MAILING_TIME = time(20, 0)
"""When a mailing goes out, Eastern time."""

_NO_MAILING_WEEKDAYS = frozenset({4, 5})  # Friday and Saturday, Monday being 0

NO_MAILING_DAYS = frozenset(
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
"""Evenings without a mailing, as arXiv published them for 2026."""


class Kind(StrEnum):
    """What a run found out about a paper.

    `KNOWN` marks a paper stored without being news: found at the first start, or an old paper edited.
    """

    NEW = "new"
    CROSS_LIST = "cross-list"
    REPLACEMENT = "replacement"
    WITHDRAWAL = "withdrawal"
    METADATA = "metadata"
    KNOWN = "known"


DELIVERABLE_KINDS = (Kind.NEW, Kind.CROSS_LIST, Kind.REPLACEMENT, Kind.WITHDRAWAL, Kind.METADATA)
"""The kinds a subscription can ask for, in the order a digest shows them."""


def has_mailing(day: date) -> bool:
    """Whether a mailing is expected on the evening of this Eastern date."""
    return day.weekday() not in _NO_MAILING_WEEKDAYS and day not in NO_MAILING_DAYS


def mailing_moment(day: date) -> datetime:
    """Return when the mailing of this Eastern date goes out, in UTC."""
    return datetime.combine(day, MAILING_TIME, tzinfo=EASTERN).astimezone(UTC)


def latest_mailing(moment: datetime) -> date:
    """Return the Eastern date of the last mailing expected at or before a moment."""
    day = moment.astimezone(EASTERN).date()
    while not (has_mailing(day) and mailing_moment(day) <= moment):
        day -= timedelta(days=1)
    return day


def next_mailing(moment: datetime) -> date:
    """Return the Eastern date of the first mailing expected after a moment."""
    day = moment.astimezone(EASTERN).date()
    while not (has_mailing(day) and mailing_moment(day) > moment):
        day += timedelta(days=1)
    return day
