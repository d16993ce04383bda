"""The dead-man's switch at work: find what is amiss, keep it, tell the operator, and ping while all is well.

Telling is not of the outbox, which may be what is amiss. An alarm is claimed before it is told and marked
told afterwards: whoever dies in between leaves it to be told again, rather than never.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest import signing
from digest.errors import DigestError
from digest.pipeline.covering import load_whole_coverage
from digest.planning.alarms import (
    REMIND_EVERY,
    AlarmFacts,
    AlarmName,
    Limits,
    choose_pause,
    does_its_work,
    find_alarms,
    write_headline,
)
from digest.render import AlarmContext, AlarmView, Envelope, MailIdentity
from digest.store import alarms as alarm_store
from digest.store import provenance
from digest.store import queries as query_store
from digest.store import runs as run_store
from digest.store import tokens as token_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.config import Config
    from digest.messages import Receipt
    from digest.pipeline.site import Site
    from digest.planning.alarms import Alarm
    from digest.store.alarms import StoredAlarm
    from digest.subscriptions import Destination

_NAMES = {
    "mailing": "Mailing",
    "digest": "Digests",
    "outbox": "Outbox",
    "held": "Held",
    "dead": "Given up",
    "restored": "Restored",
}


@dataclass(frozen=True, slots=True)
class WatchReport:
    """What one look brought.

    Attributes:
        alarms: what is amiss.
        told: where the operator was told of alarms, or of their end.
        ended: the names of the alarms whose end was told, where nothing else was; () otherwise.
        failures: where that failed, and why, in sentences; so did a sign of life.
    """

    alarms: tuple[Alarm, ...] = ()
    told: tuple[Destination, ...] = ()
    ended: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def watch(site: Site) -> WatchReport:
    """Look once whether everything that should have happened has, and see that somebody knows if not."""
    now = site.clock.now()
    with site.store.read() as conn:
        alarms = look_for_alarms(conn, site.config, now)
    with site.store.begin() as conn:
        alarm_store.sync_alarms(conn, alarms, now)
        claimed = alarm_store.claim_alarms(conn, now) if site.config.alarms.to else []
    report = _tell(site, claimed, alarms, now) if claimed else WatchReport()
    failures = [*report.failures]
    if does_its_work(alarms) and site.config.alarms.ping_url:
        failures += _ping(site.config.alarms.ping_url)
    return replace(report, alarms=alarms, failures=tuple(failures))


def look_for_alarms(conn: Connection, config: Config, now: datetime) -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC), as the configuration's limits have it; nothing is changed."""
    limits = read_limits(config)
    has_queries = bool(query_store.active_revisions(conn))
    before = now - limits.outbox if limits.outbox else None
    facts = AlarmFacts(
        coverage=load_whole_coverage(conn, config.arxiv.source, now) if has_queries and limits.mailing else None,
        digests=alarm_store.find_overdue_digests(conn, now - limits.digest) if limits.digest else None,
        deliveries=alarm_store.find_overdue_deliveries(conn, before) if before else None,
        held=alarm_store.find_overdue_holds(conn, before) if before else None,
        dead=alarm_store.find_dead_deliveries(conn, now - REMIND_EVERY),
        is_mailing_missed=alarm_store.is_raised(conn, AlarmName.MAILING),
        is_restored=provenance.is_in_quarantine(conn),
        asked_since=run_store.find_first_start(conn),
    )
    return find_alarms(facts, limits, now)


def read_limits(config: Config) -> Limits:
    """Return the limits as configured, 0 meaning none."""
    alarms = config.alarms
    return Limits(
        mailing=timedelta(hours=alarms.mailing_hours) or None,
        digest=timedelta(minutes=alarms.digest_minutes) or None,
        outbox=timedelta(minutes=alarms.outbox_minutes) or None,
    )


