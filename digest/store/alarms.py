"""Alarms as kept: raised, told, told again, over. Whoever claims one tells of it, so that replicas do not all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, not_, or_, select, update

from digest.cadences import USUAL_WAIT, CadenceKind
from digest.messages import DeliveryState, Occasion
from digest.planning.alarms import REMIND_EVERY, Overdue, find_owed
from digest.planning.polls import CLOCK_AHEAD
from digest.planning.quiet import leave_quiet
from digest.store.dialect import insert, later
from digest.store.idling import is_sent_for
from digest.store.outbox_steps import waits_for_held
from digest.store.schema import (
    ACTIVE_DELIVERY,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_LOOK,
    alarms,
    deliveries,
    matches,
    subscriptions,
)
from digest.store.subscriptions import is_let_go_by_file, read_cadence, read_quiet_hours
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, Row, TextClause

    from digest.planning.alarms import Alarm

CLAIM = timedelta(minutes=5)
"""How long whoever tells of an alarm has for it; a process that dies meanwhile leaves it to the next."""


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as kept.

    Attributes:
        name: `AlarmName` as text.
        detail: what is amiss, and what to do, in the words somebody was last told; of a new one, in the latest.
        since: when it was raised (UTC).
        told_at: when somebody was last told (UTC); None before.
        attempts: how often telling was tried since it last worked.
        ended_at: since when it is over (UTC); None while it lasts.
    """

    name: str
    detail: str
    since: datetime
    told_at: datetime | None
    attempts: int
    ended_at: datetime | None


def list_alarms(conn: Connection) -> list[StoredAlarm]:
    """Return what is kept, the oldest first; those that are over only until somebody was told so."""
    return [_read(row) for row in conn.execute(select(alarms).order_by(alarms.c.since, alarms.c.name))]


def find_lasting(conn: Connection, name: str) -> StoredAlarm | None:
    """Return an alarm that lasts, by name; None where it does not."""
    lasts = select(alarms).where(alarms.c.name == str(name), alarms.c.ended_at.is_(None))
    row = conn.execute(lasts).one_or_none()
    return None if row is None else _read(row)


def sync_alarms(conn: Connection, found: Sequence[Alarm], now: datetime, *, let_go: Sequence[str] = ()) -> None:
    """Keep what is amiss now: new ones are raised, known ones go on, all others are over.

    One that is over before anybody was told of it is forgotten. One that a clock running ahead has dated is
    raised anew, or nobody would be told until then. Doing it twice changes nothing.

    Args:
        conn: a writing transaction.
        found: what is amiss, and somebody must hear of.
        now: the moment (UTC).
        let_go: names of alarms that end although what they tell of is as it was: their end is told nobody.
    """
    names = [str(alarm.name) for alarm in found]
    gone = alarms.c.name.not_in(names)
    conn.execute(delete(alarms).where(gone, or_(alarms.c.told_at.is_(None), alarms.c.name.in_(let_go))))
    end = update(alarms).where(gone, alarms.c.ended_at.is_(None))
    conn.execute(end.values(ended_at=now, attempts=0, not_before=now))
    fresh = {"since": now, "told_at": None, "attempts": 0, "not_before": now, "ended_at": None}
    dates = (alarms.c.since, alarms.c.told_at, alarms.c.not_before)
    is_dated_ahead = or_(*(date > now + CLOCK_AHEAD for date in dates))
    again = update(alarms).where(alarms.c.name.in_(names), or_(alarms.c.ended_at.is_not(None), is_dated_ahead))
    conn.execute(again.values(fresh))
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail}
        raising = insert(conn, alarms).values(row | fresh)
        keep = {"detail": row["detail"]}
        untold = alarms.c.told_at.is_(None)  # its end is told in the words that were told
        conn.execute(raising.on_conflict_do_update(index_elements=["name"], set_=keep, where=untold))


def claim_alarms(conn: Connection, now: datetime) -> list[StoredAlarm]:
    """Take the alarms somebody must be told of now; nobody else gets them for as long as `CLAIM`."""
    is_untold = alarms.c.told_at.is_(None)
    is_long_told = alarms.c.told_at <= now - REMIND_EVERY
    take = update(alarms).where(
        alarms.c.not_before <= now, or_(is_untold, is_long_told, alarms.c.ended_at.is_not(None))
    )
    taken = take.values(not_before=now + CLAIM, attempts=alarms.c.attempts + 1).returning(alarms)
    return sorted((_read(row) for row in conn.execute(taken)), key=lambda alarm: (alarm.since, alarm.name))


