"""Says what was checked of arXiv's announcements, from the polls that are stored."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from digest.model.announcements import latest_announcement
from digest.model.messages import Coverage
from digest.model.polls import Source
from digest.model.subscriptions import UncheckedTurn
from digest.poll import rules
from digest.store import papers, runs

_WEEK = timedelta(days=7)


def load_coverage(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement: each check is for all saved queries."""
    announcement = latest_announcement(now)
    counts = papers.count_announced(conn, announcement, announcement)
    checks = runs.load_recent_polls(conn, Source.GAPS, now) if source == Source.HARVEST else ()
    return rules.assess_coverage(
        runs.load_recent_polls(conn, source, now),
        now,
        checks=checks,
        new=counts.get(announcement, 0),
    )


def load_visible(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement that arXiv shows by now."""
    return load_coverage(conn, source, now - rules.VISIBLE_AFTER[source])


def load_unchecked(conn: Connection, source: str) -> tuple[UncheckedTurn, ...]:
    """Return the announcements of the week before the last check that were checked too late."""
    last = runs.load_last_start(conn)
    if last is None:
        return ()
    polls = runs.load_polls_since(conn, source, last - _WEEK)
    return tuple(rules.find_unchecked(polls))
