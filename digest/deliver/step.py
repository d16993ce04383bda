"""Sends one delivery: intent, send, mark; and finds out about one whose answer was lost.

A send is three short transactions: the claim; the intent, which stores the bytes and the state
`sending` before the network is touched; the mark, fenced by the claim's token and repeated until the
database takes it. Only a delivery found in `sending` is ambiguous, and it is asked about, not repeated.
Several threads send at once, each a delivery of its own: see `dispatch`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from digest.config import Config
from digest.deliver.rules import (
    PROBE_PAUSE,
    NextStep,
    Step,
    Tries,
    decide_failure,
    decide_unknown,
    is_of_all,
    shorten_share,
)
from digest.deliver.transports.registry import TRANSPORTS
from digest.model.clock import monotonic, write_age
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import (
    ConfigurationError,
    DeliveryError,
    DigestError,
    Refusal,
    StoreError,
    TemplateError,
)
from digest.model.messages import Delivery, DeliveryState, IsOurs, Message, Occasion, Receipt
from digest.model.said import NOTHING, Said, Saying, advise
from digest.people.letters import write_letter
from digest.plan.links import find_generation, make_links, remember_preferences
from digest.site import Site
from digest.store.attempts import (
    UnknownDelivery,
    begin_sending,
    count_tries,
    give_up_held,
    hold_failed,
    keep_message,
    load_bare,
    load_message,
    mark_sent,
    mark_unsent,
    settle_unknown,
)
from digest.store.digests import load_digest
from digest.store.subscribers import (
    REFUSED,
    block_destination,
    load_last_refusals,
    remember_address,
    save_unsubscription,
)

_log = logging.getLogger("digest.deliver")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two attempts at a mark that the database does not take; each pause is twice the one before."""

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

    `sent` counts what the other side took, by kind of destination; `suppressed` counts deliveries to people who
    unsubscribed.
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
        words = [
            f"{_KIND_WORDS.get(kind, kind)} {count} ✓" for kind, count in sorted(self.sent.items())
        ]
        words += [f"feed {feeds} ✓"] * bool(feeds) + [f"pages {pages} ✓"] * bool(pages)
        steps = Counter(one.step for one in self.failures)
        words += [f"{word} {steps[step]}" for step, word in _STEP_WORDS.items() if steps[step]]
        return "   ".join(words) or "nothing to send"

    @property
    def total(self) -> int:
        """How many deliveries the other side took."""
        return sum(self.sent.values())


def deliver_one(site: Site, report: DeliverReport, delivery: Delivery, is_ours: IsOurs) -> None:
    """Send a delivery that was claimed, and mark what came of it; a fault of ours is marked, too, and logged.

    On a `StoreError`, if the other side was asked nothing, the claim lapses. If it answered, the process had to
    stop before the database was back: the answer is lost, and what became of the delivery is found out later.
    """
    begun = begin_one(site, report, delivery)
    if begun is not None:
        send_begun(site, report, *begun, is_ours)


def begin_one(
    site: Site, report: DeliverReport, delivery: Delivery
) -> tuple[Delivery, Message] | None:
    """Store the intent to send a delivery that was claimed; None if nothing may be sent, which is marked."""
    try:
        address = site.transport(delivery.destination.kind).resolve(delivery.destination)
        return _begin(site, report, delivery, address)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - what nobody thought of concerns this delivery alone: others go on
        _mark_failure(site, report, delivery, _decide_failure(delivery, error, is_begun=False))
        return None


def send_begun(
    site: Site, report: DeliverReport, delivery: Delivery, message: Message, is_ours: IsOurs
) -> None:
    """Send a delivery whose intent is stored, and mark what came of it."""
    try:
        receipt = site.transport(delivery.destination.kind).send(
            message, delivery.destination, is_ours
        )
        _mark_sent(site, delivery, receipt)
        report.note_sent(delivery.destination.kind)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - what nobody thought of concerns this delivery alone: others go on
        _mark_failure(site, report, delivery, _decide_failure(delivery, error, is_begun=True))


def restore_messages(site: Site) -> None:
    """Make anew the bytes of messages in doubt that did not travel with the database."""
    with site.store.read() as conn:
        bare = load_bare(conn)
    for delivery in bare:
        try:
            message = _render(site, delivery, anew=True)
        except DigestError as error:  # it stays in doubt, and is shown so; the others go on
            _log.error("delivery %d can't be made again: %s", delivery.id, error.message)
            continue
        with site.store.begin() as conn:
            keep_message(conn, delivery.id, message)


