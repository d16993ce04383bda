"""Where a database comes from, and whether it may work: the first of its line, a copy, or one that was moved away.

A copy is older than what was sent from the database it was taken of. So nothing of it is sent, and nothing
planned, until the operator has said what became of the rest: it is in quarantine. (Papers that could not be
read are kept in the table `quarantine`, which is another matter.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import exists, func, or_, select, update

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.store.dialect import in_chunks
from digest.store.schema import ACTIVE_DELIVERY, attempts, deliveries, installation

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_MOVED = " moved to "
"""Stands in a generation between itself and the place its database was moved to."""

_FILLED = " filled from "
"""Stands in a generation between itself and the place that is being moved here, until the rows are."""

HELD_BACK = "held since the database was restored from a copy (digest restore --status)"
"""Why a delivery is held that only `release` lets go."""

TAKEN_AS_SENT = "due before the moment up to which the database before this copy is known to have sent"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a database knows of itself.

    Attributes:
        generation: changes whenever a copy begins a line of its own.
        moved_to: where it was moved, without the password; "" where it works here.
        quarantined_at: since when nothing of it is sent (UTC); None where it works.
        restored_at: when a worker last found that it is a copy (UTC); None for never. Earlier than
            `quarantined_at`, or None, while a copy has not been started yet.
        filled_from: what is being moved here, without the password, while nothing of it has arrived; "" else.
    """

    generation: str
    moved_to: str
    quarantined_at: datetime | None
    restored_at: datetime | None
    filled_from: str = ""

    @property
    def is_unmet(self) -> bool:
        """Whether this is a copy that no worker has met."""
        return self.quarantined_at is not None and self.restored_at is None


_KNOWN = select(installation).order_by(installation.c.id).limit(1)


def load_provenance(conn: Connection) -> Provenance:
    """Return what a database knows of itself.

    Raises:
        StoreError: it has forgotten.
    """
    row = conn.execute(_KNOWN).first()
    if row is None:
        raise StoreError("the database does not know whose it is", hint="Restore the latest backup.")
    line, _, moved_to = row.generation.partition(_MOVED)
    generation, _, filled_from = line.partition(_FILLED)
    return Provenance(generation, moved_to, row.quarantined_at, row.restored_at, filled_from)


def name_line(conn: Connection) -> str:
    """Return what tells this database from those it is a copy of; "" for one that is no copy.

    A copy may make a digest for a slot that the database before had one for, with other papers: keys that
    the other side knows duplicates by must not be the same.
    """
    known = load_provenance(conn)
    return known.generation if known.restored_at else ""


def is_at_rest() -> ColumnElement[bool]:
    """Return the condition that nothing may be taken out of this database to be sent."""
    return exists().where(
        or_(installation.c.quarantined_at.is_not(None), installation.c.generation.contains(_MOVED))
    )


def is_in_quarantine(conn: Connection) -> bool:
    """Whether nothing may be planned or sent until the operator has spoken."""
    found = select(installation.c.quarantined_at).where(installation.c.quarantined_at.is_not(None))
    return conn.execute(found).first() is not None


def refuse_moved(conn: Connection, where: str) -> None:
    """Refuse a database that was moved away.

    Args:
        conn: any transaction.
        where: its address without the password.

    Raises:
        StoreError: it works elsewhere now.
    """
    moved_to = load_provenance(conn).moved_to
    if moved_to:
        raise StoreError(
            f"the database {where} was moved to {moved_to} and works no more",
            hint="Change url under [store] to the new place. If the move was broken off and nothing is there,"
            " or if it is to work here again all the same: `digest db take-back`.",
        )


def refuse_unfilled(conn: Connection, where: str) -> None:
    """Refuse a database that another was to be moved to, and nothing of it has arrived.

    Args:
        conn: any transaction.
        where: its address without the password.

    Raises:
        StoreError: the move is under way, or was broken off.
    """
    source = load_provenance(conn).filled_from
    if source:
        raise StoreError(
            f"the database {where} is empty: {source} is being moved to it, or that was broken off",
            hint="If it was, set url under [store] back to that one, and move it again: `digest db copy`. If it"
            " says that it was moved, `digest db take-back` first.",
        )


