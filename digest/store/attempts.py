"""Attempts to send: what begins, what is marked after it, and what the operator decides."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    bindparam,
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
from digest.model.messages import Delivery, DeliveryState, Message, Receipt, Share, fill_body
from digest.model.said import NOTHING, Said, Saying
from digest.store.dialect import Moment, database_clock, dialect_insert, in_chunks, make_storable
from digest.store.outbox import (
    CAME_TO,
    CLAIM_LEASE,
    IN_DOUBT,
    REPEATED,
    UNDECIDED,
    Transition,
    change_state,
    goes_same_way,
    goes_to_kinds,
    hold_with,
    is_later_part,
)
from digest.store.outbox import load_for_digest as load_deliveries_of
from digest.store.schema import (
    ACTIVE_DELIVERY,
    REFUSED_DELIVERY,
    STUCK_DELIVERY,
    attempts,
    bodies,
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
"""From which states a delivery that was not sent may come to one in which it waits or ends."""

_OPEN_TO_ANSWERS = (
    DeliveryState.SENDING,
    DeliveryState.UNKNOWN,
    DeliveryState.READY,
    DeliveryState.HELD,
)
"""States in which even a late answer under the last claim counts: nobody has claimed it since."""

_PACE = timedelta(seconds=1)
"""How much later a destination that asked for a pause gets its next message, on a retry."""

_OPEN = (DeliveryState.READY, DeliveryState.HELD, DeliveryState.UNKNOWN)
_WAITS_FOR_WORD = (DeliveryState.HELD, DeliveryState.UNKNOWN)
_OBSTACLES = (DeliveryState.HELD, DeliveryState.DEAD, DeliveryState.SUPPRESSED)

_CLAIMED = (
    select(
        deliveries.c.attempts,
        deliveries.c.remote_address,
        deliveries.c.body.is_(None).label("is_bare"),
    )
    .where(
        deliveries.c.id == bindparam("to"),
        deliveries.c.token == bindparam("by"),
        deliveries.c.state == DeliveryState.CLAIMED,
    )
    .with_for_update()
)
_TRIES = select(attempts.c.number).where(attempts.c.delivery_id == bindparam("to"))
_LAST = select(deliveries.c.attempts).where(deliveries.c.id == bindparam("to"))
_ANSWER = (
    update(attempts)
    .where(
        attempts.c.delivery_id == bindparam("to"),
        attempts.c.number == _LAST.scalar_subquery(),
    )
    .values(CAME_TO)
)
_SHARED = select(bodies.c.hash).where(bodies.c.hash == bindparam("asked"))

TAKEN_AS_SENT = Said.of(Saying.TAKEN_AS_SENT)

_MAY_HAVE_ARRIVED = (DeliveryState.UNKNOWN, IN_DOUBT)
"""Outcomes of an attempt that nobody has found out about yet."""

_LAST_WORDS = (DeliveryState.DEAD, DeliveryState.HELD, IN_DOUBT)


@dataclass(frozen=True, slots=True)
class UnknownDelivery:
    """A delivery that may have arrived and must be checked."""

    delivery: Delivery
    message: Message
    sending_at: datetime
    repeats: int = 0


def load_message(conn: Connection, delivery_id: int) -> Message | None:
    """Return the bytes of a delivery's attempts.

    None before the first, and once they were deleted.
    """
    found = select(deliveries).where(deliveries.c.id == delivery_id)
    row = conn.execute(found).one_or_none()
    if row is None or row.body is None:
        return None
    return _read_message(conn, row)


def load_bare(conn: Connection) -> list[Delivery]:
    """Return the deliveries that may have arrived and whose bytes are not here."""
    is_unknown = deliveries.c.state == DeliveryState.UNKNOWN
    found = select(deliveries).where(ACTIVE_DELIVERY, is_unknown, deliveries.c.body.is_(None))
    rows = conn.execute(found).all()
    return load_deliveries_of(conn, rows)


def keep_message(conn: Connection, delivery_id: int, message: Message) -> None:
    """Store the bytes of a delivery."""
    keep = update(deliveries).where(deliveries.c.id == delivery_id)
    conn.execute(keep.values(_write_bytes(conn, message)))


def _write_bytes(conn: Connection, message: Message) -> dict[str, Any]:
    """Return what a delivery keeps of its bytes: all, or what is its reader's own."""
    kept = {"media_type": message.media_type, "name": message.name}
    if not message.shared:
        return kept | {"body": message.body, "shared": None}
    hashed = hashlib.sha256(message.shared).hexdigest()
    if conn.execute(_SHARED, {"asked": hashed}).first() is None:
        keep = dialect_insert(conn, bodies).on_conflict_do_nothing()
        conn.execute(keep, {"hash": hashed, "content": zlib.compress(message.shared)})
    return kept | {"body": json.dumps(message.own).encode(), "shared": hashed}


