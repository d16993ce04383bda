"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from digest.model.announcements import Kind
from digest.model.errors import StoreBusy, StoreError, UnknownName
from digest.model.messages import (
    Coverage,
    DeliveryState,
    Digest,
    DigestEntry,
    EarlierDigest,
    Occasion,
    Sequel,
    StoredText,
)
from digest.model.papers import Field, Reason, Span
from digest.model.subscriptions import Grouping, Replacements
from digest.store import dialect
from digest.store.bulk import ManyRows, ManyTakes
from digest.store.papers import load_versions
from digest.store.schema import changes, deliveries, digests, matches, subscriptions
from digest.store.subscribers import destination_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from digest.model.messages import DeliveryPlan
    from digest.model.papers import Paper


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
        content: the same as frozen text, see `digest.store.digests`.
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


FORMAT = 1
"""Grows when the text's shape changes; every earlier shape stays readable."""

_quote: Callable[[str], str] = json.encoder.encode_basestring  # what the encoder itself uses


def freeze(digest: Digest, versions: Mapping[int, int]) -> str:
    """Return a digest as JSON text.

    Args:
        digest: the digest.
        versions: the key of the stored text each of its changes is about, by change id.
    """
    return join_frozen(digest, [freeze_entry(entry, versions[entry.change_id]) for entry in digest.entries])


def join_frozen(digest: Digest, entries: Iterable[str]) -> str:
    """Return a digest as JSON text, its entries frozen already: many digests of one mailing share theirs."""
    queries = ",".join([f"[{_quote(name)},{_quote(text)}]" for name, text in digest.queries])
    return (
        f'{{"format":{FORMAT},"subscription":{_quote(digest.subscription)},"title":{_quote(digest.title)},'
        f'"slot":{_quote(digest.slot)},"occasion":"{digest.occasion}",'
        f'"planned_at":"{digest.planned_at.isoformat()}","zone":{_quote(digest.zone)},"shown":{digest.shown},'
        f'"queries":[{queries}],"coverage":{_freeze_coverage(digest.coverage)},{_freeze_reading(digest)}'
        f'"entries":[{",".join(entries)}]}}'
    )


def _freeze_reading(digest: Digest) -> str:
    """Freeze how a digest reads and what its addresses are made from, as far as that is not the usual."""
    grouping = f'"group_by":"{digest.group_by}",' if digest.group_by is not Grouping.KIND else ""
    whole = f'"replacements":"{digest.replacements}",' if digest.replacements is not Replacements.FOLDED else ""
    return grouping + whole + ('"round_up":true,' if digest.is_round_up else "")


def freeze_entry(entry: DigestEntry, version: int) -> str:
    """Return an entry as JSON text, `version` being the key of the stored text it is about.

    It is put together by hand, as digests are: a morning has entries by the hundred thousand.
    """
    queries = ",".join(map(_quote, entry.queries))
    reasons = ",".join(map(_freeze_reason, entry.reasons))
    mailing = f',"mailing":"{entry.mailing.isoformat()}"' if entry.mailing else ""
    before = f',"before":{entry.before.key}' if entry.before and entry.before.key else ""
    sequel = _freeze_sequel(entry.sequel) if entry.sequel else ""
    return (
        f'{{"version":{version},"change":{entry.change_id},"kind":"{entry.kind}","label":{_quote(entry.label)},'
        f'"note":{_quote(entry.change_note)},"queries":[{queries}],"reasons":[{reasons}],'
        f'"found_at":"{entry.found_at.isoformat()}"{mailing}{before}{sequel}}}'
    )


def _freeze_sequel(sequel: Sequel) -> str:
    if not (sequel.before.key and sequel.after.key):
        return ""
    return f',"sequel":["{sequel.kind}","{sequel.day.isoformat()}",{sequel.before.key},{sequel.after.key}]'


def _freeze_reason(reason: Reason) -> str:
    spans = ",".join([f'["{span.field}",{span.start},{span.end},{span.index}]' for span in reason.spans])
    return f"[{_quote(reason.query)},{_quote(reason.clause)},[{spans}]]"


def frozen_versions(content: str) -> tuple[int, ...]:
    """Return the keys of the stored texts a frozen digest is made of."""
    keys: dict[int, None] = {}
    for entry in _read(content)["entries"]:
        keys[entry["version"]] = None
        keys.update(dict.fromkeys([*filter(None, [entry.get("before")]), *entry.get("sequel", ())[2:]]))
    return tuple(keys)


