"""Subscriptions as stored: due by an indexed moment, paused, ended, never deleted."""

from __future__ import annotations

import logging
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, or_, select, update

from digest.announcements import Kind
from digest.errors import ConfigurationError
from digest.papers import ArxivId
from digest.planning import DueSubscription
from digest.store.dialect import in_chunks, is_among
from digest.store.queries import ACTIVE, current_revision, read_revision
from digest.store.schema import (
    PAUSED_SUBSCRIPTION,
    Moment,
    subscription_destinations,
    subscription_queries,
    subscriptions,
)
from digest.store.subscribers import DestinationState
from digest.store.waiting import of_subscriptions, suppress_waiting
from digest.subscriptions import (
    Cadence,
    Destination,
    Grouping,
    Origin,
    QuietDays,
    QuietHours,
    Replacements,
    Subscription,
    SubscriptionState,
    Weekly,
)

_log = logging.getLogger("digest.store")

_STORED_ZONE = re.compile(r"(?<=:\d\d) [^\s,]+")
"""The zone of a cadence or of quiet hours, as they print themselves: behind a time."""

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

    from digest.matching import ActiveRevision


def load_subscriptions(
    conn: Connection,
    ids: Collection[int] | None = None,
    *,
    names: Collection[str] | None = None,
    include_ended: bool = False,
) -> list[DueSubscription]:
    """Return subscriptions by name: active and paused ones, of some ids or names only where given.

    `Subscription.destinations` names only those still written to: nobody left them.
    """
    found = select(subscriptions).order_by(subscriptions.c.name)
    if not include_ended:
        found = found.where(subscriptions.c.state != SubscriptionState.ENDED)
    if names is not None:
        found = found.where(subscriptions.c.name.in_(names))
    if ids is None:
        return _read_all(conn, conn.execute(found).all())
    rows = [
        row for chunk in in_chunks(ids) for row in conn.execute(found.where(subscriptions.c.id.in_(chunk))).all()
    ]
    return _read_all(conn, rows)


def find_askers(conn: Connection, query_ids: Iterable[int]) -> list[int]:
    """Return the subscriptions, live or not, that ask for any of these saved queries, in order."""
    askers: set[int] = set()
    for chunk in in_chunks(query_ids):
        found = select(subscription_queries.c.subscription_id).where(subscription_queries.c.query_id.in_(chunk))
        askers.update(conn.execute(found).scalars())
    return sorted(askers)


def load_excluding(conn: Connection) -> list[DueSubscription]:
    """Return the live subscriptions that exclude a query, by name."""
    ids = select(subscriptions.c.id).where(subscriptions.c.exclude_queries != "")
    found = load_subscriptions(conn, conn.execute(ids).scalars().all())
    return sorted(found, key=lambda due: due.subscription.name)


def set_next_due(
    conn: Connection, subscription_id: int, next_due_at: datetime | None, *, last_slot: str | None = None
) -> None:
    """Move a subscription on to its next turn, in the transaction that took this one.

    Args:
        conn: a writing transaction.
        subscription_id: whose.
        next_due_at: the next turn (UTC); None where only an event makes it due.
        last_slot: the slot of the turn taken; None leaves it.
    """
    values: dict[str, Any] = {"next_due_at": next_due_at}
    if last_slot is not None:
        values["last_slot"] = last_slot
    conn.execute(update(subscriptions).where(subscriptions.c.id == subscription_id).values(values))


def take_turns(conn: Connection, turns: Mapping[int, tuple[datetime | None, str]]) -> None:
    """Move subscriptions on, in the transaction that locked them (see `digest.store.turns`).

    Args:
        conn: a writing transaction.
        turns: subscription -> its next turn (UTC; None where only an event makes it due), and the slots taken.
    """
    together: dict[tuple[datetime | None, str], list[int]] = {}
    for id_, turn in turns.items():
        together.setdefault(turn, []).append(id_)
    take = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
    for (next_due_at, last_slot), ids in together.items():
        conn.execute(take.values(next_due_at=next_due_at, last_slot=last_slot), {"ids": ids})


