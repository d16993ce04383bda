"""The last look before the point of no return: whether the message is still ours to hand over.

A process may be paused at any moment, for longer than its claim lasts. Whoever took the delivery over
then sends it; so a transport asks once more when nothing but the handing over itself is left to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable


def always_ours() -> bool:
    """Say yes: for senders that nobody can take a message from."""
    return True


def require_ours(is_ours: Callable[[], bool]) -> None:
    """Go on only while the message is ours.

    Raises:
        DeliveryError: the claim has lapsed; nothing was handed over.
    """
    if not is_ours():
        raise DeliveryError("the claim on it lapsed before it was handed over: another process may send it")
