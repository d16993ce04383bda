"""The operator's file into the store: added, edited, ended; and people who left stay away.

Everything stored is read first and only what differs is written, so that a file without news costs a
handful of reads however many subscriptions it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import delete, func, insert, select, update

from digest.consent import EVERYTHING
from digest.errors import ConfigurationError
from digest.store.destinations import destination_key
from digest.store.queries import ACTIVE, SyncReport
from digest.store.readdressing import follow_mended_names
from digest.store.schema import (
    deliveries,
    match_runs,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    suppressions,
)
from digest.store.subscribers import DestinationState
from digest.store.subscriptions import write_exclusion
from digest.store.waiting import Dropped, find_abandoned, find_dropped, of_subscriptions, suppress_waiting
from digest.subscriptions import Destination, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row, Table

    from digest.store.waiting import Abandoned
    from digest.subscriptions import Subscription

NOT_NAMED = "the file names it no more"
"""Why a destination is disabled; named again, it is active again."""

NO_FIRST_LOOK = 0
"""In place of a match run's id: a first look was never wanted."""


def sync_subscriptions(
    conn: Connection,
    wanted: Sequence[Subscription],
    origin: str,
    at: datetime,
    schedule: Schedule,
) -> SyncReport:
    """Make the subscriptions of an origin exactly these; doing it twice changes nothing.

    A name is for good. What is no longer named ends: its waiting deliveries are suppressed, its history stays.
    A destination that somebody left stays left. A subscription whose first digest destination appears now plans
    only what is matched from now on.

    Args:
        conn: a writing transaction, after `sync_queries`.
        wanted: the whole of the origin's.
        origin: `Origin` as text.
        at: the moment (UTC).
        schedule: decides when the next digest of a new, rescheduled or quieter subscription is due.

    Raises:
        ConfigurationError: a saved query is not stored, or a name is taken by the other origin.
    """
    return _Syncing(conn, origin, at, schedule).run(wanted)


class Schedule(Protocol):
    """Decides when a subscription is due; `taken` is its `last_slot`, and moments are UTC."""

    def next_due(self, subscription: Subscription, taken: str, paused_until: datetime | None) -> datetime | None:
        """Return the next turn of one that is new or rescheduled; None where only an event makes it due."""
        ...

    def realign(self, subscription: Subscription, due_at: datetime, taken: str) -> datetime:
        """Return when the turn said to be due at a moment is due by its quiet hours as they are now."""
        ...


