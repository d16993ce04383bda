"""Sends one delivery: intent, send, mark; and finds out about one whose answer was lost.

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

from digest.deliver.rules import Step, Tries, decide_failure, decide_unknown, split_share
from digest.inspect.status import write_age
from digest.model.clock import monotonic
from digest.model.errors import ConfigurationError, DeliveryError, DigestError, StoreError, TemplateOverflow
from digest.model.messages import DeliveryState
from digest.model.subscriptions import SLACK_KINDS, DestinationKind
from digest.plan.links import make_links
from digest.serve.installation import has_successor
from digest.store import digests as digest_store
from digest.store import outbox_sends as outbox
from digest.store import subscribers, views

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.config import Config
    from digest.model.messages import Delivery, Digest, Message, Receipt, Share
    from digest.plan.links import LinkMaker
    from digest.poll.installation import Site
    from digest.render import MailIdentity
    from digest.store.outbox_sends import UnknownDelivery


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
    """

    sent: dict[str, int] = field(default_factory=dict)
    retries: list[str] = field(default_factory=list)
    divided: list[str] = field(default_factory=list)
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
            Step.DIVIDE: self.divided,
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
            tries = Tries(*views.count_tries(conn, delivery))
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
                        subscribers.block_destination(conn, delivery.destination, next_step.blocked_until)
                case Step.DIVIDE:
                    outbox.supersede(conn, delivery, shares, reason, now)
                    subscribers.block_destination(conn, delivery.destination, now + SLACK_SPACING)
                case Step.ASK:
                    outbox.mark_unknown(conn, delivery, next_step.not_before, reason, now)
                    if delivery.destination.kind in SLACK_KINDS:  # it may have come, and counts for the pace
                        subscribers.block_destination(conn, delivery.destination, now + SLACK_SPACING)
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


MOST = 32
"""Digests kept at hand at once: the one used least recently goes."""


class Drawer:
    """Keeps digests, and the maker of secret addresses, at hand for several threads while a pass lasts.

    Args:
        site: the installation.
        most: digests kept at once.
    """

    def __init__(self, site: Site, most: int = MOST) -> None:
        self._site, self._most = site, most
        self._lock = threading.Lock()
        self._digests: dict[int, Digest] = {}
        self._maker: LinkMaker | None = None

    def fill(self, claimed: Sequence[Delivery]) -> None:
        """Read what new deliveries need, in one transaction; one that was tried before has its message already.

        What can't be read is left to `take`, which says why to the one delivery that needs it.
        """
        wanted = dict.fromkeys(delivery.digest_id for delivery in claimed if not delivery.attempts)
        with self._lock:
            missing = [id_ for id_ in wanted if id_ not in self._digests]
        if not missing:
            return
        try:
            self._read(missing[: self._most])
        except Exception:  # noqa: BLE001 - `take` raises it again, for one delivery alone
            return

    def take(self, delivery: Delivery) -> tuple[Digest, LinkMaker]:
        """Return a delivery's digest as it was frozen, and what makes its addresses.

        Raises:
            UnknownName: the digest is not there any more.
            StoreError: the database is away.
        """
        with self._lock:
            digest = self._digests.pop(delivery.digest_id, None)
            if digest is not None and self._maker is not None:
                self._digests[delivery.digest_id] = digest
                return digest, self._maker
        (digest,), maker = self._read([delivery.digest_id])
        return digest, maker

    def _read(self, ids: Sequence[int]) -> tuple[list[Digest], LinkMaker]:
        with self._site.store.read() as conn:
            maker = make_links(conn, self._site.config)
            digests = [digest_store.load_digest(conn, id_) for id_ in ids]
        with self._lock:
            self._maker = maker
            for digest in digests:
                self._digests[digest.id] = digest
            while len(self._digests) > self._most:
                del self._digests[next(iter(self._digests))]
        return digests, maker


_ASKED = frozenset({DestinationKind.SLACK, DestinationKind.FILE})
"""Ways out of which it can be found out what they took."""

_WEBHOOK_WAIT = timedelta(seconds=60)
"""Until a post whose answer was lost is repeated: its receiver tells repetitions by their id."""


def settling_times(config: Config) -> dict[DestinationKind, timedelta]:
    """Return how long a message that may have arrived is left alone, by way out; none for those missing.

    A mail server may take minutes to say what it took, Slack's history lags a little behind what was
    posted, and a process that was paused while sending may come back.
    """
    return {
        DestinationKind.MAIL: config.mail.ambiguous_wait,
        DestinationKind.SLACK: config.slack.ambiguous_wait,
        DestinationKind.SLACK_WEBHOOK: config.slack.ambiguous_wait,
        DestinationKind.WEBHOOK: _WEBHOOK_WAIT,
    }


