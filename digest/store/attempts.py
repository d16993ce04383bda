"""Attempts to send: what begins, what is marked after it, and what the operator decides about a delivery."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import PROBED, Refusal, UnknownName
from digest.model.messages import Delivery, DeliveryState, Message, Receipt, Share
from digest.model.said import NOTHING, Said, Saying
from digest.store.dialect import Moment, database_clock, in_chunks, make_storable
from digest.store.outbox import (
    CLAIM_LEASE,
    IN_DOUBT,
    REPEATED,
    Transition,
    change_state,
    goes_same_way,
    goes_to_kinds,
    hold_with,
    is_later_part,
    load_deliveries_of,
)
from digest.store.schema import (
    ACTIVE_DELIVERY,
    REFUSED_DELIVERY,
    STUCK_DELIVERY,
    attempts,
    deliveries,
    digests,
    subscriptions,
)
from digest.store.subscribers import load_refusal, unblock_destination

SETTLING_PAUSE = timedelta(minutes=2)
"""How long a delivery that is being checked is not given to another process."""

_BEGUN = (DeliveryState.CLAIMED, DeliveryState.SENDING)
_MAY_BECOME = {
    DeliveryState.READY: _BEGUN,
    DeliveryState.UNKNOWN: (DeliveryState.SENDING,),
    DeliveryState.HELD: _BEGUN,
    DeliveryState.DEAD: _BEGUN,
    DeliveryState.SUPPRESSED: (DeliveryState.CLAIMED,),
}
"""The states from which a delivery that was not sent may come to a state in which it waits or ends."""

_OPEN_TO_ANSWERS = (
    DeliveryState.SENDING,
    DeliveryState.UNKNOWN,
    DeliveryState.READY,
    DeliveryState.HELD,
)
"""States in which even a late answer under the last claim counts: nobody has claimed it since."""

ASKED = (DestinationKind.SLACK,)
"""Destinations whose other side can be asked whether a message is there."""

_PACE = timedelta(seconds=1)
"""How much later a destination that asked for a pause gets its next message, if the operator retries."""

_OPEN = (DeliveryState.READY, DeliveryState.HELD, DeliveryState.UNKNOWN)
_WAITS_FOR_WORD = (DeliveryState.HELD, DeliveryState.UNKNOWN)
_OBSTACLES = (DeliveryState.HELD, DeliveryState.DEAD, DeliveryState.SUPPRESSED)

TAKEN_AS_SENT = Said.of(Saying.TAKEN_AS_SENT)

_LAST_WORDS = (DeliveryState.DEAD, DeliveryState.HELD, IN_DOUBT)


@dataclass(frozen=True, slots=True)
class UnknownDelivery:
    """A delivery that may have arrived and must be checked."""

    delivery: Delivery
    message: Message
    sending_at: datetime
    repeats: int = 0


def load_message(conn: Connection, delivery_id: int) -> Message | None:
    """Return the bytes of a delivery's attempts; None before the first, and once they were pruned."""
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None or row.body is None:
        return None
    return Message(row.media_type, row.body, row.idempotency_key, row.name)


def load_bare(conn: Connection) -> list[Delivery]:
    """Return the deliveries that may have arrived and whose bytes are not here."""
    is_bare = (
        ACTIVE_DELIVERY,
        deliveries.c.state == DeliveryState.UNKNOWN,
        deliveries.c.body.is_(None),
    )
    return load_deliveries_of(conn, conn.execute(select(deliveries).where(*is_bare)).all())


def keep_message(conn: Connection, delivery_id: int, message: Message) -> None:
    """Store the bytes of a delivery."""
    kept = {"body": message.body, "media_type": message.media_type, "name": message.name}
    conn.execute(update(deliveries).where(deliveries.c.id == delivery_id).values(kept))


