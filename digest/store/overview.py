"""Read models: what `digest status` and the listings show. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from digest.messages import DayCount, DeliveryState
    from digest.store.engine import Store
    from digest.subscriptions import Destination, SubscriptionState


@dataclass(frozen=True, slots=True)
class Outbox:
    """How many deliveries are in which state, and since when the oldest due one waits (UTC)."""

    counts: dict[DeliveryState, int]
    oldest_due: datetime | None


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription's line of the status screen.

    Attributes:
        name: its name.
        state: active, paused or ended.
        destinations: where it goes to.
        queries: names of its saved queries.
        last_planned_at: when its last digest was frozen (UTC); None before the first.
        last_papers: how many papers that held.
        last_states: the states of that digest's deliveries.
        next_due_at: its next turn (UTC); None where an event makes it due.
        paused_until: when a pause ends (UTC); None without a pause, or for one without end.
        waiting: papers matched and in no digest yet.
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


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether arXiv asked us to stay away: for how many seconds more (0 = not), why, and how often in a row."""

    seconds: float
    reason: str
    failures: int


def load_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count the deliveries."""
    raise NotImplementedError


def load_subscription_lines(conn: Connection, now: datetime, *, span: timedelta) -> list[SubscriptionLine]:
    """Return the live subscriptions by name, with counts of the span before now."""
    raise NotImplementedError


def load_breaker(conn: Connection) -> Breaker:
    """Return the state of the gate's circuit breaker."""
    raise NotImplementedError


def count_requests(conn: Connection, since: datetime) -> int:
    """Return how many requests to arXiv were made since a moment."""
    raise NotImplementedError


def count_papers(conn: Connection) -> int:
    """Return how many papers are stored."""
    raise NotImplementedError


def measure_size(store: Store) -> int:
    """Return how many bytes the database takes."""
    raise NotImplementedError
