"""render | deliver: take deliveries from the outbox one by one, and keep what the other side answered.

A send is three short transactions: the claim; the intent, which stores the bytes and the state
`sending` before the network is touched; the mark, fenced by the claim's token and repeated until the
database takes it. Only a delivery found in `sending` is ambiguous, and it is asked about, not repeated.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.errors import ConfigurationError, DeliveryError, DigestError, StoreError
from digest.messages import DeliveryState
from digest.pipeline.leasing import Leases
from digest.pipeline.links import make_links
from digest.pipeline.settling import settle_unknown, settling_times
from digest.planning.retries import Step, decide_failure
from digest.render import MailIdentity
from digest.store import deliveries as outbox
from digest.store import digests as digest_store
from digest.store import stamps
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from digest.messages import Delivery, Digest, Message, Receipt
    from digest.pipeline.site import Site

_log = logging.getLogger("digest.deliver")

BATCH = 16
MARK_ATTEMPTS = 60
"""With pauses up to 5 s: about five minutes of a database that is away."""
SLACK_SPACING = timedelta(seconds=1)
"""Slack takes one message a second and channel (https://docs.slack.dev/apis/web-api/rate-limits)."""

_WAY_WORDS = {"mailto": "mail", "slack": "Slack", "slack-webhook": "Slack webhook"}

SHORT_WAIT = timedelta(seconds=10)
"""A pass waits this long for the pace of a channel rather than leaving its parts to the next pass."""


@dataclass
class DeliverReport:
    """What one pass delivered.

    Attributes:
        sent: deliveries the other side took, by transport.
        retries: deliveries to be tried again, with why.
        dead: deliveries given up, with why.
        held: deliveries waiting for the operator, with why.
        unknown: deliveries whose fate must be asked about first.
        suppressed: deliveries to somebody who left.
    """

    sent: dict[str, int] = field(default_factory=dict)
    retries: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    suppressed: int = 0

    def describe(self, feeds: int) -> str:
        """Say how much went which way, and how many feed files were written."""
        words = [f"{_WAY_WORDS.get(kind, kind)} {count} ✓" for kind, count in sorted(self.sent.items())]
        words += [f"feed {feeds} ✓"] * bool(feeds)
        troubles = {"to try again": self.retries, "unknown": self.unknown, "held": self.held, "dead": self.dead}
        words += [f"{word} {len(lines)}" for word, lines in troubles.items() if lines]
        return "   ".join(words) or "nothing to send"

    @property
    def total(self) -> int:
        """How many deliveries the other side took."""
        return sum(self.sent.values())


def deliver(site: Site, *, should_stop: Callable[[], bool] = lambda: False) -> DeliverReport:
    """Send what is in the outbox and due, until nothing is or `should_stop` says so."""
    report = DeliverReport()
    settle_unknown(site)
    with Leases(site.store) as leases:
        while not should_stop():
            now, asked_at = site.clock.now(), monotonic()
            with site.store.begin() as conn:
                outbox.reap(conn, now, settle=settling_times(site.config))
                claimed = outbox.claim(conn, owner=site.owner, limit=BATCH, now=now)
            leases.take(claimed, asked_at)
            for delivery in claimed:
                if should_stop():
                    with site.store.begin() as conn:
                        outbox.release_claim(conn, delivery)
                else:
                    _deliver_one(site, report, delivery, partial(leases.holds, delivery))
                    site.progress.update(f"{report.total} sent")
                leases.drop(delivery)
            if not claimed and not _wait_for_pace(site):
                break
    return report


def _wait_for_pace(site: Site) -> bool:
    """Sleep until a channel's pace lets its next part go; return False if nothing is that near."""
    now = site.clock.now()
    with site.store.read() as conn:
        next_at = outbox.next_claimable_at(conn, now)
    if next_at is None or next_at - now > SHORT_WAIT:
        return False
    site.clock.sleep(max((next_at - now).total_seconds(), 0.01))
    return True


def _deliver_one(site: Site, report: DeliverReport, delivery: Delivery, is_ours: Callable[[], bool]) -> None:
    try:
        transport = site.transport(delivery.destination.kind)
        delivery = _with_address(site, delivery, transport.resolve(delivery.destination))
        message = _render(site, delivery)
    except DeliveryError as error:
        _mark_failure(site, report, delivery, error)
        return
    except StoreError:
        raise  # the database is away, which says nothing about the delivery: its claim lapses
    except DigestError as error:
        # What is configured wrongly concerns more than this delivery, and is the operator's to mend.
        failure = DeliveryError(
            error.message,
            permanent=True,
            whole_transport=isinstance(error, ConfigurationError),
            hint=error.hint,
        )
        _mark_failure(site, report, delivery, failure)
        return
    with site.store.begin() as conn:
        intent = outbox.begin_sending(conn, delivery, message, site.clock.now())
        stamp = stamps.count_sending(conn, site.clock.now())
    if intent is not DeliveryState.SENDING:
        report.suppressed += intent is DeliveryState.SUPPRESSED
        return
    stamps.keep_stamp(site.store, stamp)
    try:
        receipt = transport.send(message, delivery.destination, is_ours)
    except DeliveryError as error:
        _mark_failure(site, report, delivery, error, was_sending=True)
        return
    _mark_sent(site, report, delivery, receipt)


def _with_address(site: Site, delivery: Delivery, remote_address: str) -> Delivery:
    if not remote_address or remote_address == delivery.remote_address:
        return delivery
    with site.store.begin() as conn:
        outbox.remember_address(conn, delivery.destination, remote_address, site.clock.now())
    return replace(delivery, remote_address=remote_address)


def _render(site: Site, delivery: Delivery) -> Message:
    """Return the bytes of the first attempt, or make them."""
    with site.store.begin() as conn:
        stored = outbox.stored_message(conn, delivery.id)
        if stored is not None:
            return stored
        digest = digest_store.load_digest(conn, delivery.digest_id)
        maker = make_links(conn, site.config)
    links = maker.links(delivery.destination, digest.subscription, digest.slot)
    return site.renderer.render(digest, delivery, links, mail_identity(site, digest))


def mail_identity(site: Site, digest: Digest) -> MailIdentity:
    """Return who a mail is from; its date is the digest's, so that every rendering is alike."""
    mail = site.config.mail
    return MailIdentity(
        from_address=mail.from_address,
        from_name=mail.from_name,
        domain=mail.from_address.rpartition("@")[2] or "localhost",
        date=digest.planned_at,
        idempotency_header=mail.idempotency_header,
    )


def _mark_sent(site: Site, report: DeliverReport, delivery: Delivery, receipt: Receipt) -> None:
    now = site.clock.now()

    def mark(conn: Connection) -> None:
        if not outbox.mark_sent(conn, delivery, receipt, now):
            _log.warning("%s took delivery %d, which somebody else has", delivery.destination, delivery.id)
        if delivery.destination.kind in (DestinationKind.SLACK, DestinationKind.SLACK_WEBHOOK):
            outbox.block_destination(conn, delivery.destination, now + SLACK_SPACING)

    _mark_stubbornly(site, mark)
    kind = str(delivery.destination.kind)
    report.sent[kind] = report.sent.get(kind, 0) + 1


def _mark_failure(
    site: Site,
    report: DeliverReport,
    delivery: Delivery,
    error: DeliveryError,
    *,
    was_sending: bool = False,
) -> None:
    now = site.clock.now()
    next_step = decide_failure(
        error,
        settling=settling_times(site.config).get(delivery.destination.kind, timedelta(0)),
        attempts=delivery.attempts + was_sending,
        created_at=delivery.created_at,
        now=now,
        jitter=site.jitter(),
    )
    reason = ". ".join(part.rstrip(".") for part in (error.message, error.hint) if part)
    line = f"{delivery.destination}: {error.message}"

    def mark(conn: Connection) -> None:
        match next_step.step:
            case Step.RETRY:
                outbox.mark_retry(conn, delivery, next_step.not_before, reason, now)
                if error.retry_after is not None:
                    outbox.block_destination(conn, delivery.destination, next_step.not_before)
            case Step.ASK:
                outbox.mark_unknown(conn, delivery, next_step.not_before, reason, now)
            case Step.HOLD:
                outbox.mark_held(conn, delivery, reason, now)
            case Step.GIVE_UP:
                outbox.mark_dead(conn, delivery, reason, now)

    _mark_stubbornly(site, mark)
    lists = {
        Step.RETRY: report.retries,
        Step.ASK: report.unknown,
        Step.HOLD: report.held,
        Step.GIVE_UP: report.dead,
    }
    lists[next_step.step].append(line)


def _mark_stubbornly(site: Site, mark: Callable[[Connection], None]) -> None:
    """Repeat a mark until the database takes it: losing it would make an accepted message ambiguous."""
    for attempt in count():
        try:
            with site.store.begin() as conn:
                mark(conn)
        except StoreError:
            if attempt >= MARK_ATTEMPTS:
                raise
            _log.warning("the database does not take a mark; trying again", exc_info=True)
            site.clock.sleep(min(0.1 * 2**attempt, 5.0))
        else:
            return
