"""Read-only views of the outbox: what waits, what was sent, and whether there is anything to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    TextClause,
    and_,
    exists,
    func,
    not_,
    or_,
    select,
    text,
    true,
)

from digest.model.errors import UnknownName
from digest.model.messages import DayCount, Delivery, DeliveryState, Occasion
from digest.model.polls import RequestLog
from digest.model.subscriptions import (
    FEED_SUFFIXES,
    ActiveRevision,
    Destination,
    DestinationKind,
    DueSubscription,
    Subscription,
    SubscriptionState,
)
from digest.store.dialect import in_chunks, select_by, unpack
from digest.store.engine import Store
from digest.store.matches import may_hold
from digest.store.outbox import IN_DOUBT, load_deliveries_of, waits_for_held
from digest.store.queries import every_revision, read_revision
from digest.store.schema import (
    ACTIVE_DELIVERY,
    PAUSED_SUBSCRIPTION,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_DIGEST,
    attempts,
    deliveries,
    digests,
    match_runs,
    matches,
    papers,
    quarantine,
    query_matches,
    query_revisions,
    requests,
    saved_queries,
    subscription_destinations,
    subscriptions,
)
from digest.store.subscribers import DestinationState, destination_key, load_places
from digest.store.subscriptions import load_subscriptions


def has_turns(conn: Connection, now: datetime) -> bool:
    """Whether any subscription's turn has come, or may have: see `digest.plan.step.plan`.

    A yes may be a false alarm; a no never is.
    """
    own = subscriptions.c
    is_resumed = and_(own.state == SubscriptionState.PAUSED, own.paused_until <= now)
    is_active = own.state == SubscriptionState.ACTIVE
    waits = (
        is_active,
        own.id == matches.c.subscription_id,
        matches.c.match_run_id > own.plan_after,
        is_sent_for(),
    )
    turns = (
        exists().where(own.next_due_at <= now, or_(is_active, is_resumed)),
        exists().where(PAUSED_SUBSCRIPTION, own.paused_until <= now),
        exists().where(UNPLANNED_FIRST_DIGEST, *waits),
        exists().where(subscription_destinations.c.is_new),
        exists().where(own.next_due_at.is_(None), matches.c.digest_id.is_(None), *waits),
    )
    return bool(conn.execute(select(or_(*turns))).scalar())


def has_deliveries(conn: Connection) -> bool:
    """Whether any delivery is on its way, or waits to be."""
    return conn.execute(select(deliveries.c.id).where(ACTIVE_DELIVERY).limit(1)).first() is not None


def is_sent_for() -> ColumnElement[bool]:
    """Return the condition that a subscription's digests go anywhere: a feed has none."""
    places = subscription_destinations.c
    return exists().where(
        places.subscription_id == subscriptions.c.id,
        places.state == DestinationState.ACTIVE,
        places.destination != str(Destination(DestinationKind.FEED)),
        *(not_(places.destination.ilike(f"{DestinationKind.FILE}:%{suffix}")) for suffix in FEED_SUFFIXES),
    )


_LAST_WORDS = (DeliveryState.DEAD, DeliveryState.HELD, IN_DOUBT)


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery with what surrounds it.

    Attributes:
        sending_at: when its latest attempt began (UTC); None before the first.
        ended_at: when it reached its last state (UTC); None before.
    """

    delivery: Delivery
    subscription: str
    slot: str
    sending_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time the network was touched for a delivery.

    Attributes:
        number: from 1.
        started_at: when the intent was recorded (UTC).
        ended_at: when an answer was (UTC); None while none is.
        outcome: the state it led to; `sending` while it lasts, `repeated` where it may have arrived and
            the same was sent again, `in doubt` where it may have and a person has to say.
    """

    number: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    detail: str


def load_stored_deliveries(
    conn: Connection, states: Collection[DeliveryState] | None = None, *, limit: int = 50
) -> list[StoredDelivery]:
    """Return the latest deliveries, newest first; of some states only where named."""
    found = _with_surroundings().order_by(deliveries.c.id.desc()).limit(limit)
    if states is not None:
        found = found.where(deliveries.c.state.in_(states))
    return _read(conn, conn.execute(found).all())


