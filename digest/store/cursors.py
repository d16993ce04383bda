"""How far each source has been looked through: moved by complete runs only, and only forward."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from digest.store.dialect import insert
from digest.store.gate import is_current
from digest.store.schema import cursors

if TYPE_CHECKING:
    from datetime import date, datetime

    from sqlalchemy import ColumnElement, Connection


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been looked through. A source never asked has the cursor of defaults.

    Attributes:
        source: see `PollRun`.
        query_key: see `PollRun`.
        complete_from: UTC day on which the last complete run started.
        last_complete_run_id: that run.
        last_complete_at: when that run started (UTC).
        mark_month: with `mark_number`, the announcement order of the newest paper at the first complete look.
        mark_number: see `mark_month`.
        is_bootstrapped: whether there was a complete look.
        bootstrapped_at: when the first complete look started (UTC).
    """

    source: str
    query_key: str = ""
    complete_from: date | None = None
    last_complete_run_id: int | None = None
    last_complete_at: datetime | None = None
    mark_month: int = 0
    mark_number: int = 0
    is_bootstrapped: bool = False
    bootstrapped_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """Saved queries that one search looks for together, as canonical texts.

    Attributes:
        known: those that have been looked for before.
        newcomers: those that begin with this look.
        mark: announcement order of the newest paper that is no news to newcomers; (0, 0) for the newest met.
    """

    known: tuple[str, ...]
    newcomers: tuple[str, ...]
    mark: tuple[int, int] = (0, 0)


def load_cursor(conn: Connection, source: str, query_key: str = "") -> Cursor:
    """Return how far a source has been looked through."""
    row = conn.execute(select(cursors).where(*_is_cursor(source, query_key))).mappings().one_or_none()
    return Cursor(**row) if row else Cursor(source, query_key)


def load_cursors(conn: Connection, source: str) -> dict[str, Cursor]:
    """Return how far a source has been looked through, by query; queries it was never asked for are missing."""
    rows = conn.execute(select(cursors).where(cursors.c.source == source)).mappings()
    return {row["query_key"]: Cursor(**row) for row in rows}


def move_cursor(
    conn: Connection,
    *,
    source: str,
    run_id: int,
    started_at: datetime,
    query_key: str = "",
    mark: tuple[int, int] = (0, 0),
    gate_token: int | None = None,
) -> bool:
    """Record a complete run. A cursor only moves forward; its first move sets the mark, for good.

    Args:
        conn: the transaction that finishes the run.
        source: see `Cursor`.
        run_id: the complete run.
        started_at: when it began (UTC).
        query_key: see `Cursor`.
        mark: announcement order of the newest paper met; only the first complete look's counts.
        gate_token: the grant under which its last page came; None where no gate is kept.

    Returns:
        False, with nothing changed, where a later run was recorded, or another process has taken over
        the gate since.
    """
    if gate_token is not None and not is_current(conn, gate_token):
        return False
    first = insert(conn, cursors).values(
        source=source,
        query_key=query_key,
        mark_month=mark[0],
        mark_number=mark[1],
        is_bootstrapped=True,
        bootstrapped_at=started_at,
    )
    conn.execute(first.on_conflict_do_nothing(index_elements=["source", "query_key"]))
    forward = (
        update(cursors)
        .where(*_is_cursor(source, query_key), _is_behind(started_at))
        .values(
            complete_from=started_at.astimezone(UTC).date(),
            last_complete_run_id=run_id,
            last_complete_at=started_at,
        )
    )
    return conn.execute(forward).rowcount == 1


def move_together(
    conn: Connection,
    *,
    source: str,
    run_id: int,
    started_at: datetime,
    together: Together,
    mark: tuple[int, int],
) -> None:
    """Record that one complete run looked for many queries, in the transaction that moves its own cursor.

    Args:
        conn: that transaction.
        source: see `Cursor`.
        run_id: the complete run.
        started_at: when it began (UTC).
        together: the queries; the marks of those known stay, newcomers begin anew, also where they had a
            cursor long ago.
        mark: announcement order of the newest paper that is no news to newcomers.
    """
    reached = {
        "complete_from": started_at.astimezone(UTC).date(),
        "last_complete_run_id": run_id,
        "last_complete_at": started_at,
    }
    for begun, keys in ((False, together.known), (True, together.newcomers)):
        beginning = {
            "mark_month": mark[0],
            "mark_number": mark[1],
            "is_bootstrapped": True,
            "bootstrapped_at": started_at,
        }
        rows = [{"source": source, "query_key": key, **beginning, **reached} for key in keys]
        upsert = insert(conn, cursors).on_conflict_do_update(
            index_elements=["source", "query_key"],
            set_=reached | (beginning if begun else {}),
            where=_is_behind(started_at),
        )
        if rows:
            conn.execute(upsert, rows)


def _is_cursor(source: str, query_key: str) -> tuple[Any, ...]:
    return (cursors.c.source == source, cursors.c.query_key == query_key)


def _is_behind(started_at: datetime) -> ColumnElement[bool]:
    last = cursors.c.last_complete_at
    return last.is_(None) | (last <= started_at)
