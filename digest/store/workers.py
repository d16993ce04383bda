"""The processes at work on a database: each signs on the database's clock, and after a silence counts as gone.

No process's own clock matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from digest.store.dialect import database_clock, insert
from digest.store.schema import job_turns, workers

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

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
        release: the release it runs.
        host: its machine.
        pid: its number there.
        started_at: since when (UTC).
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


def sign(conn: Connection, worker: Worker) -> None:
    """Note that a worker lives: for the first time, or once more; those long silent are struck off."""
    row = {
        "owner": worker.owner,
        "release": worker.release,
        "host": worker.host,
        "pid": worker.pid,
        "started_at": worker.started_at,
        "seen_at": database_clock(),
    }
    signed = insert(conn, workers).values(row)
    conn.execute(signed.on_conflict_do_update(index_elements=["owner"], set_={"seen_at": database_clock()}))
    _strike_off(conn, workers.c.seen_at < database_clock() - FORGOTTEN_AFTER)


def sign_off(conn: Connection, owner: str) -> None:
    """Note that a worker has ended in an orderly way."""
    _strike_off(conn, workers.c.owner == owner)


def strike_off_others(conn: Connection, owner: str) -> None:
    """Forget every other worker: for one that knows itself alone (see `hold_worker`), at its start."""
    _strike_off(conn, workers.c.owner != owner)


def list_workers(conn: Connection) -> list[Worker]:
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


def _strike_off(conn: Connection, which: ColumnElement[bool]) -> None:
    gone = list(conn.execute(delete(workers).where(which).returning(workers.c.owner)).scalars())
    if gone:
        conn.execute(delete(job_turns).where(job_turns.c.owner.in_(gone)))
