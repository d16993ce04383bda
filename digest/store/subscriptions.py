"""Subscriptions as stored: in line with the operator's file, due by an indexed moment, never deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.store.queries import SyncReport

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.planning import DueSubscription
    from digest.subscriptions import Destination, Subscription

__all__ = ["SyncReport"]


@dataclass(frozen=True, slots=True)
class FeedAccess:
    """What decides whether a feed's address still works.

    Attributes:
        subscription_id: whose feed it is.
        generation: grows with each new address; older ones are gone.
        revoked_at: since when no address works (UTC); None while one does.
        is_live: the subscription has not ended.
    """

    subscription_id: int
    generation: int
    revoked_at: datetime | None
    is_live: bool


def sync_subscriptions(
    conn: Connection,
    subscriptions: Sequence[Subscription],
    origin: str,
    at: datetime,
    next_due: Callable[[Subscription], datetime | None],
) -> SyncReport:
    """Make the subscriptions of an origin exactly these; doing it twice changes nothing.

    `was` renames and keeps all history. What is no longer named ends: its waiting deliveries are
    suppressed, its history stays. A destination that somebody left stays left. A subscription whose
    first digest destination appears now plans only what is matched from now on.

    Args:
        conn: a writing transaction, after `sync_queries`.
        subscriptions: the whole of the origin's.
        origin: `Origin` as text.
        at: the moment (UTC).
        next_due: tells when the next digest of a new or rescheduled subscription is due.

    Raises:
        ConfigurationError: a saved query is not stored, or a name is taken by the other origin.
    """
    raise NotImplementedError


def load_subscriptions(
    conn: Connection, *, names: Collection[str] | None = None, include_ended: bool = False
) -> list[DueSubscription]:
    """Return subscriptions by name; `Subscription.destinations` names only those nobody left."""
    raise NotImplementedError


def due_subscriptions(conn: Connection, now: datetime, limit: int) -> list[DueSubscription]:
    """Return subscriptions whose digest is due, the longest waiting first.

    One that is paused counts again once its pause is over.
    """
    raise NotImplementedError


def set_next_due(
    conn: Connection,
    subscription_id: int,
    next_due_at: datetime | None,
    *,
    expected: datetime | None,
    last_slot: str | None = None,
) -> bool:
    """Move the next due time of a turn that brought no digest.

    Args:
        conn: a writing transaction.
        subscription_id: whose.
        next_due_at: the next turn (UTC); None where nothing makes it due yet.
        expected: the due time this turn was read with; another one means another process was faster.
        last_slot: the slot that was quiet; None leaves it.

    Returns:
        False, with nothing changed, where `expected` does not hold any more.
    """
    raise NotImplementedError


def make_due(conn: Connection, cadences: Collection[str], at: datetime) -> int:
    """Make every active subscription of these cadences (as phrases) due at a moment, unless it is due before.

    For cadences that wait for an event, such as `on announcement`. Return how many.
    """
    raise NotImplementedError


def pause(conn: Connection, subscription_id: int, until: datetime | None) -> bool:
    """Pause a live subscription: it goes on collecting. None for until further notice."""
    raise NotImplementedError


def resume(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> bool:
    """Let a paused subscription go on."""
    raise NotImplementedError


def end(conn: Connection, subscription_id: int, at: datetime) -> bool:
    """End a subscription: waiting deliveries are suppressed, history stays."""
    raise NotImplementedError


def load_feed_access(conn: Connection, name: str) -> FeedAccess | None:
    """Return what decides whether a subscription's feed may be read; None where there is no such name."""
    raise NotImplementedError


def bump_feed_generation(conn: Connection, subscription_id: int) -> int:
    """Give a feed a new address, and make it work where it was revoked; return the new generation."""
    raise NotImplementedError


def revoke_feed(conn: Connection, subscription_id: int, at: datetime) -> None:
    """Make a feed's address stop working."""
    raise NotImplementedError


def destinations_left(conn: Connection, subscription_id: int) -> tuple[Destination, ...]:
    """Return the destinations that were left or switched off."""
    raise NotImplementedError