def make_due(conn: Connection, ids: Collection[int], at: datetime) -> int:
    """Make active subscriptions due at a moment, unless they are due before; return how many moved."""
    moved = 0
    for chunk in in_chunks(ids):
        bring_forward = update(subscriptions).where(
            subscriptions.c.id.in_(chunk),
            subscriptions.c.state == SubscriptionState.ACTIVE,
            is_let_go_by_file(at),
            or_(subscriptions.c.next_due_at.is_(None), subscriptions.c.next_due_at > at),
        )
        moved += conn.execute(bring_forward.values(next_due_at=at)).rowcount
    return moved


def pause(conn: Connection, subscription_id: int, until: datetime | None) -> bool:
    """Pause a live subscription: it goes on collecting. None for until further notice.

    This is the word of a command. That of the operator's file is kept apart from it, and it rests while
    either holds.
    """
    return _change(conn, subscription_id, _LIVE, {"state": SubscriptionState.PAUSED, "paused_until": until})


def end_pauses(conn: Connection, now: datetime) -> int:
    """Let subscriptions go on whose pause is over; return how many."""
    is_over = (PAUSED_SUBSCRIPTION, subscriptions.c.paused_until <= now)
    wake = update(subscriptions).where(*is_over)
    return conn.execute(wake.values(state=SubscriptionState.ACTIVE, paused_until=None)).rowcount


def resume(conn: Connection, subscription_id: int, next_due_at: datetime | None) -> bool:
    """Let a paused subscription go on; False where it is not paused."""
    values = {"state": SubscriptionState.ACTIVE, "paused_until": None, "next_due_at": next_due_at}
    return _change(conn, subscription_id, (SubscriptionState.PAUSED,), values)


def end(conn: Connection, subscription_id: int, at: datetime) -> bool:
    """End a subscription: waiting deliveries are suppressed, history stays. False where it has ended."""
    values = {"state": SubscriptionState.ENDED, "ended_at": at, "next_due_at": None, "paused_until": None}
    if not _change(conn, subscription_id, _LIVE, values):
        return False
    suppress_waiting(conn, of_subscriptions([subscription_id]), "the subscription has ended", at)
    return True


def is_from_file(conn: Connection, subscription_id: int) -> bool:
    """Tell whether the operator's file names a subscription; those of the store are changed here."""
    origin = select(subscriptions.c.origin).where(subscriptions.c.id == subscription_id)
    return bool(conn.execute(origin).scalar_one() == Origin.FILE)


def set_exclusion(conn: Connection, subscription_id: int, subscription: Subscription) -> None:
    """Keep what a subscription excludes from now on."""
    keep = update(subscriptions).where(subscriptions.c.id == subscription_id)
    conn.execute(keep.values(write_exclusion(subscription)))


def write_exclusion(subscription: Subscription) -> dict[str, str]:
    """Return the columns that keep what a subscription excludes: a query a line, ids with blanks between."""
    return {
        "exclude_queries": "\n".join(subscription.exclude),
        "exclude_papers": " ".join(map(str, subscription.exclude_papers)),
    }


def bump_feed_generation(conn: Connection, subscription_id: int, at: datetime) -> int:
    """Give a feed a new address from a moment (UTC) on, also where it was revoked; return the new generation."""
    generation = subscriptions.c.feed_generation + 1
    bump = (
        update(subscriptions)
        .where(subscriptions.c.id == subscription_id)
        .values(feed_generation=generation, feed_rotated_at=at, feed_revoked_at=None)
    )
    return int(conn.execute(bump.returning(subscriptions.c.feed_generation)).scalar_one())


def revoke_feed(conn: Connection, subscription_id: int, at: datetime) -> None:
    """Make a feed's address stop working."""
    revoke = update(subscriptions).where(subscriptions.c.id == subscription_id)
    conn.execute(revoke.values(feed_revoked_at=at))


