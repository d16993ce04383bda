"""Faults as they are made in earnest, built into the product on purpose.

They are there to see that the judges find them. Each is a change of a few statements' order. Where
only a death at the wrong moment shows it, `between` is called there: the battery's processes say so
then and wait (see `Weakness`), single passes die there.
"""

# ruff: noqa: ANN401 - what a fault is called with is passed on

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import false, select, update

import digest.serve.steps
from digest.deliver import step
from digest.deliver.dispatch import Lane
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.match.step import BATCH, MatchReport, _match_batch
from digest.model.announcements import Kind
from digest.model.cadences import CadenceKind
from digest.model.messages import Delivery, DeliveryState, Message, Receipt
from digest.plan import slots
from digest.plan.drafts import Drafts
from digest.plan.slots import next_due
from digest.poll import novelty, record
from digest.serve.schedule import Jobs
from digest.site import Site
from digest.store import attempts, changes, matches, outbox, papers, subscriptions
from digest.store.papers import MATCHED
from digest.store.schema import deliveries
from digest.store.schema import papers as papers_table

_WINDOW = 30.0
_ADVANCED = 10_000
_RESENT = 4


def between() -> None:
    """Do nothing, where a process may die."""


def wanted(marker: Path) -> Path:
    """Return the file whose being there asks a planted fault to say when it is weakest.

    The fault says so by making `marker`.
    """
    return marker.with_suffix(".wanted")


class Weakness:
    """The moment at which a fault shows.

    Said through a file and waited in, as long as the battery asks for it.
    """

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __call__(self) -> None:
        if wanted(self._marker).exists():
            self._marker.touch()
            time.sleep(_WINDOW)
            self._marker.unlink(missing_ok=True)


@dataclass(frozen=True)
class Fault:
    """A planted fault, in words, and the checks of which at least one must find it.

    With `needs_death` it shows if a process dies at the wrong moment; `restarts` is how many starts
    it takes else.
    """

    what: str
    found_by: tuple[str, ...]
    plant: Callable[[], AbstractContextManager[None]]
    needs_death: bool = False
    restarts: int = 0


@contextmanager
def _move_mark_first() -> Iterator[None]:
    original = _match_batch

    def match_batch(site: Site, report: MatchReport) -> bool:
        with site.store.begin() as conn:
            mark = papers.load_mark(conn, MATCHED)
            found = changes.load_after(conn, mark, BATCH)
            if not found:
                return False
            matches.set_matched_mark(conn, found[-1].id, expected=mark)
        between()
        with (
            patch("digest.store.papers.load_mark", lambda *_, **__: mark),
            patch("digest.store.matches.set_matched_mark", lambda *_, **__: None),
        ):
            return original(site, report)

    with patch("digest.match.step._match_batch", match_batch):
        yield


@contextmanager
def _move_mark_last() -> Iterator[None]:
    match_batch = _match_batch
    plan = Jobs.plan
    deliver = Jobs.deliver
    moves: list[tuple[int, int]] = []
    planned: list[int] = []

    def match_once(site: Site, report: MatchReport) -> bool:
        def note(_: object, to: int, *, expected: int) -> None:
            moves.append((to, expected))

        if not moves:
            with patch("digest.store.matches.set_matched_mark", note):
                match_batch(site, report)
        return False

    def plan_and_note(jobs: Jobs) -> None:
        were_kept = len(moves)
        plan(jobs)
        planned.append(were_kept)

    def deliver_and_move(jobs: Jobs, lane: Lane) -> None:
        deliver(jobs, lane)
        if (
            moves and planned and planned[-1]
        ):  # a death before the digest is frozen would double nothing
            between()
            with jobs._site.store.begin() as conn:
                matches.set_matched_mark(conn, moves[0][0], expected=moves[0][1])
            moves.clear()
            planned.clear()

    with (
        patch("digest.match.step._match_batch", match_once),
        patch.object(Jobs, "plan", plan_and_note),
        patch.object(Jobs, "deliver", deliver_and_move),
    ):
        yield


