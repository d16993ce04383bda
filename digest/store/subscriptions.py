"""Subscriptions as stored: due by an indexed moment, paused, ended, never deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from digest.model.announcements import Kind
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import FEED_SUFFIXES, OWN_FEED, Destination, DestinationKind
from digest.model.errors import ConfigurationError
from digest.model.papers import ArxivId
from digest.model.said import Said, Saying
from digest.model.subscriptions import (
    EVERYTHING,
    RETURNS_WITHIN,
    Abstracts,
    ActiveRevision,
    DueSubscription,
    Grouping,
    Subscription,
    SubscriptionState,
    TurnState,
    WhenEmpty,
    is_personal,
)
from digest.store.dialect import Moment, dialect_insert, in_chunks, is_among, select_by
from digest.store.queries import (
    ACTIVE,
    NEVER,
    SyncReport,
    current_revision,
    load_newest_match_run,
    read_revision,
)
from digest.store.runs import load_last_check
from digest.store.schema import (
    NEWEST_MATCH_RUN,
    OPEN_TURN,
    PAUSED_SUBSCRIPTION,
    UNPLANNED_FIRST_DIGEST,
    deliveries,
    matches,
    near_days,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    suppressions,
)
from digest.store.subscribers import (
    HAS_ENDED,
    DestinationState,
    DroppedMatches,
    count_waiting,
    destination_key,
    of_subscriptions,
    requeue_ended,
    suppress_waiting,
)

_ORDERING = ("library", "not_like", "read_first", "read_last")
"""Columns that keep by what its digests are put in order, one source or query a line."""

_LIVE = (SubscriptionState.ACTIVE, SubscriptionState.PAUSED)

NOT_NAMED = "it was taken out of the subscription"
"""Why a destination is disabled; named again, it is active again."""

NO_FIRST_DIGEST = 0
"""In place of a match run's id: a first digest is not wanted, or was given before without this query."""


def load_subscriptions(
    conn: Connection,
    ids: Collection[int] | None = None,
    *,
    names: Collection[str] | None = None,
    include_ended: bool = False,
    ended_since: datetime = NEVER,
) -> list[DueSubscription]:
    """Return subscriptions by name: active and paused ones, of some ids or names only if given.

    With them come all that ended, or those that did since a moment (UTC). `Subscription.destinations` names
    only those still written to: nobody left them.
    """
    found = select(subscriptions).order_by(subscriptions.c.name)
    if not include_ended:
        is_live = subscriptions.c.state != SubscriptionState.ENDED
        found = found.where(or_(is_live, subscriptions.c.ended_at >= ended_since))
    if names is not None:
        found = found.where(subscriptions.c.name.in_(names))
    if ids is None:
        return _read_all(conn, conn.execute(found).all())
    return _read_all(conn, select_by(conn, found, subscriptions.c.id, ids))


def load_followers(conn: Connection, query_ids: Iterable[int]) -> list[int]:
    """Return the subscriptions, live or not, that ask for any of these saved queries, in order."""
    found = select(subscription_queries.c.subscription_id)
    return sorted(
        {row[0] for row in select_by(conn, found, subscription_queries.c.query_id, query_ids)}
    )


def load_with_new_destinations(conn: Connection) -> list[int]:
    """Return the active subscriptions that have places which came later and had no first digest yet."""
    places = subscription_destinations.c
    found = select(subscriptions.c.id).join(
        subscription_destinations, places.subscription_id == subscriptions.c.id
    )
    waiting = found.where(places.is_new, subscriptions.c.state == SubscriptionState.ACTIVE)
    return list(conn.execute(waiting.distinct()).scalars())


def claim_new_destinations(conn: Connection, subscription_id: int) -> tuple[Destination, ...]:
    """Take the places of a subscription that came later, for their first digest; no other process gets them."""
    places = subscription_destinations.c
    take = update(subscription_destinations).where(
        places.subscription_id == subscription_id, places.is_new
    )
    taken = conn.execute(
        take.values(is_new=False).returning(places.destination, places.state)
    ).all()
    return tuple(
        Destination.parse(row.destination) for row in taken if row.state == DestinationState.ACTIVE
    )


