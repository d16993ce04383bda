"""The outbox: claim, intent, mark, settle. Each is one conditional UPDATE; whoever lost the race changes nothing.

    ready → claimed → sending → sent | ready (a retry) | unknown | held | dead | suppressed | superseded

The intent to send is committed before the network is touched; what a dead process left in `sending`
becomes `unknown`, which is looked into and never blindly repeated. Marks are fenced by the claim's
token. Claims, addresses and listings are had from here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, not_, or_, select, true, update

from digest.messages import DeliveryState, Message
from digest.store.claiming import (
    Reaped,
    adopt_orphans,
    claim,
    goes_by,
    next_claimable_at,
    read_deliveries,
    reap,
    release_claim,
    renew,
)
from digest.store.destinations import (
    block_destination,
    known_address,
    remember_address,
    unblock_destination,
)
from digest.store.dialect import database_clock, make_storable
from digest.store.outbox_orders import drop, find_obstacle, may_have_arrived, retry, take_as_arrived
from digest.store.outbox_sends import (
    begin_sending,
    begin_sending_many,
    mark_sent,
    mark_sent_alone,
    mark_sent_many,
    note_sent,
)
from digest.store.outbox_splits import list_replacements, supersede
from digest.store.outbox_steps import CLAIM_LEASE, IN_DOUBT, REPEATED, Step, take_step
from digest.store.outbox_views import (
    Attempt,
    StoredDelivery,
    count_tries,
    list_deliveries,
    load_delivery,
)
from digest.store.provenance import is_at_rest
from digest.store.schema import ACTIVE_DELIVERY, attempts, deliveries

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery, Receipt
    from digest.subscriptions import DestinationKind

__all__ = [
    "CLAIM_LEASE",
    "Attempt",
    "Reaped",
    "StoredDelivery",
    "UnknownDelivery",
    "adopt_orphans",
    "begin_sending",
    "begin_sending_many",
    "block_destination",
    "claim",
    "count_tries",
    "drop",
    "earlier_bodies",
    "find_obstacle",
    "forget_message",
    "known_address",
    "list_deliveries",
    "list_replacements",
    "load_delivery",
    "mark_dead",
    "mark_held",
    "mark_retry",
    "mark_sent",
    "mark_sent_alone",
    "mark_sent_many",
    "mark_suppressed",
    "mark_unknown",
    "may_have_arrived",
    "next_claimable_at",
    "reap",
    "release_claim",
    "remember_address",
    "renew",
    "retry",
    "settle_held",
    "settle_ready",
    "settle_sent",
    "stored_message",
    "supersede",
    "take_as_arrived",
    "take_unknown",
    "unblock_destination",
]

SETTLING_PAUSE = timedelta(minutes=2)
"""How long a delivery that is being looked into is not handed to anybody else."""

_CLAIMED = (DeliveryState.CLAIMED,)
_SENDING = (DeliveryState.SENDING,)
_BEGUN = (DeliveryState.CLAIMED, DeliveryState.SENDING)
_DOUBTFUL = (DeliveryState.UNKNOWN,)


@dataclass(frozen=True, slots=True)
class UnknownDelivery:
    """A delivery that may have arrived, to be looked into.

    Attributes:
        delivery: in state `unknown`.
        message: the bytes that may have been taken.
        sending_at: when the doubtful attempt began (UTC).
        repeats: how often it was sent again already although it may have arrived.
    """

    delivery: Delivery
    message: Message
    sending_at: datetime
    repeats: int = 0


def stored_message(conn: Connection, delivery_id: int) -> Message | None:
    """Return the bytes of a delivery's first attempt; None before that, and once they were pruned."""
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None or row.body is None:
        return None
    return Message(row.media_type, row.body, row.idempotency_key, row.name)


def forget_message(conn: Connection, delivery: Delivery) -> bool:
    """Let a delivery be rendered anew, since its place has another address: from `claimed`."""
    mine = (deliveries.c.id == delivery.id, deliveries.c.token == delivery.token)
    forget = update(deliveries).where(*mine, deliveries.c.state == DeliveryState.CLAIMED)
    return conn.execute(forget.values(body=None, media_type=None)).rowcount == 1


def earlier_bodies(conn: Connection, delivery: Delivery) -> list[bytes]:
    """Return what the parts before a delivery said, as far as it is kept, in order."""
    found = (
        select(deliveries.c.body)
        .where(
            deliveries.c.digest_id == delivery.digest_id,
            deliveries.c.destination == str(delivery.destination),
            deliveries.c.part < delivery.part,
            deliveries.c.body.is_not(None),
        )
        .order_by(deliveries.c.part)
    )
    return list(conn.execute(found).scalars())


def mark_retry(conn: Connection, delivery: Delivery, not_before: datetime, error: str, now: datetime) -> bool:
    """Put it back for another attempt, since it surely did not arrive: from `claimed` or `sending`.

    Every mark returns False, with nothing changed, where somebody else has claimed the delivery since.
    """
    step = Step(DeliveryState.READY, now, error, {"not_before": not_before})
    return take_step(conn, delivery.id, step, _BEGUN, token=delivery.token)


