"""One step of a delivery from state to state, with what must happen beside it in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, update

from digest.messages import TERMINAL_STATES, DeliveryState
from digest.store.schema import attempts, deliveries

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from digest.messages import Delivery

_UNDECIDED = (DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""Outcomes of an attempt that a later answer settles."""

REPEATED = "repeated"
"""Outcome of an attempt that may have arrived and was followed by another all the same."""

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


def take_step(conn: Connection, which: ColumnElement[bool], delivery_id: int, step: Step) -> bool:
    """Change a delivery's state if `which` still holds of it, close its attempt, end the parts behind it.

    Returns:
        False, with nothing changed, where `which` does not hold any more.
    """
    changes: dict[str, Any] = {"state": step.to, "lease_until": None, "last_error": step.said}
    if step.to in TERMINAL_STATES:
        changes["ended_at"] = step.now
    move = update(deliveries).where(deliveries.c.id == delivery_id, which).values(changes | step.values)
    place = (deliveries.c.digest_id, deliveries.c.destination, deliveries.c.part, deliveries.c.parts)
    row = conn.execute(move.returning(*place)).one_or_none()
    if row is None:
        return False
    undecided = and_(attempts.c.delivery_id == delivery_id, attempts.c.outcome.in_(_UNDECIDED))
    close = update(attempts).where(undecided)
    conn.execute(close.values(ended_at=step.now, outcome=step.outcome or step.to, detail=step.said))
    if step.to in _ENDS_PARTS_BEHIND and row.part + 1 < row.parts:
        waiting = deliveries.c.state.in_((DeliveryState.READY, DeliveryState.HELD))
        reason = f"part {row.part + 1} was not sent: {step.said}"
        ending = update(deliveries).where(is_behind(row.digest_id, row.destination, row.part), waiting)
        conn.execute(ending.values(state=step.to, ended_at=step.now, last_error=reason))
    return True


def is_claim(delivery: Delivery, states: Collection[DeliveryState]) -> ColumnElement[bool]:
    """Return the condition that a claim still holds, and its delivery is in one of some states."""
    return and_(deliveries.c.token == delivery.token, deliveries.c.state.in_(states))


def is_in(states: Collection[DeliveryState]) -> ColumnElement[bool]:
    """Return the condition that a delivery is in one of some states, whoever claimed it."""
    return deliveries.c.state.in_(states)


def is_behind(digest_id: int, destination: str, part: int) -> ColumnElement[bool]:
    """Return the condition that a delivery is a later part of a digest to a destination."""
    return and_(
        deliveries.c.digest_id == digest_id,
        deliveries.c.destination == destination,
        deliveries.c.part > part,
    )
