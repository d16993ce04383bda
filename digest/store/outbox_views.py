"""Deliveries as the operator sees them: whose they are, where they stand, and every attempt at one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select

from digest.errors import UnknownName
from digest.messages import DeliveryState
from digest.store.claiming import read_deliveries
from digest.store.outbox_steps import IN_DOUBT
from digest.store.schema import attempts, deliveries, digests, subscriptions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from digest.messages import Delivery


_LAST_WORDS = (DeliveryState.DEAD, DeliveryState.HELD, IN_DOUBT)


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery with what surrounds it.

    Attributes:
        delivery: itself.
        subscription: whose digest it carries.
        slot: that digest's slot.
        sending_at: when its latest attempt began (UTC); None before the first.
        ended_at: when it reached its last state (UTC); None before.
    """

    delivery: Delivery
    subscription: str
    slot: str
    sending_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time the network was touched for a delivery.

    Attributes:
        number: from 1.
        started_at: when the intent was recorded (UTC).
        ended_at: when an answer was (UTC); None while none is.
        outcome: the state it led to; `sending` while it lasts, `repeated` where it may have arrived and
            the same was sent again, `in doubt` where it may have and a person has to say.
        detail: what the other side said.
    """

    number: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    detail: str


def list_deliveries(
    conn: Connection, states: Collection[DeliveryState] | None = None, *, limit: int = 50
) -> list[StoredDelivery]:
    """Return the latest deliveries, newest first; of some states only where named."""
    found = _with_surroundings().order_by(deliveries.c.id.desc()).limit(limit)
    if states is not None:
        found = found.where(deliveries.c.state.in_(states))
    return _read(conn, conn.execute(found).all())


def load_delivery(conn: Connection, delivery_id: int) -> tuple[StoredDelivery, list[Attempt]]:
    """Return a delivery with every attempt.

    Raises:
        UnknownName: there is no such delivery.
    """
    require_delivery(conn, delivery_id)
    (stored,) = _read(conn, conn.execute(_with_surroundings().where(deliveries.c.id == delivery_id)).all())
    tries = select(attempts).where(attempts.c.delivery_id == delivery_id).order_by(attempts.c.number)
    return stored, [
        Attempt(row.number, row.started_at, row.ended_at, row.outcome, row.detail) for row in conn.execute(tries)
    ]


def count_tries(conn: Connection, delivery: Delivery) -> tuple[int, datetime]:
    """Return how often a delivery was tried since it was planned or an operator last had it sent, and since when.

    A try that ended it, or had it wait for the operator, is one that only an operator lets others follow.
    """
    found = (
        select(attempts.c.outcome, attempts.c.started_at)
        .where(attempts.c.delivery_id == delivery.id)
        .order_by(attempts.c.number.desc())
    )
    tries = list(takewhile(lambda row: row.outcome not in _LAST_WORDS, conn.execute(found)))
    return len(tries), tries[-1].started_at if tries else delivery.created_at


def require_delivery(conn: Connection, delivery_id: int) -> Row[Any]:
    """Return a delivery's row.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None:
        raise UnknownName(f"there is no delivery {delivery_id}", hint="`digest delivery list` shows them.")
    return row


def _with_surroundings() -> Select[tuple[Any, ...]]:
    return (
        select(deliveries, subscriptions.c.name.label("subscription"), digests.c.slot)
        .join(digests, digests.c.id == deliveries.c.digest_id)
        .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
    )


def _read(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredDelivery]:
    return [
        StoredDelivery(delivery, row.subscription, row.slot, row.sending_at, row.ended_at)
        for row, delivery in zip(rows, read_deliveries(conn, rows), strict=True)
    ]