def begin_sending(
    conn: Connection,
    delivery: Delivery,
    message: Message,
    now: datetime,
    *,
    lease_seconds: float = CLAIM_LEASE,
) -> DeliveryState:
    """Record the intent to send, with the bytes; commit it before the network is touched.

    The bytes of the first attempt are kept and win over later ones, as long as the other side calls the place the
    same and has not refused them for their size. Whether the destination may still be written to is decided here,
    in the same transaction. Return `SENDING`: go on; `SUPPRESSED`: it may not, and the delivery has ended with the
    parts after it; `READY`: the claim was lost, don't touch it.
    """
    mine = (
        deliveries.c.id == delivery.id,
        deliveries.c.token == delivery.token,
        deliveries.c.state == DeliveryState.CLAIMED,
    )
    known = (
        deliveries.c.attempts,
        deliveries.c.remote_address,
        deliveries.c.body.is_(None).label("is_bare"),
    )
    row = conn.execute(select(*known).where(*mine).with_for_update()).one_or_none()
    if row is None:
        return DeliveryState.READY
    if refusal := load_refusal(conn, delivery.id):
        mark_unsent(conn, delivery, DeliveryState.SUPPRESSED, refusal, now)
        return DeliveryState.SUPPRESSED
    begun = {
        "state": DeliveryState.SENDING,
        "attempts": row.attempts + 1,
        "lease_until": database_clock() + lease_seconds,
        "sending_at": now,
        "remote_address": delivery.remote_address,
    }
    if row.is_bare or row.remote_address != delivery.remote_address:
        begun |= {"body": message.body, "media_type": message.media_type, "name": message.name}
    conn.execute(update(deliveries).where(deliveries.c.id == delivery.id).values(begun))
    attempt = {
        "delivery_id": delivery.id,
        "number": row.attempts + 1,
        "started_at": now,
        "outcome": DeliveryState.SENDING,
        "detail": NOTHING,
    }
    conn.execute(insert(attempts).values(attempt))
    return DeliveryState.SENDING


def mark_sent(
    conn: Connection,
    delivery: Delivery,
    receipt: Receipt,
    now: datetime,
    out_of: Collection[DeliveryState] = _OPEN_TO_ANSWERS,
) -> bool:
    """Record that the other side took a delivery; try again until the database takes this.

    A late answer is an answer: it also counts if the attempt was given up meanwhile, as long as nobody has
    claimed the delivery since. Then False is returned, and nothing is changed.
    """
    known = {"remote_id": make_storable(receipt.remote_id), "last_error": NOTHING}
    answer = Said.plain(receipt.detail)
    step = Transition(DeliveryState.SENT, now, answer, known)
    is_tried = conn.execute(
        select(attempts.c.number).where(attempts.c.delivery_id == delivery.id)
    ).first()
    if not is_tried or not change_state(conn, delivery.id, step, out_of, token=delivery.token):
        return False
    latest = select(deliveries.c.attempts).where(deliveries.c.id == delivery.id).scalar_subquery()
    answered = (attempts.c.delivery_id == delivery.id, attempts.c.number == latest)
    told = {"ended_at": now, "outcome": DeliveryState.SENT, "detail": answer}
    conn.execute(update(attempts).where(*answered).values(told))
    if (
        delivery.refusal in PROBED
    ):  # it is well again: the next is due, and each place goes on by itself
        is_alike = and_(REFUSED_DELIVERY, deliveries.c.refusal == delivery.refusal)
        theirs = update(deliveries).where(is_alike, goes_same_way(delivery, delivery.refusal))
        is_held = deliveries.c.state == DeliveryState.HELD
        due_at = case((is_held, literal(now, Moment)), else_=deliveries.c.not_before)
        conn.execute(theirs.values(refusal=Refusal.PLACE, not_before=due_at))
    return True


def mark_unsent(
    conn: Connection,
    delivery: Delivery,
    to: DeliveryState,
    reason: Said,
    now: datetime,
    *,
    not_before: datetime | None = None,
    shorter: Share | None = None,
    refusal: Refusal | None = None,
) -> bool:
    """Record what becomes of a claimed delivery that was not sent; False if somebody else has claimed it since.

    It goes to `READY` for another attempt, `UNKNOWN` if it may have arrived, `HELD` for the operator, `DEAD` or
    `SUPPRESSED`, and the parts after it with it. Until `not_before` it is not claimed or checked again. It shows
    what is `shorter` from now on, if it was refused for its size: the next attempt has other bytes.
    If it is held for a `refusal` that the operator may mend outside, so is all that goes the same way.
    """
    waits: dict[str, Any] = {} if not_before is None else {"not_before": not_before}
    if shorter is not None:
        waits |= {"share": str(shorter), "body": None}
    step = Transition(to, now, reason, waits | ({} if refusal is None else {"refusal": refusal}))
    if not change_state(conn, delivery.id, step, _MAY_BECOME[to], token=delivery.token):
        return False
    if to is DeliveryState.HELD and refusal in PROBED:
        hold_with(conn, delivery, refusal, reason, now)
    return True


