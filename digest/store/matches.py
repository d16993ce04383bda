"""Matches: which changes a run brought to which saved query and subscription, packed into one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.matching import ActiveRevision, QueryOutcome
    from digest.messages import Occasion


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """What one match run brought to one subscription.

    Attributes:
        match_run_id: grows with time.
        subscription_id: whose.
        occasion: a poll's matches, or the first look of a new saved query.
        changes: change ids in growing order.
        papers: how many distinct papers these are.
        matched_at: when (UTC).
        digest_id: the digest it went into; None while it waits.
    """

    match_run_id: int
    subscription_id: int
    occasion: Occasion
    changes: tuple[int, ...]
    papers: int
    matched_at: datetime
    digest_id: int | None


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A saved query that a subscription has yet to be shown.

    Attributes:
        subscription_id: whose.
        subscription: its name.
        days: how far to look back.
        revision: the saved query as it reads now.
    """

    subscription_id: int
    subscription: str
    days: int
    revision: ActiveRevision


def matched_mark(conn: Connection) -> int:
    """Return the change up to which everything has been matched."""
    raise NotImplementedError


def stored_mark(conn: Connection) -> int:
    """Return the last change stored."""
    raise NotImplementedError


def set_matched_mark(conn: Connection, to: int, *, expected: int) -> None:
    """Move the mark "matched up to change N" in the transaction that keeps the matches.

    Raises:
        StoreBusy: another process moved it from `expected`: roll back, its matches are kept already.
    """
    raise NotImplementedError


def begin_match_run(conn: Connection, *, from_change: int, to_change: int, at: datetime, occasion: str) -> int:
    """Begin a match run over the changes above `from_change` up to `to_change`; return its id.

    Args:
        conn: the transaction that keeps its matches.
        from_change: the mark before.
        to_change: the last change held against the queries.
        at: the moment (UTC).
        occasion: `poll` or `first look`.
    """
    raise NotImplementedError


def save_query_matches(conn: Connection, match_run_id: int, outcomes: Mapping[int, QueryOutcome]) -> None:
    """Keep what a run means to each saved query, by revision id: the seen feed."""
    raise NotImplementedError


def save_matches(
    conn: Connection, match_run_id: int, chosen: Mapping[int, Collection[int]], *, at: datetime, occasion: str
) -> None:
    """Keep what a run brings to each subscription.

    Args:
        conn: the transaction that begins the run.
        match_run_id: the run.
        chosen: subscription id → change ids.
        at: the moment (UTC).
        occasion: `Occasion` as text.
    """
    raise NotImplementedError


def pending_matches(conn: Connection, subscription_id: int, plan_after: int = 0) -> list[StoredMatch]:
    """Return the matches of a subscription in no digest yet, oldest first, of match runs after `plan_after`."""
    raise NotImplementedError


def feed_matches(
    conn: Connection, subscription_id: int, *, since: datetime | None = None, limit: int = 200
) -> list[StoredMatch]:
    """Return the latest matches of a subscription, newest first, whether in a digest or not."""
    raise NotImplementedError


def seen_changes(
    conn: Connection, subscription_id: int, change_ids: Iterable[int], *, in_digest: bool = False
) -> frozenset[int]:
    """Return which of these changes a subscription has been matched with; with `in_digest`, has had in a digest."""
    raise NotImplementedError


def pending_first_looks(conn: Connection) -> list[FirstLook]:
    """Return the first looks still to come, of live subscriptions and readable saved queries."""
    raise NotImplementedError


def close_first_look(conn: Connection, first_look: FirstLook, match_run_id: int) -> None:
    """Record that a first look was given.

    Raises:
        StoreBusy: another process gave it meanwhile: roll back.
    """
    raise NotImplementedError