def mark_told(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that somebody was told, in these words; an alarm that is over is forgotten with that."""
    if alarm.ended_at is not None:
        conn.execute(delete(alarms).where(_is(alarm)))
        return
    told = {"detail": alarm.detail, "told_at": now, "attempts": 0, "not_before": now}
    conn.execute(update(alarms).where(_is(alarm)).values(told))


def put_off(conn: Connection, alarm: StoredAlarm, now: datetime, pause: Callable[[int], timedelta]) -> None:
    """Record that nobody could be told, and when to try again: `pause` says how long, by attempts made."""
    conn.execute(update(alarms).where(_is(alarm)).values(not_before=now + pause(alarm.attempts)))


def find_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Return the active subscriptions with a digest that should be planned by a moment (UTC); None for none.

    A turn by the clock is overdue when its time was before that, and so is one `at once`. One that may wait longer
    for its mailing than is usual is late by so much later. One `on announcement` has no hour to be late by: it is
    overdue when papers wait for it that no mailing keeps back any more. A first look waits for no turn: it is
    overdue when nothing has held it back since that moment.
    """
    ways = (_find_overdue_turns, _find_overdue_papers, _find_overdue_first_looks)
    found = [one for find in ways if (one := find(conn, before)) is not None]
    if not found:
        return None
    oldest = min(found, key=lambda one: one.due_at)
    return replace(oldest, number=sum(one.number for one in found))


def _find_overdue_turns(conn: Connection, before: datetime) -> Overdue | None:
    turns = subscriptions.c
    overdue = (turns.next_due_at < before, turns.cadence != str(CadenceKind.ANNOUNCEMENT), *_is_heard(before))
    waits = turns.cadence.contains("at the latest")
    found = select(turns.name, turns.next_due_at, turns.cadence).where(*overdue)
    found = found.order_by(turns.next_due_at, turns.id)
    late = [
        row for row in conn.execute(found.where(waits)) if row.next_due_at + _find_excess(row.cadence) < before
    ]
    late += conn.execute(found.where(not_(waits)).limit(1)).all()
    if not late:
        return None
    usual = conn.execute(select(func.count()).select_from(subscriptions).where(*overdue, not_(waits))).scalar_one()
    oldest = min(late, key=lambda row: row.next_due_at)
    return Overdue(usual + sum("at the latest" in row.cadence for row in late), oldest.name, oldest.next_due_at)


def _find_overdue_papers(conn: Connection, before: datetime) -> Overdue | None:
    turns, owed = subscriptions.c, find_owed(before)
    waiting = (
        select(turns.id, turns.name, turns.next_due_at, func.min(matches.c.matched_at).label("matched_at"))
        .join(matches, matches.c.subscription_id == turns.id)
        .where(
            turns.next_due_at < owed,
            turns.cadence == str(CadenceKind.ANNOUNCEMENT),
            *_is_heard(before),
            matches.c.digest_id.is_(None),
            matches.c.occasion != Occasion.FIRST_LOOK,
            matches.c.match_run_id > turns.plan_after,
            matches.c.matched_at < owed,
        )
        .group_by(turns.id, turns.name, turns.next_due_at)
        .subquery()
    )
    since = later(waiting.c.next_due_at, waiting.c.matched_at)
    row = conn.execute(select(waiting).order_by(since, waiting.c.id).limit(1)).one_or_none()
    if row is None:
        return None
    number = conn.execute(select(func.count()).select_from(waiting)).scalar_one()
    return Overdue(number, row.name, max(row.next_due_at, row.matched_at))


def _find_overdue_first_looks(conn: Connection, before: datetime) -> Overdue | None:
    mine, since = subscriptions.c, func.min(matches.c.matched_at)
    waiting = (
        select(mine.name, mine.cadence, mine.quiet_hours, since.label("since"))
        .join(matches, matches.c.subscription_id == mine.id)
        .where(
            UNPLANNED_FIRST_LOOK,
            matches.c.match_run_id > mine.plan_after,
            matches.c.matched_at < before,
            *_is_heard(before),
        )
        .group_by(mine.id, mine.name, mine.cadence, mine.quiet_hours)
        .order_by(since, mine.id)
    )
    due = [
        (leave_quiet(read_cadence(row.cadence), read_quiet_hours(row.quiet_hours), row.since), row.name)
        for row in conn.execute(waiting)
    ]
    late = [one for one in due if one[0] < before]
    if not late:
        return None
    due_at, name = min(late, key=lambda one: one[0])
    return Overdue(len(late), name, due_at)


def _is_heard(before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that digests go somewhere, and that no pause has held them since a moment (UTC)."""
    return subscriptions.c.state == SubscriptionState.ACTIVE, is_let_go_by_file(before), is_sent_for()


def _find_excess(cadence: str) -> timedelta:
    """Return how much longer than usual a digest may wait for its mailing."""
    return max(read_cadence(cadence).wait - USUAL_WAIT, timedelta(0))


def find_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries that could go before a moment (UTC) already and have not; None for none.

    Parts behind one that is held are not among them: that one is told of.
    """
    since = deliveries.c.created_at
    return _find_oldest(conn, (ACTIVE_DELIVERY, since < before, not_(waits_for_held())), since)


def find_overdue_holds(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries planned before a moment (UTC) and held for the operator; None for none."""
    since = deliveries.c.created_at
    return _find_oldest(conn, (STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD, since < before), since)


def find_dead_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Return the deliveries given up after a moment (UTC), naming the last one with its reason; None for none."""
    dead = (STUCK_DELIVERY, deliveries.c.state == DeliveryState.DEAD, deliveries.c.ended_at > since)
    first = _find_oldest(conn, dead, deliveries.c.ended_at)
    if first is None:
        return None
    order = (deliveries.c.ended_at.desc(), deliveries.c.id.desc())
    last = conn.execute(select(deliveries).where(*dead).order_by(*order).limit(1)).one()
    return replace(first, oldest=last.destination, reason=last.last_error or "", delivery=last.id)


def _find_oldest(
    conn: Connection, which: Sequence[ColumnElement[bool] | TextClause], by: ColumnElement[Any]
) -> Overdue | None:
    first = (
        select(deliveries.c.id, deliveries.c.destination, by.label("since"))
        .where(*which)
        .order_by(by, deliveries.c.id)
    )
    row = conn.execute(first.limit(1)).one_or_none()
    if row is None:
        return None
    number = conn.execute(select(func.count()).select_from(deliveries).where(*which)).scalar_one()
    return Overdue(number, row.destination, row.since, delivery=row.id)


def _is(alarm: StoredAlarm) -> ColumnElement[bool]:
    """Return the condition that an alarm is still the one that was claimed: neither over nor raised anew since."""
    same_end = alarms.c.ended_at.is_(None) if alarm.ended_at is None else alarms.c.ended_at == alarm.ended_at
    return and_(alarms.c.name == alarm.name, alarms.c.since == alarm.since, same_end)


def _read(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.told_at, row.attempts, row.ended_at)
