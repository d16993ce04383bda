"""Seven faults that such products are known to have, each put into ours for as long as a context lasts.

Between the two steps that must have been one, each calls `between`: there a process may die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from sqlalchemy import text

import digest.compare
import digest.deliver.step
import digest.match.step
import digest.plan.step
import digest.serve.steps
from digest.model.messages import DeliveryState, Receipt
from digest.model.papers import Paper
from digest.plan.step import Drafts, make_due_what_waits
from digest.plan.turns import TurnFacts, decide_turn
from digest.poll.installation import Site
from digest.store import matches, outbox, outbox_sends, runs, subscriptions


def between() -> None:
    """Do nothing, where a process may die."""


@contextmanager
def cursor_first() -> Iterator[None]:
    """A look counts as complete when it begins."""
    original = runs.start_run

    def start(conn: Any, *, source: str, at: datetime, **rest: Any) -> int:  # noqa: ANN401 - as it is given
        run_id = original(conn, source=source, at=at, **rest)
        if source == "harvest" and not rest["is_bootstrap"]:
            runs.move_cursor(conn, source=source, run_id=run_id, started_at=at)
        return run_id

    with patch.object(runs, "start_run", start):
        yield


@contextmanager
def rematch() -> Iterator[None]:
    """The mark "matched up to here" is moved after the matches were committed."""
    original, move = digest.match.step._match_batch, matches.set_matched_mark

    def match_batch(site: Site, report: Any) -> bool:  # noqa: ANN401 - as it is given
        moves: list[tuple[int, int]] = []

        def note(_: object, to: int, *, expected: int) -> None:
            moves.append((to, expected))

        with patch.object(matches, "set_matched_mark", note):
            has_matched = original(site, report)
        between()
        for to, expected in moves:
            with site.store.begin() as conn:
                move(conn, to, expected=expected)
        return has_matched

    with patch.object(digest.match.step, "_match_batch", match_batch):
        yield


@contextmanager
def late_items() -> Iterator[None]:
    """What is new is decided by the date a paper was submitted."""
    original = digest.compare.is_first_news

    def is_first_news(paper: Paper, horizon: Any) -> bool:  # noqa: ANN401 - as it is given
        is_late = paper.datestamp is not None and paper.datestamp - paper.published.date() > timedelta(days=4)
        return original(paper, horizon) and not is_late

    with patch.object(digest.compare, "is_first_news", is_first_news):
        yield


@contextmanager
def mark_first() -> Iterator[None]:
    """A message counts as sent when it is about to be."""
    original = outbox_sends.begin_sending

    def begin(conn: Any, delivery: Any, message: Any, now: datetime) -> Any:  # noqa: ANN401 - as it is given
        state = original(conn, delivery, message, now)
        if state is DeliveryState.SENDING:
            outbox_sends.mark_sent(conn, delivery, Receipt(""), now)
        return state

    with patch.object(outbox_sends, "begin_sending", begin):
        yield


@contextmanager
def key_with_attempt() -> Iterator[None]:
    """Each attempt is a message of its own."""
    original = digest.deliver.step._render

    def render(site: Any, delivery: Any, *, anew: bool) -> Any:  # noqa: ANN401 - as it is given
        if delivery.attempts == 0:
            return original(site, delivery, anew=anew)
        key = f"{delivery.idempotency_key}-{delivery.attempts}"
        return original(site, replace(delivery, idempotency_key=key), anew=True)

    with patch.object(digest.deliver.step, "_render", render):
        yield


@contextmanager
def resend_sent() -> Iterator[None]:
    """Whoever starts sends once more what was sent lately, to be on the safe side."""
    original = outbox.adopt_orphans

    def adopt(conn: Any, now: datetime, **rest: Any) -> Any:  # noqa: ANN401 - as it is given
        again = text(
            "UPDATE deliveries SET state = 'ready', ended_at = NULL WHERE state = 'sent' AND ended_at > :since"
        )
        conn.execute(again, {"since": (now - timedelta(hours=6)).strftime("%Y-%m-%d %H:%M:%S.%f")})
        return original(conn, now, **rest)

    with patch.object(outbox, "adopt_orphans", adopt):
        yield


@contextmanager
def advance_first() -> Iterator[None]:
    """Turns are taken before their digests are made."""
    original = digest.plan.step.plan

    def plan(site: Site, *, patience: timedelta) -> Any:  # noqa: ANN401 - as it is returned
        planning = digest.plan.step
        with site.store.begin() as conn:
            make_due_what_waits(conn, site.clock.now())
            batch, drafts, turns = matches.due_turns(conn, site.clock.now(), 500), Drafts(site), {}
            heard, coverage = matches.sent_somewhere(conn, [turn.id for turn in batch]), drafts.load_coverage(conn)
            told = [turn for turn in batch if turn.id in heard]
            pending = planning._load_pending(
                conn, {turn.id: turn.plan_after for turn in told}, [turn.id for turn in told if turn.excludes]
            )
            for turn in told:
                newest = pending[turn.id][-1].match_run_id if pending.get(turn.id) else 0
                facts = TurnFacts(turn.next_due_at, turn.last_slot, drafts.now, coverage, newest, patience)
                decided = decide_turn(turn.rhythm, facts)
                turns[turn.id] = decided.next_due_at, decided.taken
            subscriptions.take_turns(conn, turns)
        between()
        left = [batch]
        with (
            patch.object(matches, "due_turns", lambda *_, **__: left.pop() if left else []),
            patch.object(subscriptions, "take_turns", lambda *_: None),
        ):
            return original(site, patience=patience)

    with patch.object(digest.serve.steps, "plan", plan):
        yield


FAULTS: dict[str, Callable[[], Any]] = {
    "cursor-first": cursor_first,
    "rematch": rematch,
    "late items": late_items,
    "mark-first": mark_first,
    "key-with-attempt": key_with_attempt,
    "resend-sent": resend_sent,
    "advance-first": advance_first,
}
