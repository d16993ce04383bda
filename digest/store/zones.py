"""Which data of the time zones the stored due times were reckoned with, and moving them to what is in use now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update

from digest.store.schema import installation, subscriptions
from digest.store.subscriptions import load_subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.planning import DueSubscription


def follow_zone_data(
    conn: Connection, zone_data: str, realign: Callable[[DueSubscription, datetime], datetime]
) -> int:
    """Move each due time to where the zones' data puts it now, if they were reckoned with other data.

    Args:
        conn: a writing transaction: the due times and the name of their data change together.
        zone_data: names the data in use now.
        realign: returns when the turn that a subscription has at a moment is due by it.

    Returns:
        How many moved.
    """
    stored = conn.execute(select(installation.c.zone_data).with_for_update()).scalar_one()
    if stored == zone_data:
        return 0
    moves = [
        {"key": due.id, "to": moment}
        for due in load_subscriptions(conn)
        if due.next_due_at is not None and (moment := realign(due, due.next_due_at)) != due.next_due_at
    ]
    if moves:
        move = update(subscriptions).where(subscriptions.c.id == bindparam("key"))
        conn.execute(move.values(next_due_at=bindparam("to")), moves)
    conn.execute(update(installation).values(zone_data=zone_data))
    return len(moves)
