"""The outbox: claim, intent, mark, reap. Each is one conditional UPDATE, fenced by the claim's token.

    ready → claimed → sending → sent | ready (a retry) | unknown | held | dead | suppressed

A delivery found `claimed` was certainly not sent; one found `sending` may have been. So the intent is
committed before the network is touched, and what a dead process left in `sending` becomes `unknown`,
which is looked into and never blindly repeated. Leases run on the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery, DeliveryState, Message, Receipt
    from digest.subscriptions import Destination

CLAIM_LEASE = 60.0
"""Seconds in which a claimed delivery must be begun."""

SENDING_LEASE = 900.0
"""Seconds an attempt may take: longer than the slowest way out (SMTP waits 600 s after the final dot)."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A delivery that may have arrived, taken to be looked into.

    Attributes:
        delivery: in state `unknown`, with a token of its own.
        message: the bytes that may have been taken.
        sending_at: when the doubtful attempt began (UTC).
    """

    delivery: Delivery
    message: Message
    sending_at: datetime


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery with what surrounds it, for people.

    Attributes:
        delivery: itself.
        subscription: whose digest it carries.
        slot: that digest's slot.
        created_at: when it was planned (UTC).
        sending_at: when its latest attempt began (UTC); None before the first.
        ended_at: when it reached its last state (UTC); None before.
    """

    delivery: Delivery
    subscription: str
    slot: str
    created_at: datetime
    sending_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time the network was touched for a delivery; `outcome` is the state it led to."""

    number: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Reaped:
    """What was taken from processes that are gone: safe to claim anew, and in doubt."""

    requeued: int
    doubtful: int


def claim(
    conn: Connection, owner: str, limit: int, now: datetime, *, lease_seconds: float = CLAIM_LEASE
) -> list[Delivery]:
    """Take deliveries whose time has come, the most urgent first; nobody else gets them while the lease lasts.

    Parts of one digest to one destination come strictly in order: a part only after all before it were
    sent. Destinations asked to be left alone for now are passed over.
    """
    raise NotImplementedError


def renew(conn: Connection, owner: str, lease_seconds: float = CLAIM_LEASE) -> int:
    """Lengthen the leases of everything an owner has claimed; return how many."""
    raise NotImplementedError


def release_claims(conn: Connection, owner: str) -> int:
    """Give back what an owner claimed and has not begun: for an orderly stop."""
    raise NotImplementedError


def begin_sending(
    conn: Connection,
    delivery: Delivery,
    message: Message,
    now: datetime,
    *,
    lease_seconds: float = SENDING_LEASE,
) -> bool:
    """Record the intent to send, with the bytes; commit it before the network is touched.

    The first attempt's bytes are kept for good: send what `stored_message` returns, not `message`.
    Whether the destination may still be written to is decided here, in the same transaction; where it
    may not, the delivery ends `suppressed`.

    Args:
        conn: a writing transaction.
        delivery: as claimed; `remote_address` is kept.
        message: as rendered now.
        now: the moment (UTC).
        lease_seconds: how long the attempt may take.

    Returns:
        Whether to go on. False: it is suppressed now, or the claim was lost; don't touch it.
    """
    raise NotImplementedError


def stored_message(conn: Connection, delivery_id: int) -> Message | None:
    """Return the bytes of a delivery's first attempt; None before that, and after they were pruned."""
    raise NotImplementedError


def mark_sent(conn: Connection, delivery: Delivery, receipt: Receipt, now: datetime) -> bool:
    """Record that the other side took it; try again until the database takes this.

    From `sending`, or `unknown` of the same claim (a late answer, or one looked up). Every mark returns
    False, with nothing changed, where the claim was lost to another process.
    """
    raise NotImplementedError


def mark_retry(conn: Connection, delivery: Delivery, not_before: datetime, error: str, now: datetime) -> bool:
    """Put it back for another attempt: from `sending` where it surely did not arrive, `claimed`, or `unknown`."""
    raise NotImplementedError


def mark_unknown(conn: Connection, delivery: Delivery, not_before: datetime, error: str, now: datetime) -> bool:
    """Record that it may have arrived; it is looked into from `not_before` on. From `sending` or `unknown`."""
    raise NotImplementedError


def mark_held(conn: Connection, delivery: Delivery, reason: str, now: datetime) -> bool:
    """Leave it to the operator: from `claimed`, `sending` or `unknown`."""
    raise NotImplementedError


def mark_dead(conn: Connection, delivery: Delivery, reason: str, now: datetime) -> bool:
    """Give it up, and with it the parts behind it: from `claimed`, `sending` or `unknown`."""
    raise NotImplementedError


def mark_suppressed(conn: Connection, delivery: Delivery, reason: str, now: datetime) -> bool:
    """End it because nobody wants it any more: from `claimed` or `unknown`."""
    raise NotImplementedError


def reap(conn: Connection, now: datetime, *, settle: timedelta = timedelta(0)) -> Reaped:
    """Take back what other processes let lapse: `claimed` is ready again, `sending` is unknown.

    Only where several processes share a database; a single machine knows its orphans (`adopt_orphans`).

    Args:
        conn: a writing transaction.
        now: the moment (UTC).
        settle: how long to wait before looking into the unknown ones.
    """
    raise NotImplementedError


def adopt_orphans(conn: Connection, now: datetime, *, settle: timedelta = timedelta(0)) -> Reaped:
    """Take back everything claimed or sending, whatever its lease.

    Only for a process that knows itself alone (see `hold_worker`): at its start.
    """
    raise NotImplementedError


def take_unknown(
    conn: Connection, owner: str, limit: int, now: datetime, *, lease_seconds: float = CLAIM_LEASE
) -> list[Suspect]:
    """Take deliveries that may have arrived, to look into them; they stay `unknown` until marked."""
    raise NotImplementedError


def retry(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Send it now, on the operator's word: from `ready`, `held`, `dead` or `unknown`.

    The parts behind a dead one come back with it. False where its state does not allow it.

    Raises:
        UnknownName: there is no such delivery.
    """
    raise NotImplementedError


def drop(conn: Connection, delivery_id: int, now: datetime) -> bool:
    """Never send it, on the operator's word: from `ready`, `held` or `unknown`; the parts behind it go too.

    Raises:
        UnknownName: there is no such delivery.
    """
    raise NotImplementedError


def list_deliveries(
    conn: Connection, *, states: Collection[DeliveryState] | None = None, limit: int = 50
) -> list[StoredDelivery]:
    """Return the latest deliveries, newest first; of some states only where named."""
    raise NotImplementedError


def load_delivery(conn: Connection, delivery_id: int) -> tuple[StoredDelivery, list[Attempt]]:
    """Return a delivery with every attempt.

    Raises:
        UnknownName: there is no such delivery.
    """
    raise NotImplementedError


def block_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone until a moment (UTC); an earlier one never shortens it."""
    raise NotImplementedError


def remember_address(conn: Connection, destination: Destination, remote_address: str, now: datetime) -> None:
    """Keep what the other side calls a destination."""
    raise NotImplementedError


def known_address(conn: Connection, destination: Destination) -> str:
    """Return what the other side calls a destination, "" where it was never asked."""
    raise NotImplementedError
