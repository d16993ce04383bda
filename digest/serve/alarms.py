"""Sends each alarm once, and once more when it is over; pings while all is well.

Alarms do not use the outbox, which may be what is wrong. An alarm is claimed before it is sent and
marked as sent afterwards: if a process dies in between, it is sent again, rather than never.
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
from digest.model.said import NOTHING, Said, Saying
from digest.site import Site
from digest.store import alarms, tokens
from digest.store.alarms import Alarm, StoredAlarm
from digest.wire import ExchangeError, ask_status

LONGEST_HEADLINE = 90
"""Characters of a subject."""

_PING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WatchReport:
    """What is wrong at one check, and what could not be sent.

    Attributes:
        alarms: everything that is wrong.
        due: those of them that this check had to send; all, if `alarms.to` is empty.
        failures: which messages and pings could not be sent, and why.
    """

    alarms: tuple[Alarm, ...] = ()
    due: tuple[Alarm, ...] = ()
    failures: tuple[Said, ...] = ()


def watch(site: Site, *, planning: Said = NOTHING) -> WatchReport:
    """Check once whether everything that should have happened has, and send an alarm if not.

    `planning` says what could not be planned just now. If it says nothing, the alarm about overdue
    digests names what the processes at work have stored.
    """
    now = site.clock.now()
    settings = site.config.alarms
    with site.store.read() as conn:
        found = load_alarms(conn, site.config, now, planning=planning)
    with site.store.begin() as conn:
        alarms.save_alarms(conn, found, now)
        claimed = alarms.claim(conn, found, now) if settings.to else []
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
    content = _Content("Digest: a test message")
    return _send(site, destination, f"test {now.isoformat()}", now, content)


def ping(config: Config) -> list[str]:
    """Request the ping address, which may be a secret; return what went wrong, in sentences."""
    try:
        status = ask_status(
            config.alarms.ping_url, silence=_PING_SECONDS, choose_proxy=config.choose_proxy
        )
    except ExchangeError as error:
        said = f"the ping failed: the ping address can't be reached: {error}. {error.hint}"
        return [said.strip()]
    if status < HTTPStatus.BAD_REQUEST:
        return []
    return [f"the ping failed: the ping address answered {status}"]


def _send_alarms(site: Site, claimed: Sequence[StoredAlarm], now: datetime) -> list[Said]:
    """Send several alarms in one message; return which destinations did not take it, and why."""
    content = _describe(site, claimed)
    states = [f"{alarm.name} {alarm.since} {alarm.ended_at} {alarm.sent_at}" for alarm in claimed]
    name = " ".join(states)
    places = site.config.alarms.to
    failures = []
    for place in places:
        try:
            _send(site, place, name, now, content)
        except DigestError as error:
            failures.append(Said.of(Saying.ALARM_NOT_SENT, str(place), error.said))
    # The alarms count as sent once one destination took the message.
    if len(failures) < len(places):
        with site.store.begin() as conn:
            for alarm in claimed:
                alarms.mark_notified(conn, alarm, now)
    return failures


@dataclass(frozen=True, slots=True)
class _Content:
    """What a message says: its headline, and a heading and a detail for each alarm."""

    headline: str
    alarms: tuple[tuple[str, str], ...] = ()


def _describe(site: Site, claimed: Sequence[StoredAlarm]) -> _Content:
    lasting = [alarm for alarm in claimed if alarm.ended_at is None]
    over = [alarm for alarm in claimed if alarm.ended_at is not None]
    views = [
        (f"{alarm.name}, since {_write(site, alarm.since)}", str(alarm.detail)) for alarm in lasting
    ]
    views += [(f"{alarm.name}: over", _describe_end(site, alarm)) for alarm in over]
    first = lasting[0] if lasting else claimed[0]
    more = f" (and {len(claimed) - 1} more)" if len(claimed) > 1 else ""
    prefix = "" if lasting else "this problem is over: "
    headline = f"Digest: {prefix}{_say_what(first)}"
    short = textwrap.shorten(headline, LONGEST_HEADLINE - len(more), placeholder=" …")
    return _Content(short + more, tuple(views))


def _describe_end(site: Site, alarm: StoredAlarm) -> str:
    """Say what was wrong, from when, and until when."""
    assert alarm.ended_at is not None  # noqa: S101 - it is called only for alarms that are over
    since = _write(site, alarm.since)
    until = _write(site, alarm.ended_at)
    return f"It was: {_say_what(alarm)}. It lasted from {since} to {until}."


def _say_what(alarm: StoredAlarm) -> str:
    """Return the first sentence of what is or was wrong."""
    what, *_remedy = alarm.detail.args
    return str(what).partition(". ")[0]


def _send(site: Site, to: Destination, name: str, now: datetime, content: _Content) -> Receipt:
    """Send one message; one without alarms is a test.

    `name` tells this message from others: its idempotency key is made of that.
    """
    from digest.render.contexts import AlarmContext, AlarmView  # noqa: PLC0415 - few checks render

    context = AlarmContext(
        content.headline,
        tuple(AlarmView(heading, detail) for heading, detail in content.alarms),
        site.config.web.base_url or str(site.config.path or site.config.folder),
        _write(site, now),
        is_test=not content.alarms,
    )
    with site.store.read() as conn:
        scope = secrets.derive_token(tokens.load_secret(conn), "alarms")
    transport = site.transport(to.kind)
    channel = transport.resolve(to) or to.address
    key = secrets.idempotency_key(scope, name, str(to), 0)
    identity = site.renderer.identify(site.config.mail, now)
    return transport.send(site.renderer.render_alarm(context, to, key, identity, channel), to)


def _write(site: Site, moment: datetime) -> str:
    return write_with_zone(moment, site.config.zone, site.clock.now())
