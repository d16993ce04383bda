"""Whether a database was restored: nothing of it is planned or sent then until the operator says how to go on.

A backup is older than what was sent from the database it was taken of, so it carries a mark, and whoever starts
on it finds that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import exists, func, select, update

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.store.dialect import in_chunks
from digest.store.schema import ACTIVE_DELIVERY, attempts, deliveries, installation

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

TAKEN_AS_SENT = "due before the moment up to which the database before this backup is known to have sent"


def load_copied_at(conn: Connection) -> datetime | None:
    """Return when the backup was taken that this database was restored from (UTC); None where it may work.

    Raises:
        StoreError: the database has lost what it knows of itself.
    """
    row = conn.execute(select(installation.c.copied_at)).first()
    if row is None:
        raise StoreError("the database does not know whose it is", hint="Restore the latest backup.")
    copied_at: datetime | None = row.copied_at
    return copied_at


def is_restored(conn: Connection) -> bool:
    """Whether nothing may be planned or sent until the operator has spoken."""
    return load_copied_at(conn) is not None


def is_at_rest() -> ColumnElement[bool]:
    """Return the condition that nothing may be taken out of this database to be sent."""
    return exists().where(installation.c.copied_at.is_not(None))


def name_line(conn: Connection) -> str:
    """Return what tells this database from the one it is a backup of; "" for one that was never restored.

    A restored one may make a digest for a slot that the database before had one for, with other papers: keys that
    the other side knows duplicates by must not be the same.
    """
    resumed_at = conn.execute(select(installation.c.resumed_at)).scalar()
    return resumed_at.isoformat() if resumed_at else ""


def mark_copy(conn: Connection, at: datetime) -> None:
    """Let whoever starts on this database know that it is a backup, taken at a moment (UTC)."""
    conn.execute(update(installation).values(copied_at=at))


def resume(conn: Connection, at: datetime) -> int:
    """Let a restored database plan and send again from a moment (UTC) on; return how many deliveries wait."""
    conn.execute(update(installation).values(copied_at=None, resumed_at=at))
    return conn.execute(select(func.count()).select_from(deliveries).where(ACTIVE_DELIVERY)).scalar_one()


def take_as_sent(conn: Connection, since: datetime, at: datetime) -> int:
    """End the deliveries that were due by a moment, since the database before sent them; return how many.

    Args:
        conn: a writing transaction.
        since: the moment (UTC).
        at: when that is said (UTC).
    """
    due = update(deliveries).where(ACTIVE_DELIVERY, deliveries.c.not_before <= since)
    ended = {"state": DeliveryState.SUPPRESSED, "ended_at": at, "lease_until": None, "last_error": TAKEN_AS_SENT}
    ids = conn.execute(due.values(ended).returning(deliveries.c.id)).scalars().all()
    for chunk in in_chunks(ids):
        open_ = attempts.c.outcome.in_((DeliveryState.SENDING, DeliveryState.UNKNOWN))
        close = update(attempts).where(attempts.c.delivery_id.in_(chunk), open_)
        conn.execute(close.values(ended_at=at, outcome=DeliveryState.SUPPRESSED, detail=TAKEN_AS_SENT))
    return len(ids)
