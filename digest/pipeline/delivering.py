"""render | deliver: one delivery on its way out, and what is kept of the other side's answer.

A send is three short transactions: the claim; the intent, which stores the bytes and the state
`sending` before the network is touched; the mark, fenced by the claim's token and repeated until the
database takes it. Only a delivery found in `sending` is ambiguous, and it is asked about, not repeated.
Several threads send at once, each a delivery of its own: see `lanes`.
"""

from __future__ import annotations

import logging
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.errors import ConfigurationError, DeliveryError, DigestError, StoreError, TemplateOverflow
from digest.messages import DeliveryState
from digest.pipeline.settling import foretell, settling_times
from digest.pipeline.working import has_successor
from digest.pipeline.writing import SLACK_SPACING
from digest.planning.retries import Step, Tries, decide_failure
from digest.planning.shares import split_share
from digest.store import deliveries as outbox
from digest.subscriptions import SLACK_KINDS, DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.messages import Delivery, Digest, Message, Receipt, Share
    from digest.pipeline.fetching import Drawer
    from digest.pipeline.site import Site
    from digest.pipeline.writing import Clerk
    from digest.render import MailIdentity

_log = logging.getLogger("digest.deliver")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two attempts at a mark that the database does not take; each pause is twice the one before."""

SAY_AGAIN = 60.0
"""Seconds between two lines of the log about the same mark."""

_WAY_WORDS = {"mailto": "mail", "slack": "Slack", "slack-webhook": "Slack webhook"}


@dataclass
class DeliverReport:
    """What one pass delivered, noted by several threads.

    Attributes:
        sent: deliveries the other side took, by transport.
        retries: deliveries to be tried again, with why.
        divided: deliveries that go out in smaller parts, with why.
        dead: deliveries given up, with why.
        held: deliveries waiting for the operator, with why.
        unknown: deliveries that may have arrived, with why, and what becomes of each.
        suppressed: deliveries to somebody who left.
        told_already: parts of which other parts had told everything.
    """

    sent: dict[str, int] = field(default_factory=dict)
    retries: list[str] = field(default_factory=list)
    divided: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    suppressed: int = 0
    told_already: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def note_sent(self, kind: DestinationKind) -> None:
        """Count a delivery the other side took."""
        with self._lock:
            self.sent[str(kind)] = self.sent.get(str(kind), 0) + 1

    def note_failure(self, step: Step, line: str) -> None:
        """Note a delivery that was not taken, and what comes next for it."""
        lists = {
            Step.RETRY: self.retries,
            Step.DIVIDE: self.divided,
            Step.ASK: self.unknown,
            Step.HOLD: self.held,
            Step.GIVE_UP: self.dead,
        }
        with self._lock:
            lists[step].append(line)

    def note_told_already(self) -> None:
        """Count a part with nothing left to tell."""
        with self._lock:
            self.told_already += 1

    def note_suppressed(self) -> None:
        """Count a delivery to somebody who left."""
        with self._lock:
            self.suppressed += 1

    def describe(self, feeds: int) -> str:
        """Say how much went which way, and how many feed files were written."""
        words = [f"{_WAY_WORDS.get(kind, kind)} {count} ✓" for kind, count in sorted(self.sent.items())]
        words += [f"feed {feeds} ✓"] * bool(feeds)
        words += [f"divided {len(self.divided)}"] * bool(self.divided)
        troubles = {"to try again": self.retries, "unknown": self.unknown, "held": self.held, "dead": self.dead}
        words += [f"{word} {len(lines)}" for word, lines in troubles.items() if lines]
        return "   ".join(words) or "nothing to send"

    @property
    def total(self) -> int:
        """How many deliveries the other side took."""
        return sum(self.sent.values())


@dataclass(frozen=True, slots=True)
class Desk:
    """What all deliveries of a pass share.

    Attributes:
        site: the installation.
        drawer: holds what messages are made from.
        clerk: writes the intents and the marks.
        report: is told what comes of each delivery.
    """

    site: Site
    drawer: Drawer
    clerk: Clerk
    report: DeliverReport


def deliver_one(desk: Desk, delivery: Delivery, is_ours: Callable[[], bool]) -> None:
    """Send a delivery that was claimed, and mark what came of it; a fault of ours is marked, too, and logged.

    Args:
        desk: what the deliveries of this pass share.
        delivery: as claimed.
        is_ours: whether the claim still holds, asked right before the point of no return.

    Raises:
        StoreError: the database is away. Where the other side was asked nothing, the claim lapses; where it
            answered, the process was told to stop before the database was back: the answer is lost, and what
            became of the delivery is found out later.
    """
    progress = _Progress()
    try:
        _deliver(desk, delivery, is_ours, progress)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - what nobody thought of concerns this delivery alone: others go on
        _log.exception("delivery %d to %s failed", delivery.id, delivery.destination)
        failure = DeliveryError(
            f"Digest itself failed on it ({type(error).__name__})",
            ambiguous=progress.is_begun,
            permanent=not progress.is_begun,
            whole_transport=not progress.is_begun,
            hint="That is a fault of Digest: its log says more.",
        )
        _mark_failure(desk, delivery, failure)


@dataclass
class _Progress:
    """How far one delivery has come.

    Attributes:
        is_begun: the intent is on record: the other side may have been reached.
    """

    is_begun: bool = False


def _deliver(desk: Desk, delivery: Delivery, is_ours: Callable[[], bool], progress: _Progress) -> None:
    site, report = desk.site, desk.report
    try:
        transport = site.transport(delivery.destination.kind)
        address = transport.resolve(delivery.destination)
        is_news = address not in {"", delivery.remote_address, delivery.destination.address}
        if delivery.attempts and address not in {"", delivery.remote_address}:
            _write_anew(site, delivery)
        delivery = replace(delivery, remote_address=address or delivery.remote_address)
        delivery = replace(delivery, share=_find_share(desk, delivery))
        if delivery.part and delivery.share is not None and not delivery.share.count:
            _suppress(desk, delivery, "its papers went out with the parts before it")
            return
        message = _render(desk, delivery)
    except DeliveryError as error:
        _mark_failure(desk, delivery, error)
        return
    except StoreError:
        raise  # the database is away, which says nothing about the delivery: its claim lapses
    except DigestError as error:
        # What is configured wrongly concerns more than this delivery, and is the operator's to mend.
        failure = DeliveryError(
            error.message,
            permanent=True,
            whole_transport=isinstance(error, ConfigurationError),
            too_large=isinstance(error, TemplateOverflow),
            hint=error.hint,
        )
        _mark_failure(desk, delivery, failure)
        return
    intent = desk.clerk.begin_sending(delivery, message, address if is_news else "")
    if intent is not DeliveryState.SENDING:
        if intent is DeliveryState.SUPPRESSED:
            report.note_suppressed()
        return
    progress.is_begun = True
    # Only of a mail can nobody be asked whether it arrived: until its mark is written, others hold back.
    is_mail = delivery.destination.kind is DestinationKind.MAIL
    try:
        with site.store.awaiting_answer() if is_mail else nullcontext():
            receipt = transport.send(message, delivery.destination, is_ours)
            _mark_sent(desk, delivery, receipt)
    except DeliveryError as error:
        _mark_failure(desk, delivery, error)
        return
    report.note_sent(delivery.destination.kind)


def _find_share(desk: Desk, delivery: Delivery) -> Share | None:
    """Return which papers a part tells, also of a digest that an older release divided, by rules of its own."""
    if delivery.share is not None or delivery.destination.kind not in SLACK_KINDS:
        return delivery.share
    digest, _ = desk.drawer.take(delivery)
    with desk.site.store.read() as conn:
        earlier = outbox.earlier_bodies(conn, delivery)
    return desk.site.renderer.find_share(digest, delivery, earlier)


def _write_anew(site: Site, delivery: Delivery) -> None:
    """Forget the bytes of a message to a place that is another by now: they name the one before.

    Nothing of it arrived there: what may have is looked for before it is claimed again.
    """
    with site.store.begin() as conn:
        outbox.forget_message(conn, delivery)


def _render(desk: Desk, delivery: Delivery) -> Message:
    """Return the bytes of the first attempt, or make them."""
    site = desk.site
    if delivery.attempts:
        with site.store.read() as conn:
            stored = outbox.stored_message(conn, delivery.id)
        if stored is not None:
            return stored
    digest, maker = desk.drawer.take(delivery)
    links = maker.links(delivery.destination, digest)
    return site.renderer.render(digest, delivery, links, mail_identity(site, digest))


def mail_identity(site: Site, digest: Digest) -> MailIdentity:
    """Return who a mail is from; its date is the digest's, so that every rendering is alike."""
    from digest.render import MailIdentity  # noqa: PLC0415 - only where something is sent

    mail = site.config.mail
    return MailIdentity(
        from_address=mail.from_address,
        from_name=mail.from_name,
        domain=mail.from_address.rpartition("@")[2] or "localhost",
        date=digest.planned_at,
    )


