"""The outbox: which deliveries wait, who has claimed them, and when they are deleted.

A delivery found `claimed` was certainly not sent; one found `sending` may have been. Leases run on
the database's clock, everything else on the moment the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Row,
    Select,
    TextClause,
    Update,
    and_,
    bindparam,
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
from digest.store.dialect import Moment, Sayings, database_clock, later, select_by
from digest.store.engine import Store
from digest.store.papers import forget_unmatched, pack_forgotten
from digest.store.schema import (
    ACTIVE_DELIVERY,
    REFUSED_ACCOUNT,
    REFUSED_DELIVERY,
    STUCK_DELIVERY,
    attempts,
    bodies,
    deliveries,
    destination_addresses,
)
from digest.store.subscriptions import delete_near_days
from digest.store.workers import load as load_workers

CLAIM_LEASE = 60.0
"""Seconds after which a claim lapses whose process shows no sign of life (see `renew`)."""

UNDECIDED = (DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""Outcomes of an attempt that a later answer settles."""

CAME_TO = {
    "ended_at": bindparam("at", type_=Moment),
    "outcome": bindparam("what"),
    "detail": bindparam("said", type_=Sayings),
}
"""What attempts came to, and when, by parameters."""

_CLOSE = (
    update(attempts)
    .where(attempts.c.delivery_id == bindparam("to"), attempts.c.outcome.in_(UNDECIDED))
    .values(CAME_TO)
)
"""Closes the attempts at a delivery that are open."""

REPEATED = "repeated"
"""Outcome of an attempt that may have arrived and was followed by another all the same."""

_GIVE_BACK = (
    update(deliveries)
    .where(deliveries.c.state == DeliveryState.CLAIMED)
    .values(state=DeliveryState.READY, owner="", lease_until=None)
)
"""What becomes of a delivery whose claim ends before it was begun."""

IN_DOUBT = "in doubt"
"""Outcome of an attempt that may have arrived: only a person can say whether it did."""

_REPEATED_BEFORE = exists().where(
    attempts.c.delivery_id == deliveries.c.id,
    attempts.c.outcome == REPEATED,
)
NEVER_REPEATED = not_(_REPEATED_BEFORE)
"""Whether a delivery was not sent again although it might have arrived before."""

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
_NO_UNSENT_PART = not_(exists().where(*_IS_EARLIER_PART, _OTHER.c.state != DeliveryState.SENT))
_IS_OLDER = _OTHER.c.id < deliveries.c.id
_OF_REFUSED_PLACE = exists().where(
    REFUSED_DELIVERY, _OTHER.c.refusal == Refusal.PLACE, _IS_OF_PLACE, _IS_OLDER
)
_OF_REFUSED_ACCOUNT = exists().where(REFUSED_ACCOUNT, _IS_OF_KIND, _IS_OLDER)
# Not in one question with OR: each of the two has an index.
_IS_NEXT = (_NO_UNSENT_PART, not_(_OF_REFUSED_PLACE), not_(_OF_REFUSED_ACCOUNT))
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
    """The state that a delivery goes to, and what is said of it.

    `outcome` is its attempt's, "" for the same as the state.
    """

    to: DeliveryState
    now: datetime
    said: Said = NOTHING
    values: dict[str, Any] = field(default_factory=dict)
    outcome: str = ""


class ReleasedClaims(NamedTuple):
    """How many claims of other processes were given back, and how many deliveries are in doubt."""

    requeued: int
    doubtful: int


def change_state(
    conn: Connection,
    delivery_id: int,
    step: Transition,
    out_of: Collection[DeliveryState],
    *,
    token: int | None = None,
) -> bool:
    """Change a delivery's state, close its attempt, end the parts after it.

    Return False, with nothing changed, if it is in no such state, or the claim of this token holds
    no more.
    """
    one = deliveries.c
    move = update(deliveries).where(one.id == delivery_id, one.state.in_(out_of))
    if token is not None:
        move = move.where(one.token == token)
    changes = _list_changes(step) | step.values
    moved = move.values(changes).returning(one.digest_id, one.destination, one.part, one.parts)
    row = conn.execute(moved).one_or_none()
    if row is None:
        return False
    outcome = step.outcome or step.to
    came = {"to": delivery_id, "at": step.now, "what": outcome, "said": step.said}
    conn.execute(_CLOSE, came)
    if row.part + 1 < row.parts:
        _change_later_parts(conn, row, step)
    return True


