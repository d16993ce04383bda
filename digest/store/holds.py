"""What is held for the operator: how much, why, and which of it may have arrived all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, select

from digest.messages import DeliveryState
from digest.store.outbox_orders import ASKED
from digest.store.outbox_steps import IN_DOUBT
from digest.store.schema import STUCK_DELIVERY, attempts, deliveries
from digest.subscriptions import Destination

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True)
class Holds:
    """Deliveries held for the operator's word.

    Attributes:
        ids: their numbers, growing.
        doubtful: those of them that may have arrived, where the other side can't be asked whether they did.
        reason: why the last of them is held; "" where none is.
        is_alike: all are held for that reason.
    """

    ids: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    reason: str = ""
    is_alike: bool = True


def load_holds(conn: Connection) -> Holds:
    """Return what is held."""
    latest = and_(attempts.c.delivery_id == deliveries.c.id, attempts.c.number == deliveries.c.attempts)
    found = (
        select(deliveries.c.id, deliveries.c.destination, deliveries.c.last_error, attempts.c.outcome)
        .outerjoin(attempts, latest)
        .where(STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD)
        .order_by(deliveries.c.id)
    )
    rows = conn.execute(found).all()
    if not rows:
        return Holds()
    return Holds(
        ids=tuple(row.id for row in rows),
        doubtful=tuple(row.id for row in rows if _is_doubtful(row)),
        reason=rows[-1].last_error,
        is_alike=len({row.last_error for row in rows}) == 1,
    )


def _is_doubtful(row: Row[Any, Any, Any, Any]) -> bool:
    may_have_arrived = row.outcome in (DeliveryState.UNKNOWN, IN_DOUBT)
    return may_have_arrived and Destination.parse(row.destination).kind not in ASKED