def _mark_sent(desk: Desk, delivery: Delivery, receipt: Receipt) -> None:
    _mark_stubbornly(desk.site, delivery, lambda: desk.clerk.mark_sent(delivery, receipt))


def _suppress(desk: Desk, delivery: Delivery, reason: str) -> None:
    site = desk.site

    def mark() -> None:
        with site.store.begin() as conn:
            outbox.mark_suppressed(conn, delivery, reason, site.clock.now())

    _mark_stubbornly(site, delivery, mark)
    desk.report.note_told_already()


def _mark_failure(desk: Desk, delivery: Delivery, error: DeliveryError) -> None:
    site = desk.site
    now, jitter = site.clock.now(), site.jitter()
    shares = _divide_further(delivery) if error.too_large else ()
    settling = settling_times(site.config).get(delivery.destination.kind, timedelta(0))
    steps: list[Step] = []
    last_words = "Nothing shorter can be made of it" if error.too_large and not shares else error.hint
    reason = ". ".join(part.rstrip(".") for part in (error.message, last_words) if part)
    line = f"{delivery.destination}: {error.message}"
    doubtful = f"{line}; {foretell(site.config, delivery.destination.kind)}"

    def mark() -> None:
        is_for_another = error.permanent and error.whole_transport and has_successor(site)
        with site.store.begin() as conn:
            tries = Tries(*outbox.count_tries(conn, delivery))
            next_step = decide_failure(
                error,
                settling=settling,
                tries=tries,
                now=now,
                jitter=jitter,
                is_divisible=bool(shares),
                is_for_another=is_for_another,
            )
            steps.append(next_step.step)
            match next_step.step:
                case Step.RETRY:
                    outbox.mark_retry(conn, delivery, next_step.not_before, reason, now)
                    if next_step.blocked_until is not None:
                        outbox.block_destination(conn, delivery.destination, next_step.blocked_until)
                case Step.DIVIDE:
                    outbox.supersede(conn, delivery, shares, reason, now)
                    outbox.block_destination(conn, delivery.destination, now + SLACK_SPACING)
                case Step.ASK:
                    outbox.mark_unknown(conn, delivery, next_step.not_before, reason, now)
                    if delivery.destination.kind in SLACK_KINDS:  # it may have come, and counts for the pace
                        outbox.block_destination(conn, delivery.destination, now + SLACK_SPACING)
                case Step.HOLD:
                    outbox.mark_held(conn, delivery, reason, now)
                case Step.GIVE_UP:
                    outbox.mark_dead(conn, delivery, reason, now)

    _mark_stubbornly(site, delivery, mark)
    desk.report.note_failure(steps[-1], doubtful if steps[-1] is Step.ASK else line)


