"""Loads what has been checked, on behalf of some saved queries or of all."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from digest.model.announcements import announcement_moment, announcements_between, latest_announcement
from digest.model.messages import Coverage
from digest.model.polls import Source
from digest.poll.rules import assess_coverage
from digest.store.papers import count_announced
from digest.store.runs import load_recent_polls


def load_coverage(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement: each check is for all saved queries."""
    announcement = latest_announcement(now)
    new = count_announced(conn, announcement, announcement).get(announcement, 0)
    polls = load_recent_polls(conn, source, now)
    checks = load_recent_polls(conn, Source.GAPS, now) if source == Source.HARVEST else ()
    return assess_coverage(polls, now, checks=checks, new=new)


def extend_coverage(
    conn: Connection, coverage: Coverage, first: date | None, covered_until: datetime | None = None
) -> Coverage:
    """Say of a digest that is for several announcements which these are, and how many papers they all brought.

    Args:
        first: the earliest announcement that brought a paper it holds, None if none is known: it decides if no
            turn came before.
        covered_until: the moment up to which earlier turns are for what was announced (UTC).
    """
    if coverage.announcement is None:
        return coverage
    if covered_until is not None:
        first = next(announcements_between(covered_until, announcement_moment(coverage.announcement)), None)
    if first is None or first >= coverage.announcement:
        return coverage
    counts = count_announced(conn, first, coverage.announcement)
    day_before = announcement_moment(first) - timedelta(seconds=1)
    expected = sum(1 for _ in announcements_between(day_before, announcement_moment(coverage.announcement)))
    return replace(coverage, since=first, new=sum(counts.values()), announcements=expected)
