"""One step of a delivery from state to state, with what must happen beside it in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, exists, update

from digest.messages import TERMINAL_STATES, DeliveryState
from digest.store.dialect import make_storable
from digest.store.schema import attempts, deliveries

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

CLAIM_LEASE = 60.0
"""Seconds after which a claim lapses whose process shows no sign of life (see `renew`)."""

UNDECIDED = (DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""Outcomes of an attempt that a later answer settles."""

REPEATED = "repeated"
"""Outcome of an attempt that may have arrived and was followed by another all the same."""

GIVEN_BACK: dict[str, Any] = {"state": DeliveryState.READY, "owner": "", "lease_until": None}
"""What a delivery becomes whose claim ends before it was begun."""

IN_DOUBT = "in doubt"
"""Outcome of an attempt that may have arrived, and of which only a person can say whether it did."""

_ENDS_PARTS_BEHIND = (DeliveryState.DEAD, DeliveryState.SUPPRESSED)
"""A reader gets a digest from its first part on, or not at all."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a delivery goes.

    Attributes:
        to: its next state.
        now: the moment (UTC).
        said: what went wrong, or what the other side answered; "" for nothing.
        values: other columns that change.
        outcome: how its attempt is remembered; "" for the state it led to.
    """

    to: DeliveryState
    now: datetime
    said: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    outcome: str = ""


_PLACE = (deliveries.c.digest_id, deliveries.c.destination, deliveries.c.part, deliveries.c.parts)

_MOVE = (
    update(deliveries)
    .where(deliveries.c.id == bindparam("moved"), deliveries.c.state.in_(bindparam("out_of", expanding=True)))
    .returning(*_PLACE)
)
_MOVE_CLAIMED = _MOVE.where(deliveries.c.token == bindparam("claim"))
_CLOSE = update(attempts).where(attempts.c.delivery_id == bindparam("closed"), attempts.c.outcome.in_(UNDECIDED))
"""Statements are built once: building one costs more than a database takes to run it."""


def take_step(
    conn: Connection,
    delivery_id: int,
    step: Step,
    out_of: Collection[DeliveryState],
    *,
    token: int | None = None,
) -> bool:
    """Change a delivery's state, close its attempt, end the parts behind it.

    Args:
        conn: a writing transaction.
        delivery_id: which delivery.
        step: where it goes.
        out_of: the states it may come from.
        token: the claim that must still hold; None for whoever claimed it.

    Returns:
        False, with nothing changed, where it is in no such state, or somebody else has claimed it.
    """
    said = make_storable(step.said)
    changes: dict[str, Any] = {"state": step.to, "lease_until": None, "last_error": said}
    if step.to in TERMINAL_STATES:
        changes["ended_at"] = step.now
    which: dict[str, Any] = {"moved": delivery_id, "out_of": list(out_of)}
    move = _MOVE
    if token is not None:
        move, which["claim"] = _MOVE_CLAIMED, token
    row = conn.execute(move, changes | step.values | which).one_or_none()
    if row is None:
        return False
    told = {"ended_at": step.now, "outcome": step.outcome or step.to, "detail": said}
    conn.execute(_CLOSE, told | {"closed": delivery_id})
    if step.to in _ENDS_PARTS_BEHIND and row.part + 1 < row.parts:
        waiting = deliveries.c.state.in_((DeliveryState.READY, DeliveryState.HELD))
        reason = f"part {row.part + 1} was not sent: {said}"
        ending = update(deliveries).where(is_behind(row.digest_id, row.destination, row.part), waiting)
        conn.execute(ending.values(state=step.to, ended_at=step.now, last_error=reason))
    return True


def waits_for_held() -> ColumnElement[bool]:
    """Return the condition that a delivery is a part whose turn comes when one before it is held no more."""
    before = deliveries.alias("before")
    is_held = exists().where(
        before.c.digest_id == deliveries.c.digest_id,
        before.c.destination == deliveries.c.destination,
        before.c.part < deliveries.c.part,
        before.c.state == DeliveryState.HELD,
    )
    return and_(deliveries.c.part > 0, is_held)


def is_behind(digest_id: int, destination: str, part: int) -> ColumnElement[bool]:
    """Return the condition that a delivery is a later part of a digest to a destination."""
    return and_(
        deliveries.c.digest_id == digest_id,
        deliveries.c.destination == destination,
        deliveries.c.part > part,
    )
