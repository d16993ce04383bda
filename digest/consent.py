"""Who may be written to: the legal moves of a subscriber. Pure.

          ask                confirm by link (double opt-in)
    nobody ───► pending ─────────────────────────────► confirmed
       │           │                                    ▲  │   ▲
       │ listed by │ listed                      listed │  │   │ return: a link asked for
       │ operator  ▼                             or ask │  │   │ after leaving
       └────────► confirmed                             └──┤   │
                                             leave         ▼   │
    from anywhere ───────────────────────────────────────► left

An address in the operator's file counts as confirmed, until its owner leaves: *leaving always beats
the file*. Whoever left comes back by their own wish alone.
"""

from __future__ import annotations

from enum import StrEnum

from digest.errors import UsageError
from digest.subscriptions import normalise_address

__all__ = [
    "EVERYTHING",
    "ConsentEvent",
    "SubscriberState",
    "move_subscriber",
    "normalise_address",
]

EVERYTHING = ""
"""In place of a subscription's name: all of them, for good."""


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
