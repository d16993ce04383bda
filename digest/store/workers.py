"""The processes at work on a database, and which of them does a job that only one may do.

No process's own clock matters.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, and_, delete, not_, or_, select, update

from digest.model.errors import AnotherWorker, StoreError
from digest.model.said import NOTHING, Said
from digest.store.dialect import database_clock, lock_advisory, upsert
from digest.store.engine import Store, explain_file
from digest.store.schema import job_turns, workers

_log = logging.getLogger("digest.worker")

_ALONE = " alone"
"""After a job's name: the turn that one worker has alone."""

_BEGINNING = 0x7475726E
"""PostgreSQL's advisory lock under which turns that one worker has alone begin."""

BEAT = 10.0
"""Seconds between two signs of a worker."""

GONE_AFTER = 60.0
"""Seconds without a sign after which a worker counts as gone.

What it had in hand alone, others may take.
"""

FORGOTTEN_AFTER = 3600.0
"""Seconds without a sign after which its name is struck off."""


@contextmanager
def keep_calling(act: Callable[[], bool | None], seconds: float) -> Iterator[None]:
    """Call a function again and again, from a thread of its own.

    It ends when the function returns True, or the block ends. Most give signs of life: one that
    the database can't record is logged.
    """
    is_over = threading.Event()

    def live() -> None:
        while not is_over.wait(seconds):
            try:
                if act():
                    return
            except StoreError as error:
                _log.warning(
                    "the database does not record that this process is alive: %s", error.message
                )

    thread = threading.Thread(target=live, name="signs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class JobTurn:
    """A job of a worker. Moments are real ones, whatever clock the installation lives by.

    `trouble`: the error that ended its last turn, or what could not be done in it; nothing if that
    went well.
    """

    job: str
    turns: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    trouble: Said = NOTHING
    owner: str = ""

    @property
    def is_under_way(self) -> bool:
        """Whether it is at a turn."""
        if self.began_at is None:
            return False
        return self.ended_at is None or self.ended_at < self.began_at


def save_turns(conn: Connection, owner: str, turns: Iterable[JobTurn]) -> None:
    """Keep what a worker's jobs do, and how they ended."""
    for turn in turns:
        row = asdict(turn) | {"owner": owner, "trouble": turn.trouble}
        upsert(conn, job_turns, row, row)


def load_job_turns(conn: Connection) -> list[JobTurn]:
    """Return every job of every worker, by worker and name."""
    turn = job_turns.c
    found = select(job_turns).where(not_(turn.job.endswith(_ALONE)))
    in_order = found.order_by(turn.owner, turn.job)
    return [JobTurn(**row) for row in conn.execute(in_order).mappings()]


def load_trouble(conn: Connection, job: str) -> Said:
    """Return what went wrong in the last turn of a job, if anything did.

    It is that of the worker at work that met it last.
    """
    turn = job_turns.c
    has_failed = and_(turn.job == job, turn.trouble != NOTHING)
    found = select(turn.trouble).where(has_failed, is_living(turn.owner))
    latest_first = found.order_by(turn.ended_at.desc(), turn.owner)
    return conn.execute(latest_first.limit(1)).scalar() or NOTHING


def begin_job(conn: Connection, owner: str, job: str, at: datetime) -> str:
    """Begin a turn that one worker has alone.

    Return the worker that is at it now, so that the caller may not. It is "" if the caller has the
    turn, until it calls `end_job` or gives no signs of life any more.
    """
    lock_advisory(conn, _BEGINNING)
    turn = job_turns.c
    name = job + _ALONE
    is_open = or_(turn.ended_at.is_(None), turn.ended_at < turn.began_at)
    is_under_way = turn.began_at.is_not(None) & is_open
    is_of_others = and_(turn.job == name, turn.owner != owner)
    busy = select(turn.owner).where(is_of_others, is_under_way, is_living(turn.owner))
    other = conn.execute(busy.limit(1)).scalar()
    if other is not None:
        return str(other)
    begun = {"began_at": at, "ended_at": None}
    row = {"owner": owner, "job": name, "turns": 0, "trouble": NOTHING}
    upsert(conn, job_turns, row | begun, begun)
    return ""


def end_job(conn: Connection, owner: str, job: str, at: datetime) -> None:
    """Give back a turn that `begin_job` gave; harmless if it was lost."""
    turn = job_turns.c
    end = update(job_turns).where(turn.owner == owner, turn.job == job + _ALONE)
    conn.execute(end.values(ended_at=at))


def lock_worker(store: Store) -> AbstractContextManager[None]:
    """Be the one process that polls, plans and delivers on this database.

    It is so for as long as the block lasts. On PostgreSQL any number of processes may work, and
    nothing is held.

    Raise `AnotherWorker`: another process is the worker; its number is named.
    Raise `StoreError`: the lock's file can't be written.
    """
    if store.path is None:
        return nullcontext()
    return lock_file(store.path)


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
        number = f"{os.getpid():<20}"
        os.pwrite(handle, number.encode(), 0)  # in place: a full disk has no room for more
    except BlockingIOError:
        written = os.pread(handle, 20, 0).decode("ascii", "replace")
        pid = written.strip() or "unknown"
        raise AnotherWorker(
            f"process {pid} already works on this database (it holds {lock})",
            hint="Let it finish, or stop it. Commands that read or edit work at the same time.",
        ) from None
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that works, or did until a while ago."""

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


def save(conn: Connection, worker: Worker) -> None:
    """Note that a worker lives: for the first time, or once more.

    Those long silent are struck off.
    """
    now = database_clock()
    sign = {"seen_at": now}
    row = asdict(worker) | sign
    del row["silent_for"]
    upsert(conn, workers, row, sign)
    _delete_workers(conn, workers.c.seen_at < now - FORGOTTEN_AFTER)


def remove(conn: Connection, owner: str) -> None:
    """Note that a worker has ended in an orderly way."""
    _delete_workers(conn, workers.c.owner == owner)


def remove_others(conn: Connection, owner: str) -> None:
    """Forget every other worker, at the start of one that knows itself alone.

    See `lock_worker`.
    """
    _delete_workers(conn, workers.c.owner != owner)


def load(conn: Connection) -> list[Worker]:
    """Return the workers whose names are not struck off, the longest at work first."""
    silence = (database_clock() - workers.c.seen_at).label("silence")
    found = select(workers, silence).order_by(workers.c.started_at, workers.c.owner)
    at_work = []
    for row in conn.execute(found):
        silent_for = max(row.silence, 0.0)
        worker = Worker(row.owner, row.release, row.host, row.pid, row.started_at, silent_for)
        at_work.append(worker)
    return at_work


def is_living(owner: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column names a worker that gave a sign lately."""
    living = select(workers.c.owner).where(workers.c.seen_at >= database_clock() - GONE_AFTER)
    return owner.in_(living)


def _delete_workers(conn: Connection, which: ColumnElement[bool]) -> None:
    strike_off = delete(workers).where(which).returning(workers.c.owner)
    gone = list(conn.execute(strike_off).scalars())
    if gone:
        conn.execute(delete(job_turns).where(job_turns.c.owner.in_(gone)))
