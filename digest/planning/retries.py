"""What follows a failed delivery: again later, ask the other side, wait for the operator, or give up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from digest.errors import DeliveryError

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
MAX_ATTEMPTS = 24
MAX_AGE = timedelta(hours=48)

SETTLING = {
    DestinationKind.MAIL: timedelta(minutes=15),
    DestinationKind.SLACK: timedelta(seconds=15),
    DestinationKind.SLACK_WEBHOOK: timedelta(0),
}
"""How long an ambiguous message is left alone: Slack's history lags a little behind what was posted, and
a mail server may need minutes to say what it took."""


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
    kind: DestinationKind,
    *,
    attempts: int,
    created_at: datetime,
    now: datetime,
    jitter: float,
) -> NextStep:
    """Decide what follows a failure.

    Args:
        error: what the transport said.
        kind: which way out.
        attempts: how often the network was touched for this delivery, this time included.
        created_at: when the delivery was planned (UTC).
        now: the moment (UTC).
        jitter: from 0 up to 1; pauses are spread over it ("full jitter"), so that many failed at once
            do not come back at once.
    """
    if error.ambiguous:
        return NextStep(Step.ASK, now + SETTLING.get(kind, timedelta(0)))
    if error.permanent and error.whole_transport:
        return NextStep(Step.HOLD, now)
    if error.permanent:
        return NextStep(Step.GIVE_UP, now)
    if now - created_at > MAX_AGE or (error.retry_after is None and attempts >= MAX_ATTEMPTS):
        return NextStep(Step.GIVE_UP, now)
    if error.retry_after is not None:
        return NextStep(Step.RETRY, now + timedelta(seconds=error.retry_after + jitter))
    ceiling = min(FIRST_PAUSE * 2 ** min(attempts - 1, 16), LONGEST_PAUSE)
    return NextStep(Step.RETRY, now + FIRST_PAUSE / 2 + (ceiling - FIRST_PAUSE / 2) * jitter)
