"""Turns that have come: of each subscription just what decides over it, since most have nothing to tell."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, or_, select

from digest.planning import Rhythm
from digest.store.dialect import in_chunks, is_among
from digest.store.queries import ACTIVE, current_revision
from digest.store.schema import subscription_destinations, subscription_queries, subscriptions
from digest.store.subscribers import DestinationState
from digest.store.subscriptions import is_let_go_by_file, read_cadence, read_quiet_hours
from digest.subscriptions import Destination, DestinationKind, QuietDays, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection


class DueTurn(NamedTuple):
    """The turn of a subscription, as stored: a hundred thousand are read for a morning.

    Attributes:
        id: the subscription's key.
        name: its name.
        next_due_at: when the turn came (UTC).
        last_slot: the slots it took last.
        plan_after: only matches of later match runs are planned.
        excludes: whether it excludes any query or paper.
        written: its rhythm in its own words: equal words say the same.
        rhythm: when it wants to hear.
    """

    id: int
    name: str
    next_due_at: datetime
    last_slot: str
    plan_after: int
    excludes: bool
    written: tuple[str, ...]
    rhythm: Rhythm

    @property
    def likeness(self) -> object:
        """What is the same of turns that came alike: nothing else of it decides over one."""
        return self.written, self.next_due_at, self.last_slot


_TOLD = tuple(subscriptions.c[name] for name in ("id", "name", "next_due_at", "last_slot", "plan_after"))
_EXCLUDES = or_(subscriptions.c.exclude_queries != "", subscriptions.c.exclude_papers != "")
_WRITTEN = (subscriptions.c.cadence, subscriptions.c.quiet_hours, subscriptions.c.quiet_days)
_MAIL = f"{DestinationKind.MAIL}:"


def due_turns(
    conn: Connection,
    now: datetime,
    limit: int,
    *,
    after: tuple[datetime, int] | None = None,
    only: int | None = None,
    lock: bool = False,
) -> list[DueTurn]:
    """Return the turns that have come, the longest waiting first.

    A subscription that is paused counts again once its pause is over.

    Args:
        conn: any transaction; with `lock` a writing one.
        now: the moment (UTC).
        limit: how many at most.
        after: only those behind this due time (UTC) and subscription: where the last batch ended.
        only: that of this subscription alone, by its id.
        lock: keep other processes from them until the transaction ends, and leave out what others keep.

    Raises:
        ConfigurationError: what one of them says of its rhythm can't be read.
    """
    is_back = and_(subscriptions.c.state == SubscriptionState.PAUSED, subscriptions.c.paused_until <= now)
    is_live = or_(subscriptions.c.state == SubscriptionState.ACTIVE, is_back)
    order = (subscriptions.c.next_due_at, subscriptions.c.id)
    found = select(*_TOLD, _EXCLUDES, *_WRITTEN).where(
        subscriptions.c.next_due_at <= now, is_live, is_let_go_by_file(now)
    )
    if after is not None:
        due_at, id_ = after
        # Said like this, the index leads there: of an OR of both SQLite reads all that is due, and sorts it.
        found = found.where(
            subscriptions.c.next_due_at >= due_at,
            or_(subscriptions.c.next_due_at > due_at, subscriptions.c.id > id_),
        )
    if only is not None:
        found = found.where(subscriptions.c.id == only)
    if lock:
        found = found.with_for_update(skip_locked=True)
    rows = conn.execute(found.order_by(*order).limit(limit)).all()
    return [
        DueTurn(key, name, came_at, last_slot, plan_after, excludes, (*written,), _read_rhythm(*written))
        for key, name, came_at, last_slot, plan_after, excludes, *written in rows
    ]


@lru_cache(maxsize=1024)
def _read_rhythm(cadence: str, quiet_hours: str, quiet_days: str) -> Rhythm:
    """Read a rhythm once: a hundred thousand subscriptions share a few."""
    return Rhythm(read_cadence(cadence), read_quiet_hours(quiet_hours), QuietDays(quiet_days))


def sent_somewhere(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of some subscriptions that have digests: feeds alone need none."""
    places = conn.execute(_PLACES, {"ids": ids}).all() if ids else ()
    return {id_ for id_, place in places if _is_sent(place)}


_PLACES = select(subscription_destinations.c.subscription_id, subscription_destinations.c.destination).where(
    is_among(subscription_destinations.c.subscription_id, "ids"),
    subscription_destinations.c.state == DestinationState.ACTIVE,
)


def _is_sent(place: str) -> bool:
    """Whether somebody is written to there. Nearly all are mail addresses, and read at a glance."""
    is_mail = place.startswith(_MAIL) and place[len(_MAIL) :].strip() != ""
    return is_mail or not Destination.parse(place).is_pulled


def asked_queries(conn: Connection, ids: Collection[int]) -> dict[int, set[str]]:
    """Return the canonical saved queries of some subscriptions."""
    current = current_revision().subquery()
    links = subscription_queries.c
    asked: dict[int, set[str]] = {id_: set() for id_ in ids}
    for chunk in in_chunks(ids):
        found = (
            select(links.subscription_id, current.c.canonical)
            .join(current, current.c.id == links.query_id)
            .where(links.subscription_id.in_(chunk), current.c.state == ACTIVE, current.c.canonical != "")
        )
        for id_, canonical in conn.execute(found):
            asked[id_].add(canonical)
    return asked
