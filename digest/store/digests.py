"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from digest.errors import StoreBusy, UnknownName
from digest.messages import DeliveryState, Occasion
from digest.planning import EarlierDigest
from digest.store import dialect
from digest.store.bulk import ManyRows, ManyTakes
from digest.store.destinations import destination_key
from digest.store.freezing import freeze, frozen_coverage, frozen_versions, thaw
from digest.store.papers import load_versions
from digest.store.schema import changes, deliveries, digests, matches, subscriptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A digest ready to be stored.

    Attributes:
        subscription_id: whose.
        digest: what is told.
        content: the same as frozen text, see `digest.store.freezing`.
        plans: its parts on their ways.
        consumed: the match runs whose rows it tells.
    """

    subscription_id: int
    digest: Digest
    content: str
    plans: Sequence[DeliveryPlan]
    consumed: Collection[int]


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
    """Freeze a digest and store it; see `save_digests`. Returns its number, None where its slot was taken."""
    texts = load_text_keys(conn, [entry.change_id for entry in digest.entries])
    draft = Draft(subscription_id, digest, freeze(digest, texts), plans, consumed)
    return save_digests(conn, [draft], at=at, priority=priority).get(subscription_id)


def save_digests(
    conn: Connection, drafts: Sequence[Draft], *, at: datetime, priority: int = PRIORITY
) -> dict[int, int]:
    """Store digests with their deliveries and what they consume, in a few statements for all.

    Args:
        conn: the transaction that also moves the subscriptions' next due times.
        drafts: at most one for each subscription.
        at: the moment (UTC).
        priority: see `PRIORITY`.

    Returns:
        Each digest's number by subscription. Missing is one whose subscription had a digest for this slot
        already: nothing of it is stored, and its matches wait for the next one.

    Raises:
        StoreBusy: another process planned one of these matches meanwhile: roll back and plan anew.
    """
    if not drafts:
        return {}
    ids = _DIGESTS.number(conn, list(map(_write_row, drafts)))
    stored = [draft for draft in drafts if draft.subscription_id in ids]
    _consume(conn, stored, ids)
    _save_deliveries(conn, stored, ids, at, priority)
    _note_planned(conn, ids, at)
    return ids


_DIGESTS = ManyRows(
    digests,
    ("subscription_id", "slot", "occasion", "planned_at", "zone", "title", "content", "papers", "shown"),
    unless=("subscription_id", "slot"),
)


def _write_row(draft: Draft) -> tuple[Any, ...]:
    digest = draft.digest
    told = digest.planned_at, digest.zone, digest.title, draft.content, len(digest.entries), digest.shown
    return draft.subscription_id, digest.slot, digest.occasion.value, *told


def load_digest(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen.

    Raises:
        UnknownName: there is none of this number.
    """
    content = conn.execute(select(digests.c.content).where(digests.c.id == digest_id)).scalar()
    if content is None:
        raise UnknownName(f"there is no digest {digest_id}")
    return thaw(content, load_versions(conn, frozen_versions(content)), id_=digest_id)


def load_earlier(conn: Connection, since: Mapping[int, datetime]) -> dict[int, list[EarlierDigest]]:
    """Return the digests that some subscriptions had since a moment of their own, the oldest first.

    Digests are opened only of those who had any: as a rule nobody had since the last mailing went out.

    Args:
        conn: any transaction.
        since: from which moment on (UTC), by subscription.

    Returns:
        What each had; who had none is missing.
    """
    if not since:
        return {}
    first = min(since.values())
    planned = conn.execute(_PLANNED_SINCE, {"ids": list(since), "first": first})
    concerned = [id_ for id_, planned_at in planned if planned_at >= since[id_]]
    earlier: dict[int, list[EarlierDigest]] = {}
    for row in conn.execute(_HAD_SINCE, {"ids": concerned, "first": first}) if concerned else ():
        if row.planned_at >= since[row.subscription_id]:
            one = EarlierDigest(row.planned_at, Occasion(row.occasion), row.papers, frozen_coverage(row.content))
            earlier.setdefault(row.subscription_id, []).append(one)
    return earlier


_PLANNED_SINCE = select(subscriptions.c.id, subscriptions.c.last_planned_at).where(
    dialect.is_among(subscriptions.c.id, "ids"), subscriptions.c.last_planned_at >= bindparam("first")
)
_HAD_SINCE = (
    select(*(digests.c[name] for name in ("subscription_id", "planned_at", "occasion", "papers", "content")))
    .where(dialect.is_among(digests.c.subscription_id, "ids"), digests.c.planned_at >= bindparam("first"))
    .order_by(digests.c.id)
)


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


def load_text_keys(conn: Connection, change_ids: Iterable[int]) -> dict[int, int]:
    """Return the key of the stored text each change is about, by change id."""
    keys: dict[int, int] = {}
    for chunk in dialect.in_chunks(change_ids):
        found = select(changes.c.id, changes.c.version_id).where(changes.c.id.in_(chunk))
        keys.update({row.id: row.version_id for row in conn.execute(found)})
    return keys


_CONSUMED = ManyTakes(matches, "digest_id", ("match_run_id", "subscription_id"))


def _consume(conn: Connection, drafts: Sequence[Draft], ids: Mapping[int, int]) -> None:
    rows = [
        (ids[draft.subscription_id], run_id, draft.subscription_id)
        for draft in drafts
        for run_id in set(draft.consumed)
    ]
    if _CONSUMED.take(conn, rows) != len(rows):
        raise StoreBusy(
            "another process has planned some of these matches meanwhile",
            hint="Nothing is lost; this pass plans what is left.",
        )


def _note_planned(conn: Connection, ids: Collection[int], at: datetime) -> None:
    if ids:
        planned = update(subscriptions).where(dialect.is_among(subscriptions.c.id, "ids"))
        conn.execute(planned.values(last_planned_at=at), {"ids": ids})


_READY: dict[str, Any] = {
    "state": DeliveryState.READY.value,
    "attempts": 0,
    "token": 0,
    **dict.fromkeys(("owner", "name", "remote_address", "remote_id", "last_error"), ""),
    "replaces": 0,
}
"""What every delivery begins with."""

_DELIVERIES = ManyRows(
    deliveries,
    ("digest_id", "destination", "part", "parts", "idempotency_key", "share"),
    (*_READY, "not_before", "created_at", "priority"),
)


def _save_deliveries(
    conn: Connection, drafts: Sequence[Draft], ids: Mapping[int, int], at: datetime, priority: int
) -> None:
    rows = [
        (
            ids[draft.subscription_id],
            destination_key(plan.destination),
            plan.part,
            plan.parts,
            plan.idempotency_key,
            str(plan.share or ""),
        )
        for draft in drafts
        for plan in draft.plans
    ]
    _DELIVERIES.insert(conn, rows, **_READY, not_before=at, created_at=at, priority=priority)
