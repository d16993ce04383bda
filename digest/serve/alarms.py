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
from typing import TYPE_CHECKING

from digest.config import Config
from digest.deliver.step import mail_identity
from digest.inspect.alarms import can_send_heartbeat
from digest.inspect.status import load_alarms
from digest.model import secrets
from digest.model.clock import write_with_zone
from digest.model.errors import DigestError
from digest.model.messages import Receipt
from digest.model.subscriptions import Destination
from digest.site import Site
from digest.store.alarms import Alarm, StoredAlarm, claim_alarms, keep_alarms, mark_notified
from digest.store.tokens import load_secret
from digest.wire import ExchangeError, ask_status

if TYPE_CHECKING:
    from digest.render import AlarmContext

LONGEST_HEADLINE = 90
"""Characters of a subject."""

_PING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WatchReport:
    """What one check brought.

    Attributes:
        due: those of them to send now; all of them if the configuration names no address for alarms.
        failures: at which addresses that failed, and why, in sentences; so did a sign of life.
    """

    alarms: tuple[Alarm, ...] = ()
    due: tuple[Alarm, ...] = ()
    failures: tuple[str, ...] = ()


def watch(site: Site, *, planning: str = "") -> WatchReport:
    """Check once whether everything that should have happened has, and send an alarm if not.

    Args:
        planning: what could not be planned just now, and why; "" leaves that to what the processes at work say.
    """
    now, settings = site.clock.now(), site.config.alarms
    with site.store.read() as conn:
        found = load_alarms(conn, site.config, now, planning=planning)
    with site.store.begin() as conn:
        keep_alarms(conn, found, now)
        claimed = claim_alarms(conn, found, now) if settings.to else []
    names = {alarm.name for alarm in claimed}
    due = tuple(alarm for alarm in found if alarm.name in names) if settings.to else found
    failures = ping(site.config) if settings.ping_url and can_send_heartbeat(found) else []
    if claimed:
        failures += _send_alarms(site, claimed, now)
    return WatchReport(found, due, tuple(failures))


def send_test(site: Site, destination: Destination) -> Receipt:
    """Send a message that says it is a test to one place.

    Raises:
        DigestError: it was not taken.
    """
    from digest.render import AlarmContext  # noqa: PLC0415 - most checks have nothing to render

    now = site.clock.now()
    headline, installation = "Digest: a test message", _name_installation(site)
    context = AlarmContext(headline, (), installation, _write(site, now), is_test=True)
    return _send(site, destination, context, f"test {now.isoformat()}", now)


def ping(config: Config) -> list[str]:
    """Request the ping address, which may be a secret; return what went wrong, in sentences."""
    try:
        status = ask_status(config.alarms.ping_url, silence=_PING_SECONDS, choose_proxy=config.choose_proxy)
    except ExchangeError as error:
        return [f"the ping failed: the ping address can't be reached: {error}. {error.hint}".strip()]
    return [f"the ping failed: the ping address answered {status}"] if status >= HTTPStatus.BAD_REQUEST else []


def _send_alarms(site: Site, claimed: Sequence[StoredAlarm], now: datetime) -> list[str]:
    """Send several alarms in one message; return at which addresses that failed, in sentences.

    They count as sent once any destination took it.
    """
    context = _describe(site, claimed, now)
    name = " ".join(f"{alarm.name} {alarm.since} {alarm.ended_at} {alarm.sent_at}" for alarm in claimed)
    failures = []
    for place in site.config.alarms.to:
        try:
            _send(site, place, context, name, now)
        except DigestError as error:
            failures.append(f"the alarm could not be sent to {place}: {error.message}")
    if len(failures) < len(site.config.alarms.to):
        with site.store.begin() as conn:
            for alarm in claimed:
                mark_notified(conn, alarm, now)
    return failures


def _describe(site: Site, claimed: Sequence[StoredAlarm], now: datetime) -> AlarmContext:
    from digest.render import AlarmContext, AlarmView  # noqa: PLC0415 - most checks have nothing to render

    views = []
    for alarm in sorted(claimed, key=lambda alarm: alarm.ended_at is not None):
        if alarm.ended_at is None:
            views.append(AlarmView(f"{alarm.name}, since {_write(site, alarm.since)}", alarm.detail))
        else:
            lasted = f"It lasted from {_write(site, alarm.since)} to {_write(site, alarm.ended_at)}."
            views.append(AlarmView(f"{alarm.name}: over", f"It was: {_cut(alarm)}. {lasted}"))
    first = next((alarm for alarm in claimed if alarm.ended_at is None), claimed[0])
    more = f" (and {len(claimed) - 1} more)" if len(claimed) > 1 else ""
    headline = f"Digest: {'over: ' if first.ended_at else ''}{_cut(first)}"
    short = textwrap.shorten(headline, LONGEST_HEADLINE - len(more), placeholder=" …")
    return AlarmContext(short + more, tuple(views), _name_installation(site), _write(site, now))


def _cut(alarm: StoredAlarm) -> str:
    """Return what is or was wrong, without what to do about it."""
    return alarm.detail.partition(". ")[0]


def _send(site: Site, destination: Destination, context: AlarmContext, name: str, now: datetime) -> Receipt:
    from digest.render import Envelope  # noqa: PLC0415 - most checks have nothing to render

    with site.store.read() as conn:
        scope = load_secret(conn)
    transport = site.transport(destination.kind)
    envelope = Envelope(
        destination=destination,
        remote_address=transport.resolve(destination),
        key=secrets.idempotency_key(secrets.derive_token(scope, "alarms"), name, str(destination), 0),
        identity=mail_identity(site, now),
    )
    return transport.send(site.renderer.render_alarm(context, envelope), destination)


def _name_installation(site: Site) -> str:
    return site.config.web.base_url or str(site.config.path or site.config.folder)


def _write(site: Site, moment: datetime) -> str:
    return write_with_zone(moment, site.config.zone, site.clock.now())
