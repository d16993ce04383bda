"""Alarms: what is kept of them, whose turn it is to send one, and what is overdue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

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
from digest.model.said import NOTHING, Said, Saying
from digest.model.subscriptions import SubscriptionState
from digest.store.dialect import Moment, upsert
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
"""How long a process has to send an alarm; if that fails, or it dies, another sends it then."""

PAUSE = timedelta(hours=1)
"""The shortest time between two alarms about failed messages."""

_OF_LETTER = exists().where(
    digests.c.id == deliveries.c.digest_id, digests.c.occasion == Occasion.LETTER
)


_IS_NO_LETTER = not_(_OF_LETTER)

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
    what: Said
    remedy: Said
    failed_at: datetime | None = None

    @property
    def detail(self) -> Said:
        """What is wrong, and what to do."""
        return Said.of(Saying.ALARM, self.what, self.remedy)


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as kept."""

    name: str
    detail: Said
    since: datetime
    sent_at: datetime | None
    ended_at: datetime | None


class _Late(NamedTuple):
    """A digest that is overdue: since when (UTC), and of which subscription."""

    since: datetime
    name: str


def load_stored(conn: Connection) -> list[StoredAlarm]:
    """Return what is wrong as it was kept last, the oldest first."""
    lasting = select(alarms).where(alarms.c.ended_at.is_(None))
    oldest_first = lasting.order_by(alarms.c.since, alarms.c.name)
    return [_read_alarm(row) for row in conn.execute(oldest_first)]


def keep(conn: Connection, found: Sequence[Alarm], now: datetime) -> None:
    """Keep what is wrong now: new alarms are raised, known ones go on, all others are over.

    One that is over before it was sent is forgotten. So is that messages failed: time alone ends
    it.
    """
    kept = alarms.c
    names = [str(alarm.name) for alarm in found]
    is_over = kept.name.not_in(names)
    is_forgotten = or_(kept.sent_at.is_(None), kept.name == str(AlarmName.FAILED))
    conn.execute(delete(alarms).where(is_over, is_forgotten))
    end = update(alarms).where(is_over, kept.ended_at.is_(None))
    conn.execute(end.values(ended_at=now, not_before=now))
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail, "since": now, "not_before": now}
        again = {"detail": alarm.detail, "ended_at": None}
        upsert(conn, alarms, row, again)


