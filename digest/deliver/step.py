"""Sends one delivery: intent, send, mark; and finds out about one whose answer was lost.

A send is three short transactions: the claim; the intent, which stores the bytes and the state
`sending` before the network is touched; the mark, fenced by the claim's token and repeated until
the database takes it. Only a delivery found in `sending` is ambiguous, and it is asked about, not
repeated. Several threads send at once, each a delivery of its own: see `dispatch`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, partial

from sqlalchemy import Connection

from digest.config import Config
from digest.deliver.rules import (
    PROBE_PAUSE,
    NextStep,
    Step,
    Tries,
    are_refused_alike,
    decide_failure,
    decide_unknown,
    shorten_share,
)
from digest.deliver.transports.registry import TRANSPORTS
from digest.model.clock import monotonic, write_age
from digest.model.destinations import Destination, DestinationKind, Medium
from digest.model.errors import (
    ConfigurationError,
    DeliveryError,
    DigestError,
    Refusal,
    StoreError,
    TemplateError,
)
from digest.model.messages import (
    Delivery,
    DeliveryState,
    Digest,
    IsOurs,
    Links,
    Message,
    Occasion,
    Receipt,
    fill_body,
)
from digest.model.said import NOTHING, Said, Saying, advise
from digest.model.secrets import derive_token
from digest.people.letters import write_letter
from digest.plan.links import find_generation, make_links, remember_preferences
from digest.render.mime import check_address
from digest.site import Site
from digest.store import attempts, digests, subscribers
from digest.store.attempts import UnknownDelivery
from digest.store.subscribers import REFUSED

_log = logging.getLogger("digest.deliver")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two attempts at a mark that the database does not take.

Each pause is twice the one before.
"""

SAY_AGAIN = 60.0
"""Seconds between two lines of the log about the same mark."""

SLACK_SPACING = timedelta(seconds=1)
"""Slack takes one message a second and channel (https://docs.slack.dev/apis/web-api/rate-limits)."""

_REFUSALS = 3
"""Digests in a row that an address is refused for good, until it gets no more of them."""

_KIND_WORDS = {"mailto": "mail", "slack": "Slack", "slack-webhook": "Slack webhook"}

_STEP_WORDS = {
    Step.SHORTEN: "shortened",
    Step.RETRY: "waiting",
    Step.ASK: "unknown",
    Step.HOLD: "needs you",
    Step.GIVE_UP: "failed",
}