def begin(
    conn: Connection,
    delivery: Delivery,
    message: Message,
    now: datetime,
    *,
    lease_seconds: float = CLAIM_LEASE,
) -> DeliveryState:
    """Record the intent to send, with the bytes; commit it before the network is touched.

    The bytes of the first attempt are kept and win over later ones, as long as the other side
    calls the place the same and has not refused them for their size. Whether the destination may
    still be written to is decided here, in the same transaction. Return `SENDING`: go on;
    `SUPPRESSED`: it may not, and the delivery has ended with the parts after it; `READY`: the
    claim was lost, don't touch it.
    """
    ours = {"to": delivery.id, "by": delivery.token}
    row = conn.execute(_CLAIMED, ours).one_or_none()
    if row is None:
        return DeliveryState.READY
    refusal = load_refusal(conn, delivery.id)
    if refusal:
        mark_unsent(conn, delivery, DeliveryState.SUPPRESSED, refusal, now)
        return DeliveryState.SUPPRESSED
    number = row.attempts + 1
    begun = {
        "state": DeliveryState.SENDING,
        "attempts": number,
        "lease_until": database_clock() + lease_seconds,
        "sending_at": now,
        "remote_address": delivery.remote_address,
    }
    if row.is_bare or row.remote_address != delivery.remote_address:
        begun |= _write_bytes(conn, message)
    begin = update(deliveries).where(deliveries.c.id == delivery.id)
    conn.execute(begin.values(begun))
    attempt = {"delivery_id": delivery.id, "number": number, "started_at": now}
    undecided = {"outcome": DeliveryState.SENDING, "detail": NOTHING}
    conn.execute(insert(attempts).values(attempt | undecided))
    return DeliveryState.SENDING


def mark_sent(
    conn: Connection,
    delivery: Delivery,
    receipt: Receipt,
    now: datetime,
    out_of: Collection[DeliveryState] = _OPEN_TO_ANSWERS,
) -> bool:
    """Record that the other side took a delivery; try again until the database takes this.

    A late answer is an answer: it also counts if the attempt was given up meanwhile, as long as
    nobody has claimed the delivery since. Then False is returned, and nothing is changed.
    """
    if conn.execute(_TRIES, {"to": delivery.id}).first() is None:
        return False
    known = {"remote_id": make_storable(receipt.remote_id), "last_error": NOTHING}
    answer = Said.plain(receipt.detail)
    step = Transition(DeliveryState.SENT, now, answer, known)
    if not change_state(conn, delivery.id, step, out_of, token=delivery.token):
        return False
    came = {"to": delivery.id, "at": now, "what": DeliveryState.SENT, "said": answer}
    conn.execute(_ANSWER, came)
    if delivery.refusal in PROBED:
        _let_others_go(conn, delivery, now)
    return True


def _read_message(conn: Connection, row: Row[Any]) -> Message:
    message = Message(row.media_type, row.body, row.idempotency_key, row.name)
    if row.shared is None:
        return message
    found = select(bodies.c.content).where(bodies.c.hash == row.shared)
    shared = zlib.decompress(conn.execute(found).scalar_one())
    own = json.loads(row.body)
    return replace(message, body=fill_body(shared, own), shared=shared, own=own)


def _let_others_go(conn: Connection, delivery: Delivery, now: datetime) -> None:
    """Let what was refused for the same go on: it is well again, and the next is due.

    Each place goes on by itself.
    """
    one = deliveries.c
    refusal = delivery.refusal
    is_alike = and_(REFUSED_DELIVERY, one.refusal == refusal)
    theirs = update(deliveries).where(is_alike, goes_same_way(delivery, refusal))
    is_held = one.state == DeliveryState.HELD
    due_at = case((is_held, literal(now, Moment)), else_=one.not_before)
    conn.execute(theirs.values(refusal=Refusal.PLACE, not_before=due_at))


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
    """Record what becomes of a claimed delivery that was not sent.

    It goes to `READY` for another attempt, `UNKNOWN` if it may have arrived, `HELD` for the
    operator, `DEAD` or `SUPPRESSED`, and the parts after it with it. Until `not_before` it is not
    claimed or checked again. It shows what is `shorter` from now on, if it was refused for its
    size: the next attempt has other bytes. If it is held for a `refusal` that the operator may
    mend outside, so is all that goes the same way. Return False if somebody else has claimed it
    since.
    """
    values: dict[str, Any] = {}
    if not_before is not None:
        values["not_before"] = not_before
    if shorter is not None:
        values |= {"share": str(shorter), "body": None, "shared": None}
    if refusal is not None:
        values["refusal"] = refusal
    step = Transition(to, now, reason, values)
    if not change_state(conn, delivery.id, step, _MAY_BECOME[to], token=delivery.token):
        return False
    if to is DeliveryState.HELD and refusal in PROBED:
        hold_with(conn, delivery, refusal, reason, now)
    return True


