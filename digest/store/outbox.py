"""The outbox: which deliveries wait, who has claimed them, and when they are deleted.

A delivery found `claimed` was certainly not sent; one found `sending` may have been. Leases run on the
database's clock, everything else on the moment the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    TextClause,
    Update,
    and_,
    delete,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    true,
    tuple_,
    type_coerce,
    update,
)

from digest import __version__
from digest.model.destinations import TRAITS, Destination, DestinationKind
from digest.model.errors import PROBED, Refusal
from digest.model.messages import TERMINAL_STATES, Delivery, DeliveryState, Share
from digest.model.said import NOTHING, Said, Saying
from digest.store.dialect import Moment, database_clock, later, select_by
from digest.store.engine import Store
from digest.store.papers import forget_unmatched, pack_forgotten
from digest.store.schema import (
    ACTIVE_DELIVERY,
    REFUSED_ACCOUNT,
    REFUSED_DELIVERY,
    STUCK_DELIVERY,
    attempts,
    deliveries,
    destination_addresses,
)
from digest.store.subscriptions import delete_near_days
from digest.store.workers import load_workers

CLAIM_LEASE = 60.0
"""Seconds after which a claim lapses whose process shows no sign of life (see `renew`)."""

UNDECIDED = (DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""Outcomes of an attempt that a later answer settles."""

REPEATED = "repeated"
"""Outcome of an attempt that may have arrived and was followed by another all the same."""

_GIVE_BACK = (
    update(deliveries)
    .where(deliveries.c.state == DeliveryState.CLAIMED)
    .values(state=DeliveryState.READY, owner="", lease_until=None)
)
"""What becomes of a delivery whose claim ends before it was begun."""

IN_DOUBT = "in doubt"
"""Outcome of an attempt that may have arrived, and of which only a person can say whether it did."""

WAS_REPEATED = exists().where(
    attempts.c.delivery_id == deliveries.c.id,
    attempts.c.outcome == REPEATED,
)
"""Whether a delivery may have arrived before, and was to be sent again all the same."""

_ENDS_LATER_PARTS = (DeliveryState.DEAD, DeliveryState.SUPPRESSED)
"""A reader gets a digest from its first part on, or not at all."""

_JUDGED = (*TERMINAL_STATES, DeliveryState.HELD)
"""States that say anew what a delivery is refused for, if for anything."""

_ENDS_WITH_IT = (DeliveryState.READY, DeliveryState.HELD, DeliveryState.DEAD)

NO_WAIT: Mapping[DestinationKind, timedelta] = MappingProxyType({})

_KIND = func.split_part(deliveries.c.destination, ":", 1)

_OTHER = deliveries.alias("other")
"""Made once, since it has so many columns: all that asks for another delivery shares it."""

_IS_EARLIER_PART = (
    deliveries.c.part > 0,
    _OTHER.c.digest_id == deliveries.c.digest_id,
    _OTHER.c.destination == deliveries.c.destination,
    _OTHER.c.part < deliveries.c.part,
)
_IS_OF_PLACE = _OTHER.c.destination == deliveries.c.destination
_IS_OF_KIND = func.split_part(_OTHER.c.destination, ":", 1) == _KIND
_IS_NEXT = (
    not_(exists().where(*_IS_EARLIER_PART, _OTHER.c.state != DeliveryState.SENT)),
    # Not in one question with OR: each of the two has an index.
    not_(
        exists().where(
            REFUSED_DELIVERY,
            _OTHER.c.refusal == Refusal.PLACE,
            _IS_OF_PLACE,
            _OTHER.c.id < deliveries.c.id,
        )
    ),
    not_(exists().where(REFUSED_ACCOUNT, _IS_OF_KIND, _OTHER.c.id < deliveries.c.id)),
)
"""After no unsent part, and after nothing older that was refused where it goes to."""

_IS_BUSY = exists().where(
    _IS_OF_PLACE,
    _OTHER.c.state.in_((DeliveryState.CLAIMED, DeliveryState.SENDING)),
)
_PACED = tuple(kind for kind, traits in TRAITS.items() if traits.is_paced)

_IS_CLAIMABLE = (
    ACTIVE_DELIVERY,
    deliveries.c.state == DeliveryState.READY,
    *_IS_NEXT,
    not_(and_(_KIND.in_(_PACED), _IS_BUSY)),
)
"""Ready, next in its order, and its destination is free if that takes one at a time."""

_HAS_LAPSED = deliveries.c.lease_until < database_clock()

KEPT_DAYS = {"rendered bytes": 7, "deliveries": 180, "top tenths of announcements": 180}
"""How many days each is kept from the end of a digest's deliveries.
Papers that matched, matches and digests are kept for ever."""

