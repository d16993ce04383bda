"""A part that was refused for its size, ended, with smaller ones in its place: all of it, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from digest import signing
from digest.messages import DeliveryState
from digest.store.outbox_steps import Step, take_step
from digest.store.schema import deliveries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from digest.messages import Delivery, Share

_BEGUN = (DeliveryState.CLAIMED, DeliveryState.SENDING)

_MOVE = update(deliveries).where(deliveries.c.id == bindparam("moved")).values(part=bindparam("to_part"))


def supersede(
    conn: Connection, delivery: Delivery, shares: Sequence[Share], reason: str, now: datetime
) -> tuple[int, ...]:
    """End a part, and put smaller ones in its place that go out in order before whatever is behind it.

    The parts behind it move back by as many. It moves behind all of them itself, out of the way: what goes by
    the order of parts never meets it. Keys follow from its own, so that doing this anew makes the same parts.

    Args:
        conn: a writing transaction.
        delivery: as claimed.
        shares: which papers each of the new parts tells, at least one.
        reason: why the part could not go out as it was.
        now: the moment (UTC).

    Returns:
        The new deliveries; () with nothing changed where somebody else has claimed it since.
    """
    step = Step(DeliveryState.SUPERSEDED, now, reason)
    if not take_step(conn, delivery.id, step, _BEGUN, token=delivery.token):
        return ()
    of_digest = (
        deliveries.c.digest_id == delivery.digest_id,
        deliveries.c.destination == str(delivery.destination),
    )
    rows = conn.execute(select(deliveries).where(*of_digest).order_by(deliveries.c.id).with_for_update()).all()
    own = next(row for row in rows if row.id == delivery.id)
    grown = len(shares) - 1
    # No two may have one number at any time: the last ones move first.
    behind = sorted((row for row in rows if row.part > own.part), key=lambda row: -row.part)
    moves = [(row.id, row.part + grown) for row in behind]
    for id_, part in [(own.id, len(rows) + grown), *moves]:
        conn.execute(_MOVE, {"moved": id_, "to_part": part})
    conn.execute(update(deliveries).where(*of_digest).values(parts=own.parts + grown))
    new = [_write_row(own, number, share, grown, now) for number, share in enumerate(shares)]
    made = conn.execute(insert(deliveries).returning(deliveries.c.id, deliveries.c.part), new).all()
    return tuple(row.id for row in sorted(made, key=lambda row: row.part))


def list_replacements(conn: Connection, delivery_id: int) -> tuple[int, ...]:
    """Return the deliveries that came in place of one, in order; () for one that went out as it was."""
    digest = select(deliveries.c.digest_id).where(deliveries.c.id == delivery_id).scalar_subquery()
    found = select(deliveries.c.id).where(deliveries.c.digest_id == digest, deliveries.c.replaces == delivery_id)
    return tuple(conn.execute(found.order_by(deliveries.c.part)).scalars())


def _write_row(own: Row[Any], number: int, share: Share, grown: int, now: datetime) -> dict[str, Any]:
    return {
        "digest_id": own.digest_id,
        "destination": own.destination,
        "part": own.part + number,
        "parts": own.parts + grown,
        "state": DeliveryState.READY,
        "not_before": now,
        "attempts": 0,
        "token": 0,
        "owner": "",
        "idempotency_key": signing.split_key(own.idempotency_key, number),
        "name": "",
        "remote_address": own.remote_address,
        "remote_id": "",
        "last_error": "",
        "created_at": own.created_at,
        "priority": own.priority,
        "share": str(share),
        "replaces": own.id,
    }
