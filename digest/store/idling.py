"""Whether there is anything to do. It is asked every few seconds, and the answer is nearly always no.

So it is one statement, built once, that reads: nobody who writes is waited for, and each part of it is answered
by an index. A yes may be a false alarm; a no never is.

PostgreSQL plans a statement that comes again and again once for all moments, if that promises to be no dearer
than planning it each time, which takes longer than the answer. Then it takes a third of all subscriptions for due
and, asked whether there is any, looks through the table for the first; asked for the first in the order of an
index, it looks into that. The one row asked for stands in the statement itself: of a limit that comes as a
parameter it expects a tenth of the table, and goes on planning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, bindparam, exists, literal, literal_column, not_, or_, select

from digest.store.schema import (
    ACTIVE_DELIVERY,
    PAUSED_SUBSCRIPTION,
    UNPLANNED_FIRST_LOOK,
    Moment,
    deliveries,
    matches,
    subscription_destinations,
    subscriptions,
)
from digest.store.subscribers import DestinationState
from digest.subscriptions import FEED_SUFFIXES, Destination, DestinationKind, SubscriptionState

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, TextClause

_NOW = bindparam("now", type_=Moment)
_ONE: ColumnElement[int] = literal_column("1")


def has_turns(conn: Connection, now: datetime) -> bool:
    """Whether any subscription's turn has come, or may have: see `digest.pipeline.planning_step.plan`."""
    return conn.execute(_TURNS, {"now": now}).first() is not None


def has_deliveries(conn: Connection) -> bool:
    """Whether any delivery is on its way, or waits to be."""
    return conn.execute(_ON_THEIR_WAY).first() is not None


def is_sent_for() -> ColumnElement[bool]:
    """Return the condition that a subscription's digests go anywhere: a feed has none."""
    places = subscription_destinations.c
    return exists().where(
        places.subscription_id == subscriptions.c.id,
        places.state == DestinationState.ACTIVE,
        places.destination != str(Destination(DestinationKind.FEED)),
        *(not_(places.destination.like(f"{DestinationKind.FILE}:%{suffix}")) for suffix in FEED_SUFFIXES),
    )


def _has_first(
    moment: ColumnElement[datetime], *conditions: ColumnElement[bool] | TextClause
) -> ColumnElement[bool]:
    """Return the condition that there is a row, the first by a moment; see above."""
    return select(moment).where(*conditions).order_by(moment).limit(_ONE).scalar_subquery().is_not(None)


_IS_LET_GO = or_(subscriptions.c.file_paused_until.is_(None), subscriptions.c.file_paused_until <= _NOW)
_IS_LIVE = or_(
    subscriptions.c.state == SubscriptionState.ACTIVE,
    and_(subscriptions.c.state == SubscriptionState.PAUSED, subscriptions.c.paused_until <= _NOW),
)

_TURNS = select(literal(1)).where(
    or_(
        _has_first(subscriptions.c.next_due_at, subscriptions.c.next_due_at <= _NOW, _IS_LIVE, _IS_LET_GO),
        _has_first(subscriptions.c.paused_until, PAUSED_SUBSCRIPTION, subscriptions.c.paused_until <= _NOW),
        exists().where(
            UNPLANNED_FIRST_LOOK,
            subscriptions.c.id == matches.c.subscription_id,
            subscriptions.c.state == SubscriptionState.ACTIVE,
            matches.c.match_run_id > subscriptions.c.plan_after,
            is_sent_for(),
        ),
        exists().where(
            subscriptions.c.state == SubscriptionState.ACTIVE,
            subscriptions.c.next_due_at.is_(None),
            matches.c.subscription_id == subscriptions.c.id,
            matches.c.digest_id.is_(None),
            matches.c.match_run_id > subscriptions.c.plan_after,
            is_sent_for(),
        ),
    )
)

_ON_THEIR_WAY = select(deliveries.c.id).where(ACTIVE_DELIVERY).limit(_ONE)
