"""What its reader's quiet hours keep in the outbox: put off until they end, let through before, freed by an edit.

`quiet_until` says when they end. Who waits for that has it as `not_before` too; where `not_before` is earlier, the
operator had it go all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, func, or_, type_coerce, update

from digest.messages import DeliveryState
from digest.store.dialect import in_chunks, later
from digest.store.outbox_steps import GIVEN_BACK, is_behind
from digest.store.schema import ACTIVE_DELIVERY, Moment, deliveries
from digest.store.waiting import of_subscriptions

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from digest.messages import Delivery

_IS_READY = deliveries.c.state == DeliveryState.READY
_IS_NOT_BEGUN = or_(_IS_READY, deliveries.c.state == DeliveryState.CLAIMED)
_MAY_GO_YET = or_(_IS_READY, deliveries.c.state == DeliveryState.UNKNOWN)


def put_off(conn: Connection, delivery: Delivery, until: datetime) -> bool:
    """Have a delivery wait for the end of its reader's quiet hours (UTC), and the parts behind it with it.

    From `ready`, or `claimed` and not begun: its claim ends with that. Its last error stays.

    Returns:
        False, with nothing changed, where it is in no such state, or somebody else has claimed it since.
    """
    mine = (deliveries.c.id == delivery.id, deliveries.c.token == delivery.token)
    wait = {"not_before": until, "quiet_until": until}
    if conn.execute(update(deliveries).where(*mine, _IS_NOT_BEGUN).values(GIVEN_BACK | wait)).rowcount != 1:
        return False
    if delivery.part + 1 < delivery.parts:
        conn.execute(update(deliveries).where(_is_behind(delivery), _IS_READY).values(wait))
    return True


def let_through(conn: Connection, delivery: Delivery, until: datetime, now: datetime) -> None:
    """Have a delivery go although its reader's hours are quiet until a moment, and the parts behind it.

    That holds for as long as they last, however often it is tried. What may have arrived is looked for first.

    Args:
        conn: a writing transaction.
        delivery: in state `ready` or `unknown`.
        until: when the quiet hours end (UTC).
        now: the moment (UTC).
    """
    own = update(deliveries).where(deliveries.c.id == delivery.id)
    conn.execute(own.where(_MAY_GO_YET).values(quiet_until=until))
    conn.execute(own.where(_IS_READY).values(not_before=now))
    if delivery.part + 1 < delivery.parts:
        others = update(deliveries).where(_is_behind(delivery), _IS_READY)
        conn.execute(others.values(not_before=now, quiet_until=until))


def free_put_off(conn: Connection, subscription_ids: Collection[int], at: datetime) -> int:
    """End the wait of what subscriptions' quiet hours put off, since they are others now; return how many.

    Whoever claims it puts it off again where the new ones say so. What was let through stays so.

    Args:
        conn: a writing transaction.
        subscription_ids: whose.
        at: the moment (UTC), from which on they can be late.
    """
    freed = 0
    for chunk in in_chunks(subscription_ids):
        mine = (ACTIVE_DELIVERY, of_subscriptions(chunk), is_put_off(at))
        freed += conn.execute(update(deliveries).where(*mine).values(not_before=at, quiet_until=at)).rowcount
    return freed


def is_put_off(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a delivery waits for the end of its reader's quiet hours."""
    return and_(_IS_READY, deliveries.c.quiet_until > now, deliveries.c.not_before == deliveries.c.quiet_until)


def could_go_since() -> ColumnElement[datetime]:
    """Return since when a delivery could have gone: since planned, or since the quiet hours that put it off."""
    planned_at = deliveries.c.created_at
    return type_coerce(later(planned_at, func.coalesce(deliveries.c.quiet_until, planned_at)), Moment)


def _is_behind(delivery: Delivery) -> ColumnElement[bool]:
    return is_behind(delivery.digest_id, str(delivery.destination), delivery.part)
