"""Telling the operator: an alarm becomes a message, beside the outbox, which may be what is amiss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from digest import signing
from digest.config.zones import choose_zone, write_with_zone
from digest.errors import DigestError
from digest.planning.alarms import choose_pause, name_alarm, name_alarms, write_headline
from digest.render import AlarmContext, AlarmView, Envelope, MailIdentity
from digest.store import alarms as alarm_store
from digest.store import tokens as token_store
from digest.transports.ping import send_ping

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from digest.messages import Receipt
    from digest.pipeline.site import Site
    from digest.planning.alarms import Alarm
    from digest.store.alarms import StoredAlarm
    from digest.subscriptions import Destination


@dataclass(frozen=True, slots=True)
class Told:
    """What came of telling.

    Attributes:
        to: where the operator was told.
        ended: the names of the alarms whose end was told, where nothing else was; () otherwise.
        failures: where it failed, and why, in sentences.
    """

    to: tuple[Destination, ...] = ()
    ended: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def send_test(site: Site) -> tuple[list[tuple[Destination, Receipt | DigestError]], str]:
    """Send a message that says it is a test everywhere the operator is told, and ping.

    Returns:
        Each destination with what came of it; and what is wrong with the ping, "" for nothing.
    """
    results: list[tuple[Destination, Receipt | DigestError]] = []
    for destination in site.config.alarms.to:
        try:
            results.append((destination, send_test_to(site, destination)))
        except DigestError as error:
            results.append((destination, error))
    url = site.config.alarms.ping_url
    return results, "; ".join(ping(url)) if url else ""


def send_test_to(site: Site, destination: Destination) -> Receipt:
    """Send a message that says it is a test to one place.

    Raises:
        DigestError: it was not taken.
    """
    now = site.clock.now()
    context = AlarmContext(
        "Digest: a test of its alarms", (), _name_installation(site), _write(site, now), is_test=True
    )
    return _send(site, destination, context, f"test {now.isoformat()}", now)


def tell(site: Site, claimed: Sequence[StoredAlarm], found: Sequence[Alarm], now: datetime) -> Told:
    """Tell of several alarms in one message; they count as told once any destination took it.

    Args:
        site: whose operator.
        claimed: what to tell, claimed for it.
        found: all that is amiss now.
        now: the moment, in UTC.

    Returns:
        Where it was told, and where that failed.
    """
    latest = {str(alarm.name): alarm.detail for alarm in found}
    claimed = [
        replace(alarm, detail=latest.get(alarm.name, alarm.detail)) if alarm.ended_at is None else alarm
        for alarm in claimed
    ]
    lasting = [alarm for alarm in claimed if alarm.ended_at is None]
    ended = () if lasting else tuple(alarm.name for alarm in claimed)
    headline = write_headline([_write_what(alarm) for alarm in lasting]) if lasting else _write_end(claimed, found)
    context = AlarmContext(
        headline=f"Digest: {headline}",
        alarms=tuple(_view(site, alarm, found) for alarm in claimed),
        installation=_name_installation(site),
        moment=_write(site, now),
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
    return Told(tuple(told), ended, tuple(failures))


def _write_end(ended: Sequence[StoredAlarm], found: Sequence[Alarm]) -> str:
    """Say in one line what is over, and what is not."""
    if not found:
        first, *others = [_write_what(alarm) for alarm in ended]
        return write_headline([f"over: {first}", *others])
    names = name_alarms(alarm.name for alarm in ended)
    return f"over: {names}; still amiss: {name_alarms([alarm.name for alarm in found])}"


def _write_what(alarm: StoredAlarm) -> str:
    """Return what is or was amiss, without what to do about it."""
    return alarm.detail.partition(". ")[0]


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


def ping(url: str) -> list[str]:
    """Give a sign of life; return what went wrong, in sentences."""
    try:
        send_ping(url)
    except DigestError as error:
        return [f"no sign of life was given: {error.message}"]
    return []


def _view(site: Site, alarm: StoredAlarm, found: Sequence[Alarm]) -> AlarmView:
    name = name_alarm(alarm.name)
    if alarm.ended_at is not None:
        others = f"Still amiss: {'; '.join(other.what for other in found)}." if found else "No other alarm lasts."
        lasted = f"It lasted from {_write(site, alarm.since)} to {_write(site, alarm.ended_at)}."
        return AlarmView(f"{name}: over", f"It was: {_write_what(alarm)}. {lasted} {others}")
    return AlarmView(f"{name}, since {_write(site, alarm.since)}", alarm.detail)


def _name_installation(site: Site) -> str:
    return site.config.web.base_url or str(site.config.path or site.config.folder)


def _write(site: Site, moment: datetime) -> str:
    return write_with_zone(moment, choose_zone(site.config))