def mark_filling(conn: Connection, source: str) -> None:
    """Let an empty database work only once it holds what is moved to it; its rows replace this mark."""
    generation = load_provenance(conn).generation
    conn.execute(update(installation).values(generation=f"{generation}{_FILLED}{source}"))


def unmark_filling(conn: Connection) -> None:
    """Let an empty database be what it was: nothing is moved to it."""
    conn.execute(update(installation).values(generation=load_provenance(conn).generation))


def mark_moved(conn: Connection, moved_to: str) -> None:
    """Let a database work no more, since it was moved; see `unmark_moved`."""
    generation = load_provenance(conn).generation
    conn.execute(update(installation).values(generation=f"{generation}{_MOVED}{moved_to}"))


def unmark_moved(conn: Connection) -> None:
    """Let a database work again as if it had never been moved: the move failed."""
    conn.execute(update(installation).values(generation=load_provenance(conn).generation))


def mark_copy(conn: Connection, at: datetime) -> None:
    """Let whoever starts on this database know that it is a copy, taken at a moment (UTC)."""
    conn.execute(update(installation).values(quarantined_at=at, restored_at=None))


def enter_quarantine(conn: Connection, generation: str, at: datetime) -> int:
    """Hold everything that could be sent: this database is a copy. Return how many deliveries that are.

    What may be on its way stays `unknown`, and is not looked into before the release.

    Args:
        conn: a writing transaction.
        generation: a new one.
        at: the moment (UTC).
    """
    since = func.coalesce(installation.c.quarantined_at, at)
    conn.execute(update(installation).values(quarantined_at=since, restored_at=at, generation=generation))
    waiting = deliveries.c.state.in_((DeliveryState.READY, DeliveryState.CLAIMED))
    hold = update(deliveries).where(ACTIVE_DELIVERY, waiting)
    held = {"state": DeliveryState.HELD, "owner": "", "lease_until": None, "last_error": HELD_BACK}
    return conn.execute(hold.values(held)).rowcount


def count_held_back(conn: Connection) -> int:
    """Return how many deliveries wait for the end of the quarantine, those of unknown fate among them."""
    return conn.execute(select(func.count()).select_from(deliveries).where(_is_held_back())).scalar_one()


def list_held_back(conn: Connection, until: datetime) -> list[int]:
    """Return the ids of deliveries that wait for the end of the quarantine and were due by a moment (UTC)."""
    held = select(deliveries.c.id).where(_is_held_back(), deliveries.c.not_before <= until)
    return list(conn.execute(held).scalars())


def take_as_sent(conn: Connection, ids: Collection[int], at: datetime) -> None:
    """End deliveries that are held back, since the database before sent them; `at` is the moment (UTC)."""
    for chunk in in_chunks(ids):
        end = update(deliveries).where(deliveries.c.id.in_(chunk))
        ended = {"state": DeliveryState.SUPPRESSED, "ended_at": at, "lease_until": None}
        conn.execute(end.values(ended | {"last_error": TAKEN_AS_SENT}))
        open_ = attempts.c.outcome.in_((DeliveryState.SENDING, DeliveryState.UNKNOWN))
        close = update(attempts).where(attempts.c.delivery_id.in_(chunk), open_)
        conn.execute(close.values(ended_at=at, outcome=DeliveryState.SUPPRESSED, detail=TAKEN_AS_SENT))


def release(conn: Connection) -> int:
    """End the quarantine: what it held is ready again. Return how many deliveries that are."""
    conn.execute(update(installation).values(quarantined_at=None))
    mine = (deliveries.c.state == DeliveryState.HELD, deliveries.c.last_error == HELD_BACK)
    freed = update(deliveries).where(*mine).values(state=DeliveryState.READY, last_error="")
    return conn.execute(freed).rowcount


def _is_held_back() -> ColumnElement[bool]:
    is_held = (deliveries.c.state == DeliveryState.HELD) & (deliveries.c.last_error == HELD_BACK)
    return is_held | deliveries.c.state.in_((DeliveryState.UNKNOWN, DeliveryState.SENDING))
