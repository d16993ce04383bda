"""Faults as they are made in earnest, built into the running product on purpose, to see that the judge finds them.

Each is a change of a few statements' order. Where only a death at the wrong moment shows it, the process
says when that moment is (see `Weakness`), so that the battery need not hit it by chance.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import select, update

import digest.serve.steps
from digest.deliver import step
from digest.deliver.dispatch import Lane
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.match import step as matching_step
from digest.match.step import BATCH, MatchReport
from digest.model.announcements import Kind
from digest.model.cadences import CadenceKind
from digest.model.messages import Delivery, DeliveryState, Message, Receipt
from digest.plan import step as planning_step
from digest.plan.step import Drafts
from digest.plan.turns import next_due
from digest.poll import record
from digest.poll.installation import Site
from digest.serve.jobs import Jobs
from digest.store import matches
from digest.store import outbox_sends as outbox
from digest.store import papers as paper_store
from digest.store import subscriptions as subscription_store
from digest.store.schema import deliveries
from digest.store.schema import papers as papers_table
from tests.battery.kill_plan import wanted

_WINDOW = 30.0
_ADVANCED = 10_000
_RESENT = 4


class Weakness:
    """The moment at which a fault shows: said through a file and waited in, as long as the battery asks for it."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def expose(self) -> None:
        if wanted(self._marker).exists():
            self._marker.touch()
            time.sleep(_WINDOW)
            self._marker.unlink(missing_ok=True)


@dataclass(frozen=True)
class Fault:
    """A planted fault.

    Attributes:
        what: in words.
        found_by: the checks of which at least one must find it.
        plant: changes this process.
        needs_death: it shows where a process dies at the wrong moment, and nowhere else.
    """

    what: str
    found_by: tuple[str, ...]
    plant: Callable[[Weakness], None]
    needs_death: bool = False


def _move_mark_first(weakness: Weakness) -> None:
    original = matching_step._match_batch

    def match_batch(site: Site, report: MatchReport) -> bool:
        with site.store.begin() as conn:
            mark = matches.matched_mark(conn)
            found = paper_store.changes_after(conn, mark, BATCH)
            if not found:
                return False
            matches.set_matched_mark(conn, found[-1].id, expected=mark)
        weakness.expose()
        with (
            patch.object(matches, "matched_mark", lambda *_, **__: mark),
            patch.object(matches, "set_matched_mark", lambda *_, **__: None),
        ):
            return original(site, report)

    matching_step._match_batch = match_batch


def _move_mark_last(weakness: Weakness) -> None:
    match_batch, deliver = matching_step._match_batch, Jobs.deliver
    moves: list[tuple[int, int]] = []

    def match_once(site: Site, report: MatchReport) -> bool:
        def note(_: object, to: int, *, expected: int) -> None:
            moves.append((to, expected))

        if not moves:
            with patch.object(matches, "set_matched_mark", note):
                match_batch(site, report)
        return False

    def deliver_and_move(jobs: Jobs, lane: Lane) -> None:
        deliver(jobs, lane)
        if moves:
            weakness.expose()
            with jobs._site.store.begin() as conn:
                matches.set_matched_mark(conn, moves[0][0], expected=moves[0][1])
            moves.clear()

    matching_step._match_batch = match_once
    Jobs.deliver = deliver_and_move  # type: ignore[method-assign, assignment]  # that is the point


