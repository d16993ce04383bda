"""Feeds of saved queries: each is opened once, at an address of its own, and tells what its query brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from digest.matching import QueryOutcome
from digest.store.feeds import FeedPlace, read_wording
from digest.store.packing import pack, unpack
from digest.store.queries import ACTIVE
from digest.store.schema import match_runs, query_feeds, query_matches, query_revisions, saved_queries

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime, timedelta

    from sqlalchemy import Connection, Row

    from digest.planning.feeds import Wording

_ROWS = 200
"""Match runs read at once."""


@dataclass(frozen=True, slots=True)
class QueryRow:
    """What one match run meant to a saved query.

    Attributes:
        match_run_id: grows with time.
        matched_at: when (UTC).
        outcome: what entered the query, stayed in it, or left it.
    """

    match_run_id: int
    matched_at: datetime
    outcome: QueryOutcome


def load_query_places(conn: Connection) -> list[FeedPlace]:
    """Return every feed of a saved query that was ever opened, by name."""
    found = (
        select(query_feeds, saved_queries.c.name, saved_queries.c.origin)
        .add_columns(saved_queries.c.state, saved_queries.c.ended_at)
        .join(saved_queries, saved_queries.c.id == query_feeds.c.query_id)
        .order_by(saved_queries.c.name, saved_queries.c.id)
    )
    return [_read_place(row) for row in conn.execute(found)]


def _read_place(row: Row[Any]) -> FeedPlace:
    closed = [row.revoked_at, None if row.state == ACTIVE else row.ended_at]
    closed_at = min((moment for moment in closed if moment), default=None)
    return FeedPlace(
        key=row.query_id,
        name=row.name,
        title=row.name,
        generation=row.generation,
        is_open=closed_at is None,
        closed_at=closed_at,
        rotated_at=row.rotated_at,
        origin=row.origin,
    )


def open_query_feed(conn: Connection, query_id: int, first_look: Collection[int], at: datetime) -> None:
    """Open a saved query's feed.

    Args:
        conn: a writing transaction.
        query_id: which saved query; it has no feed yet.
        first_look: changes of papers from before, with which it begins.
        at: the moment (UTC).
    """
    row = {"query_id": query_id, "generation": 0, "opened_at": at, "first_look": pack(first_look)}
    conn.execute(insert(query_feeds), row)


def rotate_query_feed(conn: Connection, query_id: int, at: datetime) -> int:
    """Give a feed a new address from a moment (UTC) on, also where it was revoked; return the new generation."""
    rotate = update(query_feeds).where(query_feeds.c.query_id == query_id)
    values = {"generation": query_feeds.c.generation + 1, "rotated_at": at, "revoked_at": None}
    return int(conn.execute(rotate.values(values).returning(query_feeds.c.generation)).scalar_one())


def revoke_query_feed(conn: Connection, query_id: int, at: datetime) -> None:
    """Make a feed's address stop working from a moment (UTC) on."""
    conn.execute(update(query_feeds).where(query_feeds.c.query_id == query_id).values(revoked_at=at))


def load_first_look(conn: Connection, query_id: int) -> tuple[tuple[int, ...], datetime]:
    """Return the changes with which a saved query's feed began, and when it was opened (UTC)."""
    row = conn.execute(select(query_feeds).where(query_feeds.c.query_id == query_id)).one()
    return unpack(row.first_look), row.opened_at


def load_query_rows(conn: Connection, query_id: int, *, span: timedelta, at_least: int) -> list[QueryRow]:
    """Return what the latest match runs meant to a saved query, newest first.

    Args:
        conn: any transaction.
        query_id: which.
        span: everything within it before the latest …
        at_least: … and as much from before as it takes for so many papers.
    """
    page = (
        select(query_matches, match_runs.c.matched_at)
        .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
        .join(query_revisions, query_revisions.c.id == query_matches.c.revision_id)
        .where(query_revisions.c.query_id == query_id)
        .order_by(query_matches.c.match_run_id.desc())
        .limit(_ROWS)
    )
    rows = conn.execute(page).all()
    kept: list[QueryRow] = []
    papers = 0
    while rows:
        for row in rows:
            if kept and row.matched_at < kept[0].matched_at - span and papers >= at_least:
                return kept
            outcome = QueryOutcome(unpack(row.new), unpack(row.changed), unpack(row.gone))
            kept.append(QueryRow(row.match_run_id, row.matched_at, outcome))
            papers += len(outcome.new)
        rows = conn.execute(page.where(query_matches.c.match_run_id < rows[-1].match_run_id)).all()
    return kept


def load_query_wordings(conn: Connection, query_id: int) -> list[Wording]:
    """Return what a saved query has asked, oldest first."""
    found = (
        select(saved_queries.c.name, query_revisions)
        .join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .where(saved_queries.c.id == query_id)
        .order_by(query_revisions.c.number)
    )
    return [read_wording(row, row.created_at) for row in conn.execute(found)]