def _list_changes(step: Transition) -> dict[str, Any]:
    """Return what every delivery that comes to a state keeps of it."""
    changes: dict[str, Any] = {
        "state": step.to,
        "lease_until": None,
        "last_error": step.said,
    }
    if step.to in _JUDGED:
        changes["refusal"] = None
    if step.to in TERMINAL_STATES:
        changes["ended_at"] = step.now
    return changes


def waits_for_held() -> ColumnElement[bool]:
    """Return the condition that a part comes after one that waits for the operator's word."""
    is_held = _OTHER.c.state == DeliveryState.HELD
    is_probed = func.coalesce(_OTHER.c.refusal, "").in_(PROBED)
    return exists().where(*_IS_EARLIER_PART, is_held, not_(is_probed))


def is_later_part(digest_id: int, destination: str, part: int) -> ColumnElement[bool]:
    """Return the condition that a delivery is a later part of a digest to a destination."""
    one = deliveries.c
    is_there = one.destination == destination
    return and_(one.digest_id == digest_id, is_there, one.part > part)


def claim(
    conn: Connection,
    *,
    owner: str,
    limit: int,
    now: datetime,
    lease_seconds: float = CLAIM_LEASE,
    kinds: Collection[DestinationKind] | None = None,
    which: ColumnElement[bool] | TextClause = ACTIVE_DELIVERY,
) -> list[Delivery]:
    """Take deliveries whose time has come, the most urgent first.

    Nobody else gets them while the lease lasts. Parts of one digest to one destination come
    strictly in order: a part only after all before it were sent. Destinations that asked for a
    pause are passed over. What was refused is tried again if its time has come, the oldest first.
    `which` names one condition more.
    """
    probe, take = _build_claim(None if kinds is None else frozenset(kinds), which)
    conn.execute(probe, {"at": now})
    asked = {"at": now, "most": limit, "by": owner, "seconds": lease_seconds}
    rows = conn.execute(take, asked).all()
    by_urgency = sorted(rows, key=lambda row: (row.not_before, row.id))
    picks = load_for_digest(conn, by_urgency)
    taken = _one_to_each_paced(picks)
    for delivery in picks:
        if delivery not in taken:
            release_claim(conn, delivery)
    return taken


@lru_cache
def _build_claim(
    kinds: frozenset[DestinationKind] | None, which: ColumnElement[bool] | TextClause
) -> tuple[Update, Update]:
    """Return what makes probes ready at a moment, and what claims then: it is read once."""
    one = deliveries.c
    now = bindparam("at", type_=Moment)
    probe = _update_free(_find_probes(now, kinds))
    place = destination_addresses.c
    is_there = place.destination == one.destination
    is_blocked = exists().where(is_there, place.blocked_until > now)
    is_due = (which, one.not_before <= now, not_(is_blocked), goes_to_kinds(kinds))
    due = select(one.id).where(*_IS_CLAIMABLE, *is_due)
    first = due.order_by(one.not_before, one.id).limit(bindparam("most", type_=Integer))
    claimed = {
        "state": DeliveryState.CLAIMED,
        "token": one.token + 1,
        "owner": bindparam("by"),
        "lease_until": database_clock() + bindparam("seconds", type_=Double),
    }
    take = _update_free(first).values(claimed).returning(deliveries)
    return probe.values(state=DeliveryState.READY, not_before=now), take


def _update_free(found: Select[tuple[int]]) -> Update:
    """Return a statement that changes those of some deliveries that nobody else is changing."""
    picked = found.with_for_update(skip_locked=True, of=deliveries).cte("picked")
    return update(deliveries).where(deliveries.c.id.in_(select(picked.c.id)))


def _find_probes(
    now: datetime | BindParameter[datetime],
    kinds: Collection[DestinationKind] | None = None,
) -> Select[tuple[int]]:
    """Return a query of what is held and must be tried again.

    Its time has come, or a newer digest waits for it.
    """
    one = deliveries.c
    newer = _OTHER.c
    is_due = and_(newer.state == DeliveryState.READY, newer.not_before <= now)
    # A later part may wait for a person's word.
    newer_waits = (is_due, newer.id > one.id, newer.part == 0)
    newer_of_place = exists().where(_IS_OF_PLACE, *newer_waits)
    newer_of_account = exists().where(ACTIVE_DELIVERY, _IS_OF_KIND, *newer_waits)
    for_account = and_(one.refusal == Refusal.ACCOUNT, newer_of_account)
    is_wanted = or_(one.not_before <= now, newer_of_place, for_account)
    is_held = and_(REFUSED_DELIVERY, one.state == DeliveryState.HELD)
    held = select(one.id).where(is_held, goes_to_kinds(kinds))
    return held.where(*_IS_NEXT, is_wanted)