PACKED_AFTER = timedelta(days=14)
"""How long a forgotten paper keeps its row."""

PORTION = 500
"""Rows deleted in one transaction, so that others need not wait long, or copied at once."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The state that a delivery goes to, what is said of it, and its attempt's outcome: "" for the same state."""

    to: DeliveryState
    now: datetime
    said: Said = NOTHING
    values: dict[str, Any] = field(default_factory=dict)
    outcome: str = ""


def change_state(
    conn: Connection,
    delivery_id: int,
    step: Transition,
    out_of: Collection[DeliveryState],
    *,
    token: int | None = None,
) -> bool:
    """Change a delivery's state, close its attempt, end the parts after it.

    Return False, with nothing changed, if it is in no such state, or the claim of this token holds no more.
    """
    changes: dict[str, Any] = {
        "state": step.to,
        "lease_until": None,
        "last_error": step.said,
        "refusal": None if step.to in _JUDGED else deliveries.c.refusal,
    }
    if step.to in TERMINAL_STATES:
        changes["ended_at"] = step.now
    move = update(deliveries).where(deliveries.c.id == delivery_id, deliveries.c.state.in_(out_of))
    if token is not None:
        move = move.where(deliveries.c.token == token)
    place = (deliveries.c.digest_id, deliveries.c.destination, deliveries.c.part)
    row = conn.execute(move.values(changes | step.values).returning(*place)).one_or_none()
    if row is None:
        return False
    undecided = (attempts.c.delivery_id == delivery_id, attempts.c.outcome.in_(UNDECIDED))
    outcome = {"ended_at": step.now, "outcome": step.outcome or step.to, "detail": step.said}
    conn.execute(update(attempts).where(*undecided).values(outcome))
    if step.to in _ENDS_LATER_PARTS:
        behind = (
            is_later_part(row.digest_id, row.destination, row.part),
            deliveries.c.state.in_(_ENDS_WITH_IT),
        )
        ended = {
            "state": step.to,
            "ended_at": step.now,
            "last_error": Said.of(Saying.EARLIER_PART, f"{row.part + 1}", step.said),
        }
        conn.execute(update(deliveries).where(*behind).values(ended))
    if step.to is DeliveryState.HELD and step.values.get("refusal") not in PROBED:
        # They wait for the operator's word about it, and nothing else there waits for them.
        refused = (is_later_part(row.digest_id, row.destination, row.part), REFUSED_DELIVERY)
        conn.execute(
            update(deliveries).where(*refused).values(state=DeliveryState.READY, refusal=None),
        )
    return True


def waits_for_held() -> ColumnElement[bool]:
    """Return the condition that a part comes after one that waits for the operator's word."""
    is_probed = func.coalesce(_OTHER.c.refusal, "").in_(PROBED)
    return exists().where(*_IS_EARLIER_PART, _OTHER.c.state == DeliveryState.HELD, not_(is_probed))


def is_later_part(digest_id: int, destination: str, part: int) -> ColumnElement[bool]:
    """Return the condition that a delivery is a later part of a digest to a destination."""
    return and_(
        deliveries.c.digest_id == digest_id,
        deliveries.c.destination == destination,
        deliveries.c.part > part,
    )


def claim_deliveries(
    conn: Connection,
    *,
    owner: str,
    limit: int,
    now: datetime,
    lease_seconds: float = CLAIM_LEASE,
    kinds: Collection[DestinationKind] | None = None,
    which: ColumnElement[bool] | TextClause = ACTIVE_DELIVERY,
) -> list[Delivery]:
    """Take deliveries whose time has come, the most urgent first; nobody else gets them while the lease lasts.

    Parts of one digest to one destination come strictly in order: a part only after all before it were
    sent. Destinations that asked for a pause are passed over. What was refused is tried again if its
    time has come, the oldest first. `which` names one condition more.
    """
    probed = {"state": DeliveryState.READY, "not_before": now}
    conn.execute(_update_free(_find_probes(now, kinds)).values(probed))
    is_blocked = exists().where(
        destination_addresses.c.destination == deliveries.c.destination,
        destination_addresses.c.blocked_until > now,
    )
    is_due = (which, deliveries.c.not_before <= now, not_(is_blocked), goes_to_kinds(kinds))
    due = select(deliveries.c.id).where(*_IS_CLAIMABLE, *is_due)
    first = due.order_by(deliveries.c.not_before, deliveries.c.id).limit(limit)
    claimed = {
        "state": DeliveryState.CLAIMED,
        "token": deliveries.c.token + 1,
        "owner": owner,
        "lease_until": database_clock() + lease_seconds,
    }
    rows = conn.execute(_update_free(first).values(claimed).returning(deliveries)).all()
    picks = load_deliveries_of(conn, sorted(rows, key=lambda row: (row.not_before, row.id)))
    taken = _one_to_each_paced(picks)
    for delivery in picks:
        if delivery not in taken:
            release_claim(conn, delivery)
    return taken


