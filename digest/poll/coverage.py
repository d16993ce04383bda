"""Loads what has been checked, on behalf of some saved queries or of all."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from digest.model.announcements import latest_mailing, mailing_moment, mailings_between
from digest.model.messages import Coverage
from digest.model.polls import Source
from digest.poll.rules import assess_coverage
from digest.store.papers import count_announced
from digest.store.runs import load_recent_polls


def load_coverage(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement: each check is for all saved queries."""
    mailing = latest_mailing(now)
    new = count_announced(conn, mailing, mailing).get(mailing, 0)
    polls = load_recent_polls(conn, source, now)
    checks = load_recent_polls(conn, Source.GAPS, now) if source == Source.HARVEST else ()
    return assess_coverage(polls, now, checks=checks, new=new)


def reach_back(
    conn: Connection, coverage: Coverage, first: date | None, covered_until: datetime | None = None
) -> Coverage:
    """Say of a digest that stands for several announcements which these are, and how many papers they all brought.

    Args:
        first: the earliest announcement that brought a paper it holds, None where none is known: it tells where no
            turn came before.
        covered_until: the moment up to which earlier turns stand for what was announced (UTC).
    """
    if coverage.mailing is None:
        return coverage
    if covered_until is not None:
        first = next(mailings_between(covered_until, mailing_moment(coverage.mailing)), None)
    if first is None or first >= coverage.mailing:
        return coverage
    counts = count_announced(conn, first, coverage.mailing)
    day_before = mailing_moment(first) - timedelta(seconds=1)
    expected = sum(1 for _ in mailings_between(day_before, mailing_moment(coverage.mailing)))
    return replace(coverage, since=first, new=sum(counts.values()), mailings=expected)
