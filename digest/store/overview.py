"""Read models: what `digest status` and the listings show. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, not_, select, text, true

from digest.messages import DayCount, DeliveryState
from digest.store.dialect import in_chunks
from digest.store.gate import Breaker, load_breaker
from digest.store.outbox_steps import waits_for_held
from digest.store.schema import (
    ACTIVE_DELIVERY,
    STUCK_DELIVERY,
    deliveries,
    digests,
    matches,
    papers,
    quarantine,
    requests,
    subscriptions,
)
from digest.store.subscriptions import load_subscriptions
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date, datetime, timedelta

    from sqlalchemy import ColumnElement, Connection, Row, TextClause

    from digest.store.engine import Store
    from digest.subscriptions import Destination

__all__ = [
    "Breaker",
    "Outbox",
    "RequestLine",
    "SetAside",
    "SubscriptionLine",
    "Waits",
    "count_papers",
    "count_quarantined",
    "count_requests",
    "list_quarantined",
    "list_requests",
    "load_breaker",
    "load_open",
    "load_outbox",
    "load_subscription_lines",
    "measure_size",
]


@dataclass(frozen=True, slots=True)
class Waits:
    """How many deliveries wait for the same, and when it comes for the first of them (UTC); None for none."""

    number: int = 0
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outbox:
    """How the outbox stands.

    Attributes:
        counts: deliveries by state, states without any left out.
        oldest_due: since when the oldest delivery that could go waits (UTC); None where none does.
        in_doubt: those that may have arrived, and wait to be looked into.
    """

    counts: dict[DeliveryState, int]
    oldest_due: datetime | None
    in_doubt: Waits = field(default_factory=Waits)


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription's line of the status screen.

    Attributes:
        name: its name.
        state: active or paused.
        destinations: where it goes to.
        queries: names of its saved queries.
        last_planned_at: when its last digest was frozen (UTC); None before the first.
        last_papers: how many papers that held.
        last_states: the states its deliveries are in, each once.
        next_due_at: its next turn (UTC); None where an event makes it due.
        paused_until: when a pause ends (UTC); None without a pause, or for one without end.
        waiting: papers matched that the next digest will hold.
        days: papers matched per UTC day, days without any left out.
    """

    name: str
    state: SubscriptionState
    destinations: tuple[Destination, ...]
    queries: tuple[str, ...]
    last_planned_at: datetime | None
    last_papers: int
    last_states: tuple[DeliveryState, ...]
    next_due_at: datetime | None
    paused_until: datetime | None
    waiting: int
    days: tuple[DayCount, ...]


def load_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count all deliveries by state, those of years ago too: for a person who asks."""
    return _load_outbox(conn, _count_states(conn, true()), now)


def load_open(conn: Connection, now: datetime) -> Outbox:
    """Count the deliveries that wait or that somebody may have to look at: a few, however many were sent."""
    counts = _count_states(conn, ACTIVE_DELIVERY) | _count_states(conn, STUCK_DELIVERY)
    return _load_outbox(conn, counts, now)


def _load_outbox(conn: Connection, counts: dict[DeliveryState, int], now: datetime) -> Outbox:
    is_doubtful = deliveries.c.state == DeliveryState.UNKNOWN
    in_doubt = _count_waits(conn, is_doubtful) if counts.get(DeliveryState.UNKNOWN) else Waits()
    return Outbox(counts, _find_oldest_due(conn, now), in_doubt)


def _count_waits(conn: Connection, which: ColumnElement[bool]) -> Waits:
    found = select(func.count(), func.min(deliveries.c.not_before)).where(ACTIVE_DELIVERY, which)
    number, first_at = conn.execute(found).one()
    return Waits(number, first_at)


def _count_states(conn: Connection, which: ColumnElement[bool] | TextClause) -> dict[DeliveryState, int]:
    by_state = select(deliveries.c.state, func.count()).where(which).group_by(deliveries.c.state)
    return {DeliveryState(state): count for state, count in conn.execute(by_state)}


def _find_oldest_due(conn: Connection, now: datetime) -> datetime | None:
    is_due = (deliveries.c.state == DeliveryState.READY, deliveries.c.not_before <= now)
    due = select(deliveries.c.not_before).where(ACTIVE_DELIVERY, *is_due, not_(waits_for_held()))
    return conn.execute(due.order_by(deliveries.c.not_before).limit(1)).scalar()


def load_subscription_lines(conn: Connection, now: datetime, *, span: timedelta) -> list[SubscriptionLine]:
    """Return the live subscriptions by name, with counts of the span before now."""
    live = load_subscriptions(conn)
    ids = [due.id for due in live]
    rows = {row.id: row for row in _select_by(conn, select(subscriptions), subscriptions.c.id, ids)}
    lasts = _load_last_digests(conn, ids)
    states = _load_states(conn, [last.id for last in lasts.values()])
    waiting, days = _load_match_counts(conn, ids, now - span)
    return [
        SubscriptionLine(
            name=due.subscription.name,
            state=SubscriptionState.PAUSED if _rests(rows[due.id], now) else SubscriptionState(due.state),
            destinations=due.subscription.destinations,
            queries=due.subscription.queries,
            last_planned_at=rows[due.id].last_planned_at,
            last_papers=lasts[due.id].papers if due.id in lasts else 0,
            last_states=states.get(lasts[due.id].id, ()) if due.id in lasts else (),
            next_due_at=due.next_due_at,
            paused_until=_find_pause_end(rows[due.id], now),
            waiting=waiting.get(due.id, 0) if due.subscription.has_digests else 0,
            days=tuple(DayCount(day, papers) for day, papers in sorted(days.get(due.id, {}).items())),
        )
        for due in live
    ]


def _rests(row: Row[Any], now: datetime) -> bool:
    """Whether the operator's file lets a subscription rest."""
    return row.file_paused_until is not None and row.file_paused_until > now


