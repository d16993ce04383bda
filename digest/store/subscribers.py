"""People: who agreed to be written to, who left, and who may still be written to. Leaving beats everything."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.subscriptions import Destination


class SubscriberState(StrEnum):
    """Only `CONFIRMED` is written to."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    LEFT = "left"


def confirm_by_operator(conn: Connection, address: str, subscription: str, at: datetime) -> None:
    """Count an address in the operator's file as confirmed, unless its owner left."""
    raise NotImplementedError


def leave(conn: Connection, destination: Destination, subscription: str, how: str, at: datetime) -> bool:
    """Stop writing to a destination from this commit on: waiting deliveries are suppressed.

    Args:
        conn: a writing transaction.
        destination: who leaves.
        subscription: which subscription's digests; "" for everything, for good.
        how: `one-click`, `page`, `mail`, `operator` …
        at: the moment (UTC).

    Returns:
        False where it had left already.
    """
    raise NotImplementedError


def come_back(conn: Connection, destination: Destination, subscription: str, how: str, at: datetime) -> bool:
    """Take back a leave, at the wish of whoever left; False where there was none."""
    raise NotImplementedError


def refusal(conn: Connection, destination: Destination, subscription: str) -> str:
    """Say why a destination must not be written to for a subscription; "" where it may.

    The decision of record: the transaction that records the intent to send asks here.
    """
    raise NotImplementedError


def normalise_address(address: str) -> str:
    """Return a mail address as it is compared: people who leave leave in every spelling of it."""
    raise NotImplementedError
