"""deliver: what is in the outbox when its reader's quiet hours begin waits there until they end.

A digest is planned outside of them; but its message may be tried again, or wait for a channel's pace or a process
that is down, until they have begun. Only the operator may have it go all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.planning import leave_quiet
from digest.store import deliveries as outbox
from digest.store import turns as turn_store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
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
    ends = _find_ends(conn, claimed, now)
    kept = []
    for delivery in claimed:
        until = ends.get(delivery.id)
        if until is None or delivery.is_let_through(now):
            kept.append(delivery)
        else:
            outbox.put_off(conn, delivery, until)
    return kept


def keep_quiet(
    conn: Connection, delivery_ids: Iterable[int], now: datetime, *, lets_through: bool
) -> dict[int, datetime]:
    """Put off what the operator has just had sent again where its reader's hours are quiet now, or let it through.

    Args:
        conn: the transaction in which `retry` moved them.
        delivery_ids: which.
        now: the moment (UTC).
        lets_through: they go all the same, with the parts behind them.

    Returns:
        Until when each waits (UTC), by its id; those that wait for no quiet hours are left out.
    """
    moved = [outbox.load_delivery(conn, id_)[0].delivery for id_ in delivery_ids]
    ends = _find_ends(conn, moved, now)
    for delivery in moved:
        if delivery.id not in ends:
            continue
        if lets_through:
            outbox.let_through(conn, delivery, ends[delivery.id], now)
        else:
            outbox.put_off(conn, delivery, ends[delivery.id])
    return {} if lets_through else ends


def _find_ends(conn: Connection, deliveries: Collection[Delivery], now: datetime) -> dict[int, datetime]:
    """Return when the quiet hours of readers end (UTC), by delivery; only of those whose hours are quiet now."""
    rhythms = turn_store.load_quiet_rhythms(conn, {delivery.digest_id for delivery in deliveries})
    ends = {id_: leave_quiet(rhythm.cadence, rhythm.quiet_hours, now) for id_, rhythm in rhythms.items()}
    return {one.id: ends[one.digest_id] for one in deliveries if ends.get(one.digest_id, now) > now}