def _find_pause_end(row: Row[Any], now: datetime) -> datetime | None:
    """Return when a subscription goes on: it rests while the file or a command says so; None for no known end."""
    if row.state == SubscriptionState.PAUSED and row.paused_until is None:
        return None
    ends = [row.paused_until, row.file_paused_until if _rests(row, now) else None]
    return max(filter(None, ends), default=None)


def count_requests(conn: Connection, since: datetime) -> int:
    """Return how many requests to arXiv were made since a moment."""
    return int(conn.execute(select(func.count()).where(requests.c.at >= since)).scalar_one())


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request to arXiv as it went; see `digest.arxiv.trials.RequestLog` for the fields."""

    at: datetime
    method: str
    url: str
    status: int | None
    milliseconds: int
    size: int
    sha256: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry of arXiv's pages that could not be read: where it stood, why, and its first bytes."""

    run_id: int
    page: int
    position: int
    error: str
    snippet: bytes
    seen_at: datetime


def list_requests(conn: Connection, limit: int) -> list[RequestLine]:
    """Return the latest requests to arXiv, newest first."""
    latest = select(requests).order_by(requests.c.id.desc()).limit(limit)
    names = RequestLine.__dataclass_fields__
    return [RequestLine(*(getattr(row, name) for name in names)) for row in conn.execute(latest)]


def list_quarantined(conn: Connection, limit: int) -> list[SetAside]:
    """Return the entries set aside last, newest first."""
    latest = select(quarantine).order_by(quarantine.c.id.desc()).limit(limit)
    names = SetAside.__dataclass_fields__
    return [SetAside(*(getattr(row, name) for name in names)) for row in conn.execute(latest)]


def count_papers(conn: Connection) -> int:
    """Return how many papers are stored."""
    return int(conn.execute(select(func.count()).select_from(papers)).scalar_one())


def count_quarantined(conn: Connection, since: datetime | None = None) -> int:
    """Return how many entries from arXiv were set aside as unreadable, ever or since a moment."""
    found = select(func.count()).select_from(quarantine)
    if since is not None:
        found = found.where(quarantine.c.seen_at >= since)
    return int(conn.execute(found).scalar_one())


def measure_size(store: Store) -> int:
    """Return how many bytes the database takes."""
    if store.path is not None:
        beside = store.path.with_name(store.path.name + "-wal")
        return sum(path.stat().st_size for path in (store.path, beside) if path.exists())
    with store.read() as conn:
        return int(conn.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _select_by(conn: Connection, found: Any, column: Any, values: Collection[int]) -> list[Row[Any]]:  # noqa: ANN401 - any SELECT, any column of it
    return [row for chunk in in_chunks(values) for row in conn.execute(found.where(column.in_(chunk)))]


def _load_last_digests(conn: Connection, ids: Collection[int]) -> dict[int, Row[Any]]:
    """Return each subscription's newest digest by subscription."""
    newest = select(func.max(digests.c.id)).where(digests.c.subscription_id == subscriptions.c.id)
    found = select(digests.c.id, digests.c.subscription_id, digests.c.papers).join(
        subscriptions, digests.c.id == newest.correlate(subscriptions).scalar_subquery()
    )
    rows = _select_by(conn, found, digests.c.subscription_id, ids)
    return {row.subscription_id: row for row in rows}


def _load_states(conn: Connection, digest_ids: Collection[int]) -> dict[int, tuple[DeliveryState, ...]]:
    found = select(deliveries.c.digest_id, deliveries.c.state).distinct()
    states: dict[int, tuple[DeliveryState, ...]] = {}
    for row in _select_by(conn, found, deliveries.c.digest_id, digest_ids):
        states[row.digest_id] = (*states.get(row.digest_id, ()), DeliveryState(row.state))
    return states


def _load_match_counts(
    conn: Connection, ids: Collection[int], since: datetime
) -> tuple[dict[int, int], dict[int, dict[date, int]]]:
    """Return papers that wait for a digest, and papers per UTC day since a moment, by subscription."""
    will_be_planned = (matches.c.digest_id.is_(None)) & (matches.c.match_run_id > subscriptions.c.plan_after)
    found = (
        select(
            matches.c.subscription_id,
            matches.c.papers,
            matches.c.matched_at,
            will_be_planned.label("waits"),
        )
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .where(will_be_planned | (matches.c.matched_at >= since))
    )
    waiting: dict[int, int] = {}
    days: dict[int, dict[date, int]] = {}
    for row in _select_by(conn, found, matches.c.subscription_id, ids):
        if row.waits:
            waiting[row.subscription_id] = waiting.get(row.subscription_id, 0) + row.papers
        if row.matched_at >= since:
            of_days = days.setdefault(row.subscription_id, {})
            of_days[row.matched_at.date()] = of_days.get(row.matched_at.date(), 0) + row.papers
    return waiting, days
