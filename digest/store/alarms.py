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

_IS_LETTER = exists().where(
    digests.c.id == deliveries.c.digest_id, digests.c.occasion == Occasion.LETTER
)
_IS_NO_LETTER = not_(_IS_LETTER)
"""A delivery is of a digest, not of a letter."""

_GETS_DIGESTS = (subscriptions.c.state == SubscriptionState.ACTIVE, is_sent_for())
"""A subscription's digests go somewhere, and no pause holds them."""


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
        count: how many digests or deliveries.
        named: the subscription or destination of the oldest; of those that failed, of the last.
        due_at: when the one that is named was due, or failed (UTC).
        delivery: the number of the delivery that is named; 0 for none.
    """

    count: int
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
    """A digest that is overdue: since when (UTC), so that the oldest is the least, and whose."""

    since: datetime
    name: str


def load_stored(conn: Connection) -> list[StoredAlarm]:
    """Return what is wrong as it was kept last, the oldest first."""
    lasting = select(alarms).where(alarms.c.ended_at.is_(None))
    oldest_first = lasting.order_by(alarms.c.since, alarms.c.name)
    return [_read_alarm(row) for row in conn.execute(oldest_first)]


def save_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> None:
    """Keep what is wrong now: new alarms are raised, known ones go on, all others are over.

    An alarm that is over before it was sent is forgotten. The alarm about failed messages is
    forgotten in any case: time alone ends it.
    """
    columns = alarms.c
    names = [str(alarm.name) for alarm in found]
    is_over = columns.name.not_in(names)
    is_forgotten = or_(columns.sent_at.is_(None), columns.name == str(AlarmName.FAILED))
    conn.execute(delete(alarms).where(is_over, is_forgotten))
    end = update(alarms).where(is_over, columns.ended_at.is_(None))
    conn.execute(end.values(ended_at=now, not_before=now))
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail, "since": now, "not_before": now}
        changes = {"detail": alarm.detail, "ended_at": None}
        upsert(conn, alarms, row, changes)


def claim(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[StoredAlarm]:
    """Take the alarms to send now; nobody else gets them for as long as `CLAIM`."""
    columns = alarms.c
    moments = [alarm.failed_at for alarm in found if alarm.failed_at is not None]
    failed_at = moments[0] if moments else None  # no moment is before NULL
    is_of_failure = columns.name == str(AlarmName.FAILED)
    has_failed_anew = and_(is_of_failure, columns.sent_at < literal(failed_at, Moment))
    is_unsent = columns.sent_at.is_(None)
    is_over = columns.ended_at.is_not(None)
    is_news = or_(is_unsent, is_over, has_failed_anew)
    take = update(alarms).where(columns.not_before <= now, is_news)
    claimed = take.values(not_before=now + CLAIM).returning(alarms)
    taken = [_read_alarm(row) for row in conn.execute(claimed)]
    taken.sort(key=lambda alarm: alarm.since)
    return taken


def mark_notified(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that an alarm was sent; one that is over is then forgotten."""
    columns = alarms.c
    is_it = and_(columns.name == alarm.name, columns.since == alarm.since)
    if alarm.ended_at is not None:
        forget = delete(alarms).where(is_it, columns.ended_at.is_not(None))
        conn.execute(forget)
        return
    sent = update(alarms).where(is_it)
    conn.execute(sent.values(sent_at=now, not_before=now + PAUSE))


