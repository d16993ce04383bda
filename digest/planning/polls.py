"""When arXiv is asked, and how far back: few looks a day, overlapping, however many saved queries."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum

from digest.announcements import EASTERN

POLL_TIMES = (time(0, 30), time(3, 30), time(9, 0), time(15, 0), time(22, 45))
"""Eastern times from which a new look is worth a request: OAI-PMH shows a mailing towards 22:30, the
others catch late batches and deferred mailings."""

BOOTSTRAP_DAYS = 10
"""How far the very first harvest looks back."""

OVERLAP_DAYS = 3
"""A harvest starts so many days before the last complete one: rows that move while pages are read are
lost to one run, and met by the next ones."""

QUERY_LOOKBACK = timedelta(days=35)
"""How old a paper's present version may be for a query poll to meet it: 99.4 % of papers are announced
within a month of submission."""

EDIT_MARGIN = timedelta(days=7)
"""A never-stored higher version counts as news if submitted up to so long before Digest first looked."""

RETRY_AFTER_FAILURE = timedelta(minutes=10)


class Source(StrEnum):
    """Where papers come from."""

    HARVEST = "harvest"
    QUERY = "query"
    FIRST_LOOK = "first-look"


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


def is_poll_due(last_complete: datetime | None, last_failure: datetime | None, now: datetime) -> bool:
    """Whether to ask now.

    Args:
        last_complete: when the last complete poll started (UTC); None before the first.
        last_failure: when the last failed poll ended (UTC); None where there is none.
        now: the moment (UTC).
    """
    if last_failure is not None and now - last_failure < RETRY_AFTER_FAILURE:
        return False
    return last_complete is None or last_complete < latest_poll_time(now)


def describe_pause(last_complete: datetime | None, last_failure: datetime | None, now: datetime) -> str:
    """Say why nothing is asked now, and from when on it is; for the arguments see `is_poll_due`."""
    if last_failure is not None and now - last_failure < RETRY_AFTER_FAILURE:
        again = last_failure + RETRY_AFTER_FAILURE
        return f"the last look failed; the next is made from {again.astimezone(EASTERN):%H:%M} ET on"
    looked = f"looked {last_complete.astimezone(EASTERN):%a %H:%M} ET" if last_complete else "never looked"
    return (
        f"{looked}; the next look is worth a request from {next_poll_time(now).astimezone(EASTERN):%a %H:%M} ET on"
    )


def search_until(last_complete: datetime | None, now: datetime) -> datetime:
    """Return how old a paper's present version may be (UTC) for the next query poll to want it.

    Counted from the last complete look, so that what came out while nobody looked is met, too.
    """
    return min(last_complete or now, now) - QUERY_LOOKBACK


def harvest_from(complete_from: date | None, now: datetime) -> date:
    """Return the OAI-PMH `from` date of the next harvest.

    Never today: an answer for a day that has only begun may stay cached until midnight UTC.

    Args:
        complete_from: UTC date on which the last complete harvest started; None before the first.
        now: the moment (UTC).
    """
    today = now.astimezone(UTC).date()
    if complete_from is None:
        return today - timedelta(days=BOOTSTRAP_DAYS)
    return min(complete_from - timedelta(days=OVERLAP_DAYS), today - timedelta(days=1))
