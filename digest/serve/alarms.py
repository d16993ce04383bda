"""Tells the operator of each fact once and when it is over, and pings while all is well.

Alarms do not use the outbox, which may be what is wrong. An alarm is claimed before it is sent and marked
as sent afterwards: if a process dies in between, it is sent again, rather than never.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from digest.config import Config
from digest.inspect.alarm_facts import load_alarms
from digest.inspect.alarms import can_send_heartbeat
from digest.model import secrets
from digest.model.clock import write_with_zone
from digest.model.destinations import Destination
from digest.model.errors import DigestError
from digest.model.messages import Receipt
from digest.model.said import Said, Saying
from digest.site import Site
from digest.store.alarms import Alarm, StoredAlarm, claim_alarms, keep_alarms, mark_notified
from digest.store.tokens import load_secret
from digest.wire import ExchangeError, ask_status

LONGEST_HEADLINE = 90
"""Characters of a subject."""

_PING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WatchReport:
    """What one check brought. `due` are the alarms to send now; all, if no address for alarms is configured."""

    alarms: tuple[Alarm, ...] = ()
    due: tuple[Alarm, ...] = ()
    failures: tuple[Said, ...] = ()


def watch(site: Site, *, planning: str = "") -> WatchReport:
    """Check once whether everything that should have happened has, and send an alarm if not.

    `planning` says what could not be planned just now; "" leaves that to what the processes at work say.
    """
    now, settings = site.clock.now(), site.config.alarms
    with site.store.read() as conn:
        found = load_alarms(conn, site.config, now, planning=planning)
    with site.store.begin() as conn:
        keep_alarms(conn, found, now)
        claimed = claim_alarms(conn, found, now) if settings.to else []
    names = {alarm.name for alarm in claimed}
    due = tuple(alarm for alarm in found if alarm.name in names) if settings.to else found
    failures: list[Said] = []
    if settings.ping_url and can_send_heartbeat(found):
        failures += map(Said.plain, ping(site.config))
    if claimed:
        failures += _send_alarms(site, claimed, now)
    return WatchReport(found, due, tuple(failures))


def send_test(site: Site, destination: Destination) -> Receipt:
    """Send a message that says it is a test to one destination."""
    now = site.clock.now()
    return _send(site, destination, f"test {now.isoformat()}", now, ("Digest: a test message", ()))


def ping(config: Config) -> list[str]:
    """Request the ping address, which may be a secret; return what went wrong, in sentences."""
    try:
        status = ask_status(
            config.alarms.ping_url, silence=_PING_SECONDS, choose_proxy=config.choose_proxy
        )
    except ExchangeError as error:
        return [
            f"the ping failed: the ping address can't be reached: {error}. {error.hint}".strip()
        ]
    return (
        [f"the ping failed: the ping address answered {status}"]
        if status >= HTTPStatus.BAD_REQUEST
        else []
    )


def _send_alarms(site: Site, claimed: Sequence[StoredAlarm], now: datetime) -> list[Said]:
    """Send several alarms in one message; return at which addresses that failed, and why."""
    content = _describe(site, claimed)
    name = " ".join(
        f"{alarm.name} {alarm.since} {alarm.ended_at} {alarm.sent_at}" for alarm in claimed
    )
    failures = []
    for place in site.config.alarms.to:
        try:
            _send(site, place, name, now, content)
        except DigestError as error:
            failures.append(Said.of(Saying.ALARM_NOT_SENT, str(place), error.said))
    if len(failures) < len(
        site.config.alarms.to
    ):  # they count as sent once any destination took them
        with site.store.begin() as conn:
            for alarm in claimed:
                mark_notified(conn, alarm, now)
    return failures


def _describe(site: Site, claimed: Sequence[StoredAlarm]) -> tuple[str, list[tuple[str, str]]]:
    """Return a headline, and heading and details of each alarm."""
    views = []
    for alarm in sorted(claimed, key=lambda alarm: alarm.ended_at is not None):
        if alarm.ended_at is None:
            views.append((f"{alarm.name}, since {_write(site, alarm.since)}", alarm.detail))
        else:
            lasted = (
                f"It lasted from {_write(site, alarm.since)} to {_write(site, alarm.ended_at)}."
            )
            views.append((f"{alarm.name}: over", f"It was: {_cut(alarm)}. {lasted}"))
    first = next((alarm for alarm in claimed if alarm.ended_at is None), claimed[0])
    more = f" (and {len(claimed) - 1} more)" if len(claimed) > 1 else ""
    headline = f"Digest: {'this problem is over: ' if first.ended_at else ''}{_cut(first)}"
    short = textwrap.shorten(headline, LONGEST_HEADLINE - len(more), placeholder=" …")
    return short + more, views


def _cut(alarm: StoredAlarm) -> str:
    """Return what is or was wrong, without what to do about it."""
    return alarm.detail.partition(". ")[0]


def _send(
    site: Site,
    to: Destination,
    name: str,
    now: datetime,
    content: tuple[str, Sequence[tuple[str, str]]],
) -> Receipt:
    """Send one message: a headline, and heading and details of each alarm. Without alarms it is a test."""
    from digest.render.contexts import AlarmContext, AlarmView  # noqa: PLC0415 - most checks have nothing to render

    installation = site.config.web.base_url or str(site.config.path or site.config.folder)
    headline, alarms = content[0], tuple(AlarmView(*one) for one in content[1])
    context = AlarmContext(headline, alarms, installation, _write(site, now), is_test=not alarms)
    with site.store.read() as conn:
        scope = load_secret(conn)
    transport = site.transport(to.kind)
    channel = transport.resolve(to) or to.address
    key = secrets.idempotency_key(secrets.derive_token(scope, "alarms"), name, str(to), 0)
    identity = site.renderer.identify(site.config.mail, now)
    return transport.send(site.renderer.render_alarm(context, to, key, identity, channel), to)


def _write(site: Site, moment: datetime) -> str:
    return write_with_zone(moment, site.config.zone, site.clock.now())