_LEADS_TO = {
    Step.RETRY: DeliveryState.READY,
    Step.SHORTEN: DeliveryState.READY,
    Step.ASK: DeliveryState.UNKNOWN,
    Step.HOLD: DeliveryState.HELD,
    Step.GIVE_UP: DeliveryState.DEAD,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A delivery that was not taken, what follows, and why; what is refused, if that is known."""

    delivery: int
    destination: Destination
    step: Step
    reason: Said
    refusal: Refusal | None = None


@dataclass
class DeliverReport:
    """What one pass delivered, noted by several threads.

    `sent` counts what the other side took, by kind of destination; `suppressed` counts deliveries
    to people who unsubscribed.
    """

    sent: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    suppressed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def note_sent(self, kind: DestinationKind) -> None:
        """Count a delivery the other side took."""
        with self._lock:
            self.sent[str(kind)] = self.sent.get(str(kind), 0) + 1

    def note_failure(
        self,
        delivery: Delivery,
        step: Step,
        reason: Said,
        refusal: Refusal | None = None,
    ) -> None:
        """Note a delivery that was not taken, and what comes next for it."""
        self.failures.append(Failure(delivery.id, delivery.destination, step, reason, refusal))

    def note_suppressed(self) -> None:
        """Count a delivery to a person who unsubscribed."""
        with self._lock:
            self.suppressed += 1

    def describe(self, feeds: int, pages: int) -> str:
        """Say how much went which way, and how many feed files and pages of sites were written."""
        words = []
        for kind, number in sorted(self.sent.items()):
            words.append(f"{_KIND_WORDS.get(kind, kind)} {number} ✓")
        if feeds:
            words.append(f"feed {feeds} ✓")
        if pages:
            words.append(f"pages {pages} ✓")
        steps = Counter(one.step for one in self.failures)
        for step, word in _STEP_WORDS.items():
            if steps[step]:
                words.append(f"{word} {steps[step]}")
        return "   ".join(words) or "nothing to send"

    @property
    def mails(self) -> int:
        """How many mails a mail server took."""
        return self._count(Medium.MAIL)

    @property
    def pages(self) -> int:
        """How many pages of sites were written."""
        return self._count(Medium.PAGE)

    def _count(self, medium: Medium) -> int:
        number = 0
        for kind, taken in self.sent.items():
            if DestinationKind(kind).traits.medium is medium:
                number += taken
        return number

    @property
    def total(self) -> int:
        """How many deliveries the other side took."""
        return sum(self.sent.values())


class MessageMaker:
    """Makes the messages of one pass. Several threads use it at once.

    A digest is loaded once. Its mails differ only in what is a reader's own: the line `To`, the key
    of the delivery, the tokens of two links. Of the first mail the others are made, with marks in
    place of these. The second is rendered, too: unless it is the same, each of them is.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._load = lru_cache(8)(self._load_anew)  # those of one digest come one after the other
        with site.store.read() as conn:
            self._links = make_links(conn, site.config)
        self._marks = [
            derive_token(self._links.secret, "mark", what)
            for what in ("to", "key", "unsubscribe", "preferences")
        ]

    def make(self, delivery: Delivery, *, anew: bool) -> Message:
        """Return the bytes of the first attempt, or make them."""
        site = self._site
        if delivery.attempts and not anew:
            with site.store.read() as conn:
                stored = attempts.load_message(conn, delivery.id)
            if stored is not None:
                return stored
        digest, forms = self._load(delivery.digest_id)
        # A mail is dated by its planning, so that every rendering is alike.
        identity = site.renderer.identify(site.config.mail, digest.planned_at)
        to = delivery.destination
        with site.store.read() as conn:
            if digest.occasion is Occasion.LETTER:
                return write_letter(conn, site, digest, delivery, identity)
            generation = find_generation(conn, self._links, to)
        if generation:  # its digest remembered the first link alone
            with site.store.begin() as conn:
                remember_preferences(conn, self._links, to, at=site.clock.now())
        links = self._links.links(to, digest, generation)
        if to.is_site and site.config.hides_queries:
            digest = digest.hide_queries()
        render = partial(site.renderer.render, digest, delivery, links, identity)
        if to.traits.medium is Medium.MAIL:
            return self._share(delivery, links, forms, render)
        return render()

    def _share(
        self,
        delivery: Delivery,
        links: Links,
        forms: dict[str, Message],
        render: Callable[[], Message],
    ) -> Message:
        """Make a mail of the first one of its form.

        `forms` holds that, with marks, by whom readers ask to be taken off. Once a second one was
        rendered and found to be the same, its body is `shared`.
        """
        to = f"\r\nTo: {check_address(delivery.destination.address)}\r\n"
        own = [to, delivery.idempotency_key]
        own += [one.rpartition("/")[2] for one in (links.unsubscribe, links.preferences) if one]
        if links.ask not in forms:
            first = render()
            marks = dict(zip(own, self._marks, strict=False))
            forms[links.ask] = replace(first, body=fill_body(first.body, marks))
            return first
        form = forms[links.ask]
        values = dict(zip(self._marks, own, strict=False))
        message = replace(
            form,
            body=fill_body(form.body, values),
            idempotency_key=delivery.idempotency_key,
            shared=form.body,
            own=values,
        )
        if not form.shared:
            alone = render()
            if message != alone or self._site.renderer.templates.personal_uses:
                return alone
            forms[links.ask] = replace(form, shared=form.body)
        return message

    def _load_anew(self, digest_id: int) -> tuple[Digest, dict[str, Message]]:
        with self._site.store.read() as conn:
            return digests.load(conn, digest_id), {}


def deliver_one(
    site: Site, maker: MessageMaker, report: DeliverReport, delivery: Delivery, is_ours: IsOurs
) -> None:
    """Send a delivery that was claimed, and mark what came of it.

    A fault of ours is marked, too, and logged. On a `StoreError`, if the other side was asked
    nothing, the claim lapses. If it answered, the process had to stop before the database was back:
    the answer is lost, and what became of the delivery is found out later.
    """
    begun = begin_one(site, maker, report, delivery)
    if begun is not None:
        send_begun(site, report, *begun, is_ours)


def begin_one(
    site: Site, maker: MessageMaker, report: DeliverReport, delivery: Delivery
) -> tuple[Delivery, Message] | None:
    """Store the intent to send a delivery that was claimed, with the bytes.

    None if nothing may be sent, which is marked.
    """
    try:
        address = site.transport(delivery.destination.kind).resolve(delivery.destination)
        is_news = address not in {"", delivery.remote_address, delivery.destination.address}
        # Bytes for a place that has another address by now name the one before. Nothing of it
        # arrived there: what may have is searched for before it is claimed again.
        is_moved = address not in {"", delivery.remote_address}
        begun = replace(delivery, remote_address=address or delivery.remote_address)
        message = maker.make(begun, anew=is_moved)
        now = site.clock.now()  # before the database is held: a test's clock takes its time
        with site.store.begin() as conn:
            if is_news:
                subscribers.remember_address(conn, begun.destination, address)
            state = attempts.begin(conn, begun, message, now)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - it concerns this delivery alone: others go on
        _mark_failure(site, report, delivery, _decide_failure(delivery, error, is_begun=False))
        return None
    if state is DeliveryState.SUPPRESSED:
        report.note_suppressed()
    return (begun, message) if state is DeliveryState.SENDING else None


def send_begun(
    site: Site, report: DeliverReport, delivery: Delivery, message: Message, is_ours: IsOurs
) -> None:
    """Send a delivery whose intent is stored, and mark what came of it."""
    to = delivery.destination
    try:
        receipt = site.transport(to.kind).send(message, to, is_ours)
        _mark_sent(site, delivery, receipt)
        report.note_sent(to.kind)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - it concerns this delivery alone: others go on
        _mark_failure(site, report, delivery, _decide_failure(delivery, error, is_begun=True))


def restore_messages(site: Site) -> None:
    """Make anew the bytes of messages in doubt that did not travel with the database."""
    with site.store.read() as conn:
        bare = attempts.load_bare(conn)
    for delivery in bare:
        try:
            message = MessageMaker(site).make(delivery, anew=True)
        except DigestError as error:  # it stays in doubt, and is shown so; the others go on
            _log.error("delivery %d can't be made again: %s", delivery.id, error.message)
            continue
        with site.store.begin() as conn:
            attempts.keep_message(conn, delivery.id, message)


def _decide_failure(delivery: Delivery, error: Exception, *, is_begun: bool) -> DeliveryError:
    """Return what an error means for its delivery.

    Once that is begun, the other side may have been reached.
    """
    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, DigestError) and not is_begun:
        # What is configured wrongly concerns more than this delivery. The operator corrects it.
        return DeliveryError(
            error.said,
            permanent=True,
            whole_transport=isinstance(error, ConfigurationError),
            refusal=Refusal.SETTINGS if isinstance(error, TemplateError) else None,
            hint=error.advice,
        )
    _log.error("delivery %d to %s failed", delivery.id, delivery.destination, exc_info=error)
    return DeliveryError(
        Said.of(Saying.FAULT, type(error).__name__),
        ambiguous=is_begun,
        permanent=not is_begun,
        refusal=None if is_begun else Refusal.SETTINGS,
        hint=Said.of(Saying.FAULT_LOGGED),
    )


