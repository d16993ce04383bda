"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from digest.model.announcements import Kind
from digest.model.errors import StoreBusy, UnknownName
from digest.model.messages import (
    Coverage,
    DeliveryPlan,
    DeliveryState,
    Digest,
    DigestEntry,
    EarlierDigest,
    Form,
    Group,
    Occasion,
    Sequel,
    StoredText,
)
from digest.model.papers import Field, Paper, Reason, Span
from digest.model.subscriptions import Abstracts, Grouping
from digest.store.dialect import dialect_insert, is_among, select_by
from digest.store.papers import load_versions
from digest.store.schema import changes, deliveries, digests, matches, subscriptions
from digest.store.subscribers import destination_key


@dataclass(frozen=True, slots=True)
class DigestSummary:
    """A stored digest without its papers: how many it holds, and how many of them are shown in full."""

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
    """A digest ready to be stored, with its deliveries and the match runs whose rows it tells."""

    subscription_id: int
    digest: Digest
    plans: Sequence[DeliveryPlan]
    consumed: Collection[int]


def save_digests(conn: Connection, drafts: Sequence[DigestDraft], *, at: datetime) -> dict[int, int]:
    """Store digests with their deliveries and what they consume, in a few statements for all.

    There is at most one for each subscription; call it in the transaction that moves their next due times.

    Returns:
        Each digest's number by subscription. Missing is one whose subscription had a digest for this slot
        already: nothing of it is stored, and its matches wait for the next one.

    Raises:
        StoreBusy: another process planned one of these matches meanwhile: roll back and plan anew.
    """
    if not drafts:
        return {}
    told = (entry.change_id for draft in drafts for entry in draft.digest.entries)
    found = select_by(conn, select(changes.c.id, changes.c.version_id), changes.c.id, told)
    texts = {row.id: row.version_id for row in found}
    rows = [_write_row(draft, texts) for draft in drafts]
    keep = dialect_insert(conn, digests).on_conflict_do_nothing(index_elements=["subscription_id", "slot"])
    kept = conn.execute(keep.returning(digests.c.subscription_id, digests.c.id), rows)
    ids = {row.subscription_id: row.id for row in kept}
    stored = [draft for draft in drafts if draft.subscription_id in ids]
    _consume(conn, stored, ids)
    _save_deliveries(conn, stored, ids, at)
    if ids:
        planned = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
        conn.execute(planned.values(last_planned_at=at), {"ids": ids})
    return ids


def _write_row(draft: DigestDraft, texts: Mapping[int, int]) -> dict[str, Any]:
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


_NAMED = select(digests, subscriptions.c.name.label("subscription")).join(
    subscriptions, subscriptions.c.id == digests.c.subscription_id
)