def set_next_due(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> None:
    """Move a subscription's next turn; None is for one that only an event makes due."""
    conn.execute(
        update(subscriptions)
        .where(subscriptions.c.id == subscription_id)
        .values(next_due_at=next_due_at)
    )


def load_next_slot(conn: Connection, after: datetime) -> datetime | None:
    """Return when the next subscription is due after a moment."""
    is_later = (
        subscriptions.c.state == SubscriptionState.ACTIVE,
        subscriptions.c.next_due_at > after,
    )
    later = select(func.min(subscriptions.c.next_due_at)).where(*is_later)
    return conn.execute(later).scalar()


def start_slots(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> None:
    """Let a subscription that nobody received begin with what is matched from now on."""
    start = update(subscriptions).where(subscriptions.c.id == subscription_id)
    conn.execute(start.values(plan_after=NEWEST_MATCH_RUN, next_due_at=next_due_at))


def store_slots(conn: Connection, turns: Mapping[int, TurnState]) -> None:
    """Move subscriptions on, in the transaction that locked them (see `digest.store.matches`)."""
    together: dict[TurnState, list[int]] = {}
    for id_, turn in turns.items():
        together.setdefault(turn, []).append(id_)
    last_check = load_last_check(conn) if any(turn.awaits_check for turn in together) else None
    take = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
    for turn, ids in together.items():
        values = {
            "next_due_at": turn.next_due_at,
            "last_slot": turn.taken,
            "awaits_after": last_check if turn.awaits_check else None,
            "unchecked": "\n".join(map(str, turn.unchecked)),
        }
        conn.execute(take.values(values), {"ids": ids})


def make_open_due(conn: Connection, now: datetime) -> int:
    """Make open turns due after which a check has ended; return how many."""
    is_open = (OPEN_TURN, subscriptions.c.awaits_after < load_last_check(conn))
    is_active = subscriptions.c.state == SubscriptionState.ACTIVE
    wake = update(subscriptions).where(*is_open, is_active, subscriptions.c.next_due_at > now)
    return conn.execute(wake.values(next_due_at=now)).rowcount


def make_due(conn: Connection, ids: Collection[int], at: datetime) -> int:
    """Make active subscriptions due at a moment, unless they are due before; return how many moved."""
    moved = 0
    for chunk in in_chunks(ids):
        bring_forward = update(subscriptions).where(
            subscriptions.c.id.in_(chunk),
            subscriptions.c.state == SubscriptionState.ACTIVE,
            or_(subscriptions.c.next_due_at.is_(None), subscriptions.c.next_due_at > at),
        )
        moved += conn.execute(bring_forward.values(next_due_at=at)).rowcount
    return moved


def pause_subscription(conn: Connection, subscription_id: int, until: datetime | None) -> bool:
    """Pause a live subscription: it goes on collecting. None for until further notice."""
    values = {"state": SubscriptionState.PAUSED, "paused_until": until, "awaits_after": None}
    return _change(conn, subscription_id, _LIVE, values)


def end_pauses(conn: Connection, now: datetime) -> int:
    """Let subscriptions go on whose pause is over; return how many."""
    is_over = (PAUSED_SUBSCRIPTION, subscriptions.c.paused_until <= now)
    wake = update(subscriptions).where(*is_over)
    return conn.execute(wake.values(state=SubscriptionState.ACTIVE)).rowcount


def resume_subscription(
    conn: Connection, subscription_id: int, next_due_at: datetime | None, at: datetime
) -> bool:
    """Let a paused subscription go on from a moment (UTC); False if it is not paused."""
    values = {"state": SubscriptionState.ACTIVE, "paused_until": at, "next_due_at": next_due_at}
    return _change(conn, subscription_id, (SubscriptionState.PAUSED,), values)


def end_subscription(conn: Connection, subscription_id: int, at: datetime) -> int:
    """End a subscription: waiting deliveries are suppressed, history stays. Returns how many were."""
    values = {
        "state": SubscriptionState.ENDED,
        "ended_at": at,
        "next_due_at": None,
        "paused_until": None,
    }
    values["awaits_after"] = None
    _change(conn, subscription_id, _LIVE, values)
    return suppress_waiting(conn, of_subscriptions([subscription_id]), HAS_ENDED, at)


def bump_feed_generation(conn: Connection, subscription_id: int) -> int:
    """Give a feed a new address, also if it was revoked; return the new generation."""
    generation = subscriptions.c.feed_generation + 1
    bump = (
        update(subscriptions)
        .where(subscriptions.c.id == subscription_id)
        .values(feed_generation=generation, feed_revoked_at=None)
    )
    return int(conn.execute(bump.returning(subscriptions.c.feed_generation)).scalar_one())


def revoke_feed(conn: Connection, subscription_id: int, at: datetime) -> None:
    """Make a feed's address stop working."""
    revoke = update(subscriptions).where(subscriptions.c.id == subscription_id)
    conn.execute(revoke.values(feed_revoked_at=at))


def _change(
    conn: Connection,
    subscription_id: int,
    states: Sequence[SubscriptionState],
    values: dict[str, Any],
) -> bool:
    change = update(subscriptions).where(
        subscriptions.c.id == subscription_id, subscriptions.c.state.in_(states)
    )
    return conn.execute(change.values(values)).rowcount == 1


def _read_all(conn: Connection, rows: Sequence[Row[Any]]) -> list[DueSubscription]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    places = _collect(conn, ids, _active_destinations())
    links = _collect(conn, ids, _active_links())
    return [_read_one(row, places.get(row.id, ()), links.get(row.id, ())) for row in rows]


def _collect(conn: Connection, ids: Sequence[int], found: Select[Any]) -> dict[int, list[Row[Any]]]:
    """Return rows of a table of subscriptions' parts by subscription."""
    parts: dict[int, list[Row[Any]]] = {}
    for row in conn.execute(found, {"ids": ids}).all():
        parts.setdefault(row.subscription_id, []).append(row)
    return parts


@cache
def _active_destinations() -> Select[tuple[Any, ...]]:
    places = subscription_destinations.c
    return (
        select(places.subscription_id, places.destination)
        .where(
            is_among(places.subscription_id, "ids"),
            places.state == DestinationState.ACTIVE,
        )
        .order_by(places.position, places.id)
    )


@cache
def _active_links() -> Select[tuple[Any, ...]]:
    current = current_revision().subquery()
    links = subscription_queries.c
    # Moments are read value by value, and these nobody asks for.
    told = [column for column in current.c if not isinstance(column.type, Moment)]
    return (
        select(links.subscription_id, *told)
        .join(current, current.c.id == links.query_id)
        .where(is_among(links.subscription_id, "ids"))
        .order_by(links.position)
    )


def _read_one(
    row: Row[Any], places: Sequence[Row[Any]], links: Sequence[Row[Any]]
) -> DueSubscription:
    revisions: tuple[ActiveRevision, ...] = tuple(read_revision(link) for link in links)
    return DueSubscription(
        id=row.id,
        subscription=Subscription(
            name=row.name,
            queries=tuple(revision.name for revision in revisions),
            destinations=tuple(Destination.parse(place.destination) for place in places),
            cadence=read_cadence(row.cadence),
            kinds=_read_kinds(row.kinds),
            when_empty=WhenEmpty(row.when_empty),
            show=row.show,
            abstracts=Abstracts(row.abstracts),
            look_back=row.look_back,
            group_by=Grouping(row.group_by),
            title=row.title,
            exclude=tuple(row.exclude_queries.splitlines()),
            exclude_papers=tuple(map(ArxivId.parse, row.exclude_papers.split())),
            quiet_hours=read_quiet_hours(row.quiet_hours),
            library=tuple(row.library.splitlines()),
            not_like=tuple(row.not_like.splitlines()),
            read_first=tuple(row.read_first.splitlines()),
            read_last=tuple(row.read_last.splitlines()),
        ),
        state=row.state,
        next_due_at=row.next_due_at,
        plan_after=row.plan_after,
        last_slot=row.last_slot,
        created_at=row.created_at,
        revisions=revisions,
        feed_generation=row.feed_generation,
        paused_until=row.paused_until,
        is_personal=is_personal(row.origin),
    )


@lru_cache(maxsize=1024)
def _read_kinds(names: str) -> tuple[Kind, ...]:
    return tuple(map(Kind, names.split()))


@lru_cache(maxsize=1024)
def read_cadence(phrase: str) -> Cadence:
    """Read a phrase once: a hundred thousand subscriptions share a few."""
    return Cadence.parse(phrase)


@lru_cache(maxsize=1024)
def read_quiet_hours(phrase: str) -> QuietHours | None:
    """Read quiet hours once, in the same way; "" is for none."""
    return QuietHours.parse(phrase) if phrase else None


def sync_subscriptions(
    conn: Connection,
    wanted: Sequence[Subscription],
    origin: str,
    at: datetime,
    schedule: SlotSchedule,
) -> SyncReport:
    """Make the subscriptions of an origin exactly these; doing it twice changes nothing.

    A name is for good. What is no longer named ends: its waiting deliveries are suppressed, its history stays.
    Named again within `RETURNS_WITHIN`, it goes on as if it had never been missing. A destination that somebody
    left stays left. A subscription whose first digest destination appears now plans only what is matched from now
    on. The origin says whose they are: `FILE`, or a person's (`write_origin`). Raise `ConfigurationError` if a
    saved query is not stored, or a name is taken by another origin.
    """
    return _Syncing(conn, wanted, origin, at, schedule).run(wanted)


class SlotSchedule(Protocol):
    """Decides when a subscription is due; `taken` is its `last_slot`, and moments are UTC."""

    def next_due(
        self, subscription: Subscription, now: datetime, taken: str, paused_until: datetime | None
    ) -> datetime | None:
        """Return the next turn of one that is new or rescheduled; None if only an event makes it due."""
        ...

    def realign_due(
        self, subscription: Subscription, due_at: datetime, now: datetime, taken: str
    ) -> datetime:
        """Return when the turn said to be due at a moment is due by its quiet hours as they are now."""
        ...


class _Syncing:
    """One pass over an origin's subscriptions, with what is stored of them."""

    def __init__(
        self,
        conn: Connection,
        wanted: Sequence[Subscription],
        origin: str,
        at: datetime,
        schedule: SlotSchedule,
    ) -> None:
        self._conn, self._origin, self._at, self._schedule = conn, origin, at, schedule
        own = select(subscriptions).where(subscriptions.c.origin == origin)
        others = select(subscriptions).where(subscriptions.c.origin != origin)
        named = select_by(
            conn, others, subscriptions.c.name, [subscription.name for subscription in wanted]
        )
        self._stored = {row.name: row for row in (*conn.execute(own), *named)}
        ids = [row.id for row in self._stored.values()]
        self._places = _by_subscription(conn, subscription_destinations, "destination", ids)
        self._links = _by_subscription(conn, subscription_queries, "query_id", ids)
        found = select(saved_queries).where(
            saved_queries.c.state == ACTIVE, saved_queries.c.origin == origin
        )
        self._query_ids: dict[str, int] = {row.name: row.id for row in conn.execute(found)}
        self._leaves = {
            (row.destination, row.subscription): row for row in conn.execute(select(suppressions))
        }
        self._dropped: list[DroppedMatches] = []
        self._newest_run = load_newest_match_run(conn)

    def run(self, wanted: Sequence[Subscription]) -> SyncReport:
        """Write what differs; end what is not wanted."""
        added, edited = [], []
        for subscription in wanted:
            row = self._stored.get(subscription.name)
            if row is not None and row.origin != self._origin:
                raise ConfigurationError(
                    f"the name {subscription.name} belongs to a subscription that a person made with a form",
                    hint="Give this one another name.",
                )
            if row is None or row.state == SubscriptionState.ENDED:
                self._start(subscription, row)
                added.append(subscription.name)
            elif self._edit(subscription, row):
                edited.append(subscription.name)
        ended = self._end_others({subscription.name for subscription in wanted})
        return SyncReport(tuple(added), tuple(edited), ended, dropped=tuple(self._dropped))

    def _start(self, subscription: Subscription, row: Row[Any] | None) -> None:
        """Store a new subscription, or let one go on that had ended; after a while it begins anew."""
        values = list_settings(subscription) | {
            "state": SubscriptionState.ACTIVE,
            "ended_at": None,
            "paused_until": None,
            "plan_after": self._newest_run,
            "unchecked": "",
        }
        since = self._at
        taken = ""
        if row is None:
            fresh = {
                "name": subscription.name,
                "origin": self._origin,
                "created_at": self._at,
                "last_slot": "",
                "feed_generation": 0,
            }
            starting = insert(subscriptions).values(values | fresh).returning(subscriptions.c.id)
            key = self._conn.execute(starting).scalar_one()
        else:
            key = row.id
            taken = row.last_slot
            if row.ended_at >= self._at - RETURNS_WITHIN:
                # A turn may have been due when it ended, or while it was away.
                since = max(row.created_at, row.ended_at - RETURNS_WITHIN)
                values["plan_after"] = row.plan_after
                values["unchecked"] = row.unchecked
                requeue_ended(self._conn, of_subscriptions([key]), row.ended_at, self._at)
        self._sync_destinations(key, subscription)  # first: nobody may be left of those it was for
        values["next_due_at"] = None
        if _needs_digests(self._places[key]):
            due_at = self._schedule.next_due(subscription, since, taken, None)
            values["next_due_at"] = due_at and max(
                due_at, self._at
            )  # nobody is told of turns while it was away
        self._conn.execute(update(subscriptions).where(subscriptions.c.id == key).values(values))
        self._sync_links(key, subscription)

    def _edit(self, subscription: Subscription, row: Row[Any]) -> bool:
        """Bring a live subscription in line; return whether anything differed."""
        had_destination = _needs_digests(self._places.get(row.id, {}))
        has_moved = self._sync_destinations(row.id, subscription, is_late=True)
        has_relinked = self._sync_links(row.id, subscription)
        values = {
            name: value
            for name, value in list_settings(subscription).items()
            if getattr(row, name) != value
        }
        has_destination = _needs_digests(self._places.get(row.id, {}))
        values |= self._choose_turn(
            subscription, row, values, had=had_destination, has=has_destination
        )
        if values:
            self._conn.execute(
                update(subscriptions).where(subscriptions.c.id == row.id).values(values)
            )
        if not {"library", "not_like"}.isdisjoint(values):
            forget_days(self._conn, subscriptions.c.id == row.id)
        return bool(values) or has_moved or has_relinked

    def _choose_turn(
        self,
        subscription: Subscription,
        row: Row[Any],
        edits: Mapping[str, Any],
        *,
        had: bool,
        has: bool,
    ) -> dict[str, Any]:
        """Return what changes of the next turn: rescheduled, begun with a first destination, or none any more."""
        turn: dict[str, Any] = {}
        if has and not had:
            turn["plan_after"] = self._newest_run
        if not has:
            turn["next_due_at"] = None
        elif had and self._is_overdue(row):
            pass  # what was due by the old text is sent now; the new text is for later turns
        elif "cadence" in edits or not had or row.next_due_at is None:
            paused_until = row.paused_until if row.state == SubscriptionState.PAUSED else None
            turn["next_due_at"] = self._schedule.next_due(
                subscription, self._at, row.last_slot, paused_until
            )
        elif "quiet_hours" in edits:
            turn["next_due_at"] = self._schedule.realign_due(
                subscription, row.next_due_at, self._at, row.last_slot
            )
        return {name: value for name, value in turn.items() if getattr(row, name) != value}

    def _is_overdue(self, row: Row[Any]) -> bool:
        """Whether a turn has come that nobody has taken, and no pause held it back."""
        is_active = row.state == SubscriptionState.ACTIVE
        return is_active and row.next_due_at is not None and bool(row.next_due_at <= self._at)

    def _begin_destination(self, destination: str, name: str) -> dict[str, Any]:
        """Return what is stored of a destination named from now on: who left is not written to for that."""
        left = self._leaves.get((destination, EVERYTHING)) or self._leaves.get((destination, name))
        if left is not None:
            return {
                "state": DestinationState.UNSUBSCRIBED,
                "reason": left.reason,
                "since": left.since,
            }
        return {"state": DestinationState.ACTIVE, "reason": "", "since": self._at}

    def _sync_destinations(
        self, key: int, subscription: Subscription, *, is_late: bool = False
    ) -> bool:
        places = self._places.setdefault(key, {})
        named = {
            destination_key(destination): n
            for n, destination in enumerate(subscription.destinations)
        }
        writes: list[tuple[str, dict[str, Any]]] = []
        for destination, position in named.items():
            place = places.get(destination)
            values: dict[str, Any] = {"position": position, "is_joined": False}
            if place is None or (
                place["state"] == DestinationState.DISABLED and place["reason"] == NOT_NAMED
            ):
                values |= self._begin_destination(destination, subscription.name)
            if place is None:
                values["is_new"] = is_late and subscription.look_back > 0
            if place is None or any(place[name] != value for name, value in values.items()):
                writes.append((destination, values))
        gone = {"state": DestinationState.DISABLED, "reason": NOT_NAMED, "since": self._at}
        others = {
            name: place
            for name, place in places.items()
            if name not in named and not place["is_joined"]
        }
        dropped = [
            name for name, place in others.items() if place["state"] == DestinationState.ACTIVE
        ]
        # Who left before can undo that on a page, which must not bring back whom the file no longer names.
        left = [
            name
            for name, place in others.items()
            if place["state"] == DestinationState.UNSUBSCRIBED
        ]
        writes += [(destination, gone) for destination in (*dropped, *left)]
        self._write(subscription_destinations, key, "destination", writes, places)
        for destination in dropped:
            theirs = of_subscriptions([key]) & (deliveries.c.destination == destination)
            why = Said.of(Saying.NOT_NAMED)
            messages = suppress_waiting(self._conn, theirs, why, self._at)
            self._note_dropped(DroppedMatches(subscription.name, destination, messages))
        return bool(writes)

    def _sync_links(self, key: int, subscription: Subscription) -> bool:
        links = self._links.setdefault(key, {})
        named = {
            self._query_id(name, subscription): n for n, name in enumerate(subscription.queries)
        }
        # One that is still to come is for whatever the subscription follows by then.
        is_new = subscription.name not in self._stored
        is_awaited = is_new or any(link["first_digest_run_id"] is None for link in links.values())
        first_digest = None if is_awaited and subscription.look_back > 0 else NO_FIRST_DIGEST
        fresh = {"first_digest_run_id": first_digest, "added_at": self._at}
        writes = [
            (
                query_id,
                {"position": position} if query_id in links else {"position": position, **fresh},
            )
            for query_id, position in named.items()
            if query_id not in links or links[query_id]["position"] != position
        ]
        self._write(subscription_queries, key, "query_id", writes, links)
        dropped = links.keys() - named.keys()
        if dropped:
            mine = subscription_queries.c.subscription_id == key
            unlink = delete(subscription_queries).where(
                mine, subscription_queries.c.query_id.in_(dropped)
            )
            self._conn.execute(unlink)
        return bool(writes or dropped)

    def _query_id(self, name: str, subscription: Subscription) -> int:
        if name not in self._query_ids:
            raise ConfigurationError(
                f"the subscription {subscription.name} names a saved query {name} that does not exist",
                hint="Add it under [queries], or correct the name.",
            )
        return self._query_ids[name]

    def _write(
        self,
        table: Table,
        key: int,
        part: str,
        writes: Sequence[tuple[Any, dict[str, Any]]],
        stored: dict[Any, dict[str, Any]],
    ) -> None:
        """Insert or update parts of one subscription, and remember what is stored now."""
        for name, values in writes:
            if name in stored:
                place = (table.c.subscription_id == key) & (table.c[part] == name)
                self._conn.execute(update(table).where(place).values(values))
            else:
                self._conn.execute(
                    insert(table).values({"subscription_id": key, part: name, **values})
                )
            stored[name] = stored.get(name, {}) | values

    def _end_others(self, names: Collection[str]) -> tuple[str, ...]:
        others = [
            row
            for row in self._stored.values()
            if row.origin == self._origin
            and row.name not in names
            and row.state != SubscriptionState.ENDED
        ]
        for row in sorted(others, key=lambda row: row.name):
            papers = (
                count_waiting(self._conn, row.id)
                if _needs_digests(self._places.get(row.id, {}))
                else 0
            )
            self._note_dropped(
                DroppedMatches(row.name, "", end_subscription(self._conn, row.id, self._at), papers)
            )
        return tuple(sorted(row.name for row in others))

    def _note_dropped(self, let_go: DroppedMatches) -> None:
        if let_go.messages or let_go.papers:
            self._dropped.append(let_go)


def list_settings(subscription: Subscription) -> dict[str, Any]:
    """Return the columns that keep what is configured of a subscription."""
    return {
        "title": subscription.title,
        "cadence": str(subscription.cadence),
        "kinds": " ".join(subscription.kinds),
        "when_empty": subscription.when_empty,
        "show": subscription.show,
        "abstracts": subscription.abstracts,
        "look_back": subscription.look_back,
        "group_by": subscription.group_by,
        "quiet_hours": str(subscription.quiet_hours or ""),
        "exclude_queries": "\n".join(subscription.exclude),
        "exclude_papers": " ".join(map(str, subscription.exclude_papers)),
        **{name: "\n".join(getattr(subscription, name)) for name in _ORDERING},
    }


def _needs_digests(places: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether anything is sent: some active destination is more than a feed that readers fetch."""
    return any(
        place["state"] == DestinationState.ACTIVE and not Destination.parse(destination).is_pulled
        for destination, place in places.items()
    )


def _by_subscription(
    conn: Connection, table: Table, part: str, ids: Sequence[int]
) -> dict[int, dict[Any, dict[str, Any]]]:
    found = _collect(conn, ids, select(table).where(is_among(table.c.subscription_id, "ids")))
    return {id_: {getattr(row, part): row._asdict() for row in rows} for id_, rows in found.items()}


def has_due_slots(conn: Connection, now: datetime) -> bool:
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
    last_check = load_last_check(conn)
    turns = (
        exists().where(own.next_due_at <= now, or_(is_active, is_resumed)),
        exists().where(OPEN_TURN, own.awaits_after < last_check, is_active),
        exists().where(PAUSED_SUBSCRIPTION, own.paused_until <= now),
        exists().where(UNPLANNED_FIRST_DIGEST, *waits),
        exists().where(subscription_destinations.c.is_new),
        exists().where(own.next_due_at.is_(None), matches.c.digest_id.is_(None), *waits),
    )
    return bool(conn.execute(select(or_(*turns))).scalar())


def is_sent_for() -> ColumnElement[bool]:
    """Return the condition that a subscription's digests go anywhere: a feed has none."""
    places = subscription_destinations.c
    return exists().where(
        places.subscription_id == subscriptions.c.id,
        places.state == DestinationState.ACTIVE,
        places.destination != str(OWN_FEED),
        *(
            not_(places.destination.ilike(f"{DestinationKind.FILE}:%{suffix}"))
            for suffix in FEED_SUFFIXES
        ),
    )


def delete_near_days(conn: Connection, before: datetime, limit: int) -> int:
    """Delete what the top tenth of announcements before a day was, that many at most; return how many."""
    keys = (near_days.c.announced_on, near_days.c.subscription_id)
    old = select(*keys).where(near_days.c.announced_on < before.date()).limit(limit)
    return conn.execute(delete(near_days).where(tuple_(*keys).in_(old))).rowcount


def forget_days(conn: Connection, which: ColumnElement[bool]) -> None:
    """Forget what the top tenth of each day is for some subscriptions, since what is near to them has changed."""
    theirs = select(subscriptions.c.id).where(which)
    conn.execute(delete(near_days).where(near_days.c.subscription_id.in_(theirs)))


def load_least(conn: Connection, subscription_id: int, day: date) -> int | None:
    """Return the smallest nearness in the top tenth of an announcement; None if it was not stored."""
    found = select(near_days.c.least).where(
        near_days.c.subscription_id == subscription_id, near_days.c.announced_on == day
    )
    return conn.execute(found).scalar_one_or_none()


def save_least(conn: Connection, day: date, least: Mapping[int, int]) -> None:
    """Store the smallest nearness in the top tenth of an announcement, by subscription."""
    keep = dialect_insert(conn, near_days)
    told = {"least": keep.excluded.least}
    rows = [
        {"announced_on": day, "subscription_id": key, "least": value}
        for key, value in least.items()
    ]
    if rows:
        conn.execute(
            keep.on_conflict_do_update(
                index_elements=["announced_on", "subscription_id"], set_=told
            ),
            rows,
        )
