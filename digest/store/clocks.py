"""What a clock that ran ahead left in the outbox, put right once the clocks are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select, update

from digest.messages import DeliveryState
from digest.planning.retries import LONGEST_WISH
from digest.store.schema import ACTIVE_DELIVERY, deliveries, destination_addresses

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def put_right(conn: Connection, now: datetime) -> int:
    """Make due what waits for longer than anything lawfully does; return how many deliveries that were.

    A retry, a look into what may have arrived and a wish to be left alone last a day at most. What is said to last
    longer was reckoned by a host whose clock ran ahead, and nobody would send it, or to that channel, until that
    moment comes.

    Args:
        conn: a writing transaction.
        now: the moment (UTC).
    """
    farthest = now + LONGEST_WISH
    waits = or_(deliveries.c.state == DeliveryState.READY, deliveries.c.state == DeliveryState.UNKNOWN)
    far = (ACTIVE_DELIVERY, waits, deliveries.c.not_before > farthest)
    blocked = destination_addresses.c.blocked_until > farthest
    count: int = conn.execute(select(func.count()).select_from(deliveries).where(*far)).scalar_one()
    if count:
        conn.execute(update(deliveries).where(*far).values(not_before=now))
    conn.execute(update(destination_addresses).where(blocked).values(blocked_until=now))
    return count