def _change_later_parts(conn: Connection, row: Row[Any], step: Transition) -> None:
    """Change the parts after one whose state has changed, as far as that concerns them."""
    behind = update(deliveries).where(is_later_part(row.digest_id, row.destination, row.part))
    if step.to in _ENDS_LATER_PARTS:
        why = Said.of(Saying.EARLIER_PART, f"{row.part + 1}", step.said)
        end = behind.where(deliveries.c.state.in_(_ENDS_WITH_IT))
        conn.execute(end.values(state=step.to, ended_at=step.now, last_error=why))
    is_probed = step.values.get("refusal") in PROBED
    if step.to is DeliveryState.HELD and not is_probed:
        # They wait for the operator's word about it, and nothing else there waits for them.
        refused = behind.where(REFUSED_DELIVERY)
        conn.execute(refused.values(state=DeliveryState.READY, refusal=None))


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
    one = deliveries.c
    is_ready = and_(ACTIVE_DELIVERY, one.state == DeliveryState.READY)
    goes_on = not_(waits_for_held())
    waits = and_(is_ready, goes_on, goes_same_way(delivery, refusal))
    is_held = and_(REFUSED_DELIVERY, one.state == DeliveryState.HELD)
    is_held_there = and_(is_held, goes_same_way(delivery, Refusal.PLACE))
    found = select(one.id).where(or_(waits, is_held_there))
    held_at = func.coalesce(one.held_at, literal(now, Moment))
    held = {"state": DeliveryState.HELD, "refusal": refusal, "last_error": said}
    hold = _update_free(found).values(held)
    conn.execute(hold.values(held_at=held_at))


def goes_same_way(delivery: Delivery, refusal: Refusal | None) -> ColumnElement[bool]:
    """Return the condition that what refuses a delivery would refuse another one, too."""
    place = delivery.destination
    if refusal is Refusal.ACCOUNT:
        return goes_to_kinds([place.kind])
    return deliveries.c.destination == str(place)


def release_claim(conn: Connection, delivery: Delivery) -> bool:
    """Give back a delivery that was claimed and not begun: for an orderly stop."""
    one = deliveries.c
    give_back = _GIVE_BACK.where(one.id == delivery.id, one.token == delivery.token)
    return conn.execute(give_back).rowcount == 1


def renew_claims(
    conn: Connection, claims: Collection[tuple[int, int]], lease_seconds: float = CLAIM_LEASE
) -> frozenset[int]:
    """Lengthen claims still held, each given as delivery and token.

    Return the deliveries they are of.
    """
    one = deliveries.c
    if not claims:
        return frozenset()
    is_claimed = one.state.in_((DeliveryState.CLAIMED, DeliveryState.SENDING))
    is_ours = tuple_(one.id, one.token).in_(sorted(claims))
    found = select(one.id).where(is_claimed, is_ours)
    # In the order in which marks lock them: neither waits for the other.
    in_order = found.order_by(one.id)
    held = in_order.with_for_update(of=deliveries).cte("held")
    renewal = update(deliveries).where(one.id.in_(select(held.c.id)))
    renewed = renewal.values(lease_until=database_clock() + lease_seconds)
    return frozenset(conn.execute(renewed.returning(one.id)).scalars())


def next_claimable_at(
    conn: Connection, now: datetime, *, kinds: Collection[DestinationKind] | None = None
) -> datetime | None:
    """Return the earliest moment from which `claim` would find something.

    A delivery after an unsent part, or to a destination being written to, counts once that is
    over. Only deliveries on some kinds of destination are checked if `kinds` names them. Return
    None if it never would.
    """
    place = destination_addresses.c
    is_there = place.destination == deliveries.c.destination
    blocked_until = select(place.blocked_until).where(is_there).scalar_subquery()
    own = deliveries.c.not_before
    could_go_at = later(own, func.coalesce(blocked_until, own))
    earliest = type_coerce(func.min(could_go_at), Moment)
    found = select(earliest).where(*_IS_CLAIMABLE, goes_to_kinds(kinds))
    moment: datetime | None = conn.execute(found).scalar()
    if moment is None:
        return None
    return max(moment, now)


