"""Alarms: what is kept of them, whose turn it is to send one, and what is overdue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    TextClause,
    and_,
    delete,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    update,
)

from digest.model.announcements import find_due_until
from digest.model.cadences import USUAL_WAIT, CadenceKind, leave_quiet
from digest.model.messages import DeliveryState, Occasion
from digest.model.said import NOTHING, Said
from digest.model.subscriptions import SubscriptionState
from digest.store.dialect import Moment, dialect_insert
from digest.store.outbox import waits_for_held
from digest.store.schema import (
    ACTIVE_DELIVERY,
    REFUSED_DELIVERY,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_DIGEST,
    alarms,
    deliveries,
    digests,
    matches,
    subscriptions,
)
from digest.store.subscriptions import is_sent_for, read_cadence, read_quiet_hours

CLAIM = timedelta(minutes=15)
"""How long a process has to send an alarm; if that failed, or the process died, another sends it then."""

PAUSE = timedelta(hours=1)
"""The shortest time between two alarms about failed messages."""


_IS_NO_LETTER = not_(
    exists().where(
        digests.c.id == deliveries.c.digest_id,
        digests.c.occasion == Occasion.LETTER,
    ),
)


_IS_HEARD = (subscriptions.c.state == SubscriptionState.ACTIVE, is_sent_for())
"""Digests go somewhere, and no pause holds them."""


class AlarmName(StrEnum):
    """What can be wrong; each is one alarm, however often it happens."""

    ANNOUNCEMENT = "announcement"
    DIGEST = "digest"
    OUTBOX = "outbox"
    FAILED = "failed"
    HELD = "needs you"
    SIGNUPS = "signups"


STUCK = frozenset({AlarmName.DIGEST, AlarmName.OUTBOX})
"""Alarms that say a process does not do its work; the others need a person."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """What has been due for too long, or has failed.

    Attributes:
        named: the one to name: the oldest, or of those that failed the last.
        due_at: since when there has been any (UTC); of those that failed, when the last did.
        delivery: the number of the delivery that is named; 0 for none.
    """

    number: int
    named: str
    due_at: datetime
    delivery: int = 0
    reason: Said = NOTHING


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing that somebody must know.

    Attributes:
        what: what is wrong, as a sentence without a full stop.
        failed_at: when a message failed last (UTC); None for other alarms.
    """

    name: AlarmName
    what: str | Said
    remedy: str | Said
    failed_at: datetime | None = None

    @property
    def detail(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.what}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as kept."""

    name: str
    detail: str
    since: datetime
    sent_at: datetime | None
    ended_at: datetime | None


def load_stored_alarms(conn: Connection) -> list[StoredAlarm]:
    """Return what is wrong as it was kept last, the oldest first."""
    lasting = select(alarms).where(alarms.c.ended_at.is_(None))
    return list(map(_read_alarm, conn.execute(lasting.order_by(alarms.c.since, alarms.c.name))))


def keep_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> None:
    """Keep what is wrong now: new alarms are raised, known ones go on, all others are over.

    One that is over before it was sent is forgotten. So is that messages failed: time alone ends it.
    """
    gone = alarms.c.name.not_in([str(alarm.name) for alarm in found])
    forget = or_(alarms.c.sent_at.is_(None), alarms.c.name == str(AlarmName.FAILED))
    conn.execute(delete(alarms).where(gone, forget))
    conn.execute(
        update(alarms).where(gone, alarms.c.ended_at.is_(None)).values(ended_at=now, not_before=now)
    )
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail, "since": now, "not_before": now}
        again = {"detail": alarm.detail, "ended_at": None}
        conn.execute(
            dialect_insert(conn, alarms)
            .values(row)
            .on_conflict_do_update(index_elements=["name"], set_=again)
        )


def claim_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[StoredAlarm]:
    """Take the alarms to send now; nobody else gets them for as long as `CLAIM`."""
    failed_at = next((alarm.failed_at for alarm in found if alarm.failed_at is not None), None)
    has_failed_anew = and_(
        alarms.c.name == str(AlarmName.FAILED), alarms.c.sent_at < literal(failed_at, Moment)
    )
    is_unsent = or_(alarms.c.sent_at.is_(None), alarms.c.ended_at.is_not(None), has_failed_anew)
    take = (
        update(alarms).where(alarms.c.not_before <= now, is_unsent).values(not_before=now + CLAIM)
    )
    return sorted(
        map(_read_alarm, conn.execute(take.returning(alarms))), key=lambda alarm: alarm.since
    )


def mark_notified(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that an alarm was sent; one that is over is then forgotten."""
    mine = and_(alarms.c.name == alarm.name, alarms.c.since == alarm.since)
    if alarm.ended_at is not None:
        conn.execute(delete(alarms).where(mine, alarms.c.ended_at.is_not(None)))
    else:
        conn.execute(update(alarms).where(mine).values(sent_at=now, not_before=now + PAUSE))