def load_digest(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen.

    Raises:
        UnknownName: there is none of this number.
    """
    row = conn.execute(_NAMED.where(digests.c.id == digest_id)).one_or_none()
    if row is None:
        raise UnknownName(f"there is no digest {digest_id}")
    frozen = json.loads(row.content)
    return thaw_digest(row, frozen, load_versions(conn, find_texts(frozen)))


def load_frozen(
    conn: Connection, subscription: str, *, before: int = 0, after: int = 0, limit: int = 1
) -> list[tuple[Row[Any], dict[str, Any]]]:
    """Return digests of a subscription as `thaw` takes them, newest first, whose numbers are before one.

    Where `after` is given, those behind that one, oldest first.
    """
    found = (
        _NAMED.where(
            subscriptions.c.name == subscription, digests.c.occasion != Occasion.LETTER, digests.c.id > after
        )
        .order_by(digests.c.id.asc() if after else digests.c.id.desc())
        .limit(limit)
    )
    rows = conn.execute(found.where(digests.c.id < before) if before else found)
    return [(row, json.loads(row.content)) for row in rows]


def load_earlier_digests(conn: Connection, since: Mapping[int, datetime]) -> dict[int, list[EarlierDigest]]:
    """Return the digests that some subscriptions had since a moment of their own, the oldest first.

    Digests are opened only of those who had any: as a rule nobody had since the last announcement went out.
    """
    if not since:
        return {}
    first = min(since.values())
    planned = conn.execute(_PLANNED_SINCE, {"ids": list(since), "first": first})
    concerned = [id_ for id_, planned_at in planned if planned_at >= since[id_]]
    earlier: dict[int, list[EarlierDigest]] = {}
    for row in conn.execute(_HAD_SINCE, {"ids": concerned, "first": first}) if concerned else ():
        if row.planned_at >= since[row.subscription_id]:
            one = EarlierDigest(
                row.planned_at,
                Occasion(row.occasion),
                row.papers,
                _thaw_coverage(json.loads(row.content)["coverage"]),
            )
            earlier.setdefault(row.subscription_id, []).append(one)
    return earlier


_PLANNED_SINCE = select(subscriptions.c.id, subscriptions.c.last_planned_at).where(
    is_among(subscriptions.c.id, "ids"), subscriptions.c.last_planned_at >= bindparam("first")
)
_HAD_SINCE = (
    select(*(digests.c[name] for name in ("subscription_id", "planned_at", "occasion", "papers", "content")))
    .where(is_among(digests.c.subscription_id, "ids"), digests.c.planned_at >= bindparam("first"))
    .order_by(digests.c.id)
)


def load_summaries(
    conn: Connection, *, subscription_ids: Collection[int] | None = None, limit: int = 20
) -> list[DigestSummary]:
    """Return the latest digests, newest first; of some subscriptions only where given."""
    found = _NAMED.order_by(digests.c.id.desc()).limit(limit)
    if subscription_ids is not None:
        found = found.where(digests.c.subscription_id.in_(subscription_ids))
    return [
        DigestSummary(
            id=row.id,
            subscription=row.subscription,
            title=row.title,
            slot=row.slot,
            occasion=Occasion(row.occasion),
            planned_at=row.planned_at,
            papers=row.papers,
            shown=row.shown,
        )
        for row in conn.execute(found)
    ]


def _consume(conn: Connection, drafts: Sequence[DigestDraft], ids: Mapping[int, int]) -> None:
    rows = [
        {"of_digest": ids[draft.subscription_id], "of_run": run_id, "of_subscription": draft.subscription_id}
        for draft in drafts
        for run_id in set(draft.consumed)
    ]
    take = update(matches).where(
        matches.c.match_run_id == bindparam("of_run"),
        matches.c.subscription_id == bindparam("of_subscription"),
        matches.c.digest_id.is_(None),
    )
    if rows and conn.execute(take.values(digest_id=bindparam("of_digest")), rows).rowcount != len(rows):
        raise StoreBusy(
            "another process has already planned some of these matches",
            hint="Nothing is lost. This run plans the rest.",
        )


_READY: dict[str, Any] = {
    "state": DeliveryState.READY.value,
    "attempts": 0,
    "token": 0,
    **dict.fromkeys(("owner", "name", "remote_address", "remote_id", "last_error"), ""),
}
"""What every delivery begins with."""


def _save_deliveries(
    conn: Connection, drafts: Sequence[DigestDraft], ids: Mapping[int, int], at: datetime
) -> None:
    shared = _READY | {"not_before": at, "created_at": at}
    rows = [
        shared
        | {
            "digest_id": ids[draft.subscription_id],
            "destination": destination_key(plan.destination),
            "part": plan.part,
            "parts": plan.parts,
            "idempotency_key": plan.idempotency_key,
            "share": str(plan.share or ""),
        }
        for draft in drafts
        for plan in draft.plans
    ]
    if rows:
        conn.execute(insert(deliveries), rows)


def freeze_digest(digest: Digest, texts: Mapping[int, int]) -> str:
    """Return as JSON text what of a digest no column says; papers stand in it by the keys of their texts.

    `texts` says the key of the stored text each of its changes is about, by change id.
    """
    frozen = {
        "queries": digest.queries,
        "coverage": asdict(digest.coverage),
        "group_by": digest.group_by,
        "abstracts": digest.abstracts,
        "remark": digest.remark,
        "is_nearest": digest.is_nearest,
        "groups": [astuple(group) for group in digest.groups],
        "entries": [_freeze_entry(entry, texts[entry.change_id]) for entry in digest.entries],
    }
    return json.dumps(frozen, ensure_ascii=False, separators=(",", ":"), default=lambda day: day.isoformat())


def _freeze_entry(entry: DigestEntry, text: int) -> dict[str, Any]:
    sequel = entry.sequel
    return {
        "text": text,
        "change": entry.change_id,
        "kind": entry.kind,
        "label": entry.label,
        "queries": entry.queries,
        "reasons": [
            (
                reason.query,
                reason.clause,
                [(span.field, span.start, span.end, span.index) for span in reason.spans],
            )
            for reason in entry.reasons
        ],
        "announced": entry.announced,
        "before": entry.before and entry.before.key,
        "sequel": sequel and (sequel.kind, sequel.day, sequel.before.key, sequel.after.key),
        "near": entry.near,
    }


def find_texts(frozen: Mapping[str, Any]) -> set[int]:
    """Return the keys of the stored texts that a frozen digest is made of."""
    return {
        key
        for entry in frozen["entries"]
        for key in (entry["text"], entry["before"], *(entry["sequel"] or ())[2:])
        if key
    }


def thaw_digest(row: Any, frozen: Mapping[str, Any], papers: Mapping[int, Paper]) -> Digest:  # noqa: ANN401 - a row of `digests`
    """Return the digest that was frozen.

    Args:
        row: what its columns say, with its subscription's name.
        frozen: what `freeze` wrote, read as JSON.
        papers: the stored texts by key (see `find_texts`).
    """
    return Digest(
        subscription=row.subscription,
        title=row.title,
        slot=row.slot,
        occasion=Occasion(row.occasion),
        planned_at=row.planned_at,
        zone=row.zone,
        entries=tuple(_thaw_entry(entry, papers) for entry in frozen["entries"]),
        shown=row.shown,
        queries=tuple((name, text) for name, text in frozen["queries"]),
        coverage=_thaw_coverage(frozen["coverage"]),
        groups=tuple(
            Group(title, count, Form(form), is_name, tuple(reasons))
            for title, count, form, is_name, reasons in frozen["groups"]
        ),
        id=row.id,
        group_by=Grouping(frozen["group_by"]),
        abstracts=Abstracts(frozen["abstracts"]),
        remark=frozen["remark"],
        is_nearest=frozen["is_nearest"],
    )


def _thaw_entry(frozen: dict[str, Any], papers: Mapping[int, Paper]) -> DigestEntry:
    before, sequel = frozen["before"], frozen["sequel"]
    return DigestEntry(
        kind=Kind(frozen["kind"]),
        paper=papers[frozen["text"]],
        label=frozen["label"],
        queries=tuple(frozen["queries"]),
        reasons=tuple(
            Reason(clause, tuple(Span(Field(field), *place) for field, *place in spans), query)
            for query, clause, spans in frozen["reasons"]
        ),
        announced=date.fromisoformat(frozen["announced"]),
        change_id=frozen["change"],
        before=StoredText(papers[before], before) if before else None,
        sequel=_thaw_sequel(papers, *sequel) if sequel else None,
        near=frozen["near"],
    )


def _thaw_sequel(papers: Mapping[int, Paper], kind: str, day: str, *keys: int) -> Sequel:
    return Sequel(Kind(kind), date.fromisoformat(day), *(StoredText(papers[key], key) for key in keys))


_MOMENTS = ("checked_at", "told_at", "failing_since")


def _thaw_coverage(frozen: Mapping[str, Any]) -> Coverage:
    days = {name: frozen[name] and date.fromisoformat(frozen[name]) for name in ("mailing", "since")}
    moments = {name: frozen[name] and datetime.fromisoformat(frozen[name]) for name in _MOMENTS}
    return Coverage(**{**frozen, **days, **moments})