def _mark_sent(site: Site, delivery: Delivery, receipt: Receipt) -> None:
    def mark() -> None:
        now = site.clock.now()
        # A power cut in the next moments leaves it in doubt, as one in the last moments did.
        with site.store.begin(is_lasting=False) as conn:
            is_marked = attempts.mark_sent(conn, delivery, receipt, now)
            if delivery.destination.traits.is_paced:
                subscribers.block_destination(conn, delivery.destination, now + SLACK_SPACING)
        if not is_marked:
            _log.warning(
                "%s took delivery %d, which another process has", delivery.destination, delivery.id
            )

    _mark_stubbornly(site, delivery, mark)


def _mark_failure(
    site: Site, report: DeliverReport, delivery: Delivery, error: DeliveryError
) -> None:
    """Mark what follows a failure, and note it."""
    mark = _Mark(site, delivery, error)
    _mark_stubbornly(site, delivery, mark.write)
    step = mark.step
    said = error.said
    if step.step is Step.ASK:
        settling = describe_settling(site.config, delivery.destination.kind)
        said = Said.of(Saying.FOLLOWED, said, settling)
    elif step.given_up_before is not None:
        said = Said.of(Saying.GIVEN_UP_AFTER, said, write_age(mark.now - step.given_up_before))
    for one in (delivery, *mark.given_up):
        report.note_failure(one, step.step, said, step.refusal)


