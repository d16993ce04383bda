"""Two counters that order everything: the last change stored, and the change up to which all is matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from digest.errors import StoreBusy
from digest.store.schema import marks

if TYPE_CHECKING:
    from sqlalchemy import Connection

STORED = "changes"
MATCHED = "matched"


def load_mark(conn: Connection, name: str, *, hold: bool = False) -> int:
    """Return a counter; with `hold` nobody else moves it until the transaction ends."""
    found = select(marks.c.value).where(marks.c.name == name)
    return int(conn.execute(found.with_for_update() if hold else found).scalar_one())


def hold_changes(conn: Connection) -> None:
    """Be the only one that stores changes until the transaction ends: what others stored is seen, all of it."""
    load_mark(conn, STORED, hold=True)


def allocate_changes(conn: Connection, count: int) -> int:
    """Take so many change ids in a row; return the first.

    The row stays locked until the transaction ends, so ids become visible in growing order on PostgreSQL
    too: whoever sees change N sees every change before it. A sequence would not promise that.
    """
    advance = (
        update(marks).where(marks.c.name == STORED).values(value=marks.c.value + count).returning(marks.c.value)
    )
    return int(conn.execute(advance).scalar_one()) - count + 1


def move_matched(conn: Connection, to: int, *, expected: int) -> None:
    """Move the mark "matched up to change N".

    Raises:
        StoreBusy: it is not where the caller read it.
    """
    move = update(marks).where(marks.c.name == MATCHED, marks.c.value == expected).values(value=to)
    if conn.execute(move).rowcount != 1:
        raise StoreBusy(
            f"another process has matched the changes after {expected} meanwhile",
            hint="Nothing is lost; this pass starts over.",
        )