def send_test(site: Site) -> tuple[list[tuple[Destination, Receipt | DigestError]], str]:
    """Send a message that says it is a test everywhere the operator is told, and ping.

    Returns:
        Each destination with what came of it; and what is wrong with the ping, "" for nothing.
    """
    now = site.clock.now()
    context = AlarmContext("Digest: a test of its alarms", (), _name_installation(site), _write(now), is_test=True)
    results: list[tuple[Destination, Receipt | DigestError]] = []
    for destination in site.config.alarms.to:
        try:
            results.append((destination, _send(site, destination, context, f"test {now.isoformat()}", now)))
        except DigestError as error:
            results.append((destination, error))
    url = site.config.alarms.ping_url
    return results, "; ".join(_ping(url)) if url else ""


def _tell(site: Site, claimed: Sequence[StoredAlarm], found: Sequence[Alarm], now: datetime) -> WatchReport:
    """Tell of several alarms in one message; they count as told once any destination took it."""
    lasting = [alarm for alarm in claimed if alarm.ended_at is None]
    ended = () if lasting else tuple(alarm.name for alarm in claimed)
    headline = write_headline([alarm.detail.partition(". ")[0] for alarm in lasting] or [_write_end(ended, found)])
    context = AlarmContext(
        headline=f"Digest: {headline}",
        alarms=tuple(_view(alarm) for alarm in claimed),
        installation=_name_installation(site),
        moment=_write(now),
    )
    name = " ".join(
        f"{alarm.name} {alarm.since.isoformat()} {alarm.ended_at} {alarm.told_at}" for alarm in claimed
    )
    told, failures = [], []
    for destination in site.config.alarms.to:
        try:
            _send(site, destination, context, name, now)
        except DigestError as error:
            failures.append(f"the operator could not be told at {destination}: {error.message}")
        else:
            told.append(destination)
    with site.store.begin() as conn:
        for alarm in claimed:
            if told:
                alarm_store.mark_told(conn, alarm, now)
            else:
                alarm_store.put_off(conn, alarm, now, lambda attempts: choose_pause(attempts, site.jitter()))
    return WatchReport(told=tuple(told), ended=ended, failures=tuple(failures))


def _write_end(ended: Sequence[str], found: Sequence[Alarm]) -> str:
    """Say in a few words what is over, and what is not."""
    if not found:
        return "all is well again"
    return f"over: {name_alarms(ended)}; still amiss: {name_alarms([alarm.name for alarm in found])}"


def name_alarms(names: Iterable[str]) -> str:
    """Return alarms by name, in words within a sentence."""
    return ", ".join(_NAMES.get(name, name).lower() for name in names)


def _send(site: Site, destination: Destination, context: AlarmContext, name: str, now: datetime) -> Receipt:
    transport = site.transport(destination.kind)
    with site.store.read() as conn:
        scope = token_store.installation_secret(conn)
    mail = site.config.mail
    envelope = Envelope(
        destination=destination,
        remote_address=transport.resolve(destination),
        key=signing.idempotency_key(signing.derive_token(scope, "alarms"), name, str(destination), 0),
        identity=MailIdentity(
            from_address=mail.from_address,
            from_name=mail.from_name,
            domain=mail.from_address.rpartition("@")[2] or "localhost",
            date=now,
        ),
    )
    return transport.send(site.renderer.render_alarm(context, envelope), destination)


def _ping(url: str) -> list[str]:
    from digest.transports.ping import send_ping  # noqa: PLC0415 - only where somebody watches

    try:
        send_ping(url)
    except DigestError as error:
        return [f"no sign of life was given: {error.message}"]
    return []


def _view(alarm: StoredAlarm) -> AlarmView:
    name = _NAMES.get(alarm.name, alarm.name)
    if alarm.ended_at is not None:
        return AlarmView(f"{name}: over", f"It lasted from {_write(alarm.since)} to {_write(alarm.ended_at)}.")
    return AlarmView(f"{name}, since {_write(alarm.since)}", alarm.detail)


def _name_installation(site: Site) -> str:
    return site.config.web.base_url or str(site.config.path or site.config.folder)


def _write(moment: datetime) -> str:
    return f"{moment:%a %-d %b %H:%M} UTC"
