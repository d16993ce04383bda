"""Takes the operator's word on a delivery: it goes out again, never, or it has arrived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, select, update

from digest.model.messages import DeliveryState
from digest.model.subscriptions import Destination, DestinationKind
from digest.store.dialect import database_clock
from digest.store.outbox import IN_DOUBT, NO_WAIT, Step, is_behind, read_deliveries, take_step
from digest.store.outbox_sends import note_sent
from digest.store.schema import STUCK_DELIVERY, attempts, deliveries
from digest.store.subscribers import unblock_destination
from digest.store.views import require_delivery

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from digest.model.messages import Delivery


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


ASKED = (DestinationKind.SLACK,)
"""Ways out whose other side can be asked whether a message is there."""

_PACE = timedelta(seconds=1)
"""A destination that asked to be left alone gets its next message so much later, at the operator's word."""

_OPEN = (DeliveryState.READY, DeliveryState.HELD, DeliveryState.UNKNOWN)
_WAITS_FOR_WORD = (DeliveryState.HELD, DeliveryState.UNKNOWN)
_OBSTACLES = (DeliveryState.HELD, DeliveryState.DEAD, DeliveryState.SUPPRESSED)


def retry(
    conn: Connection,
    delivery_id: int,
    now: datetime,
    *,
    settle: Mapping[DestinationKind, timedelta] = NO_WAIT,
    anyway: bool = False,
) -> DeliveryState | None:
    """Send it now, on the operator's word: from `ready`, `held`, `dead` or `unknown`.

    What may have arrived is looked for first where the other side can be asked. The parts given up because of
    it come back with it, and its destination is left alone no longer. What quiet hours put off is due with that;
    whether they hold still is for the caller to say, or for the next claim.

    Args:
        conn: a writing transaction.
        delivery_id: which.
        now: the moment (UTC).
        settle: how long a message that may have arrived is left alone before it is looked into, by way out.
        anyway: send it without a look; it may arrive twice.

    Returns:
        `READY`: it goes out. `UNKNOWN`: it is looked for, and goes out if it is missing. None: its state allows
        neither.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = require_delivery(conn, delivery_id)
    place = Destination.parse(row.destination)
    if not anyway and place.kind in ASKED and row.body is not None and may_have_arrived(conn, delivery_id):
        to, is_taken = DeliveryState.UNKNOWN, _look_first(conn, row, now, settle.get(place.kind, timedelta(0)))
    else:
        to, is_taken = DeliveryState.READY, _send_again(conn, row, now)
    if not is_taken:
        return None
    unblock_destination(conn, place, now + _PACE)
    return to


def drop(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Never send it, nor the parts behind it, on the operator's word: from `ready`, `held`, `unknown` or `dead`.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = require_delivery(conn, delivery_id)
    if row.state == DeliveryState.DEAD:
        _send_again(conn, row, now)  # taken up, only to be dropped: so the parts given up with it go too
    step = Step(DeliveryState.SUPPRESSED, now, "dropped by the operator")
    return take_step(conn, delivery_id, step, _OPEN)


def take_as_arrived(conn: Connection, delivery_id: int, now: datetime, *, remote_id: str = "") -> bool:
    """Record that it arrived, on the operator's word: from `held` or `unknown`; the parts behind it go on.

    Args:
        conn: a writing transaction.
        delivery_id: which.
        now: the moment (UTC).
        remote_id: what the other side calls it, "" where nobody knows: then no part can refer to it.

    Returns:
        False, with nothing changed, where its state does not allow it, or it was never on its way.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = require_delivery(conn, delivery_id)
    said = "the operator says it arrived"
    known = {"remote_id": remote_id} if remote_id else {}
    step = Step(DeliveryState.SENT, now, said, {"last_error": "", **known})
    if not row.attempts or not take_step(conn, delivery_id, step, _WAITS_FOR_WORD, token=row.token):
        return False
    latest = update(attempts).where(attempts.c.delivery_id == delivery_id, attempts.c.number == row.attempts)
    conn.execute(latest.values(ended_at=now, outcome=DeliveryState.SENT, detail=said))
    note_sent(conn, read_deliveries(conn, [row]), now)
    return True


def may_have_arrived(conn: Connection, delivery_id: int) -> bool:
    """Whether the last attempt at a delivery that waits may have arrived, and nobody has found out yet."""
    found = (
        select(attempts.c.outcome)
        .join(deliveries, deliveries.c.id == attempts.c.delivery_id)
        .where(
            deliveries.c.id == delivery_id,
            deliveries.c.state.in_(_WAITS_FOR_WORD),
            attempts.c.number == deliveries.c.attempts,
        )
    )
    return conn.execute(found).scalar() in (DeliveryState.UNKNOWN, IN_DOUBT)


def find_obstacle(conn: Connection, delivery_id: int) -> Delivery | None:
    """Return the first of the parts before a delivery that keeps it from going out until somebody has a say.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = require_delivery(conn, delivery_id)
    before = (
        select(deliveries)
        .where(
            deliveries.c.digest_id == row.digest_id,
            deliveries.c.destination == row.destination,
            deliveries.c.part < row.part,
            deliveries.c.state.in_(_OBSTACLES),
        )
        .order_by(deliveries.c.part)
        .limit(1)
    )
    return next(iter(read_deliveries(conn, conn.execute(before).all())), None)


def _look_first(conn: Connection, row: Row[Any], now: datetime, settling: timedelta) -> bool:
    """Have a delivery looked into: at once where it was before, else when it has settled."""
    look: dict[str, Any] = {"not_before": now, "lease_until": None}
    if row.state == DeliveryState.UNKNOWN:
        seconds = settling.total_seconds()
        look = {"not_before": min(row.not_before, now + settling), "lease_until": database_clock() + seconds}
    is_as_read = (deliveries.c.id == row.id, deliveries.c.state == row.state, deliveries.c.token == row.token)
    move = update(deliveries).where(*is_as_read).values(state=DeliveryState.UNKNOWN, **look)
    if conn.execute(move).rowcount != 1:
        return False
    doubtful = update(attempts).where(attempts.c.delivery_id == row.id, attempts.c.outcome == IN_DOUBT)
    conn.execute(doubtful.values(outcome=DeliveryState.UNKNOWN))
    return True


def _send_again(conn: Connection, row: Row[Any], now: datetime) -> bool:
    fresh: dict[str, Any] = {"not_before": now, "ended_at": None}
    # Of one that was to be tried again anyway nothing is mended: what went wrong is still to be seen.
    said = row.last_error if row.state == DeliveryState.READY else ""
    step = Step(DeliveryState.READY, now, said, fresh)
    if not take_step(conn, row.id, step, (*_OPEN, DeliveryState.DEAD)):
        return False
    never_tried = (deliveries.c.state == DeliveryState.DEAD) & (deliveries.c.attempts == 0)
    revive = update(deliveries).where(is_behind(row.digest_id, row.destination, row.part), never_tried)
    conn.execute(revive.values(state=DeliveryState.READY, last_error="", **fresh))
    return True
