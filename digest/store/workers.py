"""The processes at work on a database, their jobs, and the alarms they keep.

No process's own clock matters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
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

from digest.model.alarms import Alarm, AlarmName, Overdue
from digest.model.announcements import find_owed
from digest.model.cadences import USUAL_WAIT, CadenceKind, leave_quiet
from digest.model.errors import AnotherWorker
from digest.model.messages import DeliveryState, Occasion
from digest.model.subscriptions import SubscriptionState
from digest.store.dialect import Moment, database_clock, dialect_insert, make_storable, take_turn
from digest.store.engine import Store, explain_file
from digest.store.outbox import waits_for_held
from digest.store.schema import (
    ACTIVE_DELIVERY,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_DIGEST,
    alarms,
    attempts,
    deliveries,
    digests,
    job_turns,
    matches,
    subscriptions,
    workers,
)
from digest.store.subscriptions import read_cadence, read_quiet_hours
from digest.store.views import is_sent_for

CLAIM = timedelta(minutes=15)
"""How long a process has to send an alarm; if that failed, or the process died, another sends it then."""

PAUSE = timedelta(hours=1)
"""The shortest time between two alarms about failed messages."""


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as kept.

    Attributes:
        name: `AlarmName` as text.
        detail: what is wrong, and what to do, as it was found last.
        told_at: when the alarm was sent (UTC); None before.
        ended_at: since when it is over (UTC); None while it lasts.
    """

    name: str
    detail: str
    since: datetime
    told_at: datetime | None
    ended_at: datetime | None


def load_stored_alarms(conn: Connection) -> list[StoredAlarm]:
    """Return what is wrong as it was kept last, the oldest first."""
    lasting = select(alarms).where(alarms.c.ended_at.is_(None))
    return [_read(row) for row in conn.execute(lasting.order_by(alarms.c.since, alarms.c.name))]


def keep_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> None:
    """Keep what is wrong now: new alarms are raised, known ones go on, all others are over.

    One that is over before it was sent is forgotten. So is that messages failed: time alone ends it.
    """
    gone = alarms.c.name.not_in([str(alarm.name) for alarm in found])
    forget = or_(alarms.c.told_at.is_(None), alarms.c.name == str(AlarmName.FAILED))
    conn.execute(delete(alarms).where(gone, forget))
    conn.execute(update(alarms).where(gone, alarms.c.ended_at.is_(None)).values(ended_at=now, not_before=now))
    for alarm in found:
        row = {"name": str(alarm.name), "detail": alarm.detail, "since": now, "not_before": now}
        again = {"detail": alarm.detail, "ended_at": None}
        conn.execute(
            dialect_insert(conn, alarms).values(row).on_conflict_do_update(index_elements=["name"], set_=again)
        )


def claim_alarms(conn: Connection, found: Sequence[Alarm], now: datetime) -> list[StoredAlarm]:
    """Take the alarms to send now; nobody else gets them for as long as `CLAIM`."""
    failed_at = next((alarm.failed_at for alarm in found if alarm.failed_at is not None), None)
    has_failed_anew = and_(alarms.c.name == str(AlarmName.FAILED), alarms.c.told_at < literal(failed_at, Moment))
    is_untold = or_(alarms.c.told_at.is_(None), alarms.c.ended_at.is_not(None), has_failed_anew)
    take = update(alarms).where(alarms.c.not_before <= now, is_untold).values(not_before=now + CLAIM)
    return sorted((_read(row) for row in conn.execute(take.returning(alarms))), key=lambda alarm: alarm.since)


def mark_notified(conn: Connection, alarm: StoredAlarm, now: datetime) -> None:
    """Record that an alarm was sent; one that is over is then forgotten."""
    mine = and_(alarms.c.name == alarm.name, alarms.c.since == alarm.since)
    if alarm.ended_at is not None:
        conn.execute(delete(alarms).where(mine, alarms.c.ended_at.is_not(None)))
    else:
        conn.execute(update(alarms).where(mine).values(told_at=now, not_before=now + PAUSE))


def load_overdue_digests(conn: Connection, before: datetime) -> Overdue | None:
    """Return the active subscriptions with a digest that should be planned by a moment (UTC); None for none.

    A turn by the clock is overdue when its time was before that, and so is one `at once`. One that may wait longer
    for its announcement than is usual is late by so much later. One `on announcement` has no hour to be late by:
    it is overdue when papers wait for it that no announcement keeps back any more. A first digest waits for no
    turn: it is overdue when nothing has held it back since that moment.
    """
    late = sorted([*_find_overdue_turns(conn, before), *_find_overdue_papers(conn, before)])
    return Overdue(len(late), late[0][1], late[0][0]) if late else None


