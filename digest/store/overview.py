"""Overview: what each subscription had, what waits for it, and how much it brought lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, func, or_, select

from digest.model.messages import DayCount, DeliveryState, Occasion
from digest.model.subscriptions import DueSubscription, Subscription, SubscriptionState
from digest.store.dialect import select_by
from digest.store.schema import (
    OPEN_TURN,
    PAPERS_MATCHED,
    WAITS_FOR_DIGEST,
    deliveries,
    digests,
    matches,
    subscriptions,
)
from digest.store.subscriptions import is_sent_for
from digest.store.subscriptions import load as load_subscriptions


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription's line of the status screen.

    `awaits_check`: its turn has come and is open. `paused_until` is None without a pause, or for
    one without end. `waiting` papers will be in the next digest. `days` have the papers matched
    per UTC day, except first digests. A person's own was made on a page.
    """

    settings: Subscription
    began_at: datetime
    state: SubscriptionState = SubscriptionState.ACTIVE
    last_planned_at: datetime | None = None
    last_papers: int = 0
    last_states: tuple[DeliveryState, ...] = ()
    next_due_at: datetime | None = None
    awaits_check: bool = False
    paused_until: datetime | None = None
    waiting: int = 0
    days: tuple[DayCount, ...] = ()
    is_personal: bool = False

    def is_active(self, now: datetime) -> bool:
        """Whether it is not paused, or its pause is over by a moment (UTC)."""
        is_over = self.paused_until is not None and self.paused_until <= now
        return self.state is SubscriptionState.ACTIVE or is_over


@dataclass(frozen=True, slots=True)
class _LastDigest:
    """The last digest of a subscription: its papers, and the states of its deliveries."""

    papers: int = 0
    states: tuple[DeliveryState, ...] = ()


@dataclass(slots=True)
class _Brought:
    """What matched a subscription: papers that wait for a digest, and papers per UTC day."""

    waiting: int = 0
    days: Counter[date] = field(default_factory=Counter)

    def list_days(self) -> tuple[DayCount, ...]:
        """Return the days with their papers, the earliest first."""
        return tuple(DayCount(day, papers) for day, papers in sorted(self.days.items()))


def load_subscription_lines(
    conn: Connection,
    now: datetime,
    *,
    span: timedelta,
    include_ended: bool = False,
    only: Collection[int] | None = None,
) -> list[SubscriptionLine]:
    """Return the live subscriptions by name, with counts of the span before now.

    With `include_ended`, return all there ever were.
    """
    dues = load_subscriptions(conn, only, include_ended=include_ended)
    ids = [due.id for due in dues]
    rows = select_by(conn, select(subscriptions), subscriptions.c.id, ids)
    row_of = {row.id: row for row in rows}
    lasts = _load_last_digests(conn, ids)
    brought = _load_brought(conn, ids, now - span)
    lines = []
    for due in dues:
        last = lasts.get(due.id, _LastDigest())
        line = _make_line(due, row_of[due.id], last, brought.get(due.id, _Brought()))
        lines.append(line)
    return lines


def _make_line(
    due: DueSubscription, row: Row[Any], last: _LastDigest, brought: _Brought
) -> SubscriptionLine:
    waiting = 0
    if due.subscription.has_digests:
        waiting = brought.waiting
    paused_until = None
    if due.state == SubscriptionState.PAUSED:
        paused_until = due.paused_until
    return SubscriptionLine(
        settings=due.subscription,
        state=SubscriptionState(due.state),
        began_at=row.created_at,
        last_planned_at=row.last_planned_at,
        last_papers=last.papers,
        last_states=last.states,
        next_due_at=due.next_due_at,
        awaits_check=row.awaits_after is not None,
        paused_until=paused_until,
        waiting=waiting,
        days=brought.list_days(),
        is_personal=due.is_personal,
    )


def load_waiting(conn: Connection) -> dict[int, int]:
    """Return how many papers wait for each subscription, in the order in which they are due.

    A turn that is open waits, too, though no papers do.
    """
    mine = subscriptions.c
    is_waiting = and_(matches.c.subscription_id == mine.id, WAITS_FOR_DIGEST)
    papers = select(PAPERS_MATCHED).where(is_waiting)
    is_live = mine.state != SubscriptionState.ENDED
    has_something = or_(OPEN_TURN, exists().where(is_waiting))
    found = select(mine.id, papers.scalar_subquery())
    waiting = found.where(is_live, is_sent_for(), has_something)
    by_turn = waiting.order_by(mine.next_due_at, mine.id)
    return {id_: int(number) for id_, number in conn.execute(by_turn)}


def _load_last_digests(conn: Connection, ids: Collection[int]) -> dict[int, _LastDigest]:
    """Return the last digest of each subscription that had any."""
    made = digests.c
    newest = select(func.max(made.id)).where(made.subscription_id == subscriptions.c.id)
    newest_id = newest.correlate(subscriptions).scalar_subquery()
    found = select(made.id, made.subscription_id, made.papers)
    of_newest = found.join(subscriptions, made.id == newest_id)
    rows = select_by(conn, of_newest, made.subscription_id, ids)
    states = _load_states(conn, [row.id for row in rows])
    lasts = {}
    for row in rows:
        reached = states.get(row.id, ())
        lasts[row.subscription_id] = _LastDigest(row.papers, tuple(reached))
    return lasts


def _load_states(conn: Connection, digest_ids: Sequence[int]) -> dict[int, list[DeliveryState]]:
    """Return the different states of the deliveries of digests, by digest."""
    one = deliveries.c
    found = select(one.digest_id, one.state).distinct()
    states: dict[int, list[DeliveryState]] = {}
    for row in select_by(conn, found, one.digest_id, digest_ids):
        state = DeliveryState(row.state)
        states.setdefault(row.digest_id, []).append(state)
    return states


def _load_brought(conn: Connection, ids: Collection[int], since: datetime) -> dict[int, _Brought]:
    """Return by subscription what matched since a moment, and all that waits for a digest."""
    mine = matches.c
    is_recent = mine.matched_at >= since
    waits = WAITS_FOR_DIGEST.label("waits")
    columns = (mine.subscription_id, mine.papers, mine.matched_at, mine.occasion)
    found = select(*columns, waits).join(subscriptions)
    counted = found.where(WAITS_FOR_DIGEST | is_recent)
    brought: dict[int, _Brought] = {}
    for row in select_by(conn, counted, mine.subscription_id, ids):
        one = brought.setdefault(row.subscription_id, _Brought())
        if row.waits:
            one.waiting += row.papers
        if row.matched_at >= since and row.occasion != Occasion.FIRST_DIGEST:
            day = row.matched_at.date()
            one.days[day] += row.papers
    return brought