def is_let_go_by_file(now: datetime) -> ColumnElement[bool]:
    """Return the condition that the operator's file lets no subscription rest, or no longer."""
    paused_until = subscriptions.c.file_paused_until
    return or_(paused_until.is_(None), paused_until <= now)


_LIVE = (SubscriptionState.ACTIVE, SubscriptionState.PAUSED)


def _change(
    conn: Connection, subscription_id: int, states: Sequence[SubscriptionState], values: dict[str, Any]
) -> bool:
    change = update(subscriptions).where(subscriptions.c.id == subscription_id, subscriptions.c.state.in_(states))
    return conn.execute(change.values(values)).rowcount == 1


def _read_all(conn: Connection, rows: Sequence[Row[Any]]) -> list[DueSubscription]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    places = _collect(conn, ids, _active_places())
    links = _collect(conn, ids, _active_links())
    return [_read_one(row, places.get(row.id, ()), links.get(row.id, ())) for row in rows]


def _collect(conn: Connection, ids: list[int], found: Select[Any]) -> dict[int, list[Row[Any]]]:
    """Return rows of a table of subscriptions' parts by subscription."""
    parts: dict[int, list[Row[Any]]] = {}
    for row in conn.execute(found, {"ids": ids}).all():
        parts.setdefault(row.subscription_id, []).append(row)
    return parts


@cache
def _active_places() -> Select[tuple[Any, ...]]:
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
        .where(is_among(links.subscription_id, "ids"), current.c.state == ACTIVE)
        .order_by(links.position)
    )


def _read_one(row: Row[Any], places: Sequence[Row[Any]], links: Sequence[Row[Any]]) -> DueSubscription:
    revisions: tuple[ActiveRevision, ...] = tuple(read_revision(link) for link in links)
    return DueSubscription(
        id=row.id,
        subscription=Subscription(
            name=row.name,
            queries=tuple(revision.name for revision in revisions),
            destinations=tuple(Destination.parse(place.destination) for place in places),
            cadence=read_cadence(row.cadence),
            kinds=_read_kinds(row.kinds),
            quiet_days=QuietDays(row.quiet_days),
            cap=row.cap,
            first_look=row.first_look,
            group_by=Grouping(row.group_by),
            replacements=Replacements(row.replacements),
            weekly=Weekly(row.weekly),
            title=row.title,
            exclude=tuple(row.exclude_queries.splitlines()),
            exclude_papers=tuple(map(ArxivId.parse, row.exclude_papers.split())),
            quiet_hours=read_quiet_hours(row.quiet_hours),
            paused_until=row.file_paused_until,
        ),
        state=row.state,
        next_due_at=row.next_due_at,
        plan_after=row.plan_after,
        last_slot=row.last_slot,
        created_at=row.created_at,
        revisions=revisions,
        feed_generation=row.feed_generation,
    )


@lru_cache(maxsize=1024)
def _read_kinds(names: str) -> tuple[Kind, ...]:
    return tuple(map(Kind, names.split()))


@lru_cache(maxsize=1024)
def read_cadence(phrase: str) -> Cadence:
    """Read a phrase once: a hundred thousand subscriptions share a few.

    For a zone that is no more, as releases of the zones' data drop old names, UTC stands in: one that nobody can
    reckon with must not keep all others from what is theirs.
    """
    try:
        return Cadence.parse(phrase)
    except ConfigurationError as error:
        return Cadence.parse(_stand_in(phrase, error))


@lru_cache(maxsize=1024)
def read_quiet_hours(phrase: str) -> QuietHours | None:
    """Read quiet hours once, in the same way; "" stands for none."""
    try:
        return QuietHours.parse(phrase) if phrase else None
    except ConfigurationError as error:
        return QuietHours.parse(_stand_in(phrase, error))


def _stand_in(phrase: str, error: ConfigurationError) -> str:
    _log.warning("%s; UTC stands in for it until the subscription names another", error.message)
    return _STORED_ZONE.sub(" UTC", phrase, count=1)
