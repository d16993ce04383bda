"""What is amiss, as the database has it; and what of it was told, so that it is told once and by one process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, literal, not_, or_, select, update

from digest.cadences import USUAL_WAIT, CadenceKind
from digest.messages import DeliveryState, Occasion
from digest.planning.alarms import AlarmName, Overdue, find_owed
from digest.planning.quiet import leave_quiet
from digest.store.dialect import insert
from digest.store.idling import is_sent_for
from digest.store.outbox_steps import waits_for_held
from digest.store.schema import (
    ACTIVE_DELIVERY,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_LOOK,
    Moment,
    alarms,
    attempts,
    deliveries,
    matches,
    subscriptions,
)
from digest.store.subscriptions import is_let_go_by_file, read_cadence, read_quiet_hours
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, Row, TextClause

    from digest.planning.alarms import Alarm

CLAIM = timedelta(minutes=15)
"""How long whoever tells of an alarm has for it; where that failed, or the process died, it is told after that."""

PAUSE = timedelta(hours=1)
"""Failed messages are told of at most so often."""


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as kept.

    Attributes:
        name: `AlarmName` as text.
        detail: what is amiss, and what to do, as it was found last.
        since: when it was raised (UTC).
        told_at: when somebody was told (UTC); None before.
        ended_at: since when it is over (UTC); None while it lasts.
    """

    name: str
    detail: str
    since: datetime
    told_at: datetime | None
    ended_at: datetime | None


def list_alarms(conn: Connection) -> list[StoredAlarm]:
    """Return what is amiss as it was kept last, the oldest first."""
    lasting = select(alarms).where(alarms.c.ended_at.is_(None))
    return [_read(row) for row in conn.execute(lasting.order_by(alarms.c.since, alarms.c.name))]


def keep_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> None:
    """Keep what is amiss now: new alarms are raised, known ones go on, all others are over.

    One that is over before anybody was told of it is forgotten. So is that messages failed: time alone ends it.
    """
    gone = alarms.c.name.not_in([str(alarm.name) for alarm in found])
    forget = or_(alarms.c.told_at.is_(None), alarms.c.name == str(AlarmName.FAILED))
    conn.execute(delete(alarms).where(gone, forget))
    conn.execute(update(alarms).where(gone, alarms.c.ended_at.is_(None)).values(ended_at=now, not_before=now))
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail, "since": now, "not_before": now}
        again = {"detail": alarm.detail, "ended_at": None}
        conn.execute(insert(conn, alarms).values(row).on_conflict_do_update(index_elements=["name"], set_=again))


def claim_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[StoredAlarm]:
    """Take the alarms somebody must be told of now; nobody else gets them for as long as `CLAIM`."""
    failed_at = next((alarm.failed_at for alarm in found if alarm.failed_at is not None), None)
    has_failed_anew = and_(alarms.c.name == str(AlarmName.FAILED), alarms.c.told_at < literal(failed_at, Moment))
    is_untold = or_(alarms.c.told_at.is_(None), alarms.c.ended_at.is_not(None), has_failed_anew)
    take = update(alarms).where(alarms.c.not_before <= now, is_untold).values(not_before=now + CLAIM)
    return sorted((_read(row) for row in conn.execute(take.returning(alarms))), key=lambda alarm: alarm.since)


def mark_told(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that somebody was told; an alarm that is over is forgotten with that."""
    mine = and_(alarms.c.name == alarm.name, alarms.c.since == alarm.since)
    if alarm.ended_at is not None:
        conn.execute(delete(alarms).where(mine, alarms.c.ended_at.is_not(None)))
    else:
        conn.execute(update(alarms).where(mine).values(told_at=now, not_before=now + PAUSE))


def find_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Return the active subscriptions with a digest that should be planned by a moment (UTC); None for none.

    A turn by the clock is overdue when its time was before that, and so is one `at once`. One that may wait longer
    for its mailing than is usual is late by so much later. One `on announcement` has no hour to be late by: it is
    overdue when papers wait for it that no mailing keeps back any more. A first look waits for no turn: it is
    overdue when nothing has held it back since that moment.
    """
    late = sorted([*_find_overdue_turns(conn, before), *_find_overdue_papers(conn, before)])
    return Overdue(len(late), late[0][1], late[0][0]) if late else None


def _find_overdue_turns(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    turns = subscriptions.c
    overdue = (turns.next_due_at < before, turns.cadence != str(CadenceKind.ANNOUNCEMENT), *_is_heard(before))
    for row in conn.execute(select(turns.name, turns.next_due_at, turns.cadence).where(*overdue)):
        longer = max(read_cadence(row.cadence).wait - USUAL_WAIT, timedelta(0))
        if row.next_due_at + longer < before:
            yield row.next_due_at, row.name


def _find_overdue_papers(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield whose papers wait that no mailing keeps back, and then whose first looks."""
    mine, owed = subscriptions.c, find_owed(before)
    on_announcement = (mine.cadence == str(CadenceKind.ANNOUNCEMENT), mine.next_due_at < owed)
    is_later = (matches.c.digest_id.is_(None), matches.c.occasion != Occasion.FIRST_LOOK)
    for row in _find_waiting(conn, owed, *on_announcement, *is_later, *_is_heard(before)):
        yield max(row.next_due_at, row.matched_at), row.name
    for row in _find_waiting(conn, before, UNPLANNED_FIRST_LOOK, *_is_heard(before)):
        due = leave_quiet(read_cadence(row.cadence), read_quiet_hours(row.quiet_hours), row.matched_at)
        if due < before:
            yield due, row.name


def _find_waiting(conn: Connection, before: datetime, *which: ColumnElement[bool] | TextClause) -> Sequence[Any]:
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


def _is_heard(before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that digests go somewhere, and that no pause has held them since a moment (UTC)."""
    return subscriptions.c.state == SubscriptionState.ACTIVE, is_let_go_by_file(before), is_sent_for()


def find_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries planned before a moment (UTC) that have not ended; None for none.

    Parts behind one that is held are not among them: that one is told of.
    """
    late = (ACTIVE_DELIVERY, deliveries.c.created_at < before, not_(waits_for_held()))
    order = (deliveries.c.created_at, deliveries.c.id)
    row = conn.execute(select(deliveries).where(*late).order_by(*order).limit(1)).one_or_none()
    if row is None:
        return None
    number = conn.execute(select(func.count()).select_from(deliveries).where(*late)).scalar_one()
    return Overdue(number, row.destination, row.created_at, row.id)


def find_failed_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Return the deliveries given up, or held, since a moment (UTC), naming the last; None for none."""
    tried_at = select(func.max(attempts.c.ended_at)).where(attempts.c.delivery_id == deliveries.c.id)
    failed_at = func.coalesce(deliveries.c.ended_at, tried_at.scalar_subquery(), deliveries.c.created_at)
    states = (DeliveryState.DEAD, DeliveryState.HELD)
    failed = (STUCK_DELIVERY, deliveries.c.state.in_(states), failed_at > since)
    columns = (deliveries.c.id, deliveries.c.destination, deliveries.c.last_error, failed_at.label("failed_at"))
    row = conn.execute(select(*columns).where(*failed).order_by(failed_at.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    number = conn.execute(select(func.count()).select_from(deliveries).where(*failed)).scalar_one()
    return Overdue(number, row.destination, row.failed_at, row.id, row.last_error or "")


def _read(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.told_at, row.ended_at)
