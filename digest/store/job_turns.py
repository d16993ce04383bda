"""What each worker's jobs do: when they last had a turn and when they have the next, and what went wrong.

A job that only one worker may be at (asking arXiv) takes its turn here as well, under a name of its own: such
a turn that was begun and has not ended keeps the others from it, for as long as its worker gives signs of life.
That a worker's job had its time does not: it may have left the turn to somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import not_, or_, select, update

from digest.store.dialect import insert, make_storable, take_turn
from digest.store.schema import job_turns
from digest.store.workers import is_living

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_ALONE = " alone"
"""Behind a job's name: the turn that one worker has alone."""

_BEGINNING = 0x7475726E
"""PostgreSQL's advisory lock under which turns that one worker has alone begin."""


@dataclass(frozen=True, slots=True)
class JobTurn:
    """A job of a worker. Moments are real ones, whatever clock the installation lives by.

    Attributes:
        job: its name.
        turns: how many it has had.
        failures: how many of them failed.
        overruns: how often its time had come while it was still at the turn before.
        began_at: when its latest turn began (UTC); None before the first.
        ended_at: when its latest turn to end did (UTC); None before the first.
        next_at: when it is to have the next (UTC); None where something else wakes it.
        trouble: the error that ended its last turn, or what could not be done in it; "" where that went well.
        owner: the worker's name.
    """

    job: str
    turns: int = 0
    failures: int = 0
    overruns: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    next_at: datetime | None = None
    trouble: str = ""
    owner: str = ""

    @property
    def is_under_way(self) -> bool:
        """Whether it is at a turn."""
        return self.began_at is not None and (self.ended_at is None or self.ended_at < self.began_at)


def save_turns(conn: Connection, owner: str, turns: Iterable[JobTurn]) -> None:
    """Keep how a worker's jobs stand."""
    for turn in turns:
        values = {
            "turns": turn.turns,
            "failures": turn.failures,
            "overruns": turn.overruns,
            "began_at": turn.began_at,
            "ended_at": turn.ended_at,
            "next_at": turn.next_at,
            "trouble": make_storable(turn.trouble),
        }
        kept = insert(conn, job_turns).values(owner=owner, job=turn.job, **values)
        conn.execute(kept.on_conflict_do_update(index_elements=["owner", "job"], set_=values))


def list_turns(conn: Connection) -> list[JobTurn]:
    """Return every job of every worker, by worker and name."""
    found = (
        select(job_turns)
        .where(not_(job_turns.c.job.endswith(_ALONE)))
        .order_by(job_turns.c.owner, job_turns.c.job)
    )
    return [JobTurn(**row) for row in conn.execute(found).mappings()]


def find_trouble(conn: Connection, job: str) -> str:
    """Return what went wrong in the last turn of a job, of the worker at work that met it last; "" for nothing."""
    failed = (job_turns.c.job == job, job_turns.c.trouble != "", is_living(job_turns.c.owner))
    found = select(job_turns.c.trouble).where(*failed).order_by(job_turns.c.ended_at.desc(), job_turns.c.owner)
    return str(conn.execute(found.limit(1)).scalar() or "")


def begin_alone(conn: Connection, owner: str, job: str, at: datetime) -> str:
    """Begin a turn that one worker has alone.

    Args:
        conn: a writing transaction, short: others wait for it.
        owner: the worker, which signs (see `workers.sign`).
        job: what it is to do.
        at: the moment (UTC).

    Returns:
        The worker that is at it now, so that the caller may not; "" where the caller has the turn, until it
        calls `end_alone` or gives no signs of life any more.
    """
    take_turn(conn, _BEGINNING)
    busy = select(job_turns.c.owner).where(
        job_turns.c.job == job + _ALONE, job_turns.c.owner != owner, _is_under_way(), is_living(job_turns.c.owner)
    )
    other = conn.execute(busy.limit(1)).scalar()
    if other is None:
        begun = insert(conn, job_turns).values(
            owner=owner, job=job + _ALONE, turns=0, failures=0, overruns=0, began_at=at, trouble=""
        )
        changed = {"began_at": at, "ended_at": None}
        conn.execute(begun.on_conflict_do_update(index_elements=["owner", "job"], set_=changed))
    return other or ""


def end_alone(conn: Connection, owner: str, job: str, at: datetime) -> None:
    """Give back a turn that `begin_alone` gave; harmless where it was lost."""
    mine = (job_turns.c.owner == owner, job_turns.c.job == job + _ALONE)
    conn.execute(update(job_turns).where(*mine).values(ended_at=at))


def _is_under_way() -> ColumnElement[bool]:
    began, ended = job_turns.c.began_at, job_turns.c.ended_at
    return began.is_not(None) & or_(ended.is_(None), ended < began)
