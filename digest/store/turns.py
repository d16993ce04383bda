"""Turns that have come: of each subscription just what decides over it, since most have nothing to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, or_, select

from digest.planning import Rhythm
from digest.store.dialect import in_chunks
from digest.store.queries import ACTIVE, current_revision
from digest.store.schema import subscription_destinations, subscription_queries, subscriptions
from digest.store.subscribers import DestinationState
from digest.store.subscriptions import is_let_go_by_file, read_cadence, read_quiet_hours
from digest.subscriptions import Destination, QuietDays, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection


class DueTurn(NamedTuple):
    """The turn of a subscription, as stored: a hundred thousand are read for a morning.

    Attributes:
        id: the subscription's key.
        name: its name.
        cadence, quiet_hours, quiet_days: as it writes them; see `rhythm`.
        next_due_at: when the turn came (UTC).
        last_slot: the slots it took last.
        plan_after: only matches of later match runs are planned.
        excludes: whether it excludes any query or paper.
    """

    id: int
    name: str
    cadence: str
    quiet_hours: str
    quiet_days: str
    next_due_at: datetime
    last_slot: str
    plan_after: int
    excludes: bool

    @property
    def likeness(self) -> tuple[str, str, str, datetime, str]:
        """What is the same of turns that came alike: nothing else of it decides over one."""
        return self.cadence, self.quiet_hours, self.quiet_days, self.next_due_at, self.last_slot

    @property
    def rhythm(self) -> Rhythm:
        """When it wants to hear."""
        return Rhythm(read_cadence(self.cadence), read_quiet_hours(self.quiet_hours), QuietDays(self.quiet_days))


_EXCLUDES = or_(subscriptions.c.exclude_queries != "", subscriptions.c.exclude_papers != "")
_COLUMNS = (*(subscriptions.c[name] for name in DueTurn._fields[:-1]), _EXCLUDES.label("excludes"))


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
    """
    is_back = and_(subscriptions.c.state == SubscriptionState.PAUSED, subscriptions.c.paused_until <= now)
    is_live = or_(subscriptions.c.state == SubscriptionState.ACTIVE, is_back)
    order = (subscriptions.c.next_due_at, subscriptions.c.id)
    found = select(*_COLUMNS).where(subscriptions.c.next_due_at <= now, is_live, is_let_go_by_file(now))
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
    return list(map(DueTurn._make, conn.execute(found.order_by(*order).limit(limit))))


def sent_somewhere(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of some subscriptions that have digests: feeds alone need none."""
    found: set[int] = set()
    for chunk in in_chunks(ids):
        places = select(
            subscription_destinations.c.subscription_id, subscription_destinations.c.destination
        ).where(
            subscription_destinations.c.subscription_id.in_(chunk),
            subscription_destinations.c.state == DestinationState.ACTIVE,
        )
        found.update(id_ for id_, place in conn.execute(places) if not Destination.parse(place).is_pulled)
    return found


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
