"""Digests: frozen with their deliveries and the matches they consume, or not at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, bindparam, exists, func, insert, or_, select, update

from digest.model.announcements import Kind
from digest.model.destinations import Destination
from digest.model.errors import StoreBusy, UnknownName
from digest.model.messages import (
    Coverage,
    DayCount,
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
from digest.model.said import NOTHING
from digest.model.subscriptions import (
    Abstracts,
    DueSubscription,
    Grouping,
    Subscription,
    SubscriptionState,
    UncheckedTurn,
)
from digest.store.dialect import dialect_insert, is_among, select_by
from digest.store.papers import load_versions
from digest.store.schema import OPEN_TURN, changes, deliveries, digests, matches, subscriptions
from digest.store.subscribers import destination_key, load_statuses
from digest.store.subscriptions import is_sent_for, load_subscriptions

_NAMED = select(digests, subscriptions.c.name.label("subscription")).join(
    subscriptions, subscriptions.c.id == digests.c.subscription_id
)

_PLANNED_SINCE = select(subscriptions.c.id, subscriptions.c.last_planned_at).where(
    is_among(subscriptions.c.id, "ids"), subscriptions.c.last_planned_at >= bindparam("first")
)
_HAD_SINCE = (
    select(
        *(
            digests.c[name]
            for name in ("subscription_id", "planned_at", "occasion", "papers", "content")
        )
    )
    .where(is_among(digests.c.subscription_id, "ids"), digests.c.planned_at >= bindparam("first"))
    .order_by(digests.c.id)
)

_READY: dict[str, Any] = {
    "state": DeliveryState.READY.value,
    "attempts": 0,
    "token": 0,
    **dict.fromkeys(("owner", "name", "remote_address", "remote_id"), ""),
    "last_error": NOTHING,
}
"""What every delivery begins with."""

_MOMENTS = ("checked_at", "last_shown_at", "failing_since")

_ALL = 1_000_000
_NOT_THERE = {*DeliveryState, "new:"} - {DeliveryState.SENT}

FIRST_DIGEST_NEXT = "first digest with the next run"


Frozen: TypeAlias = "tuple[Row[Any], dict[str, Any]]"
"""A digest as `thaw_digest` takes it: its row and its JSON."""


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
    """A digest ready to be stored, with its deliveries and the match runs whose rows it shows."""

    subscription_id: int
    digest: Digest
    plans: Sequence[DeliveryPlan]
    consumed: Collection[int]


def save_digests(
    conn: Connection, drafts: Sequence[DigestDraft], *, at: datetime
) -> dict[int, int]:
    """Store digests with their deliveries and what they consume, in a few statements for all.

    There is at most one for each subscription; call it in the transaction that moves their next due times.
    Return each digest's number by subscription. Missing is one whose subscription had a digest for this slot
    already: nothing of it is stored, and its matches wait for the next one.

    Raise `StoreBusy`: another process planned one of these matches meanwhile: roll back and plan anew.
    """
    if not drafts:
        return {}
    told = (entry.change_id for draft in drafts for entry in draft.digest.entries)
    found = select_by(conn, select(changes.c.id, changes.c.version_id), changes.c.id, told)
    texts = {row.id: row.version_id for row in found}
    rows = [
        {
            "subscription_id": draft.subscription_id,
            "slot": draft.digest.slot,
            "occasion": draft.digest.occasion.value,
            "planned_at": draft.digest.planned_at,
            "zone": draft.digest.zone,
            "title": draft.digest.title,
            "content": freeze_digest(draft.digest, texts),
            "papers": len(draft.digest.entries),
            "shown": draft.digest.shown,
        }
        for draft in drafts
    ]
    keep = dialect_insert(conn, digests).on_conflict_do_nothing(
        index_elements=["subscription_id", "slot"]
    )
    kept = conn.execute(keep.returning(digests.c.subscription_id, digests.c.id), rows)
    ids = {row.subscription_id: row.id for row in kept}
    stored = [draft for draft in drafts if draft.subscription_id in ids]
    _consume(conn, stored, ids)
    _save_deliveries(conn, stored, ids, at)
    if ids:
        planned = update(subscriptions).where(is_among(subscriptions.c.id, "ids"))
        conn.execute(planned.values(last_planned_at=at), {"ids": ids})
    return ids


def load_digest(conn: Connection, digest_id: int) -> Digest:
    """Return a digest exactly as it was frozen."""
    row = conn.execute(_NAMED.where(digests.c.id == digest_id)).one_or_none()
    if row is None:
        raise UnknownName(f"there is no digest {digest_id}")
    frozen = json.loads(row.content)
    return thaw_digest(row, frozen, load_versions(conn, find_texts(frozen)))


def load_frozen(
    conn: Connection, subscription: str, *, before: int = 0, after: int = 0, limit: int = 1
) -> list[Frozen]:
    """Return digests of a subscription as `thaw_digest` takes them, newest first, whose numbers are before one.

    If `after` is given, those after that one, oldest first.
    """
    found = (
        _NAMED.where(
            subscriptions.c.name == subscription,
            digests.c.occasion != Occasion.LETTER,
            digests.c.id > after,
        )
        .order_by(digests.c.id.asc() if after else digests.c.id.desc())
        .limit(limit)
    )
    rows = conn.execute(found.where(digests.c.id < before) if before else found)
    return [(row, json.loads(row.content)) for row in rows]


def load_site_digests(
    conn: Connection, subscription: str, destination: Destination
) -> list[Frozen]:
    """Return the digests of a subscription that a folder shows, newest first.

    These are those it got, and those planned before it was a destination; not the first digests of others.
    """
    there = deliveries.c.destination == destination_key(destination)
    states = {
        row.digest_id: row.state
        for row in conn.execute(select(deliveries.c.digest_id, deliveries.c.state).where(there))
    }
    found = load_frozen(conn, subscription, limit=_ALL)
    return [one for one in found if states.get(one[0].id, one[0].slot[:4]) not in _NOT_THERE]


def load_earlier_digests(
    conn: Connection, since: Mapping[int, datetime]
) -> dict[int, list[EarlierDigest]]:
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


def load_summaries(
    conn: Connection, *, subscription_ids: Collection[int] | None = None, limit: int = 20
) -> list[DigestSummary]:
    """Return the latest digests, newest first; of some subscriptions only if given."""
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
        {
            "of_digest": ids[draft.subscription_id],
            "of_run": run_id,
            "of_subscription": draft.subscription_id,
        }
        for draft in drafts
        for run_id in set(draft.consumed)
    ]
    take = update(matches).where(
        matches.c.match_run_id == bindparam("of_run"),
        matches.c.subscription_id == bindparam("of_subscription"),
        matches.c.digest_id.is_(None),
    )
    if rows and conn.execute(take.values(digest_id=bindparam("of_digest")), rows).rowcount != len(
        rows
    ):
        raise StoreBusy(
            "another process has already planned some of these matches",
            hint="Nothing is lost. This run plans the rest.",
        )


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
    """Return as JSON text what of a digest no column says; it names papers by the keys of their texts.

    `texts` says the key of the stored text each of its changes is about, by change id.
    """
    frozen = {
        "queries": digest.queries,
        "coverage": asdict(digest.coverage),
        "group_by": digest.group_by,
        "abstracts": digest.abstracts,
        "remark": digest.remark,
        "is_nearest": digest.is_nearest,
        "unchecked": [str(turn) for turn in digest.unchecked],
        "groups": [astuple(group) for group in digest.groups],
        "entries": [_freeze_entry(entry, texts[entry.change_id]) for entry in digest.entries],
    }
    return json.dumps(
        frozen, ensure_ascii=False, separators=(",", ":"), default=lambda day: day.isoformat()
    )


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
    """Return the digest that was frozen, from its row, its JSON and the stored texts by key (see `find_texts`)."""
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
        unchecked=tuple(
            map(UncheckedTurn.parse, frozen.get("unchecked", ()))
        ),  # none in those of before
    )


def _thaw_entry(frozen: dict[str, Any], papers: Mapping[int, Paper]) -> DigestEntry:
    before, sequel = frozen["before"], frozen["sequel"]
    texts = [StoredText(papers[key], key) for key in (sequel or ())[2:]]
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
        sequel=Sequel(Kind(sequel[0]), date.fromisoformat(sequel[1]), *texts) if sequel else None,
        near=frozen["near"],
    )


def _thaw_coverage(frozen: Mapping[str, Any]) -> Coverage:
    days = {
        name: frozen[name] and date.fromisoformat(frozen[name])
        for name in ("announcement", "since")
    }
    moments = {name: frozen[name] and datetime.fromisoformat(frozen[name]) for name in _MOMENTS}
    return Coverage(**{**frozen, **days, **moments})


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription's line of the status screen.

    `awaits_check`: its turn has come and is open. `paused_until` is None without a pause, or for one without end.
    `waiting` papers will be in the next digest.
    `days` have the papers matched per UTC day, except first digests. A person's own was made on a page.
    """

    settings: Subscription
    began_at: datetime
    state: SubscriptionState = SubscriptionState.ACTIVE
    last_planned_at: datetime | None = None
    last_papers: int = 0
    last_states: tuple[DeliveryState, ...] = ()
    next_due_at: datetime | None = None
    awaits_check: bool = False
    paused_until: datetime | None = None
    waiting: int = 0
    days: tuple[DayCount, ...] = ()
    is_personal: bool = False

    def is_active(self, now: datetime) -> bool:
        """Whether it is not paused, or its pause is over by a moment (UTC)."""
        is_over = self.paused_until is not None and self.paused_until <= now
        return self.state is SubscriptionState.ACTIVE or is_over


