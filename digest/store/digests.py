"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from digest.model.destinations import Destination
from digest.model.errors import StoreBusy, UnknownName
from digest.model.messages import DeliveryPlan, DeliveryState, Digest, EarlierDigest, Occasion
from digest.model.said import NOTHING
from digest.model.slots import SlotKind, SlotName
from digest.model.subscriptions import DueSubscription, Subscription, SubscriptionState
from digest.store.dialect import dialect_insert, is_among, select_by
from digest.store.frozen import Frozen, find_texts, freeze_digest, thaw_coverage, thaw_digest
from digest.store.papers import load_versions
from digest.store.schema import changes, deliveries, digests, matches, subscriptions
from digest.store.subscribers import destination_key, load_statuses
from digest.store.subscriptions import load as load_subscriptions

_NAMED = select(digests, subscriptions.c.name.label("subscription")).join(
    subscriptions, subscriptions.c.id == digests.c.subscription_id
)

_PLANNED_SINCE = select(subscriptions.c.id, subscriptions.c.last_planned_at).where(
    is_among(subscriptions.c.id, "ids"), subscriptions.c.last_planned_at >= bindparam("first")
)
_HAD_COLUMNS = tuple(
    digests.c[name] for name in ("subscription_id", "planned_at", "occasion", "papers", "content")
)

_HAD_SINCE = (
    select(*_HAD_COLUMNS)
    .where(is_among(digests.c.subscription_id, "ids"), digests.c.planned_at >= bindparam("first"))
    .order_by(digests.c.id)
)

_NO_ANSWER = dict.fromkeys(("owner", "name", "remote_address", "remote_id", "last_error"), "")
_READY: dict[str, Any] = {
    "state": DeliveryState.READY.value,
    "attempts": 0,
    "token": 0,
    **_NO_ANSWER,
    "last_error": NOTHING,
}
"""What every delivery begins with."""

_ALL = 1_000_000
"""More digests than a subscription has."""


@dataclass(frozen=True, slots=True)
class DigestSummary:
    """A stored digest without its papers: how many it holds, and how many are shown in full."""

    id: int
    subscription: str
    title: str
    slot: str
    occasion: Occasion
    planned_at: datetime
    papers: int
    shown: int


@dataclass(frozen=True, slots=True)
class DigestDraft:
    """A digest ready to be stored, with its deliveries and the match runs whose rows it shows."""

    subscription_id: int
    digest: Digest
    plans: Sequence[DeliveryPlan]
    consumed: Collection[int]


def save(conn: Connection, drafts: Sequence[DigestDraft], *, at: datetime) -> dict[int, int]:
    """Store digests with their deliveries and what they consume, in a few statements for all.

    There is at most one for each subscription; call it in the transaction that moves their next
    due times. Return each digest's number by subscription. Missing is one whose subscription had
    a digest for this slot already: nothing of it is stored, and its matches wait for the next one.

    Raise `StoreBusy`: another process planned one of these matches meanwhile: roll back and plan
    anew.
    """
    if not drafts:
        return {}
    texts = _load_text_keys(conn, drafts)
    rows = [_write_digest(draft, texts) for draft in drafts]
    insertion = dialect_insert(conn, digests)
    keep = insertion.on_conflict_do_nothing(index_elements=["subscription_id", "slot"])
    kept = conn.execute(keep.returning(digests.c.subscription_id, digests.c.id), rows)
    ids = {row.subscription_id: row.id for row in kept}
    stored = [draft for draft in drafts if draft.subscription_id in ids]
    _consume(conn, stored, ids)
    _save_deliveries(conn, stored, ids, at)
    if ids:
        planned = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
        conn.execute(planned.values(last_planned_at=at), {"ids": ids})
    return ids


def _load_text_keys(conn: Connection, drafts: Sequence[DigestDraft]) -> dict[int, int]:
    """Return the key of the text that each change is about, of all the drafts show."""
    shown: list[int] = []
    for draft in drafts:
        shown.extend(entry.change_id for entry in draft.digest.entries)
    found = select(changes.c.id, changes.c.version_id)
    rows = select_by(conn, found, changes.c.id, shown)
    return {row.id: row.version_id for row in rows}


def _write_digest(draft: DigestDraft, texts: Mapping[int, int]) -> dict[str, Any]:
    """Return the row of `digests` that keeps a draft."""
    digest = draft.digest
    return {
        "subscription_id": draft.subscription_id,
        "slot": digest.slot,
        "occasion": digest.occasion.value,
        "planned_at": digest.planned_at,
        "zone": digest.zone,
        "title": digest.title,
        "content": freeze_digest(digest, texts),
        "papers": len(digest.entries),
        "shown": digest.shown,
    }


