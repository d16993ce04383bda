"""Subscriptions as stored: due by an indexed moment, paused, ended, never deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    and_,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from digest.model.announcements import Kind
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import FEED_SUFFIXES, OWN_FEED, Destination, DestinationKind
from digest.model.papers import ArxivId
from digest.model.subscriptions import (
    Abstracts,
    DueSubscription,
    Grouping,
    Subscription,
    SubscriptionState,
    TurnState,
    WhenEmpty,
    is_personal,
)
from digest.store.dialect import Moment, dialect_insert, in_chunks, is_among, select_by
from digest.store.queries import NEVER, current_revision, read_revision
from digest.store.runs import load_last_check
from digest.store.schema import (
    NEWEST_MATCH_RUN,
    OPEN_TURN,
    PAUSED_SUBSCRIPTION,
    UNPLANNED_FIRST_DIGEST,
    WAITS_FOR_DIGEST,
    matches,
    near_days,
    subscription_destinations,
    subscription_queries,
    subscriptions,
)
from digest.store.subscribers import HAS_ENDED, DestinationState, of_subscriptions, suppress_waiting

_ORDERING = ("library", "not_like", "read_first", "read_last")
"""Columns that keep by what its digests are put in order, one source or query a line."""

_LIVE = (SubscriptionState.ACTIVE, SubscriptionState.PAUSED)


def load(
    conn: Connection,
    ids: Collection[int] | None = None,
    *,
    names: Collection[str] | None = None,
    include_ended: bool = False,
    ended_since: datetime = NEVER,
) -> list[DueSubscription]:
    """Return subscriptions by name: active and paused ones, of some ids or names only if given.

    With them come all that ended, or those that did since a moment (UTC).
    `Subscription.destinations` names only those still written to: nobody left them.
    """
    mine = subscriptions.c
    found = select(subscriptions).order_by(mine.name)
    if not include_ended:
        is_live = mine.state != SubscriptionState.ENDED
        found = found.where(or_(is_live, mine.ended_at >= ended_since))
    if names is not None:
        found = found.where(mine.name.in_(names))
    if ids is None:
        return _read_all(conn, conn.execute(found).all())
    return _read_all(conn, select_by(conn, found, mine.id, ids))


def load_followers(conn: Connection, query_ids: Iterable[int]) -> list[int]:
    """Return the subscriptions, live or not, that ask for any of these saved queries, in order."""
    links = subscription_queries.c
    found = select(links.subscription_id)
    rows = select_by(conn, found, links.query_id, query_ids)
    return sorted({row.subscription_id for row in rows})


def load_with_new_destinations(conn: Connection) -> list[int]:
    """Return the active subscriptions with places that came later and had no first digest yet."""
    mine = subscriptions.c
    found = select(mine.id).join(subscription_destinations)
    is_active = mine.state == SubscriptionState.ACTIVE
    waiting = found.where(subscription_destinations.c.is_new, is_active)
    return list(conn.execute(waiting.distinct()).scalars())


def claim_new_destinations(conn: Connection, subscription_id: int) -> tuple[Destination, ...]:
    """Take the places of a subscription that came later, for their first digest.

    No other process gets them.
    """
    places = subscription_destinations.c
    is_its_own = places.subscription_id == subscription_id
    take = update(subscription_destinations).where(is_its_own, places.is_new)
    taken = take.values(is_new=False).returning(places.destination, places.state)
    rows = conn.execute(taken).all()
    active = [row.destination for row in rows if row.state == DestinationState.ACTIVE]
    return tuple(Destination.parse(destination) for destination in active)


def _update_one(subscription_id: int) -> Update:
    """Return the beginning of a statement that changes one subscription."""
    return update(subscriptions).where(subscriptions.c.id == subscription_id)


def set_next_due(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> None:
    """Move a subscription's next turn; None is for one that only an event makes due."""
    move = _update_one(subscription_id)
    conn.execute(move.values(next_due_at=next_due_at))


def load_next_slot(conn: Connection, after: datetime) -> datetime | None:
    """Return when the next subscription is due after a moment."""
    mine = subscriptions.c
    is_active = mine.state == SubscriptionState.ACTIVE
    found = select(func.min(mine.next_due_at))
    later = found.where(is_active, mine.next_due_at > after)
    return conn.execute(later).scalar()