def frozen_coverage(content: str) -> Coverage:
    """Return what was looked at before a frozen digest."""
    return _thaw_coverage(_read(content)["coverage"])


def thaw(content: str, papers: Mapping[int, Paper], *, id_: int = 0) -> Digest:
    """Return the digest that was frozen.

    Args:
        content: what `freeze` returned.
        papers: the stored texts by key (see `frozen_versions`).
        id_: the stored digest's number.

    Raises:
        StoreError: a later release froze it.
    """
    frozen = _read(content)
    return Digest(
        subscription=frozen["subscription"],
        title=frozen["title"],
        slot=frozen["slot"],
        occasion=Occasion(frozen["occasion"]),
        planned_at=datetime.fromisoformat(frozen["planned_at"]),
        zone=frozen["zone"],
        entries=tuple(_thaw_entry(entry, papers) for entry in frozen["entries"]),
        shown=frozen["shown"],
        queries=tuple((name, text) for name, text in frozen["queries"]),
        coverage=_thaw_coverage(frozen["coverage"]),
        id=id_,
        group_by=Grouping(frozen.get("group_by", Grouping.KIND)),
        replacements=Replacements(frozen.get("replacements", Replacements.FOLDED)),
        is_round_up=frozen.get("round_up", False),
    )


def _read(content: str) -> dict[str, Any]:
    frozen: dict[str, Any] = json.loads(content)
    if frozen["format"] != FORMAT:
        raise StoreError(
            f"a digest was frozen in shape {frozen['format']}, this release reads shape {FORMAT}",
            hint="Use the release that froze it, or a later one.",
        )
    return frozen


def _thaw_entry(frozen: dict[str, Any], papers: Mapping[int, Paper]) -> DigestEntry:
    return DigestEntry(
        kind=Kind(frozen["kind"]),
        paper=papers[frozen["version"]],
        label=frozen["label"],
        change_note=frozen["note"],
        queries=tuple(frozen["queries"]),
        reasons=tuple(
            Reason(
                clause=clause,
                spans=tuple(Span(Field(field), start, end, index) for field, start, end, index in spans),
                query=query,
            )
            for query, clause, spans in frozen["reasons"]
        ),
        found_at=datetime.fromisoformat(frozen["found_at"]),
        change_id=frozen["change"],
        mailing=date.fromisoformat(frozen["mailing"]) if "mailing" in frozen else None,
        before=StoredText(papers[frozen["before"]], frozen["before"]) if "before" in frozen else None,
        sequel=_thaw_sequel(frozen["sequel"], papers) if "sequel" in frozen else None,
    )


def _thaw_sequel(frozen: list[Any], papers: Mapping[int, Paper]) -> Sequel:
    kind, day, before, after = frozen
    return Sequel(
        Kind(kind), date.fromisoformat(day), StoredText(papers[before], before), StoredText(papers[after], after)
    )


@lru_cache(maxsize=256)
def _freeze_coverage(coverage: Coverage) -> str:
    """Freeze what was looked at once: the digests of a mailing share a few, one for each number of papers."""
    content = {
        "mailing": coverage.mailing.isoformat() if coverage.mailing else None,
        "is_complete": coverage.is_complete,
        "looked_at": coverage.looked_at,
        "matched": coverage.matched,
        "checked_at": coverage.checked_at.isoformat() if coverage.checked_at else None,
        "source": coverage.source,
        "failure": coverage.failure,
        "new": coverage.new,
        "is_settled": coverage.is_settled,
        "is_awaited": coverage.is_awaited,
        "since": coverage.since.isoformat() if coverage.since else None,
        "mailings": coverage.mailings,
    }
    if coverage.told_at:
        content["told_at"] = coverage.told_at.isoformat()
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _thaw_coverage(frozen: dict[str, Any]) -> Coverage:
    mailing, checked_at = frozen["mailing"], frozen["checked_at"]
    return Coverage(
        mailing=date.fromisoformat(mailing) if mailing else None,
        is_complete=frozen["is_complete"],
        looked_at=frozen["looked_at"],
        matched=frozen["matched"],
        checked_at=datetime.fromisoformat(checked_at) if checked_at else None,
        source=frozen["source"],
        failure=frozen["failure"],
        new=frozen.get("new", 0),
        is_settled=frozen.get("is_settled", frozen["is_complete"]),
        is_awaited=frozen.get("is_awaited", False),
        since=date.fromisoformat(frozen["since"]) if frozen.get("since") else None,
        mailings=frozen.get("mailings", 1),
        told_at=datetime.fromisoformat(frozen["told_at"]) if "told_at" in frozen else None,
    )