def load_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Return the active subscriptions with a digest that should be planned by a moment (UTC); None for none.

    A turn by the clock is overdue when its time was before that, and so is one `at once`. One that may wait longer
    for its announcement than is usual is late by so much later. One `on announcement` has no hour to be late by:
    it is overdue when papers wait for it that no announcement keeps back any more. A first digest waits for no
    turn: it is overdue when nothing has held it back since that moment.
    """
    late = sorted([*_find_overdue_slots(conn, before), *_find_overdue_papers(conn, before)])
    return Overdue(len(late), late[0][1], late[0][0]) if late else None


def _find_overdue_slots(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    turns = subscriptions.c
    overdue = (
        turns.next_due_at < before,
        turns.cadence != str(CadenceKind.ANNOUNCEMENT),
        *_IS_HEARD,
    )
    for row in conn.execute(select(turns.name, turns.next_due_at, turns.cadence).where(*overdue)):
        longer = max(read_cadence(row.cadence).wait - USUAL_WAIT, timedelta(0))
        if row.next_due_at + longer < before:
            yield row.next_due_at, row.name


def _find_overdue_papers(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield whose papers wait that no announcement keeps back, and then whose first digests."""
    mine, owed = subscriptions.c, find_due_until(before)
    on_announcement = (mine.cadence == str(CadenceKind.ANNOUNCEMENT), mine.next_due_at < owed)
    is_later = (matches.c.digest_id.is_(None), matches.c.occasion != Occasion.FIRST_DIGEST)
    for row in _find_waiting(conn, owed, *on_announcement, *is_later, *_IS_HEARD):
        yield max(row.next_due_at, row.matched_at), row.name
    for row in _find_waiting(conn, before, UNPLANNED_FIRST_DIGEST, *_IS_HEARD):
        due = leave_quiet(
            read_cadence(row.cadence), read_quiet_hours(row.quiet_hours), row.matched_at
        )
        if due < before:
            yield due, row.name


def _find_waiting(
    conn: Connection, before: datetime, *which: ColumnElement[bool] | TextClause
) -> Sequence[Any]:
    """Return subscriptions with what was matched for them before a moment and is not planned."""
    mine = subscriptions.c
    waiting = (
        select(
            mine.name,
            mine.cadence,
            mine.quiet_hours,
            mine.next_due_at,
            func.min(matches.c.matched_at).label("matched_at"),
        )
        .join(matches, matches.c.subscription_id == mine.id)
        .where(matches.c.match_run_id > mine.plan_after, matches.c.matched_at < before, *which)
        .group_by(mine.id, mine.name, mine.cadence, mine.quiet_hours, mine.next_due_at)
    )
    return conn.execute(waiting).all()


def load_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries planned before a moment (UTC) that have not ended; None for none.

    Parts after one that is held are not among them: that one has an alarm.
    """
    late = (ACTIVE_DELIVERY, deliveries.c.created_at < before, not_(waits_for_held()))
    oldest = _find_overdue(conn, late, deliveries.c.created_at, deliveries.c.created_at)
    return oldest and replace(oldest, reason=NOTHING)


def load_failed_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Return the deliveries given up since a moment (UTC), naming the last; None for none.

    Letters are not among them: an address mistyped on a page must not alarm anybody.
    """
    failed_at = func.coalesce(deliveries.c.ended_at, deliveries.c.created_at)
    is_failed = (STUCK_DELIVERY, deliveries.c.state == DeliveryState.DEAD, failed_at > since)
    return _find_overdue(conn, (*is_failed, _IS_NO_LETTER), failed_at, failed_at.desc())


def load_held_deliveries(conn: Connection) -> Overdue | None:
    """Return the deliveries that need the operator, naming the first; None for none.

    What was refused is among them until it was sent, also while it is tried again: a try is no end.
    """
    is_held = and_(STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD)
    at = deliveries.c.created_at
    return _find_overdue(conn, (or_(is_held, REFUSED_DELIVERY), _IS_NO_LETTER), at, at)


def _find_overdue(
    conn: Connection,
    which: tuple[Any, ...],
    at: ColumnElement[datetime],
    order: ColumnElement[datetime],
) -> Overdue | None:
    named = select(deliveries.c.destination, at, deliveries.c.id, deliveries.c.last_error).where(
        *which
    )
    row = conn.execute(named.order_by(order, deliveries.c.id).limit(1)).one_or_none()
    number = conn.execute(select(func.count()).select_from(deliveries).where(*which)).scalar_one()
    return None if row is None else Overdue(number, row[0], row[1], row[2], row[3] or NOTHING)


def _read_alarm(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.sent_at, row.ended_at)