@contextmanager
def _move_mark_after_matching() -> Iterator[None]:
    """Do the same within one pass, where nothing is delivered in between."""
    original = _match_batch
    move = matches.set_matched_mark

    def match_batch(site: Site, report: MatchReport) -> bool:
        moves: list[tuple[int, int]] = []

        def note(_: object, to: int, *, expected: int) -> None:
            moves.append((to, expected))

        with patch("digest.store.matches.set_matched_mark", note):
            has_matched = original(site, report)
        between()
        for to, expected in moves:
            with site.store.begin() as conn:
                move(conn, to, expected=expected)
        return has_matched

    with patch("digest.match.step._match_batch", match_batch):
        yield


@contextmanager
def _miss_late_papers() -> Iterator[None]:
    original = novelty.store_changes

    def store_changes(conn: Any, papers: Any, judge: Any, **options: Any) -> Any:
        order = select(papers_table.c.month, papers_table.c.number).where(
            papers_table.c.archive == ""
        )
        highest = max(((row.month, row.number) for row in conn.execute(order)), default=(0, 0))
        compare = novelty._compare_by_rule

        def compare_by_high_water(*given: Any) -> Any:
            return tuple(
                replace(change, kind=Kind.KNOWN)
                if change.known is None and change.paper.id.announcement_order < highest
                else change
                for change in compare(*given)
            )

        with patch.object(novelty, "_compare_by_rule", compare_by_high_water):
            return original(conn, papers, judge, **options)

    with patch.object(record, "store_changes", store_changes):
        yield


@contextmanager
def _mark_before_sending() -> Iterator[None]:
    begin = attempts.begin

    def begin_and_mark(conn: Any, delivery: Any, message: Any, now: Any, **options: Any) -> Any:
        state = begin(conn, delivery, message, now, **options)
        if state is DeliveryState.SENDING:
            attempts.mark_sent(conn, delivery, Receipt("planted"), now)
        return state

    with (
        patch("digest.store.attempts.begin", begin_and_mark),
        patch.object(SmtpTransport, "send", _expose(SmtpTransport.send)),
        patch.object(SlackTransport, "send", _expose(SlackTransport.send)),
    ):
        yield


def _expose(send: Callable[..., Receipt]) -> Callable[..., Receipt]:
    def send_exposed(*given: Any) -> Receipt:
        between()
        return send(*given)

    return send_exposed


@contextmanager
def _number_keys() -> Iterator[None]:
    make = step.MessageMaker.make
    take = attempts.claim_unknown

    def rewrite(message: Message, delivery: Delivery) -> Message:
        keys = [_key_of(delivery, attempt) for attempt in range(delivery.attempts + 1)]
        body = message.body
        for key in keys:
            body = body.replace(key, keys[-1])
        return replace(message, body=body)

    def make_numbered(maker: step.MessageMaker, delivery: Delivery, **how: Any) -> Message:
        return rewrite(make(maker, delivery, **how), delivery)

    def take_rewritten(conn: Any, now: Any, **options: Any) -> Any:
        return [
            replace(unknown, message=rewrite(unknown.message, unknown.delivery))
            for unknown in take(conn, now, **options)
        ]

    with (
        patch.object(step.MessageMaker, "make", make_numbered),
        patch("digest.store.attempts.claim_unknown", take_rewritten),
    ):
        yield


def _key_of(delivery: Delivery, attempt: int) -> bytes:
    numbered = str(uuid.uuid5(uuid.UUID(delivery.idempotency_key), str(attempt)))
    return (numbered if attempt else delivery.idempotency_key).encode("ascii")


@contextmanager
def _resend_sent() -> Iterator[None]:
    original = digest.serve.steps.recover

    def recover(site: Site, *, accepts_clock: bool = False) -> None:
        original(site, accepts_clock=accepts_clock)
        with site.store.begin() as conn:
            sent = select(deliveries.c.id).where(deliveries.c.state == DeliveryState.SENT)
            latest = (
                conn.execute(sent.order_by(deliveries.c.id.desc()).limit(_RESENT)).scalars().all()
            )
            again = update(deliveries).where(deliveries.c.id.in_(latest))
            conn.execute(again.values(state=DeliveryState.READY, ended_at=None))

    with patch.object(digest.serve.steps, "recover", recover):
        yield


