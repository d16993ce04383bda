"""Gathers the facts that raise an alarm, for one moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from digest.config import Config
from digest.inspect.alarms import (
    DIGEST_LIMIT,
    FAILURE_SHOWN,
    OUTBOX_LIMIT,
    find_alarms,
    find_due_announcement,
)
from digest.inspect.coverage import AnnouncementLine, load_announcements
from digest.model.announcements import announcement_moment
from digest.model.clock import write_with_zone
from digest.model.said import NOTHING, Said
from digest.people.signups import is_refusing
from digest.store import alarms, queries, runs, workers
from digest.store.alarms import Alarm


def load_alarms(
    conn: Connection, config: Config, now: datetime, *, planning: Said = NOTHING
) -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC).

    `planning` is what could not be planned just now, and why.
    """
    digests = alarms.load_overdue_digests(conn, now - DIGEST_LIMIT)
    if digests:
        reason = planning or workers.load_trouble(conn, "plan")
        digests = replace(digests, reason=reason)
    found = find_alarms(
        partial(write_with_zone, zone=config.zone, today=now),
        _load_announcement(conn, config.arxiv.source, now),
        digests=digests,
        deliveries=alarms.load_overdue_deliveries(conn, now - OUTBOX_LIMIT),
        failed=alarms.load_failed_deliveries(conn, now - FAILURE_SHOWN),
        held=alarms.load_held_deliveries(conn),
        is_refusing=is_refusing(conn, now),
    )
    return tuple(found)


def _load_announcement(conn: Connection, source: str, now: datetime) -> AnnouncementLine | None:
    """Say what became of the announcement that must be fetched.

    None where no saved query asked for it.
    """
    announcement = find_due_announcement(now)
    sent = announcement_moment(announcement)
    first_at = runs.load_first_start(conn)
    is_harvest = source == "harvest"
    if not any(is_harvest or query.since <= sent for query in queries.load_asked(conn)):
        return None
    days = (now - sent).days + 1
    for line in load_announcements(conn, source, now, first_at=first_at, days=days):
        if line.announcement == announcement:
            return line
    return None