def _update_free(found: Select[tuple[int]]) -> Update:
    """Return a statement that changes those of some deliveries that nobody else is changing."""
    picked = found.with_for_update(skip_locked=True, of=deliveries).cte("picked")
    return update(deliveries).where(deliveries.c.id.in_(select(picked.c.id)))


def _find_probes(
    now: datetime,
    kinds: Collection[DestinationKind] | None = None,
) -> Select[tuple[int]]:
    """Return a query of what is held and tried again: it is time, or a newer digest waits for it."""
    is_due = (
        _OTHER.c.state == DeliveryState.READY,
        _OTHER.c.not_before <= now,
        _OTHER.c.id > deliveries.c.id,
        _OTHER.c.part == 0,  # a later part may wait for a person's word
    )
    of_account = exists().where(ACTIVE_DELIVERY, _IS_OF_KIND, *is_due)
    of_place = exists().where(_IS_OF_PLACE, *is_due)
    return select(deliveries.c.id).where(
        REFUSED_DELIVERY,
        deliveries.c.state == DeliveryState.HELD,
        goes_to_kinds(kinds),
        *_IS_NEXT,
        or_(
            deliveries.c.not_before <= now,
            of_place,
            and_(deliveries.c.refusal == Refusal.ACCOUNT, of_account),
        ),
    )


def hold_with(
    conn: Connection,
    delivery: Delivery,
    refusal: Refusal,
    said: Said,
    now: datetime,
) -> None:
    """Hold what is to go the same way as a delivery that was refused.

    What is held there already is then refused for the same.
    """
    waits = and_(
        ACTIVE_DELIVERY,
        deliveries.c.state == DeliveryState.READY,
        not_(waits_for_held()),
        goes_same_way(delivery, refusal),
    )
    is_held = and_(
        REFUSED_DELIVERY,
        deliveries.c.state == DeliveryState.HELD,
        goes_same_way(delivery, Refusal.PLACE),
    )
    found = select(deliveries.c.id).where(or_(waits, is_held))
    held = {
        "state": DeliveryState.HELD,
        "refusal": refusal,
        "held_at": func.coalesce(deliveries.c.held_at, literal(now, Moment)),
        "last_error": said,
    }
    conn.execute(_update_free(found).values(held))


def goes_same_way(delivery: Delivery, refusal: Refusal | None) -> ColumnElement[bool]:
    """Return the condition that what refuses a delivery would refuse another one, too."""
    is_there = deliveries.c.destination == str(delivery.destination)
    return goes_to_kinds([delivery.destination.kind]) if refusal is Refusal.ACCOUNT else is_there


def release_claim(conn: Connection, delivery: Delivery) -> bool:
    """Give back a delivery that was claimed and not begun: for an orderly stop."""
    mine = (deliveries.c.id == delivery.id, deliveries.c.token == delivery.token)
    return conn.execute(_GIVE_BACK.where(*mine)).rowcount == 1


def renew_claims(
    conn: Connection, claims: Collection[tuple[int, int]], lease_seconds: float = CLAIM_LEASE
) -> frozenset[int]:
    """Lengthen claims still held, each given as delivery and token; return the deliveries they are of."""
    if not claims:
        return frozenset()
    held = (
        select(deliveries.c.id)
        .where(
            deliveries.c.state.in_((DeliveryState.CLAIMED, DeliveryState.SENDING)),
            tuple_(deliveries.c.id, deliveries.c.token).in_(sorted(claims)),
        )
        .order_by(
            deliveries.c.id
        )  # in the order in which marks lock them: neither waits for the other
        .with_for_update(of=deliveries)
        .cte("held")
    )
    renewal = update(deliveries).where(deliveries.c.id.in_(select(held.c.id)))
    renewal = renewal.values(lease_until=database_clock() + lease_seconds)
    return frozenset(conn.execute(renewal.returning(deliveries.c.id)).scalars())


