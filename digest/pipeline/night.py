"""deliver: what is in the outbox when its reader's quiet hours begin waits there until they end.

A digest is planned outside of them; but its message may be tried again, or wait for a channel's pace or a process
that is down, until they have begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.planning import leave_quiet
from digest.store import deliveries as outbox
from digest.store import turns as turn_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery


def put_off_quiet(conn: Connection, claimed: Sequence[Delivery], now: datetime) -> list[Delivery]:
    """Give back deliveries to readers whose hours are quiet now, until these end; return the others, in order.

    Args:
        conn: the transaction that claimed them.
        claimed: none of them begun.
        now: the moment (UTC).
    """
    rhythms = turn_store.load_quiet_rhythms(conn, {delivery.digest_id for delivery in claimed})
    kept = []
    for delivery in claimed:
        rhythm = rhythms.get(delivery.digest_id)
        may_go_at = now if rhythm is None else leave_quiet(rhythm.cadence, rhythm.quiet_hours, now)
        if may_go_at > now:
            outbox.put_off(conn, delivery, may_go_at)
        else:
            kept.append(delivery)
    return kept
