"""The two steps around the network: the intent before it is touched, the mark once the other side has answered.

Both take many deliveries at once, so that what several threads send together is written in one transaction.
They lock their rows in the order of ids, so that two of them never wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Integer,
    LargeBinary,
    Text,
    bindparam,
    case,
    exists,
    insert,
    literal,
    or_,
    select,
    update,
)

from digest.messages import DeliveryState
from digest.store.dialect import EachRow, database_clock, in_chunks, is_among, make_storable
from digest.store.outbox_steps import CLAIM_LEASE, UNDECIDED, Step, take_step
from digest.store.schema import Moment, attempts, deliveries, destination_addresses
from digest.store.subscribers import refusals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Insert, Select, Update
    from sqlalchemy.types import TypeEngine

    from digest.messages import Delivery, Message, Receipt
    from digest.store.engine import Store

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
