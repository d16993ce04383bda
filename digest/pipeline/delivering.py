"""render | deliver: one delivery on its way out, and what is kept of the other side's answer.

A send is three short transactions: the claim; the intent, which stores the bytes and the state
`sending` before the network is touched; the mark, fenced by the claim's token and repeated until the
database takes it. Only a delivery found in `sending` is ambiguous, and it is asked about, not repeated.
Several threads send at once, each a delivery of its own: see `lanes`.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

from digest.errors import ConfigurationError, DeliveryError, DigestError, StoreError
from digest.messages import DeliveryState
from digest.pipeline.links import make_links
from digest.pipeline.settling import settling_times
from digest.planning.retries import Step, decide_failure
from digest.render import MailIdentity
from digest.store import deliveries as outbox
from digest.store import digests as digest_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.messages import Delivery, Digest, Message, Receipt
    from digest.pipeline.site import Site
    from digest.pipeline.writing import Clerk
    from digest.subscriptions import DestinationKind

_log = logging.getLogger("digest.deliver")

MARK_ATTEMPTS = 60
"""With pauses up to 5 s: about five minutes of a database that is away."""

_WAY_WORDS = {"mailto": "mail", "slack": "Slack", "slack-webhook": "Slack webhook"}


@dataclass
class DeliverReport:
    """What one pass delivered, noted by several threads.

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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def note_sent(self, kind: DestinationKind) -> None:
        """Count a delivery the other side took."""
        with self._lock:
            self.sent[str(kind)] = self.sent.get(str(kind), 0) + 1

    def note_failure(self, step: Step, line: str) -> None:
        """Note a delivery that was not taken, and what comes next for it."""
        lists = {
            Step.RETRY: self.retries,
            Step.ASK: self.unknown,
            Step.HOLD: self.held,
            Step.GIVE_UP: self.dead,
        }
        with self._lock:
            lists[step].append(line)

    def note_suppressed(self) -> None:
        """Count a delivery to somebody who left."""
        with self._lock:
            self.suppressed += 1

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


def deliver_one(
    site: Site, clerk: Clerk, report: DeliverReport, delivery: Delivery, is_ours: Callable[[], bool]
) -> None:
    """Send a delivery that was claimed, and mark what came of it.

    Args:
        site: the installation.
        clerk: writes the intent and the mark.
        report: is told what came of it.
        delivery: as claimed.
        is_ours: whether the claim still holds, asked right before the point of no return.

    Raises:
        StoreError: the database is away. Where the other side was asked nothing, the claim lapses; where it
            answered, the answer is lost, and what became of the delivery is found out later.
    """
    try:
        transport = site.transport(delivery.destination.kind)
        address = transport.resolve(delivery.destination)
        is_news = address not in {"", delivery.remote_address, delivery.destination.address}
        delivery = replace(delivery, remote_address=address or delivery.remote_address)
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
    intent = clerk.begin_sending(delivery, message, address if is_news else "")
    if intent is not DeliveryState.SENDING:
        if intent is DeliveryState.SUPPRESSED:
            report.note_suppressed()
        return
    try:
        receipt = transport.send(message, delivery.destination, is_ours)
    except DeliveryError as error:
        _mark_failure(site, report, delivery, error, was_sending=True)
        return
    _mark_sent(site, clerk, delivery, receipt)
    report.note_sent(delivery.destination.kind)


def _render(site: Site, delivery: Delivery) -> Message:
    """Return the bytes of the first attempt, or make them."""
    with site.store.read() as conn:
        stored = outbox.stored_message(conn, delivery.id) if delivery.attempts else None
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


def _mark_sent(site: Site, clerk: Clerk, delivery: Delivery, receipt: Receipt) -> None:
    _mark_stubbornly(site, lambda: clerk.mark_sent(delivery, receipt))


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

    def mark() -> None:
        with site.store.begin() as conn:
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
    report.note_failure(next_step.step, line)


def _mark_stubbornly(site: Site, mark: Callable[[], None]) -> None:
    """Repeat a mark until the database takes it: losing it would make an accepted message ambiguous."""
    for attempt in count():
        try:
            mark()
        except StoreError:
            if attempt >= MARK_ATTEMPTS:
                raise
            _log.warning("the database does not take a mark; trying again", exc_info=True)
            site.clock.sleep(min(0.1 * 2**attempt, 5.0))
        else:
            return