@contextmanager
def _advance_first() -> Iterator[None]:
    def begin_drafts(site: Site) -> Drafts:
        now = site.clock.now()
        with site.store.read() as conn:
            come = [turn.id for turn in matches.load_due_slots(conn, now, _ADVANCED)]
            dues = subscriptions.load(conn, come)
        waiting = [
            due
            for due in dues
            if due.subscription.cadence.kind is CadenceKind.CLOCK and _load_waiting(site, due.id)
        ]
        if waiting:
            with site.store.begin() as conn:
                for due in waiting:
                    subscriptions.set_next_due(conn, due.id, next_due(due.subscription, now))
            between()
            with site.store.begin() as conn:
                for due in waiting:
                    subscriptions.set_next_due(conn, due.id, due.next_due_at)
        return Drafts(site)

    with patch("digest.plan.step.Drafts", begin_drafts):
        yield


def _load_waiting(site: Site, subscription_id: int) -> bool:
    with site.store.read() as conn:
        return bool(matches.load_pending(conn, subscription_id))


@contextmanager
def _never_try_again() -> Iterator[None]:
    with patch.object(outbox, "_find_probes", lambda *_: select(deliveries.c.id).where(false())):
        yield from _claim_anew()


@contextmanager
def _pass_by_what_is_held() -> Iterator[None]:
    state, is_ready, after_parts, *_, is_free = outbox._IS_CLAIMABLE
    claimable = (state, is_ready, after_parts, is_free)
    with patch.object(outbox, "_IS_CLAIMABLE", claimable):
        yield from _claim_anew()


def _claim_anew() -> Iterator[None]:
    """Have what claims made anew, before and after."""
    outbox._build_claim.cache_clear()
    yield
    outbox._build_claim.cache_clear()


@contextmanager
def _give_up_at_once() -> Iterator[None]:
    with patch("digest.deliver.rules.LONGEST_HOLD", timedelta(0)):
        yield


FAULTS = {
    "cursor-first": Fault(
        "the mark “matched up to change N” moves before the matches are kept",
        ("never told",),
        _move_mark_first,
        needs_death=True,
    ),
    "rematch": Fault(
        "that mark moves in a turn behind the one that kept the matches",
        ("told twice",),
        _move_mark_last,
        needs_death=True,
    ),
    "late-items": Fault(
        "a paper with a lower id than the highest known is taken for known",
        ("never told",),
        _miss_late_papers,
    ),
    "mark-first": Fault(
        "a delivery is marked as sent before it is",
        ("lost",),
        _mark_before_sending,
        needs_death=True,
    ),
    "key-with-attempt": Fault(
        "the key of a repeated attempt bears its number", ("told twice", "stranger"), _number_keys
    ),
    "resend-sent": Fault(
        "the last deliveries are sent again at each start",
        ("doubled: slack",),
        _resend_sent,
        restarts=2,
    ),
    "advance-first": Fault(
        "a turn is taken before its digest is planned", ("late",), _advance_first, needs_death=True
    ),
}


@contextmanager
def _take_failed_turns() -> Iterator[None]:
    original = slots.decide_slot

    def decide_slot(subscription: Any, facts: Any) -> Any:
        decided = original(subscription, facts)
        if decided.outcome is not slots.SlotOutcome.STAY_OPEN:
            return decided
        last = slots.latest_slot(subscription.cadence, None, facts.now)
        taken = slots.take_slot(facts.state.taken, last.name)
        state = replace(decided.state, taken=taken, awaits_check=False, unchecked=())
        return replace(decided, outcome=slots.SlotOutcome.PASS, state=state)

    with patch("digest.plan.step.decide_slot", decide_slot):
        yield


@contextmanager
def _tell_nothing() -> Iterator[None]:
    original = slots.decide_slot

    def decide_slot(subscription: Any, facts: Any) -> Any:
        return replace(original(subscription, facts), unchecked=())

    with patch("digest.plan.step.decide_slot", decide_slot):
        yield


PLANTS = {name: fault.plant for name, fault in FAULTS.items()} | {
    "rematch": _move_mark_after_matching,
    "never-again": _never_try_again,
    "newer-first": _pass_by_what_is_held,
    "no-week": _give_up_at_once,
    "failed-turn": _take_failed_turns,
    "untold": _tell_nothing,
}
"""How each is planted into a single pass; some show in simulated days alone."""