def _begin(
    site: Site, report: DeliverReport, delivery: Delivery, address: str
) -> tuple[Delivery, Message] | None:
    """Store the intent to send, with the bytes; return None if nothing may be sent."""
    is_news = address not in {"", delivery.remote_address, delivery.destination.address}
    # Bytes for a place that has another address by now name the one before. Nothing of it arrived there: what
    # may have is searched for before it is claimed again.
    is_moved = address not in {"", delivery.remote_address}
    delivery = replace(delivery, remote_address=address or delivery.remote_address)
    message = _render(site, delivery, anew=is_moved)
    now = site.clock.now()  # before the database is held: a test's clock takes its time
    with site.store.begin() as conn:
        if is_news:
            remember_address(conn, delivery.destination, address)
        state = begin_sending(conn, delivery, message, now)
    if state is DeliveryState.SUPPRESSED:
        report.note_suppressed()
    return (delivery, message) if state is DeliveryState.SENDING else None


def _decide_failure(delivery: Delivery, error: Exception, *, is_begun: bool) -> DeliveryError:
    """Return what an error means for its delivery: once that is begun, the other side may have been reached."""
    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, DigestError) and not is_begun:
        # What is configured wrongly concerns more than this delivery, and is the operator's to correct.
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


def _render(site: Site, delivery: Delivery, *, anew: bool) -> Message:
    """Return the bytes of the first attempt, or make them."""
    with site.store.read() as conn:
        if delivery.attempts and not anew:
            stored = load_message(conn, delivery.id)
            if stored is not None:
                return stored
        digest = load_digest(conn, delivery.digest_id)
        # A mail is dated by its planning, so that every rendering is alike.
        identity = site.renderer.identify(site.config.mail, digest.planned_at)
        if digest.occasion is Occasion.LETTER:
            return write_letter(conn, site, digest, delivery, identity)
        maker, to = make_links(conn, site.config), delivery.destination
        generation = find_generation(conn, maker, to)
    if generation:  # its digest remembered the first link alone
        with site.store.begin() as conn:
            remember_preferences(conn, maker, to, at=site.clock.now())
    links = maker.links(to, digest, generation)
    if to.kind is DestinationKind.FILE and site.config.hides_queries:
        digest = digest.hide_queries()
    return site.renderer.render(digest, delivery, links, identity)


def _mark_sent(site: Site, delivery: Delivery, receipt: Receipt) -> None:
    def mark() -> None:
        now = site.clock.now()
        with site.store.begin() as conn:
            is_marked = mark_sent(conn, delivery, receipt, now)
            if delivery.destination.traits.is_paced:
                block_destination(conn, delivery.destination, now + SLACK_SPACING)
        if not is_marked:
            _log.warning(
                "%s took delivery %d, which another process has", delivery.destination, delivery.id
            )

    _mark_stubbornly(site, delivery, mark)


def _mark_failure(
    site: Site, report: DeliverReport, delivery: Delivery, error: DeliveryError
) -> None:
    now, jitter, kind = site.clock.now(), site.jitter(), delivery.destination.kind
    shorter = (
        shorten_share(delivery.share) if error.too_large and delivery.share is not None else None
    )
    is_shortest = error.too_large and shorter is None
    reason = advise(error.said, Said.of(Saying.NOT_SHORTER) if is_shortest else error.advice)
    steps: list[NextStep] = []
    others: list[Delivery] = []

    def mark() -> None:
        with site.store.begin() as conn:
            next_step = decide_failure(
                error,
                settling=TRANSPORTS[kind].settling(site.config),
                tries=Tries(*count_tries(conn, delivery), delivery.held_at),
                now=now,
                jitter=jitter,
                can_shorten=shorter is not None,
            )
            steps.append(next_step)
            blocked_until = next_step.blocked_until
            refusal = next_step.refusal
            is_mine = mark_unsent(
                conn,
                delivery,
                _LEADS_TO[next_step.step],
                reason,
                now,
                not_before=next_step.not_before,
                shorter=shorter,
                refusal=refusal,
            )
            if is_mine and refusal is not None and next_step.given_up_before is not None:
                others[:] = give_up_held(
                    conn,
                    delivery,
                    refusal,
                    before=next_step.given_up_before,
                    reason=reason,
                    now=now,
                )
            if refusal is Refusal.READER:
                name, last = load_last_refusals(conn, delivery.id, _REFUSALS)
                if last == [Refusal.READER] * _REFUSALS:
                    save_unsubscription(conn, delivery.destination, name, how=REFUSED, at=now)
            if kind.traits.is_paced and next_step.step in (Step.SHORTEN, Step.ASK):
                blocked_until = now + SLACK_SPACING  # it may have come, and counts for the pace
            if blocked_until is not None:
                block_destination(conn, delivery.destination, blocked_until)

    _mark_stubbornly(site, delivery, mark)
    followed = steps[-1]
    said = error.said
    if followed.step is Step.ASK:
        said = Said.of(Saying.FOLLOWED, said, describe_settling(site.config, kind))
    elif followed.given_up_before is not None:
        said = Said.of(Saying.GIVEN_UP_AFTER, said, write_age(now - followed.given_up_before))
    for one in (delivery, *others):
        report.note_failure(one, followed.step, said, followed.refusal)