def release_claims(
    conn: Connection,
    now: datetime,
    *,
    settle: Mapping[DestinationKind, timedelta] = NO_WAIT,
    only_expired: bool = False,
) -> ReleasedClaims:
    """Free what other processes claimed: `claimed` is ready again, `sending` is unknown.

    What has not expired is freed only by a process that knows itself alone (see `lock_worker`), at
    its start. `settle` says how long to wait before the unknown ones are checked, by kind of
    destination.
    """
    one = deliveries.c
    which = _HAS_LAPSED if only_expired else true()
    requeued = conn.execute(_GIVE_BACK.where(ACTIVE_DELIVERY, which)).rowcount
    is_sending = one.state == DeliveryState.SENDING
    columns = (one.id, one.token, one.destination)
    lost = select(*columns).where(ACTIVE_DELIVERY, is_sending, which).order_by(one.id)
    said = Said.of(Saying.PROCESS_DIED)
    doubtful = 0
    for row in conn.execute(lost.with_for_update(skip_locked=True)).all():
        kind = Destination.parse(row.destination).kind
        check_at = now + settle.get(kind, timedelta(0))
        step = Transition(DeliveryState.UNKNOWN, now, said, {"not_before": check_at})
        if change_state(conn, row.id, step, (DeliveryState.SENDING,), token=row.token):
            doubtful += 1
    return ReleasedClaims(requeued, doubtful)


def load_for_digest(conn: Connection, rows: Sequence[Row[Any]]) -> list[Delivery]:
    """Return deliveries from rows of the table.

    With them comes what the other side calls their places and parents.
    """
    addresses = _load_addresses(conn, rows)
    parents = _load_parents(conn, rows)
    found = []
    for row in rows:
        address = row.remote_address or addresses.get(row.destination, "")
        parent = ""
        if row.part:
            parent = parents.get((row.digest_id, row.destination), "")
        found.append(_read_delivery(row, address, parent))
    return found


def _load_addresses(conn: Connection, rows: Sequence[Row[Any]]) -> dict[str, str]:
    """Return what the other side calls the places of deliveries that do not say so themselves."""
    place = destination_addresses.c
    unknown = sorted({row.destination for row in rows if not row.remote_address})
    known = select_by(conn, select(destination_addresses), place.destination, unknown)
    return {row.destination: row.remote_address for row in known}


def _load_parents(conn: Connection, rows: Sequence[Row[Any]]) -> dict[tuple[int, str], str]:
    """Return what the other side calls the first parts of later ones, by digest and destination."""
    one = deliveries.c
    digest_ids = sorted({row.digest_id for row in rows if row.part})
    first = select(one.digest_id, one.destination, one.remote_id).where(one.part == 0)
    parents = {}
    for row in select_by(conn, first, one.digest_id, digest_ids):
        parents[row.digest_id, row.destination] = row.remote_id
    return parents


def _read_delivery(row: Row[Any], remote_address: str, parent_remote_id: str) -> Delivery:
    refusal = None
    if row.refusal is not None:
        refusal = Refusal(row.refusal)
    return Delivery(
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
        remote_address=remote_address,
        parent_remote_id=parent_remote_id,
        remote_id=row.remote_id,
        last_error=row.last_error,
        share=Share.parse(row.share),
        refusal=refusal,
        held_at=row.held_at,
    )


def goes_to_kinds(kinds: Collection[DestinationKind] | None) -> ColumnElement[bool]:
    """Return the condition that a delivery goes to one of some kinds of destination.

    None is for whichever it is.
    """
    if kinds is None:
        return true()
    return _KIND.in_(sorted(kinds))


def _one_to_each_paced(taken: list[Delivery]) -> list[Delivery]:
    """Keep the first to each destination that takes one message at a time."""
    kept = []
    met = set()
    for delivery in taken:
        place = _find_destination(delivery)
        if delivery.destination.traits.is_paced and place in met:
            continue
        met.add(place)
        kept.append(delivery)
    return kept


def _find_destination(delivery: Delivery) -> str:
    """Return where a delivery goes, as the other side calls it once known: `slack:C024BE7LR`."""
    place = delivery.destination
    address = delivery.remote_address or place.address
    return f"{place.kind}:{address}"


def delete_expired(store: Store, now: datetime, *, unmatched_days: int = 0) -> dict[str, int]:
    """Delete what is older than `KEPT_DAYS` at a moment (UTC); return how much of each.

    Deliveries go with all others of their digest, once the last of them has had its time. Papers
    that matched nothing are forgotten after their own days, 0 for never; these end at midnight, so
    that the day's next check forgets nothing more.
    """
    if unmatched_days:
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        forget = partial(forget_unmatched, at=now, limit=PORTION)
        _delete_all(store, forget, today - timedelta(unmatched_days))
        if not _is_shared_with_others(store):
            pack = partial(pack_forgotten, limit=PORTION)
            _delete_all(store, pack, today - PACKED_AFTER)
    deleted = {}
    for kind, days in KEPT_DAYS.items():
        deleted[kind] = _delete_all(store, _DELETIONS[kind], now - timedelta(days))
    return deleted


