"""Who may be written to: the legal moves of a subscriber, and the decision before each message. All pure.

          ask                confirm by link (double opt-in)
    nobody ───► pending ─────────────────────────────► confirmed
       │           │                                    ▲  │   ▲
       │ listed by │ listed                      listed │  │   │ return: a link asked for
       │ operator  ▼                             or ask │  │   │ after leaving
       └────────► confirmed                             └──┤   │
                                             leave         ▼   │
    from anywhere ───────────────────────────────────────► left

An address in the operator's file counts as confirmed, until its owner leaves: *leaving always beats
the file*. Whoever left comes back by their own wish alone, with a link they asked for afterwards; an
old confirmation link found again in a mailbox does not bring them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.errors import UsageError
from digest.subscriptions import DestinationKind, normalise_address

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from digest.subscriptions import Destination

__all__ = [
    "EVERYTHING",
    "LINK_LIFETIME",
    "ConsentEvent",
    "Decision",
    "SubscriberState",
    "judge_link",
    "may_send",
    "move_subscriber",
    "normalise_address",
]

EVERYTHING = ""
"""In place of a subscription's name: all of them, for good."""

LINK_LIFETIME = timedelta(hours=48)
"""How long a confirmation link works."""


class SubscriberState(StrEnum):
    """Only `CONFIRMED` is written to."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    LEFT = "left"


class ConsentEvent(StrEnum):
    """What can happen to a subscriber.

    `LISTED` is the operator's doing, all else the person's own: they asked, confirmed by the link they
    were sent, left, or came back by a link they asked for after leaving.
    """

    LISTED = "listed"
    ASKED = "asked"
    CONFIRMED = "confirmed"
    LEFT = "left"
    RETURNED = "returned"


_MOVES: dict[tuple[SubscriberState | None, ConsentEvent], SubscriberState] = {
    (None, ConsentEvent.LISTED): SubscriberState.CONFIRMED,
    (None, ConsentEvent.ASKED): SubscriberState.PENDING,
    (SubscriberState.PENDING, ConsentEvent.LISTED): SubscriberState.CONFIRMED,
    (SubscriberState.PENDING, ConsentEvent.ASKED): SubscriberState.PENDING,
    (SubscriberState.PENDING, ConsentEvent.CONFIRMED): SubscriberState.CONFIRMED,
    (SubscriberState.CONFIRMED, ConsentEvent.LISTED): SubscriberState.CONFIRMED,
    (SubscriberState.CONFIRMED, ConsentEvent.ASKED): SubscriberState.CONFIRMED,
    (SubscriberState.CONFIRMED, ConsentEvent.CONFIRMED): SubscriberState.CONFIRMED,
    (SubscriberState.LEFT, ConsentEvent.LISTED): SubscriberState.LEFT,
    (SubscriberState.LEFT, ConsentEvent.ASKED): SubscriberState.LEFT,
    (SubscriberState.LEFT, ConsentEvent.RETURNED): SubscriberState.CONFIRMED,
}
"""Every legal move but one: leaving leads from anywhere to `LEFT`."""


def move_subscriber(state: SubscriberState | None, event: ConsentEvent) -> SubscriberState:
    """Return the state an event leads to; `state` is None for an address not known before.

    Raises:
        UsageError: nothing was asked for that could be confirmed, or taken back.
    """
    if event is ConsentEvent.LEFT:
        return SubscriberState.LEFT
    following = _MOVES.get((state, event))
    if following is None:
        raise UsageError(
            f"{state or 'an unknown subscriber'} can't be {event}: no such step was asked for",
            hint="Ask again: a new link comes by mail.",
        )
    return following


def judge_link(asked_at: datetime, now: datetime, left_at: datetime | None) -> ConsentEvent:
    """Return what following a confirmation link means.

    Args:
        asked_at: when the link was asked for.
        now: when it is followed.
        left_at: when its owner last left, None for never.

    Raises:
        UsageError: it is too old, or its owner left after asking for it.
    """
    if left_at is not None and left_at >= asked_at:
        raise UsageError(
            "this link was asked for before you left: it no longer works", hint="Ask again to come back."
        )
    if now - asked_at > LINK_LIFETIME:
        raise UsageError("this link has expired", hint="Ask again: a new link comes by mail.")
    return ConsentEvent.CONFIRMED if left_at is None else ConsentEvent.RETURNED


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a message may go out, and if not, why: a reason the operator can read."""

    is_allowed: bool
    reason: str = ""


def may_send(
    destination: Destination,
    subscription: str,
    *,
    state: SubscriberState | None,
    left: Collection[str],
    is_in_file: bool,
) -> Decision:
    """Decide whether a subscription's message may go to a destination now.

    Args:
        destination: where to.
        subscription: the subscription's name.
        state: of the subscriber, for mail; None for an address not known as one.
        left: names of the subscriptions this destination left, `EVERYTHING` for all.
        is_in_file: the operator's file names the destination for this subscription.
    """
    if EVERYTHING in left:
        return Decision(is_allowed=False, reason=f"{destination} left everything")
    if subscription in left:
        return Decision(is_allowed=False, reason=f"{destination} left {subscription}")
    if destination.kind is not DestinationKind.MAIL:
        return Decision(is_allowed=True)
    if state is SubscriberState.LEFT:
        return Decision(is_allowed=False, reason=f"{destination} left")
    if state is SubscriberState.CONFIRMED or is_in_file:
        return Decision(is_allowed=True)
    return Decision(is_allowed=False, reason=f"{destination} has not confirmed")