def hold_failed(conn: Connection, ids: Collection[int], now: datetime, probe_at: datetime) -> None:
    """Hold what was given up all the same: it is tried again from a moment on (UTC)."""
    theirs = (deliveries.c.id.in_(ids), deliveries.c.state == DeliveryState.DEAD)
    held = {"state": DeliveryState.HELD, "refusal": Refusal.PLACE, "held_at": now, "ended_at": None}
    conn.execute(update(deliveries).where(*theirs).values(held | {"not_before": probe_at}))


def give_up_held(
    conn: Connection,
    delivery: Delivery,
    refusal: Refusal,
    *,
    before: datetime,
    reason: Said,
    now: datetime,
) -> list[Delivery]:
    """Give up what has been held since before a moment (UTC) for the same refusal; return it."""
    old = update(deliveries).where(
        REFUSED_DELIVERY,
        deliveries.c.state == DeliveryState.HELD,
        deliveries.c.refusal == refusal,
        deliveries.c.held_at <= before,
        goes_same_way(delivery, refusal),
    )
    ended = {"state": DeliveryState.DEAD, "ended_at": now, "last_error": reason}
    return load_deliveries_of(conn, conn.execute(old.values(ended).returning(deliveries)).all())


def claim_unknown(
    conn: Connection,
    now: datetime,
    *,
    limit: int = 100,
    kinds: Collection[DestinationKind] | None = None,
) -> list[UnknownDelivery]:
    """Take deliveries that may have arrived and have settled; nobody else gets them for a while."""
    picked = (
        select(deliveries.c.id)
        .where(
            ACTIVE_DELIVERY,
            deliveries.c.state == DeliveryState.UNKNOWN,
            deliveries.c.not_before <= now,
            deliveries.c.body.is_not(None),
            goes_to_kinds(kinds),
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
        for row, delivery in zip(rows, load_deliveries_of(conn, rows), strict=True)
    ]


def settle_unknown(
    conn: Connection,
    delivery: Delivery,
    to: DeliveryState,
    reason: Said,
    now: datetime,
    *,
    is_missing: bool,
) -> bool:
    """Send an unknown delivery again (`READY`), or leave it to the operator (`HELD`).

    If it is missing, it never arrived, or a second copy does no harm. Return False, with nothing changed, if the
    attempt it is about is no more in doubt.
    """
    doubt = REPEATED if to is DeliveryState.READY else IN_DOUBT
    step = Transition(to, now, reason, {"not_before": now}, "" if is_missing else doubt)
    return change_state(conn, delivery.id, step, (DeliveryState.UNKNOWN,), token=delivery.token)


def _count_repeats(conn: Connection, delivery_ids: list[int]) -> dict[int, int]:
    counted = (
        select(attempts.c.delivery_id, func.count().label("repeats"))
        .where(attempts.c.delivery_id.in_(delivery_ids), attempts.c.outcome == REPEATED)
        .group_by(attempts.c.delivery_id)
    )
    return {row.delivery_id: row.repeats for row in conn.execute(counted)}


@dataclass(frozen=True, slots=True)
class HeldDeliveries:
    """Deliveries held for the operator; nobody there can say whether the `doubtful` ones arrived."""

    ids: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()


def load_held(conn: Connection) -> HeldDeliveries:
    """Return what is held."""
    latest = and_(
        attempts.c.delivery_id == deliveries.c.id, attempts.c.number == deliveries.c.attempts
    )
    found = (
        select(deliveries.c.id, deliveries.c.destination, attempts.c.outcome)
        .outerjoin(attempts, latest)
        .where(STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD)
        .order_by(deliveries.c.id)
    )
    rows = conn.execute(found).all()
    return HeldDeliveries(
        ids=tuple(row.id for row in rows),
        doubtful=tuple(
            row.id
            for row in rows
            if row.outcome in (DeliveryState.UNKNOWN, IN_DOUBT)
            and Destination.parse(row.destination).kind not in ASKED
        ),
    )


def retry_delivery(
    conn: Connection, delivery_id: int, now: datetime, *, anyway: bool = False
) -> DeliveryState | None:
    """Send it now, on the operator's word: from `ready`, `held`, `dead` or `unknown`.

    What may have arrived is searched for first if the other side can be asked. The parts given up because of
    it return with it, and the pause of its destination ends. With `anyway` nothing is searched for: it may arrive
    twice. Return `READY`: it goes out; `UNKNOWN`: it is searched for, and goes out if it is missing; None: its
    state allows neither.
    """
    row = require_delivery(conn, delivery_id)
    place = Destination.parse(row.destination)
    if (
        not anyway
        and place.kind in ASKED
        and row.body is not None
        and may_have_arrived(conn, delivery_id)
    ):
        to, is_taken = DeliveryState.UNKNOWN, _check_first(conn, row, now)
    else:
        to, is_taken = DeliveryState.READY, _send_again(conn, row, now)
    if not is_taken:
        return None
    unblock_destination(conn, place, now + _PACE)
    return to


def cancel_delivery(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Never send it, nor the parts after it, on the operator's word: from `ready`, `held`, `unknown` or `dead`."""
    require_delivery(conn, delivery_id)
    step = Transition(DeliveryState.SUPPRESSED, now, Said.of(Saying.CANCELLED))
    return change_state(conn, delivery_id, step, (*_OPEN, DeliveryState.DEAD))


def mark_arrived(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Record that it arrived, on the operator's word: from `held` or `unknown`; the parts after it go on.

    False, with nothing changed, if its state does not allow it, or it was never on its way.
    """
    (delivery,) = load_deliveries_of(conn, [require_delivery(conn, delivery_id)])
    said = Receipt("", str(Said.of(Saying.ARRIVED)))
    return mark_sent(conn, delivery, said, now, _WAITS_FOR_WORD)


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


def load_obstacle(conn: Connection, delivery_id: int) -> Delivery | None:
    """Return the first of the parts before a delivery that keeps it from going out until somebody has a say."""
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
    return next(iter(load_deliveries_of(conn, conn.execute(before).all())), None)


def _check_first(conn: Connection, row: Row[Any], now: datetime) -> bool:
    is_as_read = (
        deliveries.c.id == row.id,
        deliveries.c.state == row.state,
        deliveries.c.token == row.token,
    )
    move = update(deliveries).where(*is_as_read).values(state=DeliveryState.UNKNOWN, not_before=now)
    if conn.execute(move).rowcount != 1:
        return False
    doubtful = update(attempts).where(
        attempts.c.delivery_id == row.id, attempts.c.outcome == IN_DOUBT
    )
    conn.execute(doubtful.values(outcome=DeliveryState.UNKNOWN))
    return True


def _send_again(conn: Connection, row: Row[Any], now: datetime) -> bool:
    fresh: dict[str, Any] = {"not_before": now, "ended_at": None, "held_at": None}
    # Of one that was to be tried again anyway nothing is mended: what went wrong is still to be seen.
    said = row.last_error if row.state == DeliveryState.READY else NOTHING
    step = Transition(DeliveryState.READY, now, said, fresh)
    if not change_state(conn, row.id, step, (*_OPEN, DeliveryState.DEAD)):
        return False
    never_tried = (deliveries.c.state == DeliveryState.DEAD) & (deliveries.c.attempts == 0)
    revive = update(deliveries).where(
        is_later_part(row.digest_id, row.destination, row.part), never_tried
    )
    conn.execute(revive.values(state=DeliveryState.READY, last_error=NOTHING, **fresh))
    return True


def mark_taken_as_sent(conn: Connection, until: datetime, at: datetime) -> int:
    """End the deliveries that were due by a moment, since the database before sent them; return how many."""
    due = update(deliveries).where(
        or_(
            and_(ACTIVE_DELIVERY, deliveries.c.not_before <= until),
            and_(REFUSED_DELIVERY, deliveries.c.created_at <= until),
        )
    )
    ended = {
        "state": DeliveryState.SUPPRESSED,
        "ended_at": at,
        "lease_until": None,
        "last_error": TAKEN_AS_SENT,
    }
    ids = conn.execute(due.values(ended).returning(deliveries.c.id)).scalars().all()
    for chunk in in_chunks(ids):
        open_ = attempts.c.outcome.in_((DeliveryState.SENDING, DeliveryState.UNKNOWN))
        close = update(attempts).where(attempts.c.delivery_id.in_(chunk), open_)
        conn.execute(
            close.values(ended_at=at, outcome=DeliveryState.SUPPRESSED, detail=TAKEN_AS_SENT)
        )
    return len(ids)


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery with what surrounds it."""

    delivery: Delivery
    subscription: str
    slot: str
    sending_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time the network was touched for a delivery, and the state it led to.

    That is `sending` while it lasts, `repeated` if it may have arrived and the same was sent again, `in doubt` if
    it may have and a person has to say.
    """

    number: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    detail: Said


def load_stored_deliveries(
    conn: Connection, states: Collection[DeliveryState] | None = None, *, limit: int = 50
) -> list[StoredDelivery]:
    """Return the latest deliveries, newest first; of some states only if named."""
    found = _with_surroundings().order_by(deliveries.c.id.desc()).limit(limit)
    if states is not None:
        found = found.where(deliveries.c.state.in_(states))
    return _read_deliveries(conn, conn.execute(found).all())


def load_delivery(conn: Connection, delivery_id: int) -> tuple[StoredDelivery, list[Attempt]]:
    """Return a delivery with every attempt."""
    require_delivery(conn, delivery_id)
    found = conn.execute(_with_surroundings().where(deliveries.c.id == delivery_id)).all()
    (stored,) = _read_deliveries(conn, found)
    tries = (
        select(attempts).where(attempts.c.delivery_id == delivery_id).order_by(attempts.c.number)
    )
    return stored, [
        Attempt(row.number, row.started_at, row.ended_at, row.outcome, row.detail)
        for row in conn.execute(tries)
    ]


def count_tries(conn: Connection, delivery: Delivery) -> tuple[int, datetime]:
    """Return how often a delivery was tried since it was planned or an operator last had it sent, and since when.

    A try that ended it, or had it wait for the operator, is one that only an operator lets others follow.
    """
    found = (
        select(attempts.c.outcome, attempts.c.started_at)
        .where(attempts.c.delivery_id == delivery.id)
        .order_by(attempts.c.number.desc())
    )
    tries = list(takewhile(lambda row: row.outcome not in _LAST_WORDS, conn.execute(found)))
    return len(tries), tries[-1].started_at if tries else delivery.created_at


def require_delivery(conn: Connection, delivery_id: int) -> Row[Any]:
    """Return a delivery's row; raise `UnknownName` if there is none."""
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None:
        raise UnknownName(
            f"there is no delivery {delivery_id}", hint="`digest delivery list` shows them."
        )
    return row


def _with_surroundings() -> Select[tuple[Any, ...]]:
    return (
        select(deliveries, subscriptions.c.name.label("subscription"), digests.c.slot)
        .join(digests, digests.c.id == deliveries.c.digest_id)
        .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
    )


def _read_deliveries(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredDelivery]:
    return [
        StoredDelivery(delivery, row.subscription, row.slot, row.sending_at, row.ended_at)
        for row, delivery in zip(rows, load_deliveries_of(conn, rows), strict=True)
    ]


def load_deliveries(conn: Connection, digest_id: int) -> list[tuple[StoredDelivery, list[Attempt]]]:
    """Return the deliveries of a digest with every attempt, by destination and part."""
    ids = select(deliveries.c.id).where(deliveries.c.digest_id == digest_id)
    order = (deliveries.c.destination, deliveries.c.part)
    return [load_delivery(conn, id_) for id_ in conn.execute(ids.order_by(*order)).scalars().all()]
