"""Sync: makes the stored subscriptions of an origin those that are configured, and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from digest.model.destinations import Destination
from digest.model.errors import ConfigurationError
from digest.model.said import NOTHING, Said, Saying
from digest.model.subscriptions import EVERYTHING, RETURNS_WITHIN, Subscription, SubscriptionState
from digest.store.dialect import is_among, select_by
from digest.store.queries import ACTIVE, SyncReport, load_newest_match_run
from digest.store.schema import (
    deliveries,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    suppressions,
)
from digest.store.subscribers import (
    DestinationState,
    DroppedMatches,
    count_waiting,
    destination_key,
    of_subscriptions,
    requeue_ended,
    suppress_waiting,
)
from digest.store.subscriptions import collect_parts, forget_days, list_settings
from digest.store.subscriptions import end as end_subscription

NOT_NAMED = Said.of(Saying.NOT_NAMED)
"""Why a destination is disabled; named again, it is active again."""

NO_FIRST_DIGEST = 0
"""In place of a match run's id: no first digest is wanted, or it was given without this query."""

_Part = dict[str, Any]
"""A destination or a saved query of a subscription, as its row keeps it."""


class SlotSchedule(Protocol):
    """Decides when a subscription is due; `taken` is its `last_slot`, and moments are UTC."""

    def next_due(
        self, subscription: Subscription, now: datetime, taken: str, paused_until: datetime | None
    ) -> datetime | None:
        """Return the next turn of one that is new or rescheduled.

        None if only an event makes it due.
        """
        ...

    def realign_due(
        self, subscription: Subscription, due_at: datetime, now: datetime, taken: str
    ) -> datetime:
        """Return when a turn is due by its quiet hours as they are now.

        It was said to be due at a moment.
        """
        ...


