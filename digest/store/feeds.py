"""Which feeds there are and whether each may be read: the whole of it at once, for whoever serves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from digest.planning.feeds import Wording
from digest.store.queries import choose_text
from digest.store.schema import (
    match_runs,
    query_revisions,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
)
from digest.store.subscribers import DestinationState
from digest.subscriptions import Destination, DestinationKind, SubscriptionState

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """One feed: a subscription's, or a saved query's.

    Attributes:
        key: of the subscription, or of the saved query.
        name: the subscription's, or the saved query's.
        title: what readers list it under.
        generation: of the address that works; those before it are void.
        is_open: it may be read. Not where it was revoked, what it is made of ended, or the file names it no more.
        closed_at: since when it may not (UTC); None while it may, or where that is not known.
        rotated_at: since when the addresses before the present one are void (UTC); None where there are none,
            or it is not known.
        origin: whose saved query it is, `Origin` as text; "" for a subscription's feed.
        excluded: what it never tells of, as written.
    """

    key: int
    name: str
    title: str
    generation: int
    is_open: bool
    closed_at: datetime | None = None
    rotated_at: datetime | None = None
    origin: str = ""
    excluded: tuple[str, ...] = ()


def load_feed_places(conn: Connection) -> list[FeedPlace]:
    """Return every feed of a subscription there is or was, by name."""
    places = subscription_destinations.c
    found = (
        select(subscriptions, places.state.label("place_state"), places.since.label("place_since"))
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(places.destination == str(Destination(DestinationKind.FEED)))
        .order_by(subscriptions.c.name)
    )
    return [_read_place(row) for row in conn.execute(found)]


def _read_place(row: Row[Any]) -> FeedPlace:
    closed = [
        row.feed_revoked_at,
        row.ended_at if row.state == SubscriptionState.ENDED else None,
        row.place_since if row.place_state != DestinationState.ACTIVE else None,
    ]
    closed_at = min((moment for moment in closed if moment), default=None)
    return FeedPlace(
        key=row.id,
        name=row.name,
        title=row.title or row.name,
        generation=row.feed_generation,
        is_open=closed_at is None,
        closed_at=closed_at,
        rotated_at=row.feed_rotated_at,
        excluded=(row.exclude_queries, row.exclude_papers),
    )


def newest_match_run(conn: Connection) -> int:
    """Return the number of the last match run: while it stays, no feed has anything new. 0 before the first."""
    return int(conn.execute(select(func.coalesce(func.max(match_runs.c.id), 0))).scalar_one())


def load_wordings(conn: Connection, subscription_id: int) -> list[Wording]:
    """Return what the saved queries a subscription follows have asked since it follows them, oldest first."""
    links = subscription_queries.c
    found = (
        select(saved_queries.c.name, query_revisions, links.added_at)
        .join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .join(subscription_queries, links.query_id == saved_queries.c.id)
        .where(links.subscription_id == subscription_id)
        .order_by(links.position, query_revisions.c.number)
    )
    return [read_wording(row, max(row.created_at, row.added_at)) for row in conn.execute(found)]


def read_wording(row: Row[Any], since: datetime) -> Wording:
    """Return what a revision has asked since a moment (UTC), from a row of it with its saved query's name."""
    return Wording(row.name, choose_text(row.text, row.canonical, row.problem), since, row.ended_at)
