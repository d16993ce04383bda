"""Where a subscription goes or went: every destination it ever had, with what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from digest.store.schema import subscription_destinations
from digest.store.subscribers import DestinationState
from digest.subscriptions import Destination

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Place:
    """One destination of a subscription.

    Attributes:
        destination: where.
        state: whether it is written to.
        reason: why it is not, "" where it is.
        since: since when its state is what it is (UTC).
    """

    destination: Destination
    state: DestinationState
    reason: str
    since: datetime


def load_places(conn: Connection, subscription_id: int) -> list[Place]:
    """Return every destination a subscription has or had, in its order."""
    places = subscription_destinations.c
    found = (
        select(subscription_destinations)
        .where(places.subscription_id == subscription_id)
        .order_by(places.position, places.id)
    )
    return [
        Place(Destination.parse(row.destination), DestinationState(row.state), row.reason, row.since)
        for row in conn.execute(found)
    ]
