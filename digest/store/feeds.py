"""Which feeds there are and whether each may be read: the whole of it at once, for whoever serves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from digest.store.schema import match_runs, subscription_destinations, subscriptions
from digest.store.subscribers import DestinationState
from digest.subscriptions import Destination, DestinationKind, SubscriptionState

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """One subscription's feed.

    Attributes:
        subscription_id: whose it is.
        name: that subscription's name.
        generation: of the address that works; those before it are gone.
        is_open: it may be read. Not where it was revoked, its subscription ended, or the file names it no more.
    """

    subscription_id: int
    name: str
    generation: int
    is_open: bool


def load_feed_places(conn: Connection) -> list[FeedPlace]:
    """Return every feed there is or was, by name."""
    places = subscription_destinations.c
    found = (
        select(subscriptions, places.state.label("place_state"))
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(places.destination == str(Destination(DestinationKind.FEED)))
        .order_by(subscriptions.c.name)
    )
    return [
        FeedPlace(
            subscription_id=row.id,
            name=row.name,
            generation=row.feed_generation,
            is_open=row.feed_revoked_at is None
            and row.state != SubscriptionState.ENDED
            and row.place_state == DestinationState.ACTIVE,
        )
        for row in conn.execute(found)
    ]


def newest_match_run(conn: Connection) -> int:
    """Return the number of the last match run: while it stays, no feed has anything new. 0 before the first."""
    return int(conn.execute(select(func.coalesce(func.max(match_runs.c.id), 0))).scalar_one())