def _miss_late_papers(_: Weakness) -> None:
    original = record.store_changes

    def store_changes(conn: Any, papers: Any, judge: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        order = select(papers_table.c.month, papers_table.c.number).where(papers_table.c.archive == "")
        highest = max(((row.month, row.number) for row in conn.execute(order)), default=(0, 0))
        compare = record._compare_by_horizon

        def compare_by_high_water(*given: Any) -> Any:  # noqa: ANN401 - passed on
            return tuple(
                replace(change, kind=Kind.KNOWN)
                if change.known is None and change.paper.id.announcement_order < highest
                else change
                for change in compare(*given)
            )

        with patch.object(record, "_compare_by_horizon", compare_by_high_water):
            return original(conn, papers, judge, **options)

    record.store_changes = store_changes


def _mark_before_sending(weakness: Weakness) -> None:
    begin = outbox.begin_sending

    def begin_sending(conn: Any, delivery: Any, message: Any, now: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        state = begin(conn, delivery, message, now, **options)
        if state is DeliveryState.SENDING:
            outbox.mark_sent(conn, delivery, Receipt("planted"), now)
        return state

    outbox.begin_sending = begin_sending
    for transport in (SmtpTransport, SlackTransport):
        transport.send = _exposed(transport.send, weakness)  # type: ignore[method-assign]  # that is the point


def _exposed(send: Callable[..., Receipt], weakness: Weakness) -> Any:  # noqa: ANN401 - a method
    def send_exposed(*given: Any) -> Receipt:  # noqa: ANN401 - passed on
        weakness.expose()
        return send(*given)

    return send_exposed


def _number_keys(_: Weakness) -> None:
    render, take = step._render, outbox.take_unknown

    def rewrite(message: Message, delivery: Delivery) -> Message:
        keys = [_key_of(delivery, attempt) for attempt in range(delivery.attempts + 1)]
        body = message.body
        for key in keys:
            body = body.replace(key, keys[-1])
        return replace(message, body=body)

    step._render = lambda site, delivery, **how: rewrite(render(site, delivery, **how), delivery)

    def take_unknown(conn: Any, now: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        return [
            replace(unknown, message=rewrite(unknown.message, unknown.delivery))
            for unknown in take(conn, now, **options)
        ]

    outbox.take_unknown = take_unknown


def _key_of(delivery: Delivery, attempt: int) -> bytes:
    numbered = str(uuid.uuid5(uuid.UUID(delivery.idempotency_key), str(attempt)))
    return (numbered if attempt else delivery.idempotency_key).encode("ascii")


def _resend_sent(_: Weakness) -> None:
    original = digest.serve.steps.recover

    def recover(site: Site) -> None:
        original(site)
        with site.store.begin() as conn:
            sent = select(deliveries.c.id).where(deliveries.c.state == DeliveryState.SENT)
            latest = conn.execute(sent.order_by(deliveries.c.id.desc()).limit(_RESENT)).scalars().all()
            again = update(deliveries).where(deliveries.c.id.in_(latest))
            conn.execute(again.values(state=DeliveryState.READY, ended_at=None))

    digest.serve.steps.recover = recover


def _advance_first(weakness: Weakness) -> None:
    def begin_drafts(site: Site) -> Drafts:
        now = site.clock.now()
        with site.store.read() as conn:
            come = [turn.id for turn in matches.due_turns(conn, now, _ADVANCED)]
            dues = subscription_store.load_subscriptions(conn, come)
        waiting = [
            due
            for due in dues
            if due.subscription.cadence.kind is CadenceKind.CLOCK and _load_waiting(site, due.id)
        ]
        if waiting:
            with site.store.begin() as conn:
                for due in waiting:
                    subscription_store.set_next_due(conn, due.id, next_due(due.subscription, now))
            weakness.expose()
            with site.store.begin() as conn:
                for due in waiting:
                    subscription_store.set_next_due(conn, due.id, due.next_due_at)
        return Drafts(site)

    setattr(planning_step, "Drafts", begin_drafts)  # noqa: B010 - a function stands for the class


def _load_waiting(site: Site, subscription_id: int) -> bool:
    with site.store.read() as conn:
        return bool(matches.pending_matches(conn, subscription_id))


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
        "a paper with a lower id than the highest known is taken for known", ("never told",), _miss_late_papers
    ),
    "mark-first": Fault(
        "a delivery is marked as sent before it is", ("lost",), _mark_before_sending, needs_death=True
    ),
    "key-with-attempt": Fault(
        "the key of a repeated attempt bears its number", ("told twice", "stranger"), _number_keys
    ),
    "resend-sent": Fault("the last deliveries are sent again at each start", ("doubled in Slack",), _resend_sent),
    "advance-first": Fault(
        "a turn is taken before its digest is planned", ("late",), _advance_first, needs_death=True
    ),
}
