"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from digest.errors import StoreBusy, UnknownName
from digest.messages import DeliveryState, Occasion
from digest.store import dialect
from digest.store.destinations import destination_key
from digest.store.freezing import freeze, frozen_versions, thaw
from digest.store.papers import load_versions
from digest.store.schema import changes, deliveries, digests, matches, subscriptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Digest
    from digest.planning import DeliveryPlan

PRIORITY = 20
"""Lower goes first; what must not wait behind a morning's digests goes below it."""


@dataclass(frozen=True, slots=True)
class DigestSummary:
    """A stored digest without its papers.

    Attributes:
        id: its number.
        subscription: its present name.
        title: what it is called.
        slot: its slot.
        occasion: why it exists.
        planned_at: when it was frozen (UTC).
        papers: how many it holds.
        shown: how many of them in full.
    """

    id: int
    subscription: str
    title: str
    slot: str
    occasion: Occasion
    planned_at: datetime
    papers: int
    shown: int


def save_digest(
    conn: Connection,
    subscription_id: int,
    digest: Digest,
    plans: Sequence[DeliveryPlan],
    *,
    consumed: Collection[int],
    at: datetime,
    priority: int = PRIORITY,
) -> int | None:
    """Freeze a digest, in the transaction that also moves the subscription's next due time.

    Args:
        conn: a writing transaction.
        subscription_id: whose.
        digest: what is told.
        plans: its parts on their ways.
        consumed: the match runs whose rows it tells.
        at: the moment (UTC).
        priority: see `PRIORITY`.

    Returns:
        Its number. None where the subscription had a digest for this slot already: nothing is stored,
        and the matches wait for the next one.

    Raises:
        StoreBusy: another process planned one of these matches meanwhile: roll back and plan anew.
    """
    texts = _load_text_keys(conn, [entry.change_id for entry in digest.entries])
    row = {
        "subscription_id": subscription_id,
        "slot": digest.slot,
        "occasion": digest.occasion,
        "planned_at": digest.planned_at,
        "zone": digest.zone,
        "title": digest.title,
        "content": freeze(digest, texts),
        "papers": len(digest.entries),
        "shown": digest.shown,
    }
    once = dialect.insert(conn, digests).on_conflict_do_nothing(index_elements=["subscription_id", "slot"])
    digest_id = conn.execute(once.returning(digests.c.id), row).scalar()
    if digest_id is None:
        return None
    _consume(conn, subscription_id, consumed, digest_id)
    _save_deliveries(conn, digest_id, plans, at, priority)
    planned = update(subscriptions).where(subscriptions.c.id == subscription_id)
    conn.execute(planned.values(last_planned_at=at))
    return int(digest_id)


def load_digest(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen.

    Raises:
        UnknownName: there is none of this number.
    """
    content = conn.execute(select(digests.c.content).where(digests.c.id == digest_id)).scalar()
    if content is None:
        raise UnknownName(f"there is no digest {digest_id}")
    return thaw(content, load_versions(conn, frozen_versions(content)), id_=digest_id)


def list_digests(
    conn: Connection, *, subscription_ids: Collection[int] | None = None, limit: int = 20
) -> list[DigestSummary]:
    """Return the latest digests, newest first; of some subscriptions only where given."""
    found = (
        select(digests, subscriptions.c.name)
        .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
        .order_by(digests.c.id.desc())
        .limit(limit)
    )
    if subscription_ids is not None:
        found = found.where(digests.c.subscription_id.in_(subscription_ids))
    return [
        DigestSummary(
            id=row.id,
            subscription=row.name,
            title=row.title,
            slot=row.slot,
            occasion=Occasion(row.occasion),
            planned_at=row.planned_at,
            papers=row.papers,
            shown=row.shown,
        )
        for row in conn.execute(found)
    ]


def _load_text_keys(conn: Connection, change_ids: Iterable[int]) -> dict[int, int]:
    keys: dict[int, int] = {}
    for chunk in dialect.in_chunks(change_ids):
        found = select(changes.c.id, changes.c.version_id).where(changes.c.id.in_(chunk))
        keys.update({row.id: row.version_id for row in conn.execute(found)})
    return keys


def _consume(conn: Connection, subscription_id: int, match_run_ids: Collection[int], digest_id: int) -> None:
    taken = 0
    for chunk in dialect.in_chunks(match_run_ids):
        take = update(matches).where(
            matches.c.match_run_id.in_(chunk),
            matches.c.subscription_id == subscription_id,
            matches.c.digest_id.is_(None),
        )
        taken += conn.execute(take.values(digest_id=digest_id)).rowcount
    if taken != len(set(match_run_ids)):
        raise StoreBusy(
            "another process has planned some of these matches meanwhile",
            hint="Nothing is lost; this pass plans what is left.",
        )


def _save_deliveries(
    conn: Connection, digest_id: int, plans: Sequence[DeliveryPlan], at: datetime, priority: int
) -> None:
    rows = [
        {
            "digest_id": digest_id,
            "destination": destination_key(plan.destination),
            "part": plan.part,
            "parts": plan.parts,
            "state": DeliveryState.READY,
            "not_before": at,
            "attempts": 0,
            "token": 0,
            "owner": "",
            "idempotency_key": plan.idempotency_key,
            "name": "",
            "remote_address": "",
            "remote_id": "",
            "last_error": "",
            "created_at": at,
            "priority": priority,
        }
        for plan in plans
    ]
    if rows:
        conn.execute(insert(deliveries), rows)