def _find_overdue_turns(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    turns = subscriptions.c
    overdue = (turns.next_due_at < before, turns.cadence != str(CadenceKind.ANNOUNCEMENT), *_is_heard())
    for row in conn.execute(select(turns.name, turns.next_due_at, turns.cadence).where(*overdue)):
        longer = max(read_cadence(row.cadence).wait - USUAL_WAIT, timedelta(0))
        if row.next_due_at + longer < before:
            yield row.next_due_at, row.name


def _find_overdue_papers(conn: Connection, before: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield whose papers wait that no announcement keeps back, and then whose first digests."""
    mine, owed = subscriptions.c, find_owed(before)
    on_announcement = (mine.cadence == str(CadenceKind.ANNOUNCEMENT), mine.next_due_at < owed)
    is_later = (matches.c.digest_id.is_(None), matches.c.occasion != Occasion.FIRST_DIGEST)
    for row in _find_waiting(conn, owed, *on_announcement, *is_later, *_is_heard()):
        yield max(row.next_due_at, row.matched_at), row.name
    for row in _find_waiting(conn, before, UNPLANNED_FIRST_DIGEST, *_is_heard()):
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


def _is_heard() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that digests go somewhere, and that no pause holds them."""
    return subscriptions.c.state == SubscriptionState.ACTIVE, is_sent_for()


def load_overdue_deliveries(conn: Connection, before: datetime) -> Overdue | None:
    """Return the deliveries planned before a moment (UTC) that have not ended; None for none.

    Parts behind one that is held are not among them: that one has an alarm.
    """
    late = (ACTIVE_DELIVERY, deliveries.c.created_at < before, not_(waits_for_held()))
    oldest = _find_overdue(conn, late, deliveries.c.created_at, deliveries.c.created_at)
    return oldest and replace(oldest, reason="")


def load_failed_deliveries(conn: Connection, since: datetime) -> Overdue | None:
    """Return the deliveries given up, or held, since a moment (UTC), naming the last; None for none.

    Letters are not among them: an address mistyped on a page must not alarm anybody.
    """
    tried_at = select(func.max(attempts.c.ended_at)).where(attempts.c.delivery_id == deliveries.c.id)
    failed_at = func.coalesce(deliveries.c.ended_at, tried_at.scalar_subquery(), deliveries.c.created_at)
    states = (DeliveryState.DEAD, DeliveryState.HELD)
    is_letter = exists().where(digests.c.id == deliveries.c.digest_id, digests.c.occasion == Occasion.LETTER)
    failed = (STUCK_DELIVERY, deliveries.c.state.in_(states), failed_at > since, not_(is_letter))
    return _find_overdue(conn, failed, failed_at, failed_at.desc())


def _find_overdue(
    conn: Connection, which: tuple[Any, ...], at: ColumnElement[datetime], order: ColumnElement[datetime]
) -> Overdue | None:
    named = select(deliveries.c.destination, at, deliveries.c.id, deliveries.c.last_error).where(*which)
    row = conn.execute(named.order_by(order, deliveries.c.id).limit(1)).one_or_none()
    number = conn.execute(select(func.count()).select_from(deliveries).where(*which)).scalar_one()
    return None if row is None else Overdue(number, row[0], row[1], row[2], row[3] or "")


def _read(row: Row[Any]) -> StoredAlarm:
    return StoredAlarm(row.name, row.detail, row.since, row.told_at, row.ended_at)


_ALONE = " alone"
"""Behind a job's name: the turn that one worker has alone."""

_BEGINNING = 0x7475726E
"""PostgreSQL's advisory lock under which turns that one worker has alone begin."""


@dataclass(frozen=True, slots=True)
class JobTurn:
    """A job of a worker. Moments are real ones, whatever clock the installation lives by.

    Attributes:
        began_at: when its latest turn began (UTC); None before the first.
        ended_at: when its latest turn to end did (UTC); None before the first.
        trouble: the error that ended its last turn, or what could not be done in it; "" where that went well.
    """

    job: str
    turns: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    trouble: str = ""
    owner: str = ""

    @property
    def is_under_way(self) -> bool:
        """Whether it is at a turn."""
        return self.began_at is not None and (self.ended_at is None or self.ended_at < self.began_at)


def save_turns(conn: Connection, owner: str, turns: Iterable[JobTurn]) -> None:
    """Keep how a worker's jobs stand."""
    for turn in turns:
        row = asdict(turn) | {"owner": owner, "trouble": make_storable(turn.trouble)}
        kept = dialect_insert(conn, job_turns).values(row)
        conn.execute(kept.on_conflict_do_update(index_elements=["owner", "job"], set_=row))


def load_job_turns(conn: Connection) -> list[JobTurn]:
    """Return every job of every worker, by worker and name."""
    found = (
        select(job_turns)
        .where(not_(job_turns.c.job.endswith(_ALONE)))
        .order_by(job_turns.c.owner, job_turns.c.job)
    )
    return [JobTurn(**row) for row in conn.execute(found).mappings()]


def load_trouble(conn: Connection, job: str) -> str:
    """Return what went wrong in the last turn of a job, of the worker at work that met it last; "" for nothing."""
    failed = (job_turns.c.job == job, job_turns.c.trouble != "", is_living(job_turns.c.owner))
    found = select(job_turns.c.trouble).where(*failed).order_by(job_turns.c.ended_at.desc(), job_turns.c.owner)
    return str(conn.execute(found.limit(1)).scalar() or "")


def begin_job(conn: Connection, owner: str, job: str, at: datetime) -> str:
    """Begin a turn that one worker has alone.

    Args:
        conn: a writing transaction, short: others wait for it.
        owner: the worker, which signs (see `workers.sign`).

    Returns:
        The worker that is at it now, so that the caller may not; "" where the caller has the turn, until it
        calls `end_alone` or gives no signs of life any more.
    """
    take_turn(conn, _BEGINNING)
    began, ended = job_turns.c.began_at, job_turns.c.ended_at
    is_under_way = began.is_not(None) & or_(ended.is_(None), ended < began)
    busy = select(job_turns.c.owner).where(
        job_turns.c.job == job + _ALONE, job_turns.c.owner != owner, is_under_way, is_living(job_turns.c.owner)
    )
    other = conn.execute(busy.limit(1)).scalar()
    if other is None:
        begun = dialect_insert(conn, job_turns).values(
            owner=owner, job=job + _ALONE, turns=0, began_at=at, trouble=""
        )
        changed = {"began_at": at, "ended_at": None}
        conn.execute(begun.on_conflict_do_update(index_elements=["owner", "job"], set_=changed))
    return other or ""


def end_job(conn: Connection, owner: str, job: str, at: datetime) -> None:
    """Give back a turn that `begin_alone` gave; harmless where it was lost."""
    mine = (job_turns.c.owner == owner, job_turns.c.job == job + _ALONE)
    conn.execute(update(job_turns).where(*mine).values(ended_at=at))


@contextmanager
def lock_worker(store: Store) -> Iterator[None]:
    """Be the one process that polls, plans and delivers on this database, for as long as the block lasts.

    On PostgreSQL any number of processes may work, and nothing is held.

    Raises:
        AnotherWorker: another process is the worker; its number is named.
        StoreError: the lock's file can't be written.
    """
    if store.path is None:
        yield
        return
    with lock_file(store.path):
        yield


@contextmanager
def lock_file(database: Path) -> Iterator[None]:
    """Hold a SQLite database as `lock_worker` does, also one that isn't there or can't be read."""
    lock = database.with_name(database.name + ".lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error
    try:
        _take_lock(handle, lock)
        yield
    finally:
        os.close(handle)  # the file stays: deleting it would let two in


def _take_lock(handle: int, lock: Path) -> None:
    import fcntl  # noqa: PLC0415 - POSIX only; reading and editing commands work without

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(handle, f"{os.getpid():<20}".encode(), 0)  # in place: a full disk has no room for more
    except BlockingIOError:
        pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise AnotherWorker(
            f"process {pid} already works on this database (it holds {lock})",
            hint="Let it finish, or stop it. Commands that read or edit work at the same time.",
        ) from None
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error


BEAT = 10.0
"""Seconds between two signs of a worker."""

GONE_AFTER = 60.0
"""Seconds without a sign after which a worker counts as gone: what it had in hand alone, others may take."""

FORGOTTEN_AFTER = 3600.0
"""Seconds without a sign after which its name is struck off."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that works, or did until a while ago.

    Attributes:
        owner: its name in claims and leases.
        silent_for: seconds since its last sign.
    """

    owner: str
    release: str
    host: str
    pid: int
    started_at: datetime
    silent_for: float = 0.0

    @property
    def is_gone(self) -> bool:
        """Whether nobody need reckon with it any more."""
        return self.silent_for > GONE_AFTER


def save_worker(conn: Connection, worker: Worker) -> None:
    """Note that a worker lives: for the first time, or once more; those long silent are struck off."""
    row = asdict(worker) | {"seen_at": database_clock()}
    del row["silent_for"]
    signed = dialect_insert(conn, workers).values(row)
    conn.execute(signed.on_conflict_do_update(index_elements=["owner"], set_={"seen_at": database_clock()}))
    _delete_workers(conn, workers.c.seen_at < database_clock() - FORGOTTEN_AFTER)


def delete_worker(conn: Connection, owner: str) -> None:
    """Note that a worker has ended in an orderly way."""
    _delete_workers(conn, workers.c.owner == owner)


def delete_other_workers(conn: Connection, owner: str) -> None:
    """Forget every other worker: for one that knows itself alone (see `lock_worker`), at its start."""
    _delete_workers(conn, workers.c.owner != owner)


def load_workers(conn: Connection) -> list[Worker]:
    """Return the workers whose names are not struck off, the longest at work first."""
    silence = (database_clock() - workers.c.seen_at).label("silence")
    found = select(workers, silence).order_by(workers.c.started_at, workers.c.owner)
    return [
        Worker(row.owner, row.release, row.host, row.pid, row.started_at, max(row.silence, 0.0))
        for row in conn.execute(found)
    ]


def is_living(owner: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column names a worker that gave a sign lately."""
    living = select(workers.c.owner).where(workers.c.seen_at >= database_clock() - GONE_AFTER)
    return owner.in_(living)


def _delete_workers(conn: Connection, which: ColumnElement[bool]) -> None:
    gone = list(conn.execute(delete(workers).where(which).returning(workers.c.owner)).scalars())
    if gone:
        conn.execute(delete(job_turns).where(job_turns.c.owner.in_(gone)))