def sync_subscriptions(
    conn: Connection,
    wanted: Sequence[Subscription],
    origin: str,
    at: datetime,
    schedule: SlotSchedule,
) -> SyncReport:
    """Make the subscriptions of an origin exactly these; doing it twice changes nothing.

    A name is for good. What is no longer named ends: its waiting deliveries are suppressed, its
    history stays. Named again within `RETURNS_WITHIN`, it goes on as if it had never been missing.
    A destination that somebody left stays left. A subscription whose first digest destination
    appears now plans only what is matched from now on. The origin says whose they are: `FILE`, or
    a person's (`write_origin`). Raise `ConfigurationError` if a saved query is not stored, or a
    name is taken by another origin.
    """
    return _Syncing(conn, wanted, origin, at, schedule).run(wanted)


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
        self._conn = conn
        self._origin = origin
        self._at = at
        self._schedule = schedule
        self._stored = _load_stored(conn, wanted, origin)
        ids = [row.id for row in self._stored.values()]
        self._places = _load_parts(conn, subscription_destinations, "destination", ids)
        self._links = _load_parts(conn, subscription_queries, "query_id", ids)
        self._query_ids = _load_query_ids(conn, origin)
        leaves = conn.execute(select(suppressions))
        self._leaves = {(row.destination, row.subscription): row for row in leaves}
        self._dropped: list[DroppedMatches] = []
        self._newest_run = load_newest_match_run(conn)

    def run(self, wanted: Sequence[Subscription]) -> SyncReport:
        """Write what differs; end what is not wanted."""
        added = []
        edited = []
        for subscription in wanted:
            name = subscription.name
            row = self._stored.get(name)
            if row is not None and row.origin != self._origin:
                raise ConfigurationError(
                    f"the name {name} belongs to a subscription that a person made with a form",
                    hint="Give this one another name.",
                )
            if row is None or row.state == SubscriptionState.ENDED:
                self._start(subscription, row)
                added.append(name)
            elif self._edit(subscription, row):
                edited.append(name)
        ended = self._end_others({subscription.name for subscription in wanted})
        return SyncReport(tuple(added), tuple(edited), ended, dropped=tuple(self._dropped))

    def _start(self, subscription: Subscription, row: Row[Any] | None) -> None:
        """Store a new subscription, or let one go on that had ended.

        After a while it begins anew.
        """
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
            key = self._insert(subscription, values)
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
            if due_at is not None:
                # No digest names the turns while it was away.
                values["next_due_at"] = max(due_at, self._at)
        self._update(key, values)
        self._sync_links(key, subscription)

    def _insert(self, subscription: Subscription, values: Mapping[str, Any]) -> int:
        """Store a subscription for the first time; return its key."""
        fresh = {
            "name": subscription.name,
            "origin": self._origin,
            "created_at": self._at,
            "last_slot": "",
            "feed_generation": 0,
        }
        insertion = insert(subscriptions).values({**values, **fresh})
        return int(self._conn.execute(insertion.returning(subscriptions.c.id)).scalar_one())

    def _update(self, key: int, values: Mapping[str, Any]) -> None:
        row = update(subscriptions).where(subscriptions.c.id == key)
        self._conn.execute(row.values(values))

    def _edit(self, subscription: Subscription, row: Row[Any]) -> bool:
        """Bring a live subscription in line; return whether anything differed."""
        needed_digests = _needs_digests(self._places.get(row.id, {}))
        has_moved = self._sync_destinations(row.id, subscription, is_late=True)
        has_relinked = self._sync_links(row.id, subscription)
        needs_digests = _needs_digests(self._places.get(row.id, {}))
        edits = _keep_differing(row, list_settings(subscription))
        turn = self._choose_turn(subscription, row, edits, had=needed_digests, has=needs_digests)
        values = edits | turn
        if values:
            self._update(row.id, values)
        if "library" in values or "not_like" in values:
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
        """Return what changes of the next turn.

        It is rescheduled, begins with a first destination, or there is none any more.
        """
        turn: dict[str, Any] = {}
        if has and not had:
            turn["plan_after"] = self._newest_run
        if not has:
            turn["next_due_at"] = None
        elif had and self._is_overdue(row):
            pass  # what was due by the old text is sent now; the new text is for later turns
        elif "cadence" in edits or not had or row.next_due_at is None:
            is_paused = row.state == SubscriptionState.PAUSED
            paused_until = row.paused_until if is_paused else None
            due_at = self._schedule.next_due(subscription, self._at, row.last_slot, paused_until)
            turn["next_due_at"] = due_at
        elif "quiet_hours" in edits:
            turn["next_due_at"] = self._schedule.realign_due(
                subscription, row.next_due_at, self._at, row.last_slot
            )
        return _keep_differing(row, turn)

    def _is_overdue(self, row: Row[Any]) -> bool:
        """Whether a turn has come that nobody has taken, and no pause held it back."""
        if row.state != SubscriptionState.ACTIVE or row.next_due_at is None:
            return False
        return bool(row.next_due_at <= self._at)

    def _begin_destination(self, destination: str, name: str) -> _Part:
        """Return what is stored of a destination named from now on.

        Who left is not written to for that.
        """
        left = self._leaves.get((destination, EVERYTHING)) or self._leaves.get((destination, name))
        if left is None:
            return {"state": DestinationState.ACTIVE, "reason": NOTHING, "since": self._at}
        return {
            "state": DestinationState.UNSUBSCRIBED,
            "reason": left.reason,
            "since": left.since,
        }

    def _sync_destinations(
        self, key: int, subscription: Subscription, *, is_late: bool = False
    ) -> bool:
        """Bring a subscription's destinations in line; return whether any differed."""
        places = self._places.setdefault(key, {})
        named: dict[str, int] = {}
        for position, wanted in enumerate(subscription.destinations):
            named[destination_key(wanted)] = position
        writes: dict[str, _Part] = {}
        for destination, position in named.items():
            place = places.get(destination)
            values: _Part = {"position": position, "is_joined": False}
            if place is None or _was_taken_out(place):
                values |= self._begin_destination(destination, subscription.name)
            if place is None:
                values["is_new"] = is_late and subscription.look_back > 0
            if place is None or place | values != place:
                writes[destination] = values
        others = _list_others(places, named)
        dropped = [place for place, state in others.items() if state == DestinationState.ACTIVE]
        # Who left before can undo that on a page. It must not bring back whom the file no longer
        # names.
        left = [place for place, state in others.items() if state == DestinationState.UNSUBSCRIBED]
        for destination in (*dropped, *left):
            writes[destination] = {
                "state": DestinationState.DISABLED,
                "reason": NOT_NAMED,
                "since": self._at,
            }
        self._write(subscription_destinations, key, "destination", writes, places)
        for destination in dropped:
            is_theirs = of_subscriptions([key]) & (deliveries.c.destination == destination)
            messages = suppress_waiting(self._conn, is_theirs, NOT_NAMED, self._at)
            self._note_dropped(DroppedMatches(subscription.name, destination, messages))
        return bool(writes)

    def _sync_links(self, key: int, subscription: Subscription) -> bool:
        """Bring the saved queries a subscription follows in line; return whether any differed."""
        links = self._links.setdefault(key, {})
        begun = {"first_digest_run_id": self._choose_first_digest(subscription, links.values())}
        named: dict[int, int] = {}
        for position, name in enumerate(subscription.queries):
            named[self._query_id(name, subscription)] = position
        writes: dict[int, _Part] = {}
        for query_id, position in named.items():
            if query_id not in links:
                writes[query_id] = {"position": position, "added_at": self._at, **begun}
            elif links[query_id]["position"] != position:
                writes[query_id] = {"position": position}
        self._write(subscription_queries, key, "query_id", writes, links)
        dropped = links.keys() - named.keys()
        if dropped:
            row = subscription_queries.c
            is_dropped = row.query_id.in_(dropped)
            unlink = delete(subscription_queries).where(row.subscription_id == key, is_dropped)
            self._conn.execute(unlink)
        return bool(writes or dropped)

    def _choose_first_digest(
        self, subscription: Subscription, links: Iterable[_Part]
    ) -> int | None:
        """Return the first digest's match run of a query that is new; None for one to come.

        One that is still to come is for whatever the subscription follows by then.
        """
        is_new = subscription.name not in self._stored
        is_awaited = is_new or any(link["first_digest_run_id"] is None for link in links)
        if is_awaited and subscription.look_back > 0:
            return None
        return NO_FIRST_DIGEST

    def _query_id(self, name: str, subscription: Subscription) -> int:
        if name not in self._query_ids:
            raise ConfigurationError(
                f"the subscription {subscription.name} names a saved query {name} that does not"
                " exist",
                hint="Add it under [queries], or correct the name.",
            )
        return self._query_ids[name]

    def _write(
        self,
        table: Table,
        key: int,
        part: str,
        writes: Mapping[Any, _Part],
        stored: dict[Any, _Part],
    ) -> None:
        """Insert or update parts of one subscription, and remember what is stored now."""
        for name, values in writes.items():
            before = stored.get(name)
            if before is None:
                row = {"subscription_id": key, part: name}
                self._conn.execute(insert(table).values(row | values))
                stored[name] = values
            else:
                is_it = (table.c.subscription_id == key) & (table.c[part] == name)
                self._conn.execute(update(table).where(is_it).values(values))
                stored[name] = before | values

    def _end_others(self, names: Collection[str]) -> tuple[str, ...]:
        """End the subscriptions of this origin that are not named; return their names, sorted."""
        ended = []
        for name, row in sorted(self._stored.items()):
            is_live = row.origin == self._origin and row.state != SubscriptionState.ENDED
            if name in names or not is_live:
                continue
            papers = 0
            if _needs_digests(self._places.get(row.id, {})):
                papers = count_waiting(self._conn, row.id)
            messages = end_subscription(self._conn, row.id, self._at)
            self._note_dropped(DroppedMatches(name, "", messages, papers))
            ended.append(name)
        return tuple(ended)

    def _note_dropped(self, let_go: DroppedMatches) -> None:
        if let_go.messages or let_go.papers:
            self._dropped.append(let_go)