def load(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen."""
    row = conn.execute(_NAMED.where(digests.c.id == digest_id)).one_or_none()
    if row is None:
        raise UnknownName(f"there is no digest {digest_id}")
    frozen = json.loads(row.content)
    texts = load_versions(conn, find_texts(frozen))
    return thaw_digest(row, frozen, texts)


def load_frozen(
    conn: Connection, subscription: str, *, before: int = 0, after: int = 0, limit: int = 1
) -> list[Frozen]:
    """Return digests of a subscription as `thaw_digest` takes them, newest first.

    Their numbers are lower than `before`, if that is given. If `after` is given, they are higher
    than that, and come oldest first.
    """
    made = digests.c
    found = _NAMED.where(subscriptions.c.name == subscription, made.occasion != Occasion.LETTER)
    in_order = found.order_by(made.id.desc())
    if after:
        in_order = found.where(made.id > after).order_by(made.id.asc())
    if before:
        in_order = in_order.where(made.id < before)
    rows = conn.execute(in_order.limit(limit))
    return [(row, json.loads(row.content)) for row in rows]


def load_for_site(conn: Connection, subscription: str, destination: Destination) -> list[Frozen]:
    """Return the digests of a subscription that a folder shows, newest first.

    These are those it got, and those planned before it was a destination; not the first digests
    of others.
    """
    is_there = deliveries.c.destination == destination_key(destination)
    found = select(deliveries.c.digest_id, deliveries.c.state).where(is_there)
    states = {row.digest_id: row.state for row in conn.execute(found)}
    shown = []
    for row, content in load_frozen(conn, subscription, limit=_ALL):
        if row.id in states:
            is_shown = states[row.id] == DeliveryState.SENT
        else:
            is_shown = SlotName.parse(row.slot).kind is not SlotKind.LATER_PLACES
        if is_shown:
            shown.append((row, content))
    return shown


def load_earlier(conn: Connection, since: Mapping[int, datetime]) -> dict[int, list[EarlierDigest]]:
    """Return the digests that some subscriptions had since a moment of their own, oldest first.

    Digests are opened only of those who had any: as a rule nobody had since the last announcement
    went out.
    """
    if not since:
        return {}
    first = min(since.values())
    planned = conn.execute(_PLANNED_SINCE, {"ids": list(since), "first": first})
    concerned = [id_ for id_, planned_at in planned if planned_at >= since[id_]]
    if not concerned:
        return {}
    earlier: dict[int, list[EarlierDigest]] = {}
    for row in conn.execute(_HAD_SINCE, {"ids": concerned, "first": first}):
        if row.planned_at >= since[row.subscription_id]:
            coverage = thaw_coverage(json.loads(row.content)["coverage"])
            one = EarlierDigest(row.planned_at, Occasion(row.occasion), row.papers, coverage)
            earlier.setdefault(row.subscription_id, []).append(one)
    return earlier


def load_summaries(
    conn: Connection, *, subscription_ids: Collection[int] | None = None, limit: int = 20
) -> list[DigestSummary]:
    """Return the latest digests, newest first; of some subscriptions only if given."""
    made = digests.c
    found = _NAMED.order_by(made.id.desc()).limit(limit)
    if subscription_ids is not None:
        found = found.where(made.subscription_id.in_(subscription_ids))
    return [_read_summary(row) for row in conn.execute(found)]


def _read_summary(row: Row[Any]) -> DigestSummary:
    return DigestSummary(
        id=row.id,
        subscription=row.subscription,
        title=row.title,
        slot=row.slot,
        occasion=Occasion(row.occasion),
        planned_at=row.planned_at,
        papers=row.papers,
        shown=row.shown,
    )


def _consume(conn: Connection, drafts: Sequence[DigestDraft], ids: Mapping[int, int]) -> None:
    """Put the matches that drafts show into their digests, if no other process has."""
    rows: list[dict[str, int]] = []
    for draft in drafts:
        owner = draft.subscription_id
        shared = {"of_digest": ids[owner], "of_subscription": owner}
        rows.extend(shared | {"of_run": run_id} for run_id in set(draft.consumed))
    if not rows:
        return
    take = update(matches).where(
        matches.c.match_run_id == bindparam("of_run"),
        matches.c.subscription_id == bindparam("of_subscription"),
        matches.c.digest_id.is_(None),
    )
    taken = conn.execute(take.values(digest_id=bindparam("of_digest")), rows).rowcount
    if taken != len(rows):
        raise StoreBusy(
            "another process has already planned some of these matches",
            hint="Nothing is lost. This run plans the rest.",
        )


def _save_deliveries(
    conn: Connection, drafts: Sequence[DigestDraft], ids: Mapping[int, int], at: datetime
) -> None:
    shared = _READY | {"not_before": at, "created_at": at}
    rows: list[dict[str, Any]] = []
    for draft in drafts:
        of_digest = shared | {"digest_id": ids[draft.subscription_id]}
        rows.extend(of_digest | _write_delivery(plan) for plan in draft.plans)
    if rows:
        conn.execute(insert(deliveries), rows)


def _write_delivery(plan: DeliveryPlan) -> dict[str, Any]:
    return {
        "destination": destination_key(plan.destination),
        "part": plan.part,
        "parts": plan.parts,
        "idempotency_key": plan.idempotency_key,
        "share": str(plan.share or ""),
    }


def find_new_destinations(
    conn: Connection, due: DueSubscription, written: Subscription
) -> list[Destination]:
    """Return the destinations that digest.toml names for a subscription and that it never had."""
    active = {destination_key(place) for place in due.subscription.destinations}
    new = [place for place in written.destinations if destination_key(place) not in active]
    if not new:
        return []
    statuses = load_statuses(conn, due.id)
    had = {destination_key(status.destination) for status in statuses}
    return [place for place in new if destination_key(place) not in had]


def find_first_digests(
    conn: Connection, written: Iterable[Subscription]
) -> dict[str, Subscription]:
    """Return the active subscriptions to which digest.toml adds a place.

    They send a first digest there.
    """
    active: dict[str, DueSubscription] = {}
    for due in load_subscriptions(conn):
        if due.state == SubscriptionState.ACTIVE:
            active[due.subscription.name] = due
    found = {}
    for one in written:
        if not (one.has_digests and one.look_back and one.name in active):
            continue
        added = find_new_destinations(conn, active[one.name], one)
        if any(not place.is_pulled for place in added):
            found[one.name] = one
    return found


def find_late_first_digests(conn: Connection, subscription_id: int) -> set[int]:
    """Return the first digests that went to later destinations of a subscription alone."""
    made = digests.c
    is_its_own = made.subscription_id == subscription_id
    found = select(made.id).where(is_its_own, made.slot.like(SlotKind.LATER_PLACES.pattern))
    return set(conn.execute(found).scalars())