def hold_alike_refusals(site: Site, report: DeliverReport) -> None:
    """Hold mails that a pass gave up if all were refused alike, and it is not said for what.

    It may be for us. What is tried again counts, too, if it was refused alike.
    """
    answered = {
        one.delivery: one
        for one in report.failures
        if one.destination.kind is DestinationKind.MAIL and one.refusal is None
    }
    refused = {id_: one for id_, one in answered.items() if one.step is Step.GIVE_UP}
    if DestinationKind.MAIL in report.sent or not is_of_all(
        (one.reason for one in refused.values()),
        {str(one.destination): one.reason for one in answered.values()},
    ):
        return
    now = site.clock.now()
    with site.store.begin() as conn:
        hold_failed(conn, refused, now, now + PROBE_PAUSE)
    report.failures = [
        replace(one, step=Step.HOLD, refusal=Refusal.PLACE) if one.delivery in refused else one
        for one in report.failures
    ]


def _mark_stubbornly(site: Site, delivery: Delivery, mark: Callable[[], None]) -> None:
    """Repeat a mark until the database takes it or `Site.interrupt` ends it: a lost mark leaves doubt."""
    which, since, began_at = (
        f"delivery {delivery.id} to {delivery.destination}",
        site.interrupts,
        monotonic(),
    )
    pause, say_at, has_failed = FIRST_PAUSE, 0.0, False
    while True:
        try:
            mark()
        except StoreError as error:
            has_failed = True
            if monotonic() >= say_at:
                say_at = monotonic() + SAY_AGAIN
                said = " ".join(filter(None, (error.message, error.hint)))
                _log.warning(
                    "the database does not record the result of %s; trying again: %s", which, said
                )
            if not site.wait(pause, since):
                _log.error("the result of %s is lost, because this process stops", which)
                raise
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            if has_failed:
                _log.warning(
                    "the result of %s was recorded after %.1f s", which, monotonic() - began_at
                )
            return


def describe_settling(config: Config, kind: DestinationKind) -> str:
    """Say what becomes of a message on a kind of destination that may have arrived, and after how long."""
    entry = TRANSPORTS[kind]
    wait = entry.settling(config)
    after = f" after {write_age(wait)}" if wait else ""
    if entry.can_be_asked:
        return f"is searched for{after}"
    if entry.knows_repeats:
        return f"is sent again{after}"
    return f"is sent again{after}, once" if may_repeat(config, kind) else f"is held for you{after}"


def settle_one(site: Site, report: DeliverReport, unknown: UnknownDelivery) -> None:
    """Settle one ambiguous delivery, and note it if it needs the operator.

    Slack is asked: found is sent, not found goes out again. Mail cannot be asked: the same bytes go out again
    under the same Message-ID, once, or are held, as `mail.on_ambiguous` says. A receiver that knows repetitions
    gets it again, without counting. What else cannot be known is held for the operator.
    """
    delivery, now = unknown.delivery, site.clock.now()
    kind, doubt = delivery.destination.kind, NOTHING
    receipt: Receipt | None = None
    try:
        receipt = site.transport(kind).find(
            unknown.message, delivery.destination, unknown.sending_at
        )
    except DeliveryError as error:
        if not error.permanent:
            return  # the other side is away: asked again on a later pass
        doubt = error.said
    except ConfigurationError as error:
        # This transport is no longer configured. One such delivery must not stop all others.
        doubt = error.said
    except Exception as error:  # noqa: BLE001 - a fault of ours in checking one must stop no other
        _log.error(
            "checking delivery %d to %s failed", delivery.id, delivery.destination, exc_info=error
        )
        doubt = Said.of(Saying.SEARCH_FAILED, type(error).__name__)
    is_missing = receipt is None and not doubt
    is_harmless = is_missing or TRANSPORTS[kind].knows_repeats
    reason = Said.of(Saying.UNSURE, doubt) if doubt else Said.of(Saying.NEVER_ARRIVED)
    next_step = decide_unknown(
        is_harmless=is_harmless,
        may_repeat=may_repeat(site.config, kind),
        attempts=delivery.attempts,
        repeats=unknown.repeats,
    )
    with site.store.begin() as conn:
        if receipt is not None:
            mark_sent(conn, delivery, receipt, now)
        elif next_step is Step.RETRY:
            said = Said.of(Saying.SENT_AGAIN, reason)
            settle_unknown(conn, delivery, DeliveryState.READY, said, now, is_missing=is_harmless)
        elif settle_unknown(conn, delivery, DeliveryState.HELD, reason, now, is_missing=is_missing):
            report.note_failure(delivery, Step.HOLD, reason)


def may_repeat(config: Config, kind: DestinationKind) -> bool:
    """Whether the operator takes a second copy for the lesser harm."""
    return kind is DestinationKind.MAIL and config.mail.on_ambiguous == "resend"