def hold_failed(conn: Connection, ids: Collection[int], now: datetime, probe_at: datetime) -> None:
    """Hold what was given up all the same: it is tried again from a moment on (UTC)."""
    is_dead = deliveries.c.state == DeliveryState.DEAD
    given_up = update(deliveries).where(deliveries.c.id.in_(ids), is_dead)
    held = {
        "state": DeliveryState.HELD,
        "refusal": Refusal.PLACE,
        "held_at": now,
        "ended_at": None,
        "not_before": probe_at,
    }
    conn.execute(given_up.values(held))


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
    one = deliveries.c
    is_held = and_(REFUSED_DELIVERY, one.state == DeliveryState.HELD, one.refusal == refusal)
    old = update(deliveries).where(is_held, one.held_at <= before)
    theirs = old.where(goes_same_way(delivery, refusal))
    ended = theirs.values(state=DeliveryState.DEAD, ended_at=now, last_error=reason)
    rows = conn.execute(ended.returning(deliveries)).all()
    return load_deliveries_of(conn, rows)


def claim_unknown(
    conn: Connection,
    now: datetime,
    *,
    limit: int = 100,
    kinds: Collection[DestinationKind] | None = None,
) -> list[UnknownDelivery]:
    """Take deliveries that may have arrived and have settled; nobody else gets them for a while."""
    one = deliveries.c
    is_unknown = and_(ACTIVE_DELIVERY, one.state == DeliveryState.UNKNOWN)
    has_settled = one.not_before <= now
    has_bytes = one.body.is_not(None)
    found = select(one.id).where(is_unknown, has_settled, has_bytes, goes_to_kinds(kinds))
    first = found.order_by(one.not_before, one.id).limit(limit)
    picked = first.with_for_update(skip_locked=True).cte("picked")
    take = update(deliveries).where(one.id.in_(select(picked.c.id)))
    later = now + SETTLING_PAUSE
    rows = conn.execute(take.values(not_before=later).returning(deliveries)).all()
    repeats = _count_repeats(conn, [row.id for row in rows])
    unknown = []
    for row, delivery in zip(rows, load_deliveries_of(conn, rows), strict=True):
        message = _read_message(conn, row)
        repeated = repeats.get(row.id, 0)
        unknown.append(UnknownDelivery(delivery, message, row.sending_at, repeated))
    return unknown


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

    If it is missing, it never arrived, or a second copy does no harm. Return False, with nothing
    changed, if the attempt it is about is no more in doubt.
    """
    doubt = REPEATED if to is DeliveryState.READY else IN_DOUBT
    step = Transition(to, now, reason, {"not_before": now}, "" if is_missing else doubt)
    return change_state(conn, delivery.id, step, (DeliveryState.UNKNOWN,), token=delivery.token)


def _count_repeats(conn: Connection, delivery_ids: list[int]) -> dict[int, int]:
    """Return how often deliveries that may have arrived were sent again all the same."""
    tried = attempts.c
    found = select(tried.delivery_id, func.count().label("repeats"))
    theirs = found.where(tried.delivery_id.in_(delivery_ids))
    repeated = theirs.where(tried.outcome == REPEATED)
    rows = conn.execute(repeated.group_by(tried.delivery_id))
    return {row.delivery_id: row.repeats for row in rows}


@dataclass(frozen=True, slots=True)
class HeldDeliveries:
    """Deliveries held for the operator.

    Nobody on the other side can say whether the `doubtful` ones arrived.
    """

    ids: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()


def load_held(conn: Connection) -> HeldDeliveries:
    """Return what is held."""
    one = deliveries.c
    is_last = and_(attempts.c.delivery_id == one.id, attempts.c.number == one.attempts)
    found = select(one.id, one.destination, attempts.c.outcome).outerjoin(attempts, is_last)
    held = found.where(STUCK_DELIVERY, one.state == DeliveryState.HELD).order_by(one.id)
    ids = []
    doubtful = []
    for row in conn.execute(held):
        ids.append(row.id)
        place = Destination.parse(row.destination)
        if row.outcome in _MAY_HAVE_ARRIVED and not place.traits.can_be_asked:
            doubtful.append(row.id)
    return HeldDeliveries(tuple(ids), tuple(doubtful))


def retry(
    conn: Connection, delivery_id: int, now: datetime, *, anyway: bool = False
) -> DeliveryState | None:
    """Send it now, on the operator's word: from `ready`, `held`, `dead` or `unknown`.

    What may have arrived is searched for first if the other side can be asked. The parts given up
    because of it return with it, and the pause of its destination ends. With `anyway` nothing is
    searched for: it may arrive twice. Return `READY`: it goes out; `UNKNOWN`: it is searched for,
    and goes out if it is missing; None: its state allows neither.
    """
    row = require_delivery(conn, delivery_id)
    place = Destination.parse(row.destination)
    can_be_found = place.traits.can_be_asked and row.body is not None
    if not anyway and can_be_found and may_have_arrived(conn, delivery_id):
        to = DeliveryState.UNKNOWN
        is_taken = _check_first(conn, row, now)
    else:
        to = DeliveryState.READY
        is_taken = _send_again(conn, row, now)
    if not is_taken:
        return None
    unblock_destination(conn, place, now + _PACE)
    return to


def cancel(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Never send it, nor the parts after it, on the operator's word.

    It may be `ready`, `held`, `unknown` or `dead`.
    """
    require_delivery(conn, delivery_id)
    step = Transition(DeliveryState.SUPPRESSED, now, Said.of(Saying.CANCELLED))
    return change_state(conn, delivery_id, step, (*_OPEN, DeliveryState.DEAD))