def next_claimable_at(
    conn: Connection, now: datetime, *, kinds: Collection[DestinationKind] | None = None
) -> datetime | None:
    """Return the earliest moment from which `claim_deliveries` would find something, None if it never would.

    A delivery after an unsent part, or to a destination being written to, counts once that is over. Only
    deliveries on some kinds of destination are checked if `kinds` names them.
    """
    blocked_until = (
        select(destination_addresses.c.blocked_until)
        .where(destination_addresses.c.destination == deliveries.c.destination)
        .scalar_subquery()
    )
    own = deliveries.c.not_before
    earliest = type_coerce(func.min(later(own, func.coalesce(blocked_until, own))), Moment)
    found = select(earliest).where(*_IS_CLAIMABLE, goes_to_kinds(kinds))
    moment: datetime | None = conn.execute(found).scalar()
    return None if moment is None else max(moment, now)


def release_claims(
    conn: Connection,
    now: datetime,
    *,
    settle: Mapping[DestinationKind, timedelta] = NO_WAIT,
    only_expired: bool = False,
) -> tuple[int, int]:
    """Free what other processes claimed: `claimed` is ready again, `sending` is unknown; return how many of each.

    What has not expired is freed only by a process that knows itself alone (see `lock_worker`), at its start.
    `settle` says how long to wait before the unknown ones are checked, by kind of destination.
    """
    which = _HAS_LAPSED if only_expired else true()
    requeued = conn.execute(_GIVE_BACK.where(ACTIVE_DELIVERY, which)).rowcount
    lost = select(deliveries.c.id, deliveries.c.token, deliveries.c.destination).where(
        ACTIVE_DELIVERY, deliveries.c.state == DeliveryState.SENDING, which
    )
    doubtful = 0
    for row in conn.execute(lost.order_by(deliveries.c.id).with_for_update(skip_locked=True)).all():
        wait = settle.get(Destination.parse(row.destination).kind, timedelta(0))
        said = Said.of(Saying.PROCESS_DIED)
        step = Transition(DeliveryState.UNKNOWN, now, said, {"not_before": now + wait})
        doubtful += change_state(conn, row.id, step, (DeliveryState.SENDING,), token=row.token)
    return requeued, doubtful


def load_deliveries_of(conn: Connection, rows: Sequence[Row[Any]]) -> list[Delivery]:
    """Return deliveries from rows of the table, with what the other side calls their places and parents."""
    unknown = sorted({row.destination for row in rows if not row.remote_address})
    known = select_by(
        conn, select(destination_addresses), destination_addresses.c.destination, unknown
    )
    addresses = {row.destination: row.remote_address for row in known}
    columns = (deliveries.c.digest_id, deliveries.c.destination, deliveries.c.remote_id)
    first, later_ones = (
        select(*columns).where(deliveries.c.part == 0),
        {row.digest_id for row in rows if row.part},
    )
    firsts = select_by(conn, first, deliveries.c.digest_id, sorted(later_ones))
    parents = {(row.digest_id, row.destination): row.remote_id for row in firsts}
    return [
        Delivery(
            id=row.id,
            digest_id=row.digest_id,
            destination=Destination.parse(row.destination),
            part=row.part,
            parts=row.parts,
            state=DeliveryState(row.state),
            attempts=row.attempts,
            token=row.token,
            idempotency_key=row.idempotency_key,
            not_before=row.not_before,
            created_at=row.created_at,
            remote_address=row.remote_address or addresses.get(row.destination, ""),
            parent_remote_id=parents.get((row.digest_id, row.destination), "") if row.part else "",
            remote_id=row.remote_id,
            last_error=row.last_error,
            share=Share.parse(row.share),
            refusal=None if row.refusal is None else Refusal(row.refusal),
            held_at=row.held_at,
        )
        for row in rows
    ]


def goes_to_kinds(kinds: Collection[DestinationKind] | None) -> ColumnElement[bool]:
    """Return the condition that a delivery goes out on one of some ways; None for whichever it is."""
    return true() if kinds is None else _KIND.in_(sorted(kinds))


def _one_to_each_paced(taken: list[Delivery]) -> list[Delivery]:
    """Keep the first to each destination that takes one message at a time."""
    kept, met = [], set()
    for delivery in taken:
        if delivery.destination.traits.is_paced and _find_destination(delivery) in met:
            continue
        met.add(_find_destination(delivery))
        kept.append(delivery)
    return kept


def _find_destination(delivery: Delivery) -> str:
    """Return where a delivery goes, as the other side calls it once that is known: `slack:C024BE7LR`."""
    return f"{delivery.destination.kind}:{delivery.remote_address or delivery.destination.address}"