def start_slots(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> None:
    """Let a subscription that nobody received begin with what is matched from now on."""
    start = _update_one(subscription_id)
    conn.execute(start.values(plan_after=NEWEST_MATCH_RUN, next_due_at=next_due_at))


def store_slots(conn: Connection, turns: Mapping[int, TurnState]) -> None:
    """Move subscriptions on, in the transaction that locked them (see `digest.store.matches`)."""
    alike: dict[TurnState, list[int]] = {}
    for id_, turn in turns.items():
        alike.setdefault(turn, []).append(id_)
    last_check = None
    if any(turn.awaits_check for turn in alike):
        last_check = load_last_check(conn)
    take = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
    for turn, ids in alike.items():
        awaits_after = last_check if turn.awaits_check else None
        unchecked = [str(one) for one in turn.unchecked]
        moved = take.values(
            next_due_at=turn.next_due_at,
            last_slot=turn.taken,
            awaits_after=awaits_after,
            unchecked="\n".join(unchecked),
        )
        conn.execute(moved, {"ids": ids})


def make_open_due(conn: Connection, now: datetime) -> int:
    """Make open turns due after which a check has ended; return how many."""
    mine = subscriptions.c
    last_check = load_last_check(conn)
    is_active = mine.state == SubscriptionState.ACTIVE
    is_checked = and_(OPEN_TURN, mine.awaits_after < last_check)
    wake = update(subscriptions).where(is_checked, is_active, mine.next_due_at > now)
    return conn.execute(wake.values(next_due_at=now)).rowcount


def make_due(conn: Connection, ids: Collection[int], at: datetime) -> int:
    """Make active subscriptions due at a moment, unless they are due before.

    Return how many moved.
    """
    mine = subscriptions.c
    is_active = mine.state == SubscriptionState.ACTIVE
    is_later = or_(mine.next_due_at.is_(None), mine.next_due_at > at)
    bring_forward = update(subscriptions).where(is_active, is_later).values(next_due_at=at)
    moved = 0
    for chunk in in_chunks(ids):
        them = bring_forward.where(mine.id.in_(chunk))
        moved += conn.execute(them).rowcount
    return moved


def pause(conn: Connection, subscription_id: int, until: datetime | None) -> bool:
    """Pause a live subscription: it goes on collecting. None for until further notice."""
    values = {"state": SubscriptionState.PAUSED, "paused_until": until, "awaits_after": None}
    return _change(conn, subscription_id, _LIVE, values)


def end_pauses(conn: Connection, now: datetime) -> int:
    """Let subscriptions go on whose pause is over; return how many."""
    is_over = subscriptions.c.paused_until <= now
    wake = update(subscriptions).where(PAUSED_SUBSCRIPTION, is_over)
    return conn.execute(wake.values(state=SubscriptionState.ACTIVE)).rowcount


def resume(
    conn: Connection, subscription_id: int, next_due_at: datetime | None, at: datetime
) -> bool:
    """Let a paused subscription go on from a moment (UTC); False if it is not paused."""
    values = {"state": SubscriptionState.ACTIVE, "paused_until": at, "next_due_at": next_due_at}
    return _change(conn, subscription_id, (SubscriptionState.PAUSED,), values)


def end(conn: Connection, subscription_id: int, at: datetime) -> int:
    """End a subscription: waiting deliveries are suppressed, history stays.

    Return how many were.
    """
    values = {
        "state": SubscriptionState.ENDED,
        "ended_at": at,
        "next_due_at": None,
        "paused_until": None,
        "awaits_after": None,
    }
    _change(conn, subscription_id, _LIVE, values)
    return suppress_waiting(conn, of_subscriptions([subscription_id]), HAS_ENDED, at)


def bump_feed_generation(conn: Connection, subscription_id: int) -> int:
    """Give a feed a new address, also if it was revoked; return the new generation."""
    generation = subscriptions.c.feed_generation
    bump = _update_one(subscription_id)
    bumped = bump.values(feed_generation=generation + 1, feed_revoked_at=None)
    number = conn.execute(bumped.returning(generation)).scalar_one()
    return int(number)


def revoke_feed(conn: Connection, subscription_id: int, at: datetime) -> None:
    """Make a feed's address stop working."""
    revoke = _update_one(subscription_id)
    conn.execute(revoke.values(feed_revoked_at=at))


def _change(
    conn: Connection,
    subscription_id: int,
    states: Sequence[SubscriptionState],
    values: dict[str, Any],
) -> bool:
    """Change a subscription that is in one of some states; False if it is in none of them."""
    row = _update_one(subscription_id)
    change = row.where(subscriptions.c.state.in_(states))
    return conn.execute(change.values(values)).rowcount == 1


def _read_all(conn: Connection, rows: Sequence[Row[Any]]) -> list[DueSubscription]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    places = collect_parts(conn, ids, _active_destinations())
    links = collect_parts(conn, ids, _active_links())
    return [_read_one(row, places.get(row.id, ()), links.get(row.id, ())) for row in rows]


def collect_parts(
    conn: Connection, ids: Sequence[int], found: Select[Any]
) -> dict[int, list[Row[Any]]]:
    """Return rows of a table of subscriptions' parts by subscription."""
    parts: dict[int, list[Row[Any]]] = {}
    for row in conn.execute(found, {"ids": ids}).all():
        parts.setdefault(row.subscription_id, []).append(row)
    return parts


@cache
def _active_destinations() -> Select[tuple[Any, ...]]:
    places = subscription_destinations.c
    found = select(places.subscription_id, places.destination)
    theirs = found.where(is_among(places.subscription_id, "ids"))
    active = theirs.where(places.state == DestinationState.ACTIVE)
    return active.order_by(places.position, places.id)


@cache
def _active_links() -> Select[tuple[Any, ...]]:
    current = current_revision().subquery()
    links = subscription_queries.c
    # Moments are read value by value, and these nobody asks for.
    columns = [column for column in current.c if not isinstance(column.type, Moment)]
    found = select(links.subscription_id, *columns)
    followed = found.join(current, current.c.id == links.query_id)
    theirs = followed.where(is_among(links.subscription_id, "ids"))
    return theirs.order_by(links.position)


def _read_one(
    row: Row[Any], places: Sequence[Row[Any]], links: Sequence[Row[Any]]
) -> DueSubscription:
    revisions = [read_revision(link) for link in links]
    destinations = [Destination.parse(place.destination) for place in places]
    queries = [revision.name for revision in revisions]
    settings = _read_settings(row, tuple(queries), tuple(destinations))
    return DueSubscription(
        id=row.id,
        subscription=settings,
        state=row.state,
        next_due_at=row.next_due_at,
        plan_after=row.plan_after,
        last_slot=row.last_slot,
        created_at=row.created_at,
        revisions=tuple(revisions),
        feed_generation=row.feed_generation,
        paused_until=row.paused_until,
        is_personal=is_personal(row.origin),
    )


def _read_settings(
    row: Row[Any], queries: tuple[str, ...], destinations: tuple[Destination, ...]
) -> Subscription:
    """Return what is configured of a subscription; see `list_settings`."""
    excluded = [ArxivId.parse(paper) for paper in row.exclude_papers.split()]
    kinds = _read_kinds(row.kinds)
    cadence = read_cadence(row.cadence)
    quiet_hours = read_quiet_hours(row.quiet_hours)
    return Subscription(
        name=row.name,
        queries=queries,
        destinations=destinations,
        cadence=cadence,
        kinds=kinds,
        when_empty=WhenEmpty(row.when_empty),
        show=row.show,
        abstracts=Abstracts(row.abstracts),
        look_back=row.look_back,
        group_by=Grouping(row.group_by),
        title=row.title,
        exclude=_read_lines(row.exclude_queries),
        exclude_papers=tuple(excluded),
        quiet_hours=quiet_hours,
        library=_read_lines(row.library),
        not_like=_read_lines(row.not_like),
        read_first=_read_lines(row.read_first),
        read_last=_read_lines(row.read_last),
    )


def _read_lines(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())


@lru_cache(maxsize=1024)
def _read_kinds(names: str) -> tuple[Kind, ...]:
    return tuple(Kind(name) for name in names.split())


@lru_cache(maxsize=1024)
def read_cadence(phrase: str) -> Cadence:
    """Read a phrase once: a hundred thousand subscriptions share a few."""
    return Cadence.parse(phrase)


@lru_cache(maxsize=1024)
def read_quiet_hours(phrase: str) -> QuietHours | None:
    """Read quiet hours once, in the same way; "" is for none."""
    return QuietHours.parse(phrase) if phrase else None


def list_settings(subscription: Subscription) -> dict[str, Any]:
    """Return the columns that keep what is configured of a subscription."""
    excluded = [str(paper) for paper in subscription.exclude_papers]
    quiet_hours = subscription.quiet_hours or ""
    settings = {
        "title": subscription.title,
        "cadence": str(subscription.cadence),
        "kinds": " ".join(subscription.kinds),
        "when_empty": subscription.when_empty,
        "show": subscription.show,
        "abstracts": subscription.abstracts,
        "look_back": subscription.look_back,
        "group_by": subscription.group_by,
        "quiet_hours": str(quiet_hours),
        "exclude_queries": "\n".join(subscription.exclude),
        "exclude_papers": " ".join(excluded),
    }
    for name in _ORDERING:
        lines = getattr(subscription, name)
        settings[name] = "\n".join(lines)
    return settings


def has_due_slots(conn: Connection, now: datetime) -> bool:
    """Whether any subscription's turn has come, or may have: see `digest.plan.step.plan`.

    A yes may be a false alarm; a no never is.
    """
    mine = subscriptions.c
    is_active = mine.state == SubscriptionState.ACTIVE
    pause_is_over = mine.paused_until <= now
    is_resumed = and_(mine.state == SubscriptionState.PAUSED, pause_is_over)
    is_its_own = matches.c.subscription_id == mine.id
    waits = (is_active, is_its_own, WAITS_FOR_DIGEST, is_sent_for())
    last_check = load_last_check(conn)
    has_come = exists().where(mine.next_due_at <= now, or_(is_active, is_resumed))
    is_checked = exists().where(OPEN_TURN, mine.awaits_after < last_check, is_active)
    goes_on = exists().where(PAUSED_SUBSCRIPTION, pause_is_over)
    has_first_digest = exists().where(UNPLANNED_FIRST_DIGEST, *waits)
    has_new_place = exists().where(subscription_destinations.c.is_new)
    has_papers = exists().where(mine.next_due_at.is_(None), *waits)
    turns = or_(has_come, is_checked, goes_on, has_first_digest, has_new_place, has_papers)
    return bool(conn.execute(select(turns)).scalar())


def is_sent_for() -> ColumnElement[bool]:
    """Return the condition that a subscription's digests go anywhere: a feed has none."""
    places = subscription_destinations.c
    is_its_own = places.subscription_id == subscriptions.c.id
    is_active = places.state == DestinationState.ACTIVE
    is_no_feed = [places.destination != str(OWN_FEED)]
    for suffix in FEED_SUFFIXES:
        feed_file = f"{DestinationKind.FILE}:%{suffix}"
        is_no_feed.append(not_(places.destination.ilike(feed_file)))
    return exists().where(is_its_own, is_active, *is_no_feed)


def delete_near_days(conn: Connection, before: datetime, limit: int) -> int:
    """Delete what the top tenth of announcements before a day was, that many at most.

    Return how many.
    """
    near = near_days.c
    key = (near.announced_on, near.subscription_id)
    old = select(*key).where(near.announced_on < before.date())
    first = old.limit(limit)
    forget = delete(near_days).where(tuple_(*key).in_(first))
    return conn.execute(forget).rowcount


def forget_days(conn: Connection, which: ColumnElement[bool]) -> None:
    """Forget what the top tenth of each day is for some subscriptions.

    What is near to them has changed.
    """
    theirs = select(subscriptions.c.id).where(which)
    forget = delete(near_days).where(near_days.c.subscription_id.in_(theirs))
    conn.execute(forget)


def load_least(conn: Connection, subscription_id: int, day: date) -> int | None:
    """Return the smallest nearness in the top tenth of an announcement.

    None if it was not stored.
    """
    near = near_days.c
    is_its_own = near.subscription_id == subscription_id
    found = select(near.least).where(is_its_own, near.announced_on == day)
    return conn.execute(found).scalar_one_or_none()


def save_least(conn: Connection, day: date, least: Mapping[int, int]) -> None:
    """Store the smallest nearness in the top tenth of an announcement, by subscription."""
    rows = []
    for key, value in least.items():
        rows.append({"announced_on": day, "subscription_id": key, "least": value})
    if not rows:
        return
    keep = dialect_insert(conn, near_days)
    key_columns = ["announced_on", "subscription_id"]
    newest = {"least": keep.excluded.least}
    conn.execute(keep.on_conflict_do_update(index_elements=key_columns, set_=newest), rows)