def foretell(config: Config, kind: DestinationKind) -> str:
    """Say what becomes of a message on a way out that may have arrived, and after how long."""
    wait = settling_times(config).get(kind, timedelta(0))
    after = f" after {write_age(wait)}" if wait else ""
    if kind in _ASKED:
        return f"is looked for{after}"
    if kind not in _repeated(config):
        return f"is held for you{after}"
    return f"is sent again{after}" if kind is DestinationKind.WEBHOOK else f"is sent again{after}, once"


def take_settled(site: Site, kinds: Collection[DestinationKind], limit: int) -> list[UnknownDelivery]:
    """Take ambiguous deliveries on some ways out whose settling time is over, to look into each."""
    with site.store.begin() as conn:
        return outbox.take_unknown(
            conn, site.clock.now(), limit=limit, kinds=kinds, is_real_time=not site.clock.is_simulated
        )


def settle_one(site: Site, unknown: UnknownDelivery) -> None:
    """Settle one ambiguous delivery.

    Slack is asked: found is sent, not found goes out again. Mail cannot be asked: the same bytes go out
    again under the same Message-ID, once, or are held, as `mail.on_ambiguous` says. A signed webhook goes out
    again under the same id, without counting: receivers tell repetitions by it. Whatever else cannot be told, as
    what Slack's webhooks took, is held for the operator.

    Raises:
        StoreError: the database is away.
    """
    delivery, now = unknown.delivery, site.clock.now()
    receipt: Receipt | None = None
    is_missing = is_harmless = may_repeat = False
    try:
        receipt = site.transport(delivery.destination.kind).find(
            unknown.message, delivery.destination, unknown.sending_at
        )
        is_missing = is_harmless = receipt is None
        reason = "it never arrived"
    except DeliveryError as error:
        if not error.permanent or (error.whole_transport and has_successor(site)):
            return  # the other side is away, or this process knows it no more: asked again on a later pass
        may_repeat = delivery.destination.kind in _repeated(site.config)
        is_harmless = delivery.destination.kind is DestinationKind.WEBHOOK
        reason = f"nobody can tell whether it arrived: {error.message}"
    except ConfigurationError as error:
        if has_successor(site):
            return  # it may know the way out
        # The way out is configured no more: one such delivery must not stop all others.
        reason = f"nobody can tell whether it arrived: {error.message}"
    except Exception as error:  # noqa: BLE001 - a fault of ours in looking into one is to stop no other
        _log.exception("looking into delivery %d to %s failed", delivery.id, delivery.destination)
        reason = f"nobody can tell whether it arrived: looking for it failed ({type(error).__name__})"
    next_step = decide_unknown(
        is_harmless=is_harmless, may_repeat=may_repeat, attempts=delivery.attempts, repeats=unknown.repeats
    )
    with site.store.begin() as conn:
        if receipt is not None:
            outbox.settle_sent(conn, delivery, receipt, now)
        elif next_step is Step.RETRY:
            outbox.settle_ready(conn, delivery, now, f"{reason}; sent again", is_repeat=not is_harmless)
        else:
            outbox.settle_held(conn, delivery, now, reason, is_missing=is_missing)


def _repeated(config: Config) -> set[DestinationKind]:
    """Return the ways out where a second copy is the lesser harm; for mail the operator decides."""
    resent = {DestinationKind.MAIL} if config.mail.on_ambiguous == "resend" else set()
    return resent | {DestinationKind.WEBHOOK}


SLACK_SPACING = timedelta(seconds=1)
"""Slack takes one message a second and channel (https://docs.slack.dev/apis/web-api/rate-limits)."""


@dataclass(eq=False)
class _Entry:
    """Something to write.

    Attributes:
        delivery: as claimed.
        is_written: whether somebody has tried.
        error: why it could not be written.
    """

    delivery: Delivery
    is_written: bool = field(default=False, init=False)
    error: BaseException | None = field(default=None, init=False)


@dataclass(eq=False)
class _Intent(_Entry):
    """That it is about to be sent: the bytes, and the address if it is news."""

    message: Message
    new_address: str
    state: DeliveryState = field(default=DeliveryState.READY, init=False)


@dataclass(eq=False)
class _Answer(_Entry):
    """That the other side took it."""

    receipt: Receipt