def delete_expired(store: Store, now: datetime, *, unmatched_days: int = 0) -> dict[str, int]:
    """Delete what is older than `KEPT_DAYS` at a moment (UTC); return how much of each.

    Deliveries go with all others of their digest, once the last of them has had its time. Papers that matched
    nothing are forgotten after their own days, 0 for never; these end at midnight, so that the day's next check
    forgets nothing more.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if unmatched_days:
        forget = partial(forget_unmatched, at=now, limit=PORTION)
        _delete_all(store, forget, today - timedelta(unmatched_days))
        with store.read() as conn:
            is_shared = any(
                one.release != __version__ and not one.is_gone for one in load_workers(conn)
            )
        if not is_shared:  # a release before may not find what is packed
            _delete_all(store, partial(pack_forgotten, limit=PORTION), today - PACKED_AFTER)
    return {
        kind: _delete_all(store, _DELETIONS[kind], now - timedelta(days))
        for kind, days in KEPT_DAYS.items()
    }


def _delete_all(
    store: Store, delete_portion: Callable[[Connection, datetime], int], before: datetime
) -> int:
    total, last = 0, PORTION
    while last == PORTION:
        with store.begin() as conn:
            last = delete_portion(conn, before)
        total += last
    return total


def _delete_bytes(conn: Connection, before: datetime) -> int:
    is_old = (deliveries.c.body.is_not(None), deliveries.c.ended_at < before)
    old = select(deliveries.c.id).where(*is_old).limit(PORTION)
    return conn.execute(
        update(deliveries).where(deliveries.c.id.in_(old)).values(body=None, media_type=None)
    ).rowcount


def _delete_deliveries(conn: Connection, before: datetime) -> int:
    other = deliveries.alias("other")
    is_late = or_(other.c.ended_at.is_(None), other.c.ended_at >= before)
    old = (
        select(deliveries.c.digest_id)
        .where(deliveries.c.ended_at < before)
        .where(~exists().where(other.c.digest_id == deliveries.c.digest_id, is_late))
        .distinct()
        .limit(PORTION)
    )
    digest_ids = conn.execute(old).scalars().all()
    theirs = deliveries.c.digest_id.in_(digest_ids)
    conn.execute(
        delete(attempts).where(attempts.c.delivery_id.in_(select(deliveries.c.id).where(theirs)))
    )
    conn.execute(delete(deliveries).where(theirs))
    return len(digest_ids)


_DELETIONS: dict[str, Callable[[Connection, datetime], int]] = {
    "rendered bytes": _delete_bytes,
    "deliveries": _delete_deliveries,
    "top tenths of announcements": partial(delete_near_days, limit=PORTION),
}


def has_deliveries(conn: Connection, now: datetime) -> bool:
    """Whether any delivery is on its way, waits, or is tried again after a refusal."""
    found = (select(deliveries.c.id).where(ACTIVE_DELIVERY), _find_probes(now))
    return any(conn.execute(one.limit(1)).first() is not None for one in found)


@dataclass(frozen=True, slots=True)
class Waits:
    """How many deliveries wait for the same, and when it comes for the first of them (UTC); None for none."""

    number: int = 0
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outbox:
    """What the outbox holds, and since when the oldest delivery that could go waits (UTC); None if none does."""

    counts: dict[DeliveryState, int]
    oldest_due: datetime | None
    in_doubt: Waits = field(default_factory=Waits)


def load_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count all deliveries by state, those of years ago too: for a person who asks."""
    return _load_outbox(conn, _count_states(conn, true()), now)


def load_open_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count the deliveries that wait or that may need a person: a few, however many were sent."""
    counts = _count_states(conn, ACTIVE_DELIVERY) | _count_states(conn, STUCK_DELIVERY)
    return _load_outbox(conn, counts, now)


def _load_outbox(conn: Connection, counts: dict[DeliveryState, int], now: datetime) -> Outbox:
    is_doubtful = deliveries.c.state == DeliveryState.UNKNOWN
    doubtful = select(func.count(), func.min(deliveries.c.not_before)).where(
        ACTIVE_DELIVERY, is_doubtful
    )
    is_due = (deliveries.c.state == DeliveryState.READY, deliveries.c.not_before <= now)
    due = select(func.min(deliveries.c.not_before)).where(
        ACTIVE_DELIVERY, *is_due, not_(waits_for_held())
    )
    return Outbox(counts, conn.execute(due).scalar(), Waits(*conn.execute(doubtful).one()))


def _count_states(
    conn: Connection, which: ColumnElement[bool] | TextClause
) -> dict[DeliveryState, int]:
    by_state = select(deliveries.c.state, func.count()).where(which).group_by(deliveries.c.state)
    return {DeliveryState(state): count for state, count in conn.execute(by_state)}