def claim(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[StoredAlarm]:
    """Take the alarms to send now; nobody else gets them for as long as `CLAIM`."""
    kept = alarms.c
    failures = [alarm.failed_at for alarm in found if alarm.failed_at is not None]
    failed_at = failures[0] if failures else None
    is_of_failure = kept.name == str(AlarmName.FAILED)
    has_failed_anew = and_(is_of_failure, kept.sent_at < literal(failed_at, Moment))
    is_unsent = or_(kept.sent_at.is_(None), kept.ended_at.is_not(None), has_failed_anew)
    take = update(alarms).where(kept.not_before <= now, is_unsent)
    claimed = take.values(not_before=now + CLAIM).returning(alarms)
    taken = [_read_alarm(row) for row in conn.execute(claimed)]
    taken.sort(key=lambda alarm: alarm.since)
    return taken


def mark_notified(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that an alarm was sent; one that is over is then forgotten."""
    kept = alarms.c
    is_it = and_(kept.name == alarm.name, kept.since == alarm.since)
    if alarm.ended_at is not None:
        forget = delete(alarms).where(is_it, kept.ended_at.is_not(None))
        conn.execute(forget)
        return
    sent = update(alarms).where(is_it)
    conn.execute(sent.values(sent_at=now, not_before=now + PAUSE))


def load_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Return the active subscriptions with a digest that should be planned by a moment (UTC).

    A turn by the clock is overdue when its time was before that, and so is one `at once`. One that
    may wait longer for its announcement than is usual is late by so much later. One `on
    announcement` has no hour to be late by: it is overdue when papers wait for it that no
    announcement keeps back any more. A first digest waits for no turn: it is overdue when nothing
    has held it back since that moment. Return None if none is overdue.
    """
    late = list(_find_overdue_turns(conn, before))
    late += _find_overdue_papers(conn, before)
    late += _find_overdue_first_digests(conn, before)
    if not late:
        return None
    oldest = min(late)
    return Overdue(len(late), oldest.name, oldest.since)


def _find_overdue_turns(conn: Connection, before: datetime) -> Iterator[_Late]:
    turns = subscriptions.c
    is_on_announcement = turns.cadence == str(CadenceKind.ANNOUNCEMENT)
    found = select(turns.name, turns.next_due_at, turns.cadence)
    overdue = found.where(turns.next_due_at < before, not_(is_on_announcement), *_IS_HEARD)
    for row in conn.execute(overdue):
        wait = read_cadence(row.cadence).wait
        longer = max(wait - USUAL_WAIT, timedelta(0))
        if row.next_due_at + longer < before:
            yield _Late(row.next_due_at, row.name)


def _find_overdue_papers(conn: Connection, before: datetime) -> Iterator[_Late]:
    """Yield whose papers wait that no announcement keeps back."""
    owed = find_due_until(before)
    mine = subscriptions.c
    is_due = and_(mine.cadence == str(CadenceKind.ANNOUNCEMENT), mine.next_due_at < owed)
    is_later = and_(matches.c.digest_id.is_(None), matches.c.occasion != Occasion.FIRST_DIGEST)
    for row in _find_waiting(conn, owed, is_due, is_later):
        since = max(row.next_due_at, row.matched_at)
        yield _Late(since, row.name)


def _find_overdue_first_digests(conn: Connection, before: datetime) -> Iterator[_Late]:
    """Yield whose first digests wait although their quiet hours are over."""
    for row in _find_waiting(conn, before, UNPLANNED_FIRST_DIGEST):
        quiet_hours = read_quiet_hours(row.quiet_hours)
        due = leave_quiet(read_cadence(row.cadence), quiet_hours, row.matched_at)
        if due < before:
            yield _Late(due, row.name)


def _find_waiting(
    conn: Connection, before: datetime, *which: ColumnElement[bool] | TextClause
) -> Sequence[Any]:
    """Return subscriptions with what was matched for them before a moment and is not planned."""
    match = matches.c
    mine = subscriptions.c
    columns = (mine.name, mine.cadence, mine.quiet_hours, mine.next_due_at)
    first = func.min(match.matched_at).label("matched_at")
    is_planned_next = match.match_run_id > mine.plan_after
    is_old = match.matched_at < before
    found = select(*columns, first).join(matches)
    waiting = found.where(is_planned_next, is_old, *which, *_IS_HEARD)
    return conn.execute(waiting.group_by(mine.id, *columns)).all()


def load_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries planned before a moment (UTC) that have not ended; None for none.

    Parts after one that is held are not among them: that one has an alarm.
    """
    at = deliveries.c.created_at
    overdue = _find_overdue(conn, (ACTIVE_DELIVERY, at < before, not_(waits_for_held())), at, at)
    if overdue is None:
        return None
    return replace(overdue, reason=NOTHING)


def load_failed_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Return the deliveries given up since a moment (UTC), naming the last; None for none.

    Letters are not among them: an address mistyped on a page must not alarm anybody.
    """
    one = deliveries.c
    failed_at = func.coalesce(one.ended_at, one.created_at)
    is_dead = and_(STUCK_DELIVERY, one.state == DeliveryState.DEAD)
    which = (is_dead, failed_at > since, _IS_NO_LETTER)
    return _find_overdue(conn, which, failed_at, failed_at.desc())


def load_held_deliveries(conn: Connection) -> Overdue | None:
    """Return the deliveries that need the operator, naming the first; None for none.

    What was refused is among them until it was sent, also while it is tried again: a try is no end.
    """
    at = deliveries.c.created_at
    is_held = and_(STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD)
    needs_operator = or_(is_held, REFUSED_DELIVERY)
    return _find_overdue(conn, (needs_operator, _IS_NO_LETTER), at, at)


def _find_overdue(
    conn: Connection,
    which: tuple[ColumnElement[bool] | TextClause, ...],
    at: ColumnElement[datetime],
    order: ColumnElement[datetime],
) -> Overdue | None:
    """Count deliveries, and name the first of them in an order, with its moment."""
    one = deliveries.c
    found = select(one.destination, at, one.id, one.last_error).where(*which)
    row = conn.execute(found.order_by(order, one.id).limit(1)).one_or_none()
    if row is None:
        return None
    counted = select(func.count()).select_from(deliveries).where(*which)
    number = conn.execute(counted).scalar_one()
    destination, due_at, id_, reason = row
    return Overdue(number, destination, due_at, delivery=id_, reason=reason or NOTHING)


def _read_alarm(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.sent_at, row.ended_at)
