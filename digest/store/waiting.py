"""What becomes of deliveries nobody wants any more, while they wait: one statement for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from digest.messages import DeliveryState
from digest.store.schema import deliveries, digests

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_WAITING = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.HELD)
"""Certainly not sent. What is `sending` or `unknown` may be on its way: it is decided when it is next begun."""


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
