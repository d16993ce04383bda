"""The dead-man's switch at work: find what is amiss, keep it, see that somebody knows, ping while all is well.

Telling is not of the outbox, which may be what is amiss. An alarm is claimed before it is told and marked
told afterwards: whoever dies in between leaves it to be told again, rather than never.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from digest.config.zones import choose_zone, write_with_zone
from digest.pipeline.covering import load_coverage_since
from digest.planning.alarms import (
    AlarmFacts,
    AlarmName,
    Limits,
    does_its_work,
    find_alarms,
    find_due_mailing,
    find_told_until,
)
from digest.store import alarms as alarm_store
from digest.store import job_turns, provenance
from digest.store import runs as run_store
from digest.store.job_turns import find_trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.config import Config
    from digest.messages import Coverage
    from digest.pipeline.site import Site
    from digest.planning.alarms import Alarm, Overdue
    from digest.subscriptions import Destination


@dataclass(frozen=True, slots=True)
class WatchReport:
    """What one look brought.

    Attributes:
        alarms: what is amiss.
        due: those of them that somebody must hear of now: each once, and again after a day; all of them where
            the configuration names nobody to be told.
        told: where the operator was told of alarms, or of their end.
        ended: the names of the alarms whose end was told, where nothing else was; () otherwise.
        failures: where that failed, and why, in sentences; so did a sign of life.
    """

    alarms: tuple[Alarm, ...] = ()
    due: tuple[Alarm, ...] = ()
    told: tuple[Destination, ...] = ()
    ended: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def watch(site: Site, *, planning: str = "") -> WatchReport:
    """Look once whether everything that should have happened has, and see that somebody knows if not.

    Args:
        site: the installation.
        planning: what could not be planned just now, and why; "" leaves that to what the processes at work say.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        alarms = look_for_alarms(conn, site.config, now, planning=planning)
        let_go = _find_let_go(conn, alarms, now)
    with site.store.begin() as conn:
        alarm_store.sync_alarms(conn, alarms, now, let_go=let_go)
        claimed = alarm_store.claim_alarms(conn, now) if site.config.alarms.to else []
    names = {alarm.name for alarm in claimed}
    due = tuple(alarm for alarm in alarms if alarm.name in names) if site.config.alarms.to else alarms
    url = site.config.alarms.ping_url if does_its_work(alarms) else ""
    if not (claimed or url):
        return WatchReport(alarms, due)
    from digest.pipeline import raising  # noqa: PLC0415 - renders and sends, which most looks have no need of

    failures = raising.ping(url) if url else []  # first: it may take minutes to tell
    told = raising.tell(site, claimed, alarms, now) if claimed else raising.Told()
    return WatchReport(alarms, due, told.to, told.ended, (*told.failures, *failures))


def look_for_alarms(conn: Connection, config: Config, now: datetime, *, planning: str = "") -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC), as the configuration's limits have it; nothing is changed.

    Args:
        conn: any transaction.
        config: whose limits.
        now: the moment (UTC).
        planning: see `watch`.
    """
    limits = read_limits(config)
    before = now - limits.outbox if limits.outbox else None
    # Where nobody is told, every run says it, for a day: nothing waits for somebody to hear of it.
    dead = alarm_store.find_lasting(conn, AlarmName.DEAD) if config.alarms.to else None
    told_until = find_told_until(now, dead.since if dead else None, dead.told_at if dead else None)
    facts = AlarmFacts(
        coverage=_load_due(conn, config.arxiv.source, limits.mailing, now),
        digests=_find_overdue_digests(conn, now - limits.digest, planning) if limits.digest else None,
        deliveries=alarm_store.find_overdue_deliveries(conn, before) if before else None,
        held=alarm_store.find_overdue_holds(conn, before) if before else None,
        dead=alarm_store.find_dead_deliveries(conn, told_until),
        is_restored=provenance.is_in_quarantine(conn),
        asked_since=run_store.find_first_start(conn),
        is_served=job_turns.is_served(conn),
    )
    return find_alarms(facts, limits, now, partial(write_with_zone, zone=choose_zone(config)))


def _load_due(conn: Connection, source: str, limit: timedelta | None, now: datetime) -> Coverage | None:
    return load_coverage_since(conn, source, find_due_mailing(limit, now), now) if limit else None


def _find_let_go(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[str]:
    """Return the alarms that are told no more though not all is mended: of messages that stay given up."""
    dead = alarm_store.find_lasting(conn, AlarmName.DEAD)
    if dead is None or any(alarm.name is AlarmName.DEAD for alarm in found):
        return []
    is_left = alarm_store.find_dead_deliveries(conn, find_told_until(now, dead.since, None)) is not None
    return [AlarmName.DEAD] if is_left else []


def _find_overdue_digests(conn: Connection, before: datetime, planning: str) -> Overdue | None:
    overdue = alarm_store.find_overdue_digests(conn, before)
    return overdue and replace(overdue, reason=planning or find_trouble(conn, "plan"))


def read_limits(config: Config) -> Limits:
    """Return the limits as configured, 0 meaning none."""
    alarms = config.alarms
    return Limits(
        mailing=timedelta(hours=alarms.mailing_hours) or None,
        digest=timedelta(minutes=alarms.digest_minutes) or None,
        outbox=timedelta(minutes=alarms.outbox_minutes) or None,
    )