def load_delivery(conn: Connection, delivery_id: int) -> tuple[StoredDelivery, list[Attempt]]:
    """Return a delivery with every attempt.

    Raises:
        UnknownName: there is no such delivery.
    """
    require_delivery(conn, delivery_id)
    (stored,) = _read(conn, conn.execute(_with_surroundings().where(deliveries.c.id == delivery_id)).all())
    tries = select(attempts).where(attempts.c.delivery_id == delivery_id).order_by(attempts.c.number)
    return stored, [
        Attempt(row.number, row.started_at, row.ended_at, row.outcome, row.detail) for row in conn.execute(tries)
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
    """Return a delivery's row.

    Raises:
        UnknownName: there is no such delivery.
    """
    row = conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one_or_none()
    if row is None:
        raise UnknownName(f"there is no delivery {delivery_id}", hint="`digest delivery list` shows them.")
    return row


def _with_surroundings() -> Select[tuple[Any, ...]]:
    return (
        select(deliveries, subscriptions.c.name.label("subscription"), digests.c.slot)
        .join(digests, digests.c.id == deliveries.c.digest_id)
        .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
    )


def _read(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredDelivery]:
    return [
        StoredDelivery(delivery, row.subscription, row.slot, row.sending_at, row.ended_at)
        for row, delivery in zip(rows, load_deliveries_of(conn, rows), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Waits:
    """How many deliveries wait for the same, and when it comes for the first of them (UTC); None for none."""

    number: int = 0
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outbox:
    """How the outbox stands.

    Attributes:
        counts: deliveries by state, states without any left out.
        oldest_due: since when the oldest delivery that could go waits (UTC); None where none does.
        in_doubt: those that may have arrived, and wait to be checked.
    """

    counts: dict[DeliveryState, int]
    oldest_due: datetime | None
    in_doubt: Waits = field(default_factory=Waits)


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription's line of the status screen.

    Attributes:
        follow: names or texts of saved queries.
        began_at: when it was first here (UTC).
        last_planned_at: when its last digest was frozen (UTC); None before the first.
        last_states: the states its deliveries are in, each once.
        next_due_at: its next turn (UTC); None where an event makes it due.
        paused_until: when a pause ends (UTC); None without a pause, or for one without end.
        waiting: papers matched that the next digest will hold.
        days: papers matched per UTC day, but for first digests; days without any left out.
        is_personal: a person's own, made on a page.
    """

    name: str
    destinations: tuple[Destination, ...]
    follow: tuple[str, ...]
    began_at: datetime
    state: SubscriptionState = SubscriptionState.ACTIVE
    last_planned_at: datetime | None = None
    last_papers: int = 0
    last_states: tuple[DeliveryState, ...] = ()
    next_due_at: datetime | None = None
    paused_until: datetime | None = None
    waiting: int = 0
    days: tuple[DayCount, ...] = ()
    is_personal: bool = False

    def is_active(self, now: datetime) -> bool:
        """Whether it is not paused, or its pause is over by a moment (UTC)."""
        is_over = self.paused_until is not None and self.paused_until <= now
        return self.state is SubscriptionState.ACTIVE or is_over


def load_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count all deliveries by state, those of years ago too: for a person who asks."""
    return _load_outbox(conn, _count_states(conn, true()), now)


def load_open_outbox(conn: Connection, now: datetime) -> Outbox:
    """Count the deliveries that wait or that may need a person: a few, however many were sent."""
    counts = _count_states(conn, ACTIVE_DELIVERY) | _count_states(conn, STUCK_DELIVERY)
    return _load_outbox(conn, counts, now)


def _load_outbox(conn: Connection, counts: dict[DeliveryState, int], now: datetime) -> Outbox:
    is_doubtful = deliveries.c.state == DeliveryState.UNKNOWN
    doubtful = select(func.count(), func.min(deliveries.c.not_before)).where(ACTIVE_DELIVERY, is_doubtful)
    is_due = (deliveries.c.state == DeliveryState.READY, deliveries.c.not_before <= now)
    due = select(func.min(deliveries.c.not_before)).where(ACTIVE_DELIVERY, *is_due, not_(waits_for_held()))
    return Outbox(counts, conn.execute(due).scalar(), Waits(*conn.execute(doubtful).one()))


def _count_states(conn: Connection, which: ColumnElement[bool] | TextClause) -> dict[DeliveryState, int]:
    by_state = select(deliveries.c.state, func.count()).where(which).group_by(deliveries.c.state)
    return {DeliveryState(state): count for state, count in conn.execute(by_state)}


def load_subscription_lines(
    conn: Connection, now: datetime, *, span: timedelta, include_ended: bool = False
) -> list[SubscriptionLine]:
    """Return the live subscriptions by name, or all there ever were, with counts of the span before now."""
    live = load_subscriptions(conn, include_ended=include_ended)
    ids = [due.id for due in live]
    rows = {row.id: row for row in select_by(conn, select(subscriptions), subscriptions.c.id, ids)}
    lasts = _load_last_digests(conn, ids)
    states = _load_states(conn, [last.id for last in lasts.values()])
    waiting, days = _load_match_counts(conn, ids, now - span)
    return [
        SubscriptionLine(
            name=due.subscription.name,
            state=SubscriptionState(due.state),
            destinations=due.subscription.destinations,
            follow=due.subscription.queries,
            began_at=rows[due.id].created_at,
            last_planned_at=rows[due.id].last_planned_at,
            last_papers=lasts[due.id].papers if due.id in lasts else 0,
            last_states=states.get(lasts[due.id].id, ()) if due.id in lasts else (),
            next_due_at=due.next_due_at,
            paused_until=due.paused_until if due.state == SubscriptionState.PAUSED else None,
            waiting=waiting.get(due.id, 0) if due.subscription.has_digests else 0,
            days=tuple(DayCount(day, papers) for day, papers in sorted(days.get(due.id, {}).items())),
            is_personal=due.is_personal,
        )
        for due in live
    ]


def find_new_places(conn: Connection, due: DueSubscription, written: Subscription) -> list[Destination]:
    """Return the destinations that digest.toml names for a subscription and that it never had."""
    active = {destination_key(place) for place in due.subscription.destinations}
    new = [place for place in written.destinations if destination_key(place) not in active]
    had = {destination_key(place.destination) for place in load_places(conn, due.id)} if new else set[str]()
    return [place for place in new if destination_key(place) not in had]


FIRST_DIGEST_NEXT = "first digest with the next run"


def find_first_digests(conn: Connection, written: Iterable[Subscription]) -> dict[str, Subscription]:
    """Return the active subscriptions that send a first digest with the next run: digest.toml adds to them."""
    dues = {
        due.subscription.name: due for due in load_subscriptions(conn) if due.state == SubscriptionState.ACTIVE
    }
    begun = [(one, dues[one.name]) for one in written if one.has_digests and one.look_back and one.name in dues]
    return {
        one.name: one
        for one, due in begun
        if set(one.queries) - set(due.subscription.queries)
        or any(not place.is_pulled for place in find_new_places(conn, due, one))
    }


def count_requests(conn: Connection, since: datetime) -> int:
    """Return how many requests to arXiv were made since a moment."""
    return int(conn.execute(select(func.count()).where(requests.c.at >= since)).scalar_one())


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry of arXiv's pages that could not be read: where it stood, why, and its first bytes."""

    run_id: int
    page: int
    position: int
    error: str
    snippet: bytes
    seen_at: datetime


def load_requests(conn: Connection, limit: int) -> list[RequestLog]:
    """Return the latest requests to arXiv, newest first."""
    columns = (requests.c[name] for name in RequestLog.__dataclass_fields__)
    latest = select(*columns).order_by(requests.c.id.desc()).limit(limit)
    return [RequestLog(*row) for row in conn.execute(latest)]


def load_quarantined(conn: Connection, limit: int) -> list[SetAside]:
    """Return the entries set aside last, newest first."""
    columns = (quarantine.c[name] for name in SetAside.__dataclass_fields__)
    latest = select(*columns).order_by(quarantine.c.id.desc()).limit(limit)
    return [SetAside(*row) for row in conn.execute(latest)]


def count_papers(conn: Connection) -> int:
    """Return how many papers are stored."""
    return int(conn.execute(select(func.count()).select_from(papers)).scalar_one())


def count_quarantined(conn: Connection, since: datetime | None = None) -> int:
    """Return how many entries from arXiv were set aside as unreadable, ever or since a moment."""
    found = select(func.count()).select_from(quarantine)
    if since is not None:
        found = found.where(quarantine.c.seen_at >= since)
    return int(conn.execute(found).scalar_one())


def measure_size(store: Store) -> int:
    """Return how many bytes the database takes."""
    if store.path is not None:
        beside = store.path.with_name(store.path.name + "-wal")
        return sum(path.stat().st_size for path in (store.path, beside) if path.exists())
    with store.read() as conn:
        return int(conn.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _load_last_digests(conn: Connection, ids: Collection[int]) -> dict[int, Row[Any]]:
    newest = select(func.max(digests.c.id)).where(digests.c.subscription_id == subscriptions.c.id)
    found = select(digests.c.id, digests.c.subscription_id, digests.c.papers).join(
        subscriptions, digests.c.id == newest.correlate(subscriptions).scalar_subquery()
    )
    rows = select_by(conn, found, digests.c.subscription_id, ids)
    return {row.subscription_id: row for row in rows}


def _load_states(conn: Connection, digest_ids: Collection[int]) -> dict[int, tuple[DeliveryState, ...]]:
    found = select(deliveries.c.digest_id, deliveries.c.state).distinct()
    states: dict[int, tuple[DeliveryState, ...]] = {}
    for row in select_by(conn, found, deliveries.c.digest_id, digest_ids):
        states[row.digest_id] = (*states.get(row.digest_id, ()), DeliveryState(row.state))
    return states


def _load_match_counts(
    conn: Connection, ids: Collection[int], since: datetime
) -> tuple[dict[int, int], dict[int, dict[date, int]]]:
    """Return papers that wait for a digest, and papers per UTC day since a moment, by subscription."""
    will_be_planned = (matches.c.digest_id.is_(None)) & (matches.c.match_run_id > subscriptions.c.plan_after)
    found = (
        select(
            matches.c.subscription_id,
            matches.c.papers,
            matches.c.matched_at,
            matches.c.occasion,
            will_be_planned.label("waits"),
        )
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .where(will_be_planned | (matches.c.matched_at >= since))
    )
    waiting: dict[int, int] = {}
    days: dict[int, dict[date, int]] = {}
    for row in select_by(conn, found, matches.c.subscription_id, ids):
        if row.waits:
            waiting[row.subscription_id] = waiting.get(row.subscription_id, 0) + row.papers
        if row.matched_at >= since and row.occasion != Occasion.FIRST_DIGEST:
            of_days = days.setdefault(row.subscription_id, {})
            of_days[row.matched_at.date()] = of_days.get(row.matched_at.date(), 0) + row.papers
    return waiting, days


def find_welcomes(conn: Connection, subscription_id: int) -> set[int]:
    """Return the first digests that went to later destinations of a subscription alone."""
    is_welcome = (digests.c.subscription_id == subscription_id, digests.c.slot.startswith("new:"))
    return set(conn.execute(select(digests.c.id).where(*is_welcome)).scalars())


def find_outcomes(
    conn: Connection, query_ids: Collection[int], change_ids: Collection[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield what saved queries recorded of changes, as query id, change id and `new`, `changed` or `gone`."""
    wanted = set(change_ids)
    for chunk in in_chunks(query_ids) if wanted else ():
        found = (
            select(query_revisions.c.query_id, query_matches)
            .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
            .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
            .where(query_revisions.c.query_id.in_(chunk), may_hold(wanted))
            .order_by(query_matches.c.match_run_id)
        )
        for row in conn.execute(found):
            for name in ("new", "changed", "gone"):
                for change_id in wanted.intersection(unpack(getattr(row, name))):
                    yield row.query_id, change_id, name


def find_recorded(
    conn: Connection, change_ids: Collection[int], query_ids: Collection[int] | None = None
) -> list[tuple[int, ActiveRevision]]:
    """Return the saved queries that recorded any of some changes, each as it read then, with the match run.

    Args:
        query_ids: which saved queries to ask; None for all there are or were.

    Returns:
        By name, and of one name in the order in which it read so.
    """
    found = (
        every_revision()
        .add_columns(*(query_matches.c[name] for name in ("match_run_id", "new", "changed", "gone")))
        .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
        .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
        .where(may_hold(change_ids))
        .order_by(saved_queries.c.name, query_revisions.c.number)
    )
    if query_ids is not None:
        found = found.where(saved_queries.c.id.in_(query_ids))
    return [
        (row.match_run_id, read_revision(row))
        for row in conn.execute(found)
        if any(set(change_ids).intersection(unpack(blob)) for blob in (row.new, row.changed, row.gone))
    ]


def load_deliveries(conn: Connection, digest_id: int) -> list[tuple[StoredDelivery, list[Attempt]]]:
    """Return the deliveries of a digest with every attempt, by destination and part."""
    ids = select(deliveries.c.id).where(deliveries.c.digest_id == digest_id)
    order = (deliveries.c.destination, deliveries.c.part)
    return [load_delivery(conn, id_) for id_ in conn.execute(ids.order_by(*order)).scalars().all()]
