"""What becomes of deliveries nobody wants any more, while they wait: one statement for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from digest.messages import DeliveryState
from digest.store.schema import deliveries, digests

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_MOST_NAMED = 3
"""Digests that are named one by one at most."""

_WAITING = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.HELD)
"""Certainly not sent. What is `sending` or `unknown` may be on its way: it is decided when it is next begun."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What waited for a destination that the file names no more, and goes nowhere.

    Attributes:
        subscription: whose digests they were.
        destination: where they would have gone.
        messages: how many.
        digests: the ids of the digests in them, which are kept.
    """

    subscription: str
    destination: str
    messages: int
    digests: tuple[int, ...]

    def describe(self) -> str:
        """Say in a sentence what became of them, and how their papers can still be read."""
        are = "message that waited or was" if self.messages == 1 else "messages that waited or were"
        shown = [f"digest preview {self.subscription} --digest {id_}" for id_ in self.digests[:_MOST_NAMED]]
        more = f" and {len(self.digests) - _MOST_NAMED} more" if len(self.digests) > _MOST_NAMED else ""
        return (
            f"{self.messages} {are} held for {self.destination} will not be sent: digest.toml names it no more in"
            f" {self.subscription}. To read what was in them: {', '.join(shown)}{more}"
        )


def find_dropped(
    conn: Connection, subscription: str, subscription_id: int, destinations: Iterable[str]
) -> list[Dropped]:
    """Return what waits for destinations of a subscription that are about to be dropped."""
    found = (
        select(deliveries.c.destination, deliveries.c.digest_id)
        .where(
            deliveries.c.state.in_(_WAITING),
            of_subscriptions([subscription_id]),
            deliveries.c.destination.in_(list(destinations)),
        )
        .order_by(deliveries.c.destination, deliveries.c.digest_id)
    )
    waiting: dict[str, list[int]] = {}
    for destination, digest_id in conn.execute(found):
        waiting.setdefault(destination, []).append(digest_id)
    return [Dropped(subscription, to, len(ids), tuple(dict.fromkeys(ids))) for to, ids in waiting.items()]


def suppress_waiting(conn: Connection, which: ColumnElement[bool], reason: str, at: datetime) -> int:
    """Suppress every waiting delivery of some digests or destinations; return how many.

    A delivery that a process is about to begin is among them: whoever changes its row first wins.

    Args:
        conn: a writing transaction.
        which: a condition on `deliveries`; see `of_subscriptions`.
        reason: shown to the operator.
        at: the moment (UTC).
    """
    suppress = (
        update(deliveries)
        .where(deliveries.c.state.in_(_WAITING), which)
        .values(state=DeliveryState.SUPPRESSED, last_error=reason, ended_at=at, lease_until=None)
    )
    return conn.execute(suppress).rowcount


def of_subscriptions(ids: list[int]) -> ColumnElement[bool]:
    """Return the condition that a delivery carries a digest of one of these subscriptions."""
    return deliveries.c.digest_id.in_(select(digests.c.id).where(digests.c.subscription_id.in_(ids)))