def load_subscription_lines(
    conn: Connection,
    now: datetime,
    *,
    span: timedelta,
    include_ended: bool = False,
    only: Collection[int] | None = None,
) -> list[SubscriptionLine]:
    """Return the live subscriptions by name, or all there ever were, with counts of the span before now."""
    live = load_subscriptions(conn, only, include_ended=include_ended)
    ids = [due.id for due in live]
    rows = {row.id: row for row in select_by(conn, select(subscriptions), subscriptions.c.id, ids)}
    lasts = _load_last_digests(conn, ids)
    states = _load_states(conn, [last.id for last in lasts.values()])
    waiting, days = _load_match_counts(conn, ids, now - span)
    return [
        SubscriptionLine(
            settings=due.subscription,
            state=SubscriptionState(due.state),
            began_at=rows[due.id].created_at,
            last_planned_at=rows[due.id].last_planned_at,
            last_papers=lasts[due.id].papers if due.id in lasts else 0,
            last_states=states.get(lasts[due.id].id, ()) if due.id in lasts else (),
            next_due_at=due.next_due_at,
            awaits_check=rows[due.id].awaits_after is not None,
            paused_until=due.paused_until if due.state == SubscriptionState.PAUSED else None,
            waiting=waiting.get(due.id, 0) if due.subscription.has_digests else 0,
            days=tuple(
                DayCount(day, papers) for day, papers in sorted(days.get(due.id, {}).items())
            ),
            is_personal=due.is_personal,
        )
        for due in live
    ]