class _Mark:
    """What follows a failure, as it is written: once, or again while the database does not take it.

    After that `step` is what was decided, `given_up` what was given up besides.
    """

    step: NextStep

    def __init__(self, site: Site, delivery: Delivery, error: DeliveryError) -> None:
        self.now = site.clock.now()
        self.given_up: list[Delivery] = []
        self._site = site
        self._delivery = delivery
        self._error = error
        self._jitter = site.jitter()
        self._shorter = None
        if error.too_large and delivery.share is not None:
            self._shorter = shorten_share(delivery.share)
        is_shortest = error.too_large and self._shorter is None
        advice = Said.of(Saying.NOT_SHORTER) if is_shortest else error.advice
        self._reason = advise(error.said, advice)

    def write(self) -> None:
        """Decide and write, in one transaction."""
        delivery = self._delivery
        with self._site.store.begin() as conn:
            self.step = step = self._decide(conn)
            is_mine = attempts.mark_unsent(
                conn,
                delivery,
                _LEADS_TO[step.step],
                self._reason,
                self.now,
                not_before=step.not_before,
                shorter=self._shorter,
                refusal=step.refusal,
            )
            if is_mine:
                self._give_up_others(conn)
            if step.refusal is Refusal.READER:
                self._pause_reader(conn)
            blocked_until = step.blocked_until
            is_of_pace = step.step in (Step.SHORTEN, Step.ASK)
            if delivery.destination.traits.is_paced and is_of_pace:
                # It may have come, and counts for the pace.
                blocked_until = self.now + SLACK_SPACING
            if blocked_until is not None:
                subscribers.block_destination(conn, delivery.destination, blocked_until)

    def _decide(self, conn: Connection) -> NextStep:
        entry = TRANSPORTS[self._delivery.destination.kind]
        count, since = attempts.count_tries(conn, self._delivery)
        return decide_failure(
            self._error,
            settling=entry.settling(self._site.config),
            tries=Tries(count, since, self._delivery.held_at),
            now=self.now,
            jitter=self._jitter,
            can_shorten=self._shorter is not None,
        )

    def _give_up_others(self, conn: Connection) -> None:
        """Give up what has been held for the same for too long."""
        step = self.step
        if step.refusal is not None and step.given_up_before is not None:
            self.given_up = attempts.give_up_held(
                conn,
                self._delivery,
                step.refusal,
                before=step.given_up_before,
                reason=self._reason,
                now=self.now,
            )

    def _pause_reader(self, conn: Connection) -> None:
        """Pause a subscription for a reader whose address was refused in some digests in a row."""
        name, last = subscribers.load_last_refusals(conn, self._delivery.id, _REFUSALS)
        if last == [Refusal.READER] * _REFUSALS:
            to = self._delivery.destination
            subscribers.save_unsubscription(conn, to, name, how=REFUSED, at=self.now)


def hold_alike_refusals(site: Site, report: DeliverReport) -> None:
    """Hold mails that a pass gave up if all were refused alike, and it is not said for what.

    It may be for us. What is tried again counts, too, if it was refused alike.
    """
    mails = [one for one in report.failures if one.destination.traits.medium is Medium.MAIL]
    answered = [one for one in mails if one.refusal is None]
    refused = {one.delivery for one in answered if one.step is Step.GIVE_UP}
    reasons = [one.reason for one in answered if one.step is Step.GIVE_UP]
    answers = {str(one.destination): one.reason for one in answered}
    if report.mails or not are_refused_alike(reasons, answers):
        return
    now = site.clock.now()
    with site.store.begin() as conn:
        attempts.hold_failed(conn, refused, now, now + PROBE_PAUSE)
    failures = []
    for one in report.failures:
        is_held = one.delivery in refused
        held = replace(one, step=Step.HOLD, refusal=Refusal.PLACE)
        failures.append(held if is_held else one)
    report.failures = failures