def mark_arrived(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Record that it arrived, on the operator's word: from `held` or `unknown`.

    The parts after it go on. Return False, with nothing changed, if its state does not allow it,
    or it was never on its way.
    """
    (delivery,) = load_deliveries_of(conn, [require_delivery(conn, delivery_id)])
    said = Receipt("", str(Said.of(Saying.ARRIVED)))
    return mark_sent(conn, delivery, said, now, _WAITS_FOR_WORD)


def may_have_arrived(conn: Connection, delivery_id: int) -> bool:
    """Whether the last attempt at a delivery that waits may have arrived.

    That is, nobody has found out yet.
    """
    one = deliveries.c
    is_last = attempts.c.number == one.attempts
    waits_for_word = one.state.in_(_WAITS_FOR_WORD)
    found = select(attempts.c.outcome).join(deliveries)
    last = found.where(one.id == delivery_id, waits_for_word, is_last)
    return conn.execute(last).scalar() in _MAY_HAVE_ARRIVED


def load_obstacle(conn: Connection, delivery_id: int) -> Delivery | None:
    """Return the first of the parts before a delivery that waits for somebody to have a say.

    It keeps the delivery from going out.
    """
    row = require_delivery(conn, delivery_id)
    one = deliveries.c
    is_same_message = and_(one.digest_id == row.digest_id, one.destination == row.destination)
    is_obstacle = and_(one.part < row.part, one.state.in_(_OBSTACLES))
    found = select(deliveries).where(is_same_message, is_obstacle)
    first = conn.execute(found.order_by(one.part).limit(1)).all()
    obstacles = load_deliveries_of(conn, first)
    return obstacles[0] if obstacles else None


def _check_first(conn: Connection, row: Row[Any], now: datetime) -> bool:
    """Have a delivery searched for on the other side; False if its state has changed since."""
    one = deliveries.c
    is_as_read = and_(one.id == row.id, one.state == row.state, one.token == row.token)
    move = update(deliveries).where(is_as_read)
    moved = move.values(state=DeliveryState.UNKNOWN, not_before=now)
    if conn.execute(moved).rowcount != 1:
        return False
    tried = attempts.c
    doubtful = update(attempts).where(tried.delivery_id == row.id, tried.outcome == IN_DOUBT)
    conn.execute(doubtful.values(outcome=DeliveryState.UNKNOWN))
    return True


def _send_again(conn: Connection, row: Row[Any], now: datetime) -> bool:
    """Have a delivery sent once more, and with it the parts that ended because of it."""
    fresh: dict[str, Any] = {"not_before": now, "ended_at": None, "held_at": None}
    said = NOTHING
    if row.state == DeliveryState.READY:
        # It was to be tried again anyway, so nothing is mended: what went wrong still shows.
        said = row.last_error
    step = Transition(DeliveryState.READY, now, said, fresh)
    if not change_state(conn, row.id, step, (*_OPEN, DeliveryState.DEAD)):
        return False
    one = deliveries.c
    is_behind = is_later_part(row.digest_id, row.destination, row.part)
    was_given_up = one.state == DeliveryState.DEAD
    revive = update(deliveries).where(is_behind, was_given_up, one.attempts == 0)
    conn.execute(revive.values(state=DeliveryState.READY, last_error=NOTHING, **fresh))
    return True


def mark_taken_as_sent(conn: Connection, until: datetime, at: datetime) -> int:
    """End the deliveries that were due by a moment, since the database before sent them.

    Return how many.
    """
    one = deliveries.c
    waited = and_(ACTIVE_DELIVERY, one.not_before <= until)
    was_refused = and_(REFUSED_DELIVERY, one.created_at <= until)
    due = update(deliveries).where(or_(waited, was_refused))
    ended = {
        "state": DeliveryState.SUPPRESSED,
        "ended_at": at,
        "lease_until": None,
        "last_error": TAKEN_AS_SENT,
    }
    ids = conn.execute(due.values(ended).returning(one.id)).scalars().all()
    closed = {"outcome": DeliveryState.SUPPRESSED, "ended_at": at, "detail": TAKEN_AS_SENT}
    tried = attempts.c
    close = update(attempts).where(tried.outcome.in_(UNDECIDED)).values(closed)
    for chunk in in_chunks(ids):
        conn.execute(close.where(tried.delivery_id.in_(chunk)))
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

    That is `sending` while it lasts, `repeated` if it may have arrived and the same was sent
    again, `in doubt` if it may have and a person has to say.
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
    rows = conn.execute(found).all()
    return _read_deliveries(conn, rows)


def load_delivery(conn: Connection, delivery_id: int) -> tuple[StoredDelivery, list[Attempt]]:
    """Return a delivery with every attempt."""
    require_delivery(conn, delivery_id)
    found = _with_surroundings().where(deliveries.c.id == delivery_id)
    (stored,) = _read_deliveries(conn, conn.execute(found).all())
    tries = []
    theirs = select(attempts).where(attempts.c.delivery_id == delivery_id)
    for row in conn.execute(theirs.order_by(attempts.c.number)):
        one = Attempt(row.number, row.started_at, row.ended_at, row.outcome, row.detail)
        tries.append(one)
    return stored, tries


def count_tries(conn: Connection, delivery: Delivery) -> tuple[int, datetime]:
    """Return how often a delivery was tried, and since when.

    It counts since it was planned, or an operator last had it sent. A try that ended it, or had it
    wait for the operator, is one that only an operator lets others follow.
    """
    tried = attempts.c
    found = select(tried.outcome, tried.started_at)
    theirs = found.where(tried.delivery_id == delivery.id)
    number = 0
    since = delivery.created_at
    for row in conn.execute(theirs.order_by(tried.number.desc())):
        if row.outcome in _LAST_WORDS:
            break
        number += 1
        since = row.started_at
    return number, since


def require_delivery(conn: Connection, delivery_id: int) -> Row[Any]:
    """Return a delivery's row; raise `UnknownName` if there is none."""
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None:
        said = f"there is no delivery {delivery_id}"
        raise UnknownName(said, hint="`digest delivery list` shows them.")
    return row


def _with_surroundings() -> Select[tuple[Any, ...]]:
    name = subscriptions.c.name.label("subscription")
    found = select(deliveries, name, digests.c.slot).select_from(deliveries)
    return found.join(digests).join(subscriptions)


def _read_deliveries(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredDelivery]:
    found = []
    for row, delivery in zip(rows, load_deliveries_of(conn, rows), strict=True):
        name = row.subscription
        found.append(StoredDelivery(delivery, name, row.slot, row.sending_at, row.ended_at))
    return found


def load_deliveries(conn: Connection, digest_id: int) -> list[tuple[StoredDelivery, list[Attempt]]]:
    """Return the deliveries of a digest with every attempt, by destination and part."""
    one = deliveries.c
    found = select(one.id).where(one.digest_id == digest_id)
    in_order = found.order_by(one.destination, one.part)
    ids = conn.execute(in_order).scalars().all()
    return [load_delivery(conn, id_) for id_ in ids]
