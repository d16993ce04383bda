"""What follows a failed delivery: again later, ask the other side, wait for the operator, or give up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from digest.errors import DeliveryError

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
MAX_ATTEMPTS = 24
MAX_AGE = timedelta(hours=48)

MAX_REPEATS = 1
"""So often a message whose fate nobody knows is sent again by itself: each time may be a copy too many."""


class Step(StrEnum):
    """What to do with a delivery whose sending failed."""

    RETRY = "retry"
    ASK = "ask"
    HOLD = "hold"
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step, and the earliest moment for it (UTC)."""

    step: Step
    not_before: datetime


def decide_failure(
    error: DeliveryError,
    *,
    settling: timedelta,
    attempts: int,
    created_at: datetime,
    now: datetime,
    jitter: float,
) -> NextStep:
    """Decide what follows a failure.

    Args:
        error: what the transport said.
        settling: how long a message that may have arrived is left alone before it is looked into.
        attempts: how often the network was touched for this delivery, this time included.
        created_at: when the delivery was planned (UTC).
        now: the moment (UTC).
        jitter: from 0 up to 1; pauses are spread over it ("full jitter"), so that many failed at once
            do not come back at once.
    """
    if error.ambiguous:
        again = _pause(attempts - 1, jitter) if attempts > 1 else timedelta(0)
        return NextStep(Step.ASK, now + settling + again)
    if error.permanent and error.whole_transport:
        return NextStep(Step.HOLD, now)
    if error.permanent:
        return NextStep(Step.GIVE_UP, now)
    if now - created_at > MAX_AGE or (error.retry_after is None and attempts >= MAX_ATTEMPTS):
        return NextStep(Step.GIVE_UP, now)
    if error.retry_after is not None:
        return NextStep(Step.RETRY, now + timedelta(seconds=error.retry_after + jitter))
    return NextStep(Step.RETRY, now + _pause(attempts, jitter))


def decide_unknown(*, is_harmless: bool, may_repeat: bool, attempts: int, repeats: int) -> Step:
    """Decide what follows for a message that was not found to have arrived: `RETRY` or `HOLD`.

    Args:
        is_harmless: sending it again makes no second copy: the other side says that it never came, or knows
            a repetition when it sees one.
        may_repeat: where nobody can tell, a second copy is the lesser harm.
        attempts: how often the network was touched for this delivery.
        repeats: how often it was sent again already although it may have arrived.
    """
    if is_harmless:
        return Step.RETRY if attempts < MAX_ATTEMPTS else Step.HOLD
    return Step.RETRY if may_repeat and repeats < MAX_REPEATS else Step.HOLD


def _pause(attempts: int, jitter: float) -> timedelta:
    ceiling: timedelta = min(FIRST_PAUSE * 2 ** min(attempts - 1, 16), LONGEST_PAUSE)
    return FIRST_PAUSE / 2 + (ceiling - FIRST_PAUSE / 2) * jitter