def _is_shared_with_others(store: Store) -> bool:
    """Whether another release works on this database: one before may not find what is packed."""
    with store.read() as conn:
        at_work = [worker for worker in load_workers(conn) if not worker.is_gone]
    return any(worker.release != __version__ for worker in at_work)


def _delete_all(
    store: Store, delete_portion: Callable[[Connection, datetime], int], before: datetime
) -> int:
    total = 0
    deleted = PORTION
    while deleted == PORTION:
        with store.begin() as conn:
            deleted = delete_portion(conn, before)
        total += deleted
    return total


def _delete_bytes(conn: Connection, before: datetime) -> int:
    one = deliveries.c
    old = select(one.id).where(one.body.is_not(None), one.ended_at < before)
    portion = old.limit(PORTION)
    empty = update(deliveries).where(one.id.in_(portion))
    emptied = conn.execute(empty.values(body=None, shared=None, media_type=None)).rowcount
    is_shared = exists().where(one.shared == bodies.c.hash)
    conn.execute(delete(bodies).where(not_(is_shared)))
    return emptied


def _delete_deliveries(conn: Connection, before: datetime) -> int:
    one = deliveries.c
    ended_at = _OTHER.c.ended_at
    is_late = or_(ended_at.is_(None), ended_at >= before)
    has_late_one = exists().where(_OTHER.c.digest_id == one.digest_id, is_late)
    is_old = one.ended_at < before
    old = select(one.digest_id).where(is_old, ~has_late_one)
    digest_ids = conn.execute(old.distinct().limit(PORTION)).scalars().all()
    are_old = one.digest_id.in_(digest_ids)
    delivery_ids = select(one.id).where(are_old)
    conn.execute(delete(attempts).where(attempts.c.delivery_id.in_(delivery_ids)))
    conn.execute(delete(deliveries).where(are_old))
    return len(digest_ids)


_DELETIONS: dict[str, Callable[[Connection, datetime], int]] = {
    "rendered bytes": _delete_bytes,
    "deliveries": _delete_deliveries,
    "top tenths of announcements": partial(delete_near_days, limit=PORTION),
}


def has_deliveries(conn: Connection, now: datetime) -> bool:
    """Whether any delivery is on its way, waits, or is tried again after a refusal."""
    active = select(deliveries.c.id).where(ACTIVE_DELIVERY)
    for found in (active, _find_probes(now)):
        if conn.execute(found.limit(1)).first() is not None:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Waits:
    """How many deliveries wait for the same, and when it comes for the first of them (UTC)."""

    number: int = 0
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outbox:
    """What the outbox holds, and since when the oldest delivery that could go waits (UTC).

    `oldest_due` is None if none does.
    """

    counts: dict[DeliveryState, int]
    oldest_due: datetime | None
    in_doubt: Waits = field(default_factory=Waits)


def load(conn: Connection, now: datetime) -> Outbox:
    """Count all deliveries by state, those of years ago too: for a person who asks."""
    counts = _count_states(conn, true())
    return _load_outbox(conn, counts, now)


def load_open(conn: Connection, now: datetime) -> Outbox:
    """Count the deliveries that wait or that may need a person: a few, however many were sent."""
    counts = _count_states(conn, ACTIVE_DELIVERY)
    counts |= _count_states(conn, STUCK_DELIVERY)
    return _load_outbox(conn, counts, now)


def _load_outbox(conn: Connection, counts: dict[DeliveryState, int], now: datetime) -> Outbox:
    one = deliveries.c
    first_at = func.min(one.not_before)
    is_doubtful = one.state == DeliveryState.UNKNOWN
    doubtful = select(func.count(), first_at).where(ACTIVE_DELIVERY, is_doubtful)
    is_due = and_(one.state == DeliveryState.READY, one.not_before <= now)
    due = select(first_at).where(ACTIVE_DELIVERY, is_due, not_(waits_for_held()))
    oldest_due = conn.execute(due).scalar()
    number, first_check = conn.execute(doubtful).one()
    return Outbox(counts, oldest_due, Waits(number, first_check))


def _count_states(
    conn: Connection, which: ColumnElement[bool] | TextClause
) -> dict[DeliveryState, int]:
    state = deliveries.c.state
    by_state = select(state, func.count()).where(which).group_by(state)
    return {DeliveryState(name): number for name, number in conn.execute(by_state)}