def mark_unknown(conn: Connection, delivery: Delivery, not_before: datetime, error: str, now: datetime) -> bool:
    """Record that it may have arrived, to be looked into from `not_before` on: from `sending`.

    How long that is the database's clock measures too: whoever looks into it may be another host.
    """
    step = Step(DeliveryState.UNKNOWN, now, error, {"not_before": not_before})
    if not take_step(conn, delivery.id, step, _SENDING, token=delivery.token):
        return False
    wait = update(deliveries).where(deliveries.c.id == delivery.id)
    conn.execute(wait.values(lease_until=database_clock() + (not_before - now).total_seconds()))
    return True


def mark_held(conn: Connection, delivery: Delivery, error: str, now: datetime) -> bool:
    """Leave it to the operator: from `claimed` or `sending`."""
    return take_step(conn, delivery.id, Step(DeliveryState.HELD, now, error), _BEGUN, token=delivery.token)


def mark_dead(conn: Connection, delivery: Delivery, error: str, now: datetime) -> bool:
    """Give it up, and with it the parts behind it: from `claimed` or `sending`."""
    return take_step(conn, delivery.id, Step(DeliveryState.DEAD, now, error), _BEGUN, token=delivery.token)


def mark_suppressed(conn: Connection, delivery: Delivery, reason: str, now: datetime) -> bool:
    """End it because nobody wants it any more, and the parts behind it: from `claimed`."""
    step = Step(DeliveryState.SUPPRESSED, now, reason)
    return take_step(conn, delivery.id, step, _CLAIMED, token=delivery.token)


def take_unknown(
    conn: Connection,
    now: datetime,
    *,
    limit: int = 100,
    kinds: Collection[DestinationKind] | None = None,
    is_real_time: bool = False,
) -> list[UnknownDelivery]:
    """Take deliveries that may have arrived and have settled; nobody else gets them for a while.

    Args:
        conn: a writing transaction.
        now: the moment (UTC).
        limit: how many at most.
        kinds: only deliveries on these ways out; None for all.
        is_real_time: whether they must have settled by the database's clock too: hosts' clocks differ by more
            than the other side takes to show what it has.
    """
    has_settled = or_(deliveries.c.lease_until.is_(None), deliveries.c.lease_until <= database_clock())
    picked = (
        select(deliveries.c.id)
        .where(
            ACTIVE_DELIVERY,
            deliveries.c.state == DeliveryState.UNKNOWN,
            deliveries.c.not_before <= now,
            has_settled if is_real_time else true(),
            deliveries.c.body.is_not(None),
            not_(is_at_rest()),
            goes_by(kinds),
        )
        .order_by(deliveries.c.not_before, deliveries.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("picked")
    )
    take = update(deliveries).where(deliveries.c.id.in_(select(picked.c.id)))
    rows = conn.execute(take.values(not_before=now + SETTLING_PAUSE).returning(deliveries)).all()
    repeats = _count_repeats(conn, [row.id for row in rows])
    return [
        UnknownDelivery(
            delivery=delivery,
            message=Message(row.media_type, row.body, row.idempotency_key, row.name),
            sending_at=row.sending_at,
            repeats=repeats.get(row.id, 0),
        )
        for row, delivery in zip(rows, read_deliveries(conn, rows), strict=True)
    ]


def settle_sent(conn: Connection, delivery: Delivery, receipt: Receipt, now: datetime) -> bool:
    """Record that an unknown delivery had arrived after all.

    Every settlement returns False, with nothing changed, where the attempt it is about is no more in doubt:
    what was found out about one attempt says nothing of the next.
    """
    step = Step(
        DeliveryState.SENT, now, receipt.detail, {"remote_id": make_storable(receipt.remote_id), "last_error": ""}
    )
    if not take_step(conn, delivery.id, step, _DOUBTFUL, token=delivery.token):
        return False
    note_sent(conn, [delivery], now)
    return True


def settle_ready(
    conn: Connection, delivery: Delivery, now: datetime, reason: str, *, is_repeat: bool = False
) -> bool:
    """Send an unknown delivery again: it had not arrived, or (`is_repeat`) a second copy is the lesser harm."""
    outcome = REPEATED if is_repeat else DeliveryState.READY
    step = Step(DeliveryState.READY, now, reason, {"not_before": now}, outcome)
    return take_step(conn, delivery.id, step, _DOUBTFUL, token=delivery.token)


def settle_held(
    conn: Connection, delivery: Delivery, now: datetime, reason: str, *, is_missing: bool = False
) -> bool:
    """Leave an unknown delivery to the operator: nobody can tell if it arrived, or (`is_missing`) it never did."""
    outcome = DeliveryState.HELD if is_missing else IN_DOUBT
    step = Step(DeliveryState.HELD, now, reason, outcome=outcome)
    return take_step(conn, delivery.id, step, _DOUBTFUL, token=delivery.token)


def _count_repeats(conn: Connection, delivery_ids: list[int]) -> dict[int, int]:
    counted = (
        select(attempts.c.delivery_id, func.count().label("repeats"))
        .where(attempts.c.delivery_id.in_(delivery_ids), attempts.c.outcome == REPEATED)
        .group_by(attempts.c.delivery_id)
    )
    return {row.delivery_id: row.repeats for row in conn.execute(counted)}
