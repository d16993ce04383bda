"""Digests that never found their channel, since its name was mistyped, follow the name once it is mended."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import exists, select, update

from digest.messages import DeliveryState
from digest.store.destinations import known_address
from digest.store.schema import deliveries, digests
from digest.subscriptions import SLACK_KINDS, Destination

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

FRESH = timedelta(days=5)
"""Digests older than that stay where they are: who mends a name after weeks wants no flood of old news."""

_STUCK = (DeliveryState.READY, DeliveryState.HELD, DeliveryState.DEAD)


def follow_mended_names(
    conn: Connection, subscription_id: int, dropped: Iterable[str], added: Iterable[str], at: datetime
) -> int:
    """Send what never got anywhere to the place that is named instead; return how many deliveries that are.

    That is so where the file names one Slack channel, or one of its webhooks, less than before and another
    one more, and nothing was ever on its way to the one before: then its name was a slip.

    Args:
        conn: the transaction that reads the file into the store.
        subscription_id: whose.
        dropped: destinations that are named no more.
        added: destinations that were not named before.
        at: the moment (UTC).
    """
    before, now = [[Destination.parse(text) for text in places] for places in (dropped, added)]
    moved = 0
    for kind in SLACK_KINDS:
        old = [one for one in before if one.kind is kind]
        new = [one for one in now if one.kind is kind]
        if len(old) == len(new) == 1 and not _was_reached(conn, old[0]):
            moved += _move(conn, subscription_id, str(old[0]), str(new[0]), at)
    return moved


def _was_reached(conn: Connection, destination: Destination) -> bool:
    """Whether a destination was ever known on the other side, or anything was on its way there."""
    tried = exists().where(deliveries.c.destination == str(destination), deliveries.c.attempts > 0)
    return bool(known_address(conn, destination)) or bool(conn.execute(select(tried)).scalar())


def _move(conn: Connection, subscription_id: int, old: str, new: str, at: datetime) -> int:
    """Give digests whose every part is stuck another place; no other process is at any of them."""
    there = deliveries.alias("there")
    found = (
        select(deliveries.c.id, deliveries.c.digest_id, deliveries.c.state, deliveries.c.last_error)
        .join(digests, digests.c.id == deliveries.c.digest_id)
        .where(
            digests.c.subscription_id == subscription_id,
            digests.c.planned_at > at - FRESH,
            deliveries.c.destination == old,
            ~exists().where(there.c.digest_id == deliveries.c.digest_id, there.c.destination == new),
        )
        .order_by(deliveries.c.id)
        .with_for_update(of=deliveries)
    )
    rows = conn.execute(found).all()
    others = {row.digest_id for row in rows if row.state not in _STUCK}
    ids = [row.id for row in rows if row.digest_id not in others]
    fresh = {"state": DeliveryState.READY, "ended_at": None, "last_error": "", "not_before": at}
    conn.execute(update(deliveries).where(deliveries.c.id.in_(ids)).values(destination=new, **fresh))
    return len(ids)