def _mark_stubbornly(site: Site, delivery: Delivery, mark: Callable[[], None]) -> None:
    """Repeat a mark until the database takes it, or `Site.interrupt` ends it.

    A lost mark leaves doubt.
    """
    which = f"delivery {delivery.id} to {delivery.destination}"
    since = site.interrupts
    began_at = monotonic()
    pause = FIRST_PAUSE
    say_at = 0.0
    has_failed = False
    while True:
        try:
            mark()
        except StoreError as error:
            has_failed = True
            if monotonic() >= say_at:
                say_at = monotonic() + SAY_AGAIN
                _log_unmarked(which, error)
            if not site.wait(pause, since):
                _log.error("the result of %s is lost, because this process stops", which)
                raise
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            break
    if has_failed:
        seconds = monotonic() - began_at
        _log.warning("the result of %s was recorded after %.1f s", which, seconds)


def _log_unmarked(which: str, error: StoreError) -> None:
    said = f"{error.message} {error.hint}".strip()
    _log.warning(
        "the database does not record the result of %s; trying again: %s",
        which,
        said,
    )


def describe_settling(config: Config, kind: DestinationKind) -> str:
    """Say what becomes of a message that may have arrived, by its kind of destination, and when."""
    wait = TRANSPORTS[kind].settling(config)
    after = f" after {write_age(wait)}" if wait else ""
    if kind.traits.can_be_asked:
        return f"is searched for{after}"
    if kind.traits.knows_repeats:
        return f"is sent again{after}"
    return f"is sent again{after}, once" if may_repeat(config, kind) else f"is held for you{after}"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a search for a message came to: it arrived, it never did, or there is `doubt`."""

    receipt: Receipt | None = None
    doubt: Said = NOTHING
    is_over: bool = True


def settle_one(site: Site, report: DeliverReport, unknown: UnknownDelivery) -> None:
    """Settle one ambiguous delivery, and note it if it needs the operator.

    Slack is asked: found is sent, not found goes out again. Mail cannot be asked: the same bytes go
    out again under the same Message-ID, once, or are held, as `mail.on_ambiguous` says. A receiver
    that knows repetitions gets it again, without counting. What else cannot be known is held for
    the operator.
    """
    delivery = unknown.delivery
    now = site.clock.now()
    kind = delivery.destination.kind
    found = _search(site, unknown)
    if not found.is_over:
        return  # the other side is away: asked again on a later pass
    is_missing = found.receipt is None and not found.doubt
    is_harmless = is_missing or kind.traits.knows_repeats
    reason = Said.of(Saying.NEVER_ARRIVED)
    if found.doubt:
        reason = Said.of(Saying.UNSURE, found.doubt)
    next_step = decide_unknown(
        is_harmless=is_harmless,
        may_repeat=may_repeat(site.config, kind),
        attempts=delivery.attempts,
        repeats=unknown.repeats,
    )
    with site.store.begin() as conn:
        if found.receipt is not None:
            attempts.mark_sent(conn, delivery, found.receipt, now)
        elif next_step is Step.RETRY:
            said = Said.of(Saying.SENT_AGAIN, reason)
            attempts.settle_unknown(
                conn, delivery, DeliveryState.READY, said, now, is_missing=is_harmless
            )
        elif attempts.settle_unknown(
            conn, delivery, DeliveryState.HELD, reason, now, is_missing=is_missing
        ):
            report.note_failure(delivery, Step.HOLD, reason)


def _search(site: Site, unknown: UnknownDelivery) -> _Found:
    """Ask the other side for a message, if it can be asked."""
    to = unknown.delivery.destination
    try:
        receipt = site.transport(to.kind).find(unknown.message, to, unknown.sending_at)
    except DeliveryError as error:
        return _Found(doubt=error.said, is_over=error.permanent)
    except ConfigurationError as error:
        # This transport is no longer configured. One such delivery must not stop all others.
        return _Found(doubt=error.said)
    except Exception as error:  # noqa: BLE001 - a fault of ours in checking one must stop no other
        _log.error("checking delivery %d to %s failed", unknown.delivery.id, to, exc_info=error)
        return _Found(doubt=Said.of(Saying.SEARCH_FAILED, type(error).__name__))
    return _Found(receipt)


def may_repeat(config: Config, kind: DestinationKind) -> bool:
    """Whether the operator takes a second copy for the lesser harm."""
    return kind.traits.medium is Medium.MAIL and config.mail.on_ambiguous == "resend"