def _load_stored(
    conn: Connection, wanted: Sequence[Subscription], origin: str
) -> dict[str, Row[Any]]:
    """Return the subscriptions of an origin, and those of others that have a wanted name."""
    own = select(subscriptions).where(subscriptions.c.origin == origin)
    others = select(subscriptions).where(subscriptions.c.origin != origin)
    names = [subscription.name for subscription in wanted]
    stored = {row.name: row for row in conn.execute(own)}
    for row in select_by(conn, others, subscriptions.c.name, names):
        stored[row.name] = row
    return stored


def _load_query_ids(conn: Connection, origin: str) -> dict[str, int]:
    """Return the keys of the saved queries of an origin, by name."""
    is_active = saved_queries.c.state == ACTIVE
    found = select(saved_queries).where(is_active, saved_queries.c.origin == origin)
    return {row.name: row.id for row in conn.execute(found)}


def _load_parts(
    conn: Connection, table: Table, part: str, ids: Sequence[int]
) -> dict[int, dict[Any, _Part]]:
    """Return rows of a table of subscriptions' parts, by subscription and what names the part."""
    found = select(table).where(is_among(table.c.subscription_id, "ids"))
    parts: dict[int, dict[Any, _Part]] = {}
    for id_, rows in collect_parts(conn, ids, found).items():
        parts[id_] = {getattr(row, part): row._asdict() for row in rows}
    return parts


def _keep_differing(row: Row[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some columns' values that a row does not have."""
    return {name: value for name, value in values.items() if getattr(row, name) != value}


def _list_others(places: Mapping[str, _Part], named: Collection[str]) -> dict[str, str]:
    """Return the states of the destinations that are not named, and that nobody joined."""
    others = {}
    for name, place in places.items():
        if name not in named and not place["is_joined"]:
            others[name] = place["state"]
    return others


def _was_taken_out(place: _Part) -> bool:
    """Whether a destination is disabled because it was not named."""
    return bool(place["state"] == DestinationState.DISABLED and place["reason"] == NOT_NAMED)


def _needs_digests(places: Mapping[str, _Part]) -> bool:
    """Whether anything is sent: some active destination is more than a feed that readers fetch."""
    for destination, place in places.items():
        is_active = place["state"] == DestinationState.ACTIVE
        if is_active and not Destination.parse(destination).is_pulled:
            return True
    return False
