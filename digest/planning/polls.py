"""When arXiv is asked, and how far back: few looks a day, overlapping, however many saved queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import EASTERN, latest_mailing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLL_TIMES = (time(0, 30), time(3, 30), time(9, 0), time(15, 0), time(22, 45))
"""Eastern times from which a new look is worth a request: OAI-PMH shows a mailing towards 22:30, the
others catch late batches and deferred mailings."""

BOOTSTRAP_DAYS = 10
"""How far the very first harvest looks back."""

WIDER_BOOTSTRAP_DAYS = 35
"""How far it looks back where that brings nothing at all, before it is believed that there is nothing."""

HARVEST_OVERLAPS = ((14, timedelta(days=7)), (3, timedelta(hours=20)))
"""A harvest starts so many days before the last complete one if none so wide was made for so long, else one
day: papers that move while pages are read are lost to one run, and met by the next ones."""

SEARCH_LOOKBACKS = ((100, timedelta(days=30)), (35, timedelta(days=7)))
"""The same for searches, in days a paper's present version may be old; else `SEARCH_LOOKBACK`. 3.9 % of
papers come out over a week after submission, 0.64 % over a month, 0.06 % over a hundred days."""

LEAST_OVERLAP = 1
SEARCH_LOOKBACK = 8

CONFIRM_AFTER = timedelta(minutes=35)
"""So long after a look that brought news another is made, to see whether that was all."""

SEARCHED_ONE_BY_ONE = 5
"""Distinct saved queries that arXiv's search is asked for one by one; more are asked for together."""

REQUESTS_A_RUN = 6
REQUESTS_A_DAY = 30
"""Requests to arXiv that looks which can wait keep to; a look that is due is made whatever it takes."""

FALLBACK_AFTER = timedelta(hours=3)
"""A harvest that has failed for so long is stood in for by the search."""

EDIT_MARGIN = timedelta(days=7)
"""A never-stored higher version counts as news if submitted up to so long before Digest first looked."""

RETRY_AFTER_FAILURE = timedelta(minutes=10)
LONGEST_RETRY = timedelta(hours=2)
"""A look that failed is made again after ten minutes, then after twice as long each time, up to this."""


class Source(StrEnum):
    """Where papers come from."""

    HARVEST = "harvest"
    QUERY = "query"
    FIRST_LOOK = "first-look"
    GAPS = "gaps"
    FALLBACK = "fallback"


def latest_poll_time(now: datetime) -> datetime:
    """Return the last moment (UTC) from which a new look was worth a request."""
    today = now.astimezone(EASTERN).date()
    moments = (
        datetime.combine(day, at, tzinfo=EASTERN).astimezone(UTC)
        for day in (today - timedelta(days=1), today)
        for at in POLL_TIMES
    )
    return max(moment for moment in moments if moment <= now)


def next_poll_time(now: datetime) -> datetime:
    """Return the next moment (UTC) from which a new look is worth a request."""
    today = now.astimezone(EASTERN).date()
    moments = (
        datetime.combine(day, at, tzinfo=EASTERN).astimezone(UTC)
        for day in (today, today + timedelta(days=1))
        for at in POLL_TIMES
    )
    return min(moment for moment in moments if moment > now)


@dataclass(frozen=True, slots=True)
class LastLooks:
    """When a source was last looked at; moments are in UTC, None where there is none.

    Attributes:
        complete: when the last complete look started.
        failure: when the last look ended, if it failed.
        failures: how many looks in a row have failed.
        news: when the last complete look ended, if it brought papers announced for the first time.
    """

    complete: datetime | None = None
    failure: datetime | None = None
    failures: int = 0
    news: datetime | None = None

    @property
    def next_at(self) -> datetime | None:
        """From when on the next look is worth a request; None for at once."""
        if self.failure is not None:
            doublings = min(max(self.failures - 1, 0), 9)
            return self.failure + min(RETRY_AFTER_FAILURE * (1 << doublings), LONGEST_RETRY)
        if self.complete is None:
            return None
        regular = next_poll_time(self.complete)
        return min(regular, self.news + CONFIRM_AFTER) if self.news is not None else regular


def is_poll_due(last: LastLooks, now: datetime) -> bool:
    """Whether to ask now. A failure is repeated after a while, whenever the last complete look was."""
    return last.next_at is None or last.next_at <= now


def describe_pause(last: LastLooks, now: datetime) -> str:
    """Say why nothing is asked now, and from when on it is."""
    again = (last.next_at or now).astimezone(EASTERN)
    if last.failure is not None:
        return f"the last look failed; the next is made from {again:%H:%M} ET on"
    looked = f"looked {last.complete.astimezone(EASTERN):%a %H:%M} ET" if last.complete else "never looked"
    return f"{looked}; the next look is worth a request from {again:%a %H:%M} ET on"


def choose_reach(
    steps: Sequence[tuple[int, timedelta]], least: int, last_reaching: Mapping[int, datetime | None], now: datetime
) -> int:
    """Return how many days the next look reaches back: as many as are due, the most first.

    Args:
        steps: `HARVEST_OVERLAPS` or `SEARCH_LOOKBACKS`.
        least: the days where none of them is due.
        last_reaching: when the last complete look started that reached so many days or more (UTC).
        now: the moment (UTC).
    """
    for days, every in steps:
        last = last_reaching.get(days)
        if last is None or now - last >= every:
            return days
    return least


def spare_requests(made_in_run: int, made_in_day: int) -> int:
    """Return how many requests what can wait may make now: first looks, checks of gaps.

    Args:
        made_in_run: requests of the run so far.
        made_in_day: those of the last 24 hours, the run's among them.
    """
    return max(0, min(REQUESTS_A_RUN - made_in_run, REQUESTS_A_DAY - made_in_day))


def search_until(last_complete: datetime | None, now: datetime, days: int) -> datetime:
    """Return how old a paper's present version may be (UTC) for the next search to want it.

    Counted from the last complete look, so that what came out while nobody looked is met, too.
    """
    return min(last_complete or now, now) - timedelta(days=days)


def harvest_from(complete_from: date | None, now: datetime, overlap: int, newest: date | None = None) -> date:
    """Return the OAI-PMH `from` date of the next harvest.

    Never today: an answer for a day that has only begun may stay cached until midnight UTC. Never later
    than the newest paper known and the last mailing: so there is always something to meet, and not meeting
    it tells.

    Args:
        complete_from: UTC date on which the last complete harvest started; None before the first.
        now: the moment (UTC).
        overlap: days to go back behind it.
        newest: datestamp of the newest paper stored; None where none is.
    """
    today = now.astimezone(UTC).date()
    if complete_from is None:
        return today - timedelta(days=BOOTSTRAP_DAYS)
    reach = complete_from - timedelta(days=overlap)
    return min(reach, today - timedelta(days=1), latest_mailing(now), newest or today)