def load_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Count the digests that should have been planned by a moment (UTC); None if there are none.

    A turn by the clock, or one `at once`, is overdue when its time was before that moment. If it
    may wait longer for its announcement than is usual, it has so much more time. A turn `on
    announcement` has no time: it is overdue when papers wait for it that no announcement keeps back
    any more. A first digest waits for no turn: it is overdue when nothing has held it back since
    that moment.
    """
    late = list(_find_overdue_turns(conn, before))
    late += _find_overdue_papers(conn, before)
    late += _find_overdue_first_digests(conn, before)
    if not late:
        return None
    oldest = min(late)
    return Overdue(len(late), oldest.name, oldest.since)


def _find_overdue_turns(conn: Connection, before: datetime) -> Iterator[_Late]:
    """Yield whose turns by the clock, or `at once`, are overdue."""
    columns = subscriptions.c
    is_on_announcement = columns.cadence == str(CadenceKind.ANNOUNCEMENT)
    turns = select(columns.name, columns.next_due_at, columns.cadence)
    due = turns.where(columns.next_due_at < before, not_(is_on_announcement), *_GETS_DIGESTS)
    for row in conn.execute(due):
        wait = read_cadence(row.cadence).wait
        more_time = max(wait - USUAL_WAIT, timedelta(0))
        if row.next_due_at + more_time < before:
            yield _Late(row.next_due_at, row.name)


def _find_overdue_papers(conn: Connection, before: datetime) -> Iterator[_Late]:
    """Yield whose papers wait that no announcement keeps back."""
    due_until = find_due_until(before)
    columns = subscriptions.c
    is_on_announcement = columns.cadence == str(CadenceKind.ANNOUNCEMENT)
    is_due = and_(is_on_announcement, columns.next_due_at < due_until)
    is_of_turn = and_(matches.c.digest_id.is_(None), matches.c.occasion != Occasion.FIRST_DIGEST)
    for row in _find_waiting(conn, due_until, is_due, is_of_turn):
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
    """Return the subscriptions whose matches of before a moment wait for a digest.

    `which`: the conditions for these subscriptions and matches. `matched_at` is that of the first.
    """
    match = matches.c
    subscription = subscriptions.c
    columns = (
        subscription.name,
        subscription.cadence,
        subscription.quiet_hours,
        subscription.next_due_at,
    )
    first = func.min(match.matched_at).label("matched_at")
    is_unplanned = match.match_run_id > subscription.plan_after
    is_old = match.matched_at < before
    matched = select(*columns, first).join(matches)
    waiting = matched.where(is_unplanned, is_old, *which, *_GETS_DIGESTS)
    return conn.execute(waiting.group_by(subscription.id, *columns)).all()


def load_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Count the deliveries planned before a moment (UTC) that have not ended; None for none.

    Parts after one that is held are not among them: that one has an alarm.
    """
    planned_at = deliveries.c.created_at
    which = (ACTIVE_DELIVERY, planned_at < before, not_(waits_for_held()))
    overdue = _count_deliveries(conn, which, planned_at)
    if overdue is None:
        return None
    return replace(overdue, reason=NOTHING)  # an error of an earlier try is not why it waits


def load_failed_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Count the deliveries given up since a moment (UTC), and name the last; None for none.

    Letters are not among them: an address mistyped on a page must not alarm anybody.
    """
    columns = deliveries.c
    failed_at = func.coalesce(columns.ended_at, columns.created_at)
    is_dead = and_(STUCK_DELIVERY, columns.state == DeliveryState.DEAD)  # the first has an index
    which = (is_dead, failed_at > since, _IS_NO_LETTER)
    return _count_deliveries(conn, which, failed_at, name_last=True)


def load_held_deliveries(conn: Connection) -> Overdue | None:
    """Count the deliveries that need the operator, and name the first; None for none.

    What was refused is among them until it was sent, also while it is tried again.
    """
    is_held = and_(STUCK_DELIVERY, deliveries.c.state == DeliveryState.HELD)
    needs_operator = or_(is_held, REFUSED_DELIVERY)
    return _count_deliveries(conn, (needs_operator, _IS_NO_LETTER), deliveries.c.created_at)


def _count_deliveries(
    conn: Connection,
    which: tuple[ColumnElement[bool] | TextClause, ...],
    moment: ColumnElement[datetime],
    *,
    name_last: bool = False,
) -> Overdue | None:
    """Count deliveries, and name the first or last of them by their moments; None for none."""
    columns = deliveries.c
    order = moment.desc() if name_last else moment
    found = select(columns.destination, moment, columns.id, columns.last_error).where(*which)
    row = conn.execute(found.order_by(order, columns.id).limit(1)).one_or_none()
    if row is None:
        return None
    counted = select(func.count()).select_from(deliveries).where(*which)
    count = conn.execute(counted).scalar_one()
    destination, due_at, id_, reason = row
    return Overdue(count, destination, due_at, delivery=id_, reason=reason or NOTHING)


def _read_alarm(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.sent_at, row.ended_at)