def load_waiting(conn: Connection) -> dict[int, int]:
    """Return how many papers wait for each subscription, in the order in which they are due.

    A turn that is open waits, too, though no papers do.
    """
    mine = subscriptions.c
    is_waiting = (
        matches.c.subscription_id == mine.id,
        matches.c.digest_id.is_(None),
        matches.c.match_run_id > mine.plan_after,
    )
    papers = (
        select(func.coalesce(func.sum(matches.c.papers), 0)).where(*is_waiting).scalar_subquery()
    )
    found = (
        select(mine.id, papers)
        .where(
            mine.state != SubscriptionState.ENDED,
            is_sent_for(),
            or_(OPEN_TURN, exists().where(*is_waiting)),
        )
        .order_by(mine.next_due_at, mine.id)
    )
    return {id_: int(number) for id_, number in conn.execute(found)}


def find_new_destinations(
    conn: Connection, due: DueSubscription, written: Subscription
) -> list[Destination]:
    """Return the destinations that digest.toml names for a subscription and that it never had."""
    active = {destination_key(place) for place in due.subscription.destinations}
    new = [place for place in written.destinations if destination_key(place) not in active]
    had = (
        {destination_key(place.destination) for place in load_statuses(conn, due.id)}
        if new
        else set[str]()
    )
    return [place for place in new if destination_key(place) not in had]