class _Syncing:
    """One pass over an origin's subscriptions, with what is stored of them."""

    def __init__(
        self,
        conn: Connection,
        origin: str,
        at: datetime,
        schedule: Schedule,
    ) -> None:
        self._conn, self._origin, self._at, self._schedule = conn, origin, at, schedule
        self._stored = {row.name: row for row in conn.execute(select(subscriptions))}
        self._places = _by_subscription(conn, subscription_destinations, "destination")
        self._links = _by_subscription(conn, subscription_queries, "query_id")
        self._query_ids = _load_query_ids(conn, origin)
        self._leaves = {(row.destination, row.subscription): row for row in conn.execute(select(suppressions))}
        self._dropped: list[Dropped] = []
        self._abandoned: tuple[Abandoned, ...] = ()
        self._newest_run = conn.execute(select(func.coalesce(func.max(match_runs.c.id), 0))).scalar_one()

    def run(self, wanted: Sequence[Subscription]) -> SyncReport:
        """Write what differs; end what is not wanted."""
        added, edited = [], []
        for subscription in wanted:
            row = self._stored.get(subscription.name)
            if row is None or row.state == SubscriptionState.ENDED:
                self._check_name(subscription, row)
                self._start(subscription, row)
                added.append(subscription.name)
            elif self._edit(subscription, row):
                edited.append(subscription.name)
        ended = self._end_others({subscription.name for subscription in wanted})
        dropped, abandoned = tuple(self._dropped), self._abandoned
        return SyncReport(tuple(added), tuple(edited), ended, dropped=dropped, abandoned=abandoned)

    def _check_name(self, subscription: Subscription, row: Row[Any] | None) -> None:
        if row is not None and row.origin != self._origin:
            raise ConfigurationError(
                f"the name {subscription.name} belongs to a subscription that people made for themselves",
                hint="Give this one another name.",
            )

    def _start(self, subscription: Subscription, row: Row[Any] | None) -> None:
        """Store a new subscription, or let one that had ended begin anew, from now on."""
        values = _configured(subscription) | {
            "state": SubscriptionState.ACTIVE,
            "ended_at": None,
            "paused_until": None,
            "plan_after": self._newest_run,
        }
        if row is None:
            key = self._insert(subscription, values)
            self._sync_places(key, subscription)
        else:
            key = row.id
            self._sync_places(key, subscription)  # first: nobody may be left of those it was for
            due_at = None
            if _has_way_out(self._places[key]):
                due_at = self._schedule.next_due(subscription, row.last_slot, None)
            values["next_due_at"] = due_at
            self._conn.execute(update(subscriptions).where(subscriptions.c.id == key).values(values))
        self._sync_links(key, subscription)

    def _insert(self, subscription: Subscription, values: Mapping[str, Any]) -> int:
        """Store a subscription that there never was; return its key."""
        fresh = {"name": subscription.name, "origin": self._origin, "created_at": self._at}
        due_at = self._schedule.next_due(subscription, "", None) if subscription.has_digests else None
        fresh |= {"next_due_at": due_at, "last_slot": "", "feed_generation": 0}
        starting = insert(subscriptions).values({**values, **fresh}).returning(subscriptions.c.id)
        return int(self._conn.execute(starting).scalar_one())

    def _edit(self, subscription: Subscription, row: Row[Any]) -> bool:
        """Bring a live subscription in line; return whether anything differed."""
        self._check_name(subscription, row)
        had_way_out = _has_way_out(self._places.get(row.id, {}))
        has_moved = self._sync_places(row.id, subscription)
        has_relinked = self._sync_links(row.id, subscription)
        values = {name: value for name, value in _configured(subscription).items() if getattr(row, name) != value}
        has_way_out = _has_way_out(self._places.get(row.id, {}))
        values |= self._choose_turn(subscription, row, values, had=had_way_out, has=has_way_out)
        if values:
            self._conn.execute(update(subscriptions).where(subscriptions.c.id == row.id).values(values))
        return bool(values) or has_moved or has_relinked

    def _choose_turn(
        self, subscription: Subscription, row: Row[Any], edits: Mapping[str, Any], *, had: bool, has: bool
    ) -> dict[str, Any]:
        """Return what changes of the next turn: rescheduled, begun with a first way out, or none any more."""
        turn: dict[str, Any] = {}
        if has and not had:
            turn["plan_after"] = self._newest_run
        if not has:
            turn["next_due_at"] = None
        elif had and self._is_overdue(row, edits):
            pass  # what was due by the old words is told now; the new ones are for the turns to come
        elif "cadence" in edits or not had or row.next_due_at is None or self._is_paused_otherwise(row, edits):
            paused_until = row.paused_until if row.state == SubscriptionState.PAUSED else None
            turn["next_due_at"] = self._schedule.next_due(subscription, row.last_slot, paused_until)
        elif "quiet_hours" in edits:
            turn["next_due_at"] = self._schedule.realign(subscription, row.next_due_at, row.last_slot)
        return {name: value for name, value in turn.items() if getattr(row, name) != value}

    def _is_overdue(self, row: Row[Any], edits: Mapping[str, Any]) -> bool:
        """Whether a turn has come that nobody has taken, and no pause held it back or does from now on."""
        said = (row.file_paused_until, edits.get("file_paused_until"))
        rests = row.state != SubscriptionState.ACTIVE or any(until and until > self._at for until in said)
        return not rests and row.next_due_at is not None and row.next_due_at <= self._at

    def _is_paused_otherwise(self, row: Row[Any], edits: Mapping[str, Any]) -> bool:
        """Whether the file says of now, or of a time to come, something else about resting than it did."""
        if "file_paused_until" not in edits:
            return False
        said = (row.file_paused_until, edits["file_paused_until"])
        return any(until is not None and until > self._at for until in said)

    def _begin_place(self, destination: str, name: str) -> dict[str, Any]:
        """Return what is stored of a destination named from now on: who left is not written to for that."""
        left = self._leaves.get((destination, EVERYTHING)) or self._leaves.get((destination, name))
        if left is not None:
            return {"state": DestinationState.LEFT, "reason": left.reason, "since": left.since}
        return {"state": DestinationState.ACTIVE, "reason": "", "since": self._at}

    def _sync_places(self, key: int, subscription: Subscription) -> bool:
        places = self._places.setdefault(key, {})
        named = {destination_key(destination): n for n, destination in enumerate(subscription.destinations)}
        writes: list[tuple[str, dict[str, Any]]] = []
        for destination, position in named.items():
            place = places.get(destination)
            values: dict[str, Any] = {"position": position}
            if place is None or (place["state"] == DestinationState.DISABLED and place["reason"] == NOT_NAMED):
                values |= self._begin_place(destination, subscription.name)
            if place is None or any(place[name] != value for name, value in values.items()):
                writes.append((destination, values))
        gone = {"state": DestinationState.DISABLED, "reason": NOT_NAMED, "since": self._at}
        dropped = [
            destination
            for destination, place in places.items()
            if destination not in named and place["state"] == DestinationState.ACTIVE
        ]
        added = [destination for destination, values in writes if values.get("state") == DestinationState.ACTIVE]
        writes += [(destination, gone) for destination in dropped]
        self._write(subscription_destinations, key, "destination", writes, places)
        if dropped:
            follow_mended_names(self._conn, key, dropped, added, self._at)
            which = of_subscriptions([key]) & deliveries.c.destination.in_(dropped)
            self._dropped += find_dropped(self._conn, subscription.name, key, dropped)
            suppress_waiting(self._conn, which, NOT_NAMED, self._at)
        return bool(writes)

    def _sync_links(self, key: int, subscription: Subscription) -> bool:
        links = self._links.setdefault(key, {})
        named = {self._query_id(name, subscription): n for n, name in enumerate(subscription.queries)}
        first_look = None if subscription.first_look > 0 else NO_FIRST_LOOK
        fresh = {"first_look_run_id": first_look, "added_at": self._at}
        writes = [
            (query_id, {"position": position} if query_id in links else {"position": position, **fresh})
            for query_id, position in named.items()
            if query_id not in links or links[query_id]["position"] != position
        ]
        self._write(subscription_queries, key, "query_id", writes, links)
        dropped = links.keys() - named.keys()
        if dropped:
            mine = subscription_queries.c.subscription_id == key
            unlink = delete(subscription_queries).where(mine, subscription_queries.c.query_id.in_(dropped))
            self._conn.execute(unlink)
        return bool(writes or dropped)

    def _query_id(self, name: str, subscription: Subscription) -> int:
        if name not in self._query_ids:
            raise ConfigurationError(
                f"the subscription {subscription.name} asks for a saved query {name} that there is not",
                hint="Add it under [queries], or mend the name.",
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
                self._conn.execute(insert(table).values({"subscription_id": key, part: name, **values}))
            stored[name] = stored.get(name, {}) | values

    def _end_others(self, names: Collection[str]) -> tuple[str, ...]:
        others = [
            row
            for row in self._stored.values()
            if row.origin == self._origin and row.name not in names and row.state != SubscriptionState.ENDED
        ]
        ids = [row.id for row in others]
        if ids:
            told = {row.id: row.name for row in others if _has_way_out(self._places.get(row.id, {}))}
            self._abandoned = find_abandoned(self._conn, told)
            ending = update(subscriptions).where(subscriptions.c.id.in_(ids))
            gone = {"state": SubscriptionState.ENDED, "ended_at": self._at, "next_due_at": None}
            self._conn.execute(ending.values(gone))
            suppress_waiting(self._conn, of_subscriptions(ids), "the subscription has ended", self._at)
        return tuple(sorted(row.name for row in others))


def _configured(subscription: Subscription) -> dict[str, Any]:
    return {
        "title": subscription.title,
        "cadence": str(subscription.cadence),
        "kinds": " ".join(subscription.kinds),
        "quiet_days": subscription.quiet_days,
        "cap": subscription.cap,
        "first_look": subscription.first_look,
        "group_by": subscription.group_by,
        "replacements": subscription.replacements,
        "weekly": subscription.weekly,
        "quiet_hours": str(subscription.quiet_hours or ""),
        "file_paused_until": subscription.paused_until,
        **write_exclusion(subscription),
    }


def _has_way_out(places: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether anything is sent: some active destination is not merely read by whoever fetches it."""
    return any(
        place["state"] == DestinationState.ACTIVE and not Destination.parse(destination).is_pulled
        for destination, place in places.items()
    )


def _by_subscription(conn: Connection, table: Table, part: str) -> dict[int, dict[Any, dict[str, Any]]]:
    parts: dict[int, dict[Any, dict[str, Any]]] = {}
    for row in conn.execute(select(table)).mappings():
        parts.setdefault(row["subscription_id"], {})[row[part]] = dict(row)
    return parts


def _load_query_ids(conn: Connection, origin: str) -> dict[str, int]:
    """Return saved queries by name; where two origins know a name, one's own counts."""
    found = select(saved_queries).where(saved_queries.c.state == ACTIVE)
    rows = sorted(conn.execute(found), key=lambda row: row.origin == origin)
    return {row.name: row.id for row in rows}
