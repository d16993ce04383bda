"""Writes the two steps around the network: the intent before it, the mark behind it.

Both take many deliveries at once, so that what several threads send together is written in one transaction.
They lock their rows in the order of ids, so that two of them never wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Integer,
    LargeBinary,
    Text,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    true,
    update,
)

from digest.model import secrets
from digest.model.messages import DeliveryState, Message
from digest.store.database import is_at_rest
from digest.store.dialect import EachRow, Moment, database_clock, in_chunks, is_among, make_storable
from digest.store.outbox import (
    CLAIM_LEASE,
    IN_DOUBT,
    REPEATED,
    UNDECIDED,
    Step,
    goes_by,
    read_deliveries,
    take_step,
)
from digest.store.schema import ACTIVE_DELIVERY, attempts, deliveries, destination_addresses
from digest.store.subscribers import refusals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Insert, Row, Select, Update
    from sqlalchemy.types import TypeEngine

    from digest.model.messages import Delivery, Receipt, Share
    from digest.model.subscriptions import DestinationKind
    from digest.store.engine import Store


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


_OPEN_TO_ANSWERS = (DeliveryState.SENDING, DeliveryState.UNKNOWN, DeliveryState.READY, DeliveryState.HELD)
"""States in which an answer under the last claim is news, however late: nobody has claimed it since."""

_IS_FIRST = deliveries.c.body.is_(None)

_LOCK = (
    select(deliveries.c.id, deliveries.c.token, deliveries.c.attempts)
    .where(is_among(deliveries.c.id, "ids"))
    .order_by(deliveries.c.id)
    .with_for_update(of=deliveries)
)
_LOCK_CLAIMED = _LOCK.where(deliveries.c.state == DeliveryState.CLAIMED)
_IS_OPEN_TO_ANSWERS = (
    or_(*(deliveries.c.state == state for state in _OPEN_TO_ANSWERS)),
    exists().where(attempts.c.delivery_id == deliveries.c.id, attempts.c.token == deliveries.c.token),
)
_LOCK_ANSWERED = _LOCK.where(*_IS_OPEN_TO_ANSWERS)

_AT = bindparam("now", type_=Moment)


def _intend(row: Mapping[str, ColumnElement[Any]]) -> Update:
    return (
        update(deliveries)
        .where(deliveries.c.id == row["begun"])
        .values(
            state=DeliveryState.SENDING,
            attempts=deliveries.c.attempts + 1,
            lease_until=database_clock() + bindparam("lease"),
            sending_at=_AT,
            remote_address=row["place"],
            body=case((_IS_FIRST, row["bytes"]), else_=deliveries.c.body),
            media_type=case((_IS_FIRST, row["media"]), else_=deliveries.c.media_type),
            name=case((_IS_FIRST, row["called"]), else_=deliveries.c.name),
        )
    )


def _attempt(row: Mapping[str, ColumnElement[Any]]) -> Insert:
    begun = select(row["begun"], row["number"], row["claim"], _AT, literal(DeliveryState.SENDING), literal(""))
    told = ["delivery_id", "number", "token", "started_at", "outcome", "detail"]
    return insert(attempts).from_select(told, begun)


_BEGIN = EachRow(
    _intend,
    _attempt,
    begun=BigInteger,
    number=Integer,
    claim=BigInteger,
    place=Text,
    bytes=LargeBinary,
    media=Text,
    called=Text,
)

_ANSWER: dict[str, type[TypeEngine[Any]]] = {
    "ended": BigInteger,
    "claim": BigInteger,
    "answer": Text,
    "said": Text,
}


def _end(row: Mapping[str, ColumnElement[Any]]) -> Update:
    ended = {"state": DeliveryState.SENT, "lease_until": None, "last_error": "", "ended_at": _AT}
    return update(deliveries).where(deliveries.c.id == row["ended"]).values(remote_id=row["answer"], **ended)


def _close(row: Mapping[str, ColumnElement[Any]]) -> Update:
    is_undecided = or_(*(attempts.c.outcome == state for state in UNDECIDED))
    return (
        update(attempts)
        .where(
            attempts.c.delivery_id == row["ended"],
            or_(attempts.c.token == row["claim"], is_undecided),
        )
        .values(ended_at=_AT, outcome=DeliveryState.SENT, detail=row["said"])
    )


_END = EachRow(_end, _close, **_ANSWER)
_ONE: dict[str, ColumnElement[Any]] = {name: bindparam(name, type_=type_) for name, type_ in _ANSWER.items()}
_HOLDS_ONE = (deliveries.c.token == _ONE["claim"], *_IS_OPEN_TO_ANSWERS)
_END_ONE = _end(_ONE).where(*_HOLDS_ONE).returning(deliveries.c.id)
_CLOSE_ONE = _close(_ONE)


def _end_alone() -> Select[int]:
    """Build the mark of one answer for PostgreSQL: the look at the claim and all that changes in one statement."""
    ended = _end(_ONE).where(*_HOLDS_ONE).returning(deliveries.c.id, deliveries.c.destination).cte("ended_now")
    closed = _close(_ONE).where(attempts.c.delivery_id == ended.c.id)
    noted = update(destination_addresses).where(destination_addresses.c.destination == ended.c.destination)
    return select(ended.c.id).add_cte(closed.cte("closed"), noted.values(last_sent_at=_AT).cte("noted"))


_END_ALONE = _end_alone()

_PLACES = (
    select(destination_addresses.c.destination)
    .where(destination_addresses.c.destination.in_(bindparam("reached", expanding=True)))
    .order_by(destination_addresses.c.destination)
)
_NOTE = (
    update(destination_addresses)
    .where(destination_addresses.c.destination == bindparam("reached"))
    .values(last_sent_at=_AT)
)


def begin_sending(
    conn: Connection,
    delivery: Delivery,
    message: Message,
    now: datetime,
    *,
    lease_seconds: float = CLAIM_LEASE,
) -> DeliveryState:
    """Record the intent to send one delivery; see `begin_sending_many`.

    Returns:
        `SENDING`: go on. `SUPPRESSED`: it has ended. `READY`: the claim was lost; don't touch it.
    """
    return begin_sending_many(conn, [(delivery, message)], now, lease_seconds=lease_seconds)[delivery.id]


def begin_sending_many(
    conn: Connection,
    sends: Collection[tuple[Delivery, Message]],
    now: datetime,
    *,
    lease_seconds: float = CLAIM_LEASE,
) -> dict[int, DeliveryState]:
    """Record the intent to send, with the bytes; commit it before the network is touched.

    The first attempt's bytes are kept for good and win over later ones. Whether the destination may
    still be written to is decided here, in the same transaction; where it may not, the delivery and the
    parts behind it end `suppressed`.

    Args:
        conn: a writing transaction.
        sends: each delivery as claimed, whose `remote_address` is kept, and its message: `stored_message`'s,
            or as rendered for the first attempt.
        now: the moment (UTC).
        lease_seconds: how long the attempts may take.

    Returns:
        What became of each, by its id: see `begin_sending`.
    """
    held = _lock(conn, _LOCK_CLAIMED, (delivery for delivery, _ in sends))
    reasons = refusals(conn, held)
    outcome: dict[int, DeliveryState] = {}
    begun: list[dict[str, Any]] = []
    for delivery, message in sorted(sends, key=lambda send: send[0].id):
        if delivery.id not in held:
            outcome[delivery.id] = DeliveryState.READY
            continue
        if reasons[delivery.id]:
            refused = Step(DeliveryState.SUPPRESSED, now, reasons[delivery.id])
            take_step(conn, delivery.id, refused, (DeliveryState.CLAIMED,), token=delivery.token)
            outcome[delivery.id] = DeliveryState.SUPPRESSED
            continue
        outcome[delivery.id] = DeliveryState.SENDING
        begun.append(
            {
                "begun": delivery.id,
                "claim": delivery.token,
                "number": held[delivery.id] + 1,
                "place": delivery.remote_address,
                "bytes": message.body,
                "media": message.media_type,
                "called": message.name,
            }
        )
    if begun:
        _BEGIN.run(conn, begun, now=now, lease=lease_seconds)
    return outcome


def mark_sent(conn: Connection, delivery: Delivery, receipt: Receipt, now: datetime) -> bool:
    """Record that the other side took one delivery; False where somebody else has claimed it since."""
    return bool(mark_sent_many(conn, [(delivery, receipt)], now))


def mark_sent_many(
    conn: Connection, answers: Collection[tuple[Delivery, Receipt]], now: datetime
) -> frozenset[int]:
    """Record what the other side took; try again until the database takes this.

    A late answer is an answer: it also counts where the attempt was given up meanwhile, as long as nobody
    has claimed the delivery since. Nothing is changed of one that somebody has.

    Args:
        conn: a writing transaction.
        answers: each delivery as claimed, and what the other side answered.
        now: the moment (UTC).

    Returns:
        The ids of the deliveries this was recorded of.
    """
    if len(answers) == 1:  # as most come: what many take four statements for is three
        ((delivery, receipt),) = answers
        values = {**_ended(delivery, receipt), "now": now}
        if conn.execute(_END_ONE, values).first() is None:
            return frozenset()
        conn.execute(_CLOSE_ONE, values)
        conn.execute(_NOTE, {"reached": str(delivery.destination), "now": now})
        return frozenset((delivery.id,))
    held = _lock(conn, _LOCK_ANSWERED, (delivery for delivery, _ in answers))
    in_order = sorted(answers, key=lambda answer: answer[0].id)
    rows = [_ended(delivery, receipt) for delivery, receipt in in_order if delivery.id in held]
    if rows:
        _END.run(conn, rows, now=now)
        note_sent(conn, (delivery for delivery, _ in answers if delivery.id in held), now)
    return frozenset(held)


def mark_sent_alone(
    store: Store, delivery: Delivery, receipt: Receipt, now: datetime, *, awaits_disk: bool = True
) -> bool:
    """Record that the other side took one delivery, in a transaction of its own that takes as little as can be.

    The sooner an answer is on record, the fewer messages a death makes come twice. It is what `mark_sent_many`
    does, word by word, and as fenced.

    Args:
        store: the database.
        delivery: as claimed.
        receipt: what the other side answered.
        now: the moment (UTC).
        awaits_disk: as `Store.begin` has it.

    Returns:
        False where somebody else has claimed it since.

    Raises:
        StoreError: the database is away, or did not take it.
    """
    values = {**_ended(delivery, receipt), "now": now}
    if store.dialect == "postgresql":
        return bool(store.run_alone(_END_ALONE, values))
    steps = (_END_ONE, _CLOSE_ONE, _NOTE)
    return store.write_answer(steps, {**values, "reached": str(delivery.destination)}, awaits_disk=awaits_disk)


def _ended(delivery: Delivery, receipt: Receipt) -> dict[str, Any]:
    return {
        "ended": delivery.id,
        "claim": delivery.token,
        "answer": make_storable(receipt.remote_id),
        "said": make_storable(receipt.detail),
    }


def note_sent(conn: Connection, sent: Iterable[Delivery], now: datetime) -> None:
    """Keep when something last went to the destinations of some deliveries, where more is known of these."""
    for chunk in in_chunks(str(delivery.destination) for delivery in sent):
        places = conn.execute(_PLACES, {"reached": chunk}).scalars().all()  # of most, nothing is known
        if places:
            conn.execute(_NOTE, [{"reached": place, "now": now} for place in places])


def _lock(conn: Connection, which: Select[tuple[int, int, int]], claimed: Iterable[Delivery]) -> dict[int, int]:
    """Lock the deliveries whose claims still hold; return how often each was tried, by id."""
    tokens = {delivery.id: delivery.token for delivery in claimed}
    found = conn.execute(which, {"ids": tokens})
    return {row.id: row.attempts for row in found if row.token == tokens[row.id]}


_BEGUN_OUTBOX_SPLITS = (DeliveryState.CLAIMED, DeliveryState.SENDING)

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
    if not take_step(conn, delivery.id, step, _BEGUN_OUTBOX_SPLITS, token=delivery.token):
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
        "idempotency_key": secrets.split_key(own.idempotency_key, number),
        "name": "",
        "remote_address": own.remote_address,
        "remote_id": "",
        "last_error": "",
        "created_at": own.created_at,
        "priority": own.priority,
        "share": str(share),
        "replaces": own.id,
    }
