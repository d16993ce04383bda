"""Telling the operator: an alarm becomes a message, beside the outbox and its ways out: either may be amiss."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from digest import signing
from digest.config.zones import choose_zone, write_with_zone
from digest.errors import DeliveryError, DigestError
from digest.pipeline.writing import SLACK_SPACING
from digest.planning.alarms import choose_pause, name_alarm, name_alarms, write_headline
from digest.planning.retries import LONGEST_WISH
from digest.render import AlarmContext, AlarmView, Envelope, MailIdentity
from digest.store import alarms as alarm_store
from digest.store import tokens as token_store
from digest.store.destinations import block_destination
from digest.subscriptions import SLACK_KINDS
from digest.transports.ping import send_ping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from digest.messages import Message, Receipt
    from digest.pipeline.site import Site
    from digest.planning.alarms import Alarm
    from digest.store.alarms import StoredAlarm
    from digest.subscriptions import Destination

LONGEST_TELLING = 180.0
"""Seconds one telling may take: what was claimed for it is another process's to tell after `CLAIM`."""

_BREAKING_OFF = 5.0
"""Seconds that may take."""


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
    now, url = site.clock.now(), site.config.alarms.ping_url
    results = _send_everywhere(site, _write_test(site, now), _name_test(now), now)
    return results, "; ".join(ping(url)) if url else ""


def send_test_to(site: Site, destination: Destination) -> Receipt:
    """Send a message that says it is a test to one place.

    Raises:
        DigestError: it was not taken.
    """
    now = site.clock.now()
    key = _make_key(site, destination, _name_test(now))
    return _send(site, destination, partial(site.renderer.render_alarm, _write_test(site, now)), key, now)


def _write_test(site: Site, now: datetime) -> AlarmContext:
    return AlarmContext(
        "Digest: a test of its alarms", (), _name_installation(site), _write(site, now), is_test=True
    )


def _name_test(now: datetime) -> str:
    return f"test {now.isoformat()}"


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
    results = _send_everywhere(site, context, name, now)
    told = [place for place, came in results if not isinstance(came, DigestError)]
    failures = [
        f"the operator could not be told at {place}: {came.message}"
        for place, came in results
        if isinstance(came, DigestError)
    ]
    tried_at = site.clock.now()
    with site.store.begin() as conn:
        for place, came in results:
            rest = _find_rest(place, came)
            if rest:
                block_destination(conn, place, tried_at + rest)
        for alarm in claimed:
            if told:
                alarm_store.mark_told(conn, alarm, now)
            else:
                alarm_store.put_off(conn, alarm, tried_at, lambda attempts: choose_pause(attempts, site.jitter()))
    return Told(tuple(told), ended, tuple(failures))


def _write_end(ended: Sequence[StoredAlarm], found: Sequence[Alarm]) -> str:
    """Say in one line what is over, and what is not."""
    if not found:
        first, *others = [_write_what(alarm) for alarm in ended]
        return write_headline([f"over, it was: {first}", *others])
    names = name_alarms(alarm.name for alarm in ended)
    return f"over: {names}; still amiss: {name_alarms([alarm.name for alarm in found])}"


def _write_what(alarm: StoredAlarm) -> str:
    """Return what is or was amiss, without what to do about it."""
    return alarm.detail.partition(". ")[0]


def _send_everywhere(
    site: Site, context: AlarmContext, name: str, now: datetime
) -> list[tuple[Destination, Receipt | DigestError]]:
    """Send a message to every place, side by side: one that hangs keeps no other waiting."""
    places = site.config.alarms.to
    if not places:
        return []
    keys = [_make_key(site, place, name) for place in places]
    render = partial(site.renderer.render_alarm, context)  # the renderer is made here, and by no two threads

    def send(place: Destination, key: str) -> Receipt | DigestError:
        try:
            return _send(site, place, render, key, now)
        except DigestError as error:
            return error

    threads = ThreadPoolExecutor(len(places), thread_name_prefix="alarm")
    sendings = [threads.submit(send, place, key) for place, key in zip(places, keys, strict=True)]
    if wait(sendings, LONGEST_TELLING).not_done:
        site.interrupt_alarms()
        wait(sendings, _BREAKING_OFF)
    threads.shutdown(wait=False, cancel_futures=True)
    late = DeliveryError(f"there was no answer within {LONGEST_TELLING:g} s", ambiguous=True)
    return [
        (place, sending.result() if sending.done() else late)
        for place, sending in zip(places, sendings, strict=True)
    ]


def _find_rest(place: Destination, came: Receipt | DigestError) -> timedelta | None:
    """Return how long the outbox leaves a place alone after an alarm went there; None for not at all.

    An alarm itself waits for no such rest, which a channel full of digests always has: it is one message, and
    where it is refused for that, its next try has a pause like any other.
    """
    if isinstance(came, DeliveryError) and came.retry_after is not None:
        return timedelta(seconds=min(came.retry_after, LONGEST_WISH.total_seconds()))
    is_posted = not isinstance(came, DigestError) or (isinstance(came, DeliveryError) and came.ambiguous)
    return SLACK_SPACING if is_posted and place.kind in SLACK_KINDS else None


def _make_key(site: Site, destination: Destination, name: str) -> str:
    with site.store.read() as conn:
        scope = token_store.installation_secret(conn)
    return signing.idempotency_key(signing.derive_token(scope, "alarms"), name, str(destination), 0)


def _send(
    site: Site, destination: Destination, render: Callable[[Envelope], Message], key: str, now: datetime
) -> Receipt:
    transport = site.alarm_transport(destination.kind)
    mail = site.config.mail
    envelope = Envelope(
        destination=destination,
        remote_address=transport.resolve(destination),
        key=key,
        identity=MailIdentity(
            from_address=mail.from_address,
            from_name=mail.from_name,
            domain=mail.from_address.rpartition("@")[2] or "localhost",
            date=now,
        ),
    )
    return transport.send(render(envelope), destination)


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
        others = "No other alarm lasts: there is nothing to do."
        if found:
            others = f"Still amiss: {'; '.join(other.what for other in found)}."
        lasted = f"It lasted from {_write(site, alarm.since)} to {_write(site, alarm.ended_at)}."
        return AlarmView(f"{name}: over", f"It was: {_write_what(alarm)}. {lasted} {others}")
    return AlarmView(f"{name}, since {_write(site, alarm.since)}", alarm.detail)


def _name_installation(site: Site) -> str:
    return site.config.web.base_url or str(site.config.path or site.config.folder)


def _write(site: Site, moment: datetime) -> str:
    return write_with_zone(moment, choose_zone(site.config))