class _Pile:
    """What waits to be written together."""

    def __init__(self) -> None:
        self._pen = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: list[_Entry] = []

    def write(self, entry: _Entry, write_together: Callable[[Sequence[_Entry]], None]) -> None:
        """Return once an entry was written, with whatever else waits, by this thread or another.

        Raises:
            StoreError: the database is away.
        """
        with self._lock:
            self._waiting.append(entry)
        with self._pen:
            if not entry.is_written:
                with self._lock:
                    batch, self._waiting = self._waiting, []
                write_together(batch)
        if entry.error is not None:
            raise entry.error


class Clerk:
    """Writes intents and answers for several threads.

    Args:
        site: the installation.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._intents, self._answers = _Pile(), _Pile()

    def begin_sending(self, delivery: Delivery, message: Message, new_address: str = "") -> DeliveryState:
        """Record the intent to send; see `outbox.begin_sending`. It is committed when this returns.

        Args:
            delivery: as claimed.
            message: what is to be sent.
            new_address: what the other side calls the destination, where that was not known.

        Raises:
            StoreError: the database is away.
        """
        intent = _Intent(delivery, message, new_address)
        self._intents.write(intent, self._write_together)
        return intent.state

    def mark_sent(self, delivery: Delivery, receipt: Receipt) -> None:
        """Record that the other side took it; see `outbox.mark_sent`. It is committed when this returns.

        Until then a death makes a mail come twice: it waits for no intent, and on PostgreSQL for nobody at all.
        Posts, of which the other side can be asked, may be written together, and hold back for a mail's answer.

        Raises:
            StoreError: the database is away.
        """
        answer, store = _Answer(delivery, receipt), self._site.store
        if delivery.destination.kind not in SLACK_KINDS:
            now, awaits_disk = self._site.clock.now(), not self._may_come_twice([answer])
            if not outbox.mark_sent_alone(store, delivery, receipt, now, awaits_disk=awaits_disk):
                _warn_of_loss(delivery)
        elif store.path is not None:
            self._answers.write(answer, self._write_together)
        else:
            now = self._site.clock.now()
            with store.begin() as conn:
                self._write_answers(conn, [answer], now)

    def _write_together(self, batch: Sequence[_Entry]) -> None:
        answers = [entry for entry in batch if isinstance(entry, _Answer)]
        intents = [entry for entry in batch if isinstance(entry, _Intent)]
        try:
            awaits_disk = bool(intents) or not self._may_come_twice(answers)
            now = self._site.clock.now()  # before the database is held: a test's clock takes its time
            with self._site.store.begin(awaits_disk=awaits_disk) as conn:
                self._write_answers(conn, answers, now)
                self._write_intents(conn, intents, now)
        except BaseException as error:  # noqa: BLE001 - raised again in each thread that wrote
            if len(batch) > 1 and isinstance(error, Exception) and not isinstance(error, StoreError):
                for entry in batch:  # something is wrong with one of them, which is to harm no other
                    self._write_together([entry])
                return
            for entry in batch:
                entry.error = error
        finally:
            for entry in batch:
                entry.is_written = True

    def _may_come_twice(self, answers: Sequence[_Answer]) -> bool:
        """Whether nothing worse than a copy would follow if the power took these answers."""
        is_resent = self._site.config.mail.on_ambiguous == "resend"
        return is_resent and all(answer.delivery.destination.kind is DestinationKind.MAIL for answer in answers)

    def _write_answers(self, conn: Connection, answers: Sequence[_Answer], now: datetime) -> None:
        if not answers:
            return
        marked = outbox.mark_sent_many(conn, [(answer.delivery, answer.receipt) for answer in answers], now)
        for delivery in (answer.delivery for answer in answers):
            if delivery.id not in marked:
                _warn_of_loss(delivery)
            if delivery.destination.kind in SLACK_KINDS:
                subscribers.block_destination(conn, delivery.destination, now + SLACK_SPACING)

    def _write_intents(self, conn: Connection, intents: Sequence[_Intent], now: datetime) -> None:
        if not intents:
            return
        for intent in sorted(intents, key=lambda intent: str(intent.delivery.destination)):  # as others do
            if intent.new_address:
                subscribers.remember_address(conn, intent.delivery.destination, intent.new_address, now)
        sends = [(intent.delivery, intent.message) for intent in intents]
        states = outbox.begin_sending_many(conn, sends, now)
        for intent in intents:
            intent.state = states[intent.delivery.id]


def _warn_of_loss(delivery: Delivery) -> None:
    _log.warning("%s took delivery %d, which somebody else has", delivery.destination, delivery.id)
