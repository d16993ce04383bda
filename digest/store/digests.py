"""Digests: frozen with their deliveries, the matches they consume and the next due time, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Digest, Occasion
    from digest.planning import DeliveryPlan


@dataclass(frozen=True, slots=True)
class PlannedDigest:
    """Everything one planning decision changes.

    Attributes:
        subscription_id: whose.
        digest: what is told.
        match_run_ids: the match runs whose rows it consumes.
        deliveries: its parts on their ways.
        next_due_at: the subscription's next turn (UTC); None where nothing makes it due yet.
        not_before: earliest first attempt (UTC); None for at once.
        priority: lower goes first.
        moves_due: False leaves the subscription's next turn and last slot alone (a first look between turns).
    """

    subscription_id: int
    digest: Digest
    match_run_ids: tuple[int, ...]
    deliveries: tuple[DeliveryPlan, ...]
    next_due_at: datetime | None
    not_before: datetime | None = None
    priority: int = 20
    moves_due: bool = True


@dataclass(frozen=True, slots=True)
class DigestSummary:
    """A stored digest without its papers."""

    id: int
    subscription: str
    title: str
    slot: str
    occasion: Occasion
    planned_at: datetime
    papers: int
    shown: int


def save_digests(conn: Connection, planned: Sequence[PlannedDigest]) -> tuple[int | None, ...]:
    """Freeze digests, in a constant number of statements; return their ids in order.

    Returns None for a digest whose slot the subscription has had already: nothing of it is stored,
    its matches stay unconsumed and its due time unmoved.

    Raises:
        StoreBusy: another process planned one of these matches meanwhile: roll back and plan anew.
    """
    raise NotImplementedError


def save_digest(conn: Connection, planned: PlannedDigest) -> int | None:
    """Freeze one digest; see `save_digests`."""
    return save_digests(conn, [planned])[0]


def load_digest(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen.

    Raises:
        UnknownName: there is none of this number.
    """
    raise NotImplementedError


def list_digests(
    conn: Connection, *, subscriptions: Collection[str] | None = None, limit: int = 20
) -> list[DigestSummary]:
    """Return the latest digests, newest first; of some subscriptions only where named."""
    raise NotImplementedError