def find_first_digests(
    conn: Connection, written: Iterable[Subscription]
) -> dict[str, Subscription]:
    """Return the active subscriptions to which digest.toml adds a place, for a first digest there."""
    dues = {
        due.subscription.name: due
        for due in load_subscriptions(conn)
        if due.state == SubscriptionState.ACTIVE
    }
    begun = [
        (one, dues[one.name])
        for one in written
        if one.has_digests and one.look_back and one.name in dues
    ]
    return {
        one.name: one
        for one, due in begun
        if any(not place.is_pulled for place in find_new_destinations(conn, due, one))
    }


def _load_last_digests(conn: Connection, ids: Collection[int]) -> dict[int, Row[Any]]:
    newest = select(func.max(digests.c.id)).where(digests.c.subscription_id == subscriptions.c.id)
    found = select(digests.c.id, digests.c.subscription_id, digests.c.papers).join(
        subscriptions, digests.c.id == newest.correlate(subscriptions).scalar_subquery()
    )
    rows = select_by(conn, found, digests.c.subscription_id, ids)
    return {row.subscription_id: row for row in rows}


def _load_states(
    conn: Connection, digest_ids: Collection[int]
) -> dict[int, tuple[DeliveryState, ...]]:
    found = select(deliveries.c.digest_id, deliveries.c.state).distinct()
    states: dict[int, tuple[DeliveryState, ...]] = {}
    for row in select_by(conn, found, deliveries.c.digest_id, digest_ids):
        states[row.digest_id] = (*states.get(row.digest_id, ()), DeliveryState(row.state))
    return states


def _load_match_counts(
    conn: Connection, ids: Collection[int], since: datetime
) -> tuple[dict[int, int], dict[int, dict[date, int]]]:
    """Return papers that wait for a digest, and papers per UTC day since a moment, by subscription."""
    will_be_planned = (matches.c.digest_id.is_(None)) & (
        matches.c.match_run_id > subscriptions.c.plan_after
    )
    found = (
        select(
            matches.c.subscription_id,
            matches.c.papers,
            matches.c.matched_at,
            matches.c.occasion,
            will_be_planned.label("waits"),
        )
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .where(will_be_planned | (matches.c.matched_at >= since))
    )
    waiting: dict[int, int] = {}
    days: dict[int, dict[date, int]] = {}
    for row in select_by(conn, found, matches.c.subscription_id, ids):
        if row.waits:
            waiting[row.subscription_id] = waiting.get(row.subscription_id, 0) + row.papers
        if row.matched_at >= since and row.occasion != Occasion.FIRST_DIGEST:
            of_days = days.setdefault(row.subscription_id, {})
            of_days[row.matched_at.date()] = of_days.get(row.matched_at.date(), 0) + row.papers
    return waiting, days


def find_late_first_digests(conn: Connection, subscription_id: int) -> set[int]:
    """Return the first digests that went to later destinations of a subscription alone."""
    is_late = (digests.c.subscription_id == subscription_id, digests.c.slot.startswith("new:"))
    return set(conn.execute(select(digests.c.id).where(*is_late)).scalars())