def _divide_further(delivery: Delivery) -> tuple[Share, ...]:
    """Return which papers each of the smaller parts tells that can be made of one; () for none."""
    return split_share(delivery.share, is_first=not delivery.part) if delivery.share is not None else ()


def _mark_stubbornly(site: Site, delivery: Delivery, mark: Callable[[], None]) -> None:
    """Repeat a mark until the database takes it: losing it would make an accepted message ambiguous.

    However long the database is away; only who breaks off what waits (see `Site.interrupt`) ends it before.
    It is the machine's own time that passes meanwhile, as the database has no other.
    """
    which, since, began_at = f"delivery {delivery.id} to {delivery.destination}", site.interrupts, monotonic()
    pause, say_at, has_failed = FIRST_PAUSE, 0.0, False
    while True:
        try:
            mark()
        except StoreError as error:
            has_failed = True
            if monotonic() >= say_at:
                say_at = monotonic() + SAY_AGAIN
                said = " ".join(filter(None, (error.message, error.hint)))
                _log.warning("the database does not take a mark, of %s; trying again: %s", which, said)
            if not site.wait(pause, since):
                _log.error("the mark of %s is given up, as this stops: its answer is lost", which)
                raise
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            if has_failed:
                _log.warning("the mark of %s went through after %.1f s", which, monotonic() - began_at)
            return
