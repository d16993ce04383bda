"""Matches: which changes a run brought to which saved query and subscription, and when those are due."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)

from digest.model.destinations import Destination
from digest.model.errors import StoreBusy
from digest.model.messages import Occasion, Seen
from digest.model.subscriptions import (
    ActiveRevision,
    QueryOutcome,
    SubscriptionState,
    Timing,
    TurnState,
    UncheckedTurn,
    WhenEmpty,
)
from digest.store.dialect import in_chunks, is_among, pack, select_by, unpack
from digest.store.papers import MATCHED, mark_matched
from digest.store.queries import current_revision, every_revision, read_revision
from digest.store.schema import (
    FIRST_DIGEST_TO_COME,
    UNPLANNED_FIRST_DIGEST,
    changes,
    marks,
    match_runs,
    matches,
    query_matches,
    query_revisions,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    versions,
)
from digest.store.subscribers import DestinationState
from digest.store.subscriptions import read_cadence, read_quiet_hours

_FEED_ROWS = 200
"""Rows of a feed read at once."""

_PENDING = (
    select(matches)
    .where(is_among(matches.c.subscription_id, "ids"), matches.c.digest_id.is_(None))
    .order_by(matches.c.match_run_id)
)

_SLOT_COLUMNS = tuple(subscriptions.c[name] for name in ("id", "name", "plan_after"))
_STATE = tuple(
    subscriptions.c[name] for name in ("next_due_at", "last_slot", "awaits_after", "unchecked")
)
_EXCLUDES = or_(subscriptions.c.exclude_queries != "", subscriptions.c.exclude_papers != "")
_WRITTEN = (subscriptions.c.cadence, subscriptions.c.quiet_hours, subscriptions.c.when_empty)


@dataclass(frozen=True, slots=True)
class MatchRow:
    """What one match run brought to one subscription, and the digest it went into; None while it waits.

    `brought` has the change ids as the run brought them, also of those that were taken out since: a feed dates its
    papers by them.
    """

    match_run_id: int
    occasion: Occasion
    changes: tuple[int, ...]
    papers: int
    matched_at: datetime
    digest_id: int | None
    brought: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FirstDigest:
    """A saved query that a subscription has yet to be shown."""

    subscription_id: int
    days: int
    revision: ActiveRevision


def set_matched_mark(conn: Connection, to: int, *, expected: int) -> None:
    """Move the mark "matched up to change N" in the transaction that keeps the matches.

    On `StoreBusy`, another process moved it from `expected`: roll back, its matches are kept already.
    """
    move = update(marks).where(marks.c.name == MATCHED, marks.c.value == expected).values(value=to)
    if conn.execute(move).rowcount != 1:
        raise StoreBusy(
            f"another process has already matched the changes after {expected}",
            hint="Nothing is lost. This run starts again.",
        )


def begin_match_run(
    conn: Connection, *, from_change: int, to_change: int, at: datetime, occasion: str
) -> int:
    """Begin a match run over the changes above `from_change` up to `to_change`; return its id."""
    run = {
        "from_change": from_change,
        "to_change": to_change,
        "matched_at": at,
        "occasion": occasion,
    }
    return int(conn.execute(insert(match_runs).returning(match_runs.c.id), run).scalar_one())


def save_query_matches(
    conn: Connection, match_run_id: int, outcomes: Mapping[int, QueryOutcome]
) -> None:
    """Keep what a run means to each saved query, by revision id: the seen feed."""
    rows = [
        {
            "match_run_id": match_run_id,
            "revision_id": revision_id,
            "new": pack(outcome.new),
            "changed": pack(outcome.changed),
            "gone": pack(outcome.gone),
        }
        for revision_id, outcome in sorted(outcomes.items())
    ]
    if rows:
        mark_matched(
            conn, {id_ for one in outcomes.values() for id_ in (*one.new, *one.changed, *one.gone)}
        )
        conn.execute(insert(query_matches), rows)


def save_matches(
    conn: Connection,
    match_run_id: int,
    chosen: Mapping[int, Collection[int]],
    *,
    at: datetime,
    occasion: str,
) -> None:
    """Keep what a run brings to each subscription.

    `chosen` says the change ids by subscription; those without any are left out.
    """
    paper_of = load_papers_of(conn, {id_ for ids in chosen.values() for id_ in ids})
    rows = [
        {
            "match_run_id": match_run_id,
            "subscription_id": subscription_id,
            "occasion": Occasion(occasion),
            "changes": pack(ids),
            "papers": len({paper_of[id_] for id_ in ids}),
            "matched_at": at,
            "brought": pack(ids),
        }
        for subscription_id, ids in sorted(chosen.items())
        if ids
    ]
    if rows:
        mark_matched(conn, paper_of)
        conn.execute(insert(matches), rows)


def load_pending_matches(
    conn: Connection, subscription_id: int, plan_after: int = 0
) -> list[MatchRow]:
    """Return the matches of a subscription in no digest yet, oldest first, of match runs after `plan_after`."""
    return load_pending_of_many(conn, {subscription_id: plan_after}).get(subscription_id, [])


def load_pending_of_many(
    conn: Connection, plan_after: Mapping[int, int]
) -> dict[int, list[MatchRow]]:
    """Return the same of several subscriptions, by subscription; those without any are missing.

    `plan_after` says after which match run those of each subscription count.
    """
    pending: dict[int, list[MatchRow]] = {}
    for row in conn.execute(_PENDING, {"ids": plan_after}).all() if plan_after else ():
        if row.match_run_id > plan_after[row.subscription_id]:
            pending.setdefault(row.subscription_id, []).append(_read_row(row))
    return pending


def load_undue_subscriptions(conn: Connection) -> list[int]:
    """Return the active subscriptions with matches in no digest that wait for no turn, in order."""
    found = (
        select(subscriptions.c.id)
        .where(
            subscriptions.c.state == SubscriptionState.ACTIVE,
            subscriptions.c.next_due_at.is_(None),
            exists().where(
                matches.c.subscription_id == subscriptions.c.id,
                matches.c.digest_id.is_(None),
                matches.c.match_run_id > subscriptions.c.plan_after,
            ),
        )
        .order_by(subscriptions.c.id)
    )
    return list(conn.execute(found).scalars())


def load_feed_matches(
    conn: Connection, subscription_id: int, *, span: timedelta, at_least: int
) -> list[MatchRow]:
    """Return the latest matches of a subscription, newest first, whether in a digest or not.

    That is everything within a span before the latest, and as much from before as it takes for that many papers.
    """
    theirs = select(matches).where(matches.c.subscription_id == subscription_id)
    page = theirs.order_by(matches.c.match_run_id.desc()).limit(_FEED_ROWS)
    rows = conn.execute(page).all()
    kept: list[MatchRow] = []
    papers = 0
    while rows:
        for row in rows:
            if kept and row.matched_at < kept[0].matched_at - span and papers >= at_least:
                return kept
            kept.append(_read_row(row))
            papers += row.papers
        rows = conn.execute(page.where(matches.c.match_run_id < rows[-1].match_run_id)).all()
    return kept


def load_seen_changes(
    conn: Connection, subscription_id: int, change_ids: Iterable[int], *, in_digest: bool = False
) -> frozenset[int]:
    """Return which of these changes a subscription was matched with; with `in_digest`, had in a digest."""
    rows = find_rows(conn, subscription_id, set(change_ids))
    return frozenset(
        id_ for id_, (_, digest_id, _) in rows.items() if digest_id is not None or not in_digest
    )


def find_rows(
    conn: Connection, subscription_id: int, change_ids: Collection[int]
) -> dict[int, tuple[int, int | None, datetime]]:
    """Return by change id the match a subscription kept of it: match run, digest (None: none yet), moment (UTC).

    A change shown in a digest counts as sent, even if another match holds it too.
    """
    if not change_ids:
        return {}
    found = (
        select(matches.c.match_run_id, matches.c.digest_id, matches.c.matched_at, matches.c.changes)
        .join(match_runs, match_runs.c.id == matches.c.match_run_id)
        .where(matches.c.subscription_id == subscription_id, had_before(change_ids))
        .order_by(matches.c.match_run_id.desc())
    )
    rows: dict[int, tuple[int, int | None, datetime]] = {}
    for row in conn.execute(found):
        for change_id in set(change_ids).intersection(unpack(row.changes)):
            if change_id not in rows or rows[change_id][1] is None:
                rows[change_id] = (row.match_run_id, row.digest_id, row.matched_at)
    return rows


def had_before(change_ids: Collection[int]) -> ColumnElement[bool]:
    """Return the condition that a match run had one of these changes before it."""
    return (match_runs.c.to_change >= min(change_ids)) & (
        match_runs.c.from_change < max(change_ids)
    )


def load_seen_versions(
    conn: Connection, subscription_id: int, paper_keys: Iterable[int]
) -> dict[int, Seen]:
    """Return the highest version a subscription had in a digest, by paper key; papers it never had are missing.

    Of that version it is the text it had last.
    """
    told = _changes_of(conn, paper_keys)
    seen: dict[int, Seen] = {}
    for id_ in sorted(load_seen_changes(conn, subscription_id, told, in_digest=True)):
        key, version, text = told[id_]
        if key not in seen or version >= seen[key].version:
            seen[key] = Seen(version, text)
    return seen


def load_seen_papers(
    conn: Connection, subscription_id: int, paper_keys: Iterable[int]
) -> frozenset[int]:
    """Return which of these papers a subscription was ever matched with, by whichever of their changes."""
    told = _changes_of(conn, paper_keys)
    return frozenset(told[id_][0] for id_ in load_seen_changes(conn, subscription_id, told))


def load_first_digests(conn: Connection) -> list[FirstDigest]:
    """Return the first digests to come of live subscriptions and readable saved queries, in a fixed order."""
    current = current_revision().subquery()
    found = (
        select(subscriptions.c.id.label("subscription_id"), subscriptions.c.look_back, current)
        .join(subscription_queries, subscription_queries.c.subscription_id == subscriptions.c.id)
        .join(current, current.c.id == subscription_queries.c.query_id)
        .where(
            FIRST_DIGEST_TO_COME,
            subscriptions.c.state != SubscriptionState.ENDED,
            current.c.state == "active",
            current.c.problem == "",
        )
        .order_by(subscriptions.c.id, subscription_queries.c.position)
    )
    return [
        FirstDigest(row.subscription_id, row.look_back, read_revision(row))
        for row in conn.execute(found)
    ]


def owe_first_digest(conn: Connection, subscription_id: int) -> None:
    """Let a subscription have one more first digest, of what it did not have yet."""
    owed = update(subscription_queries).where(
        subscription_queries.c.subscription_id == subscription_id
    )
    conn.execute(owed.values(first_digest_run_id=None))


def close_first_digest(conn: Connection, subscription_id: int, match_run_id: int) -> bool:
    """Record that a subscription's first digest was made; False if another process did meanwhile."""
    links = subscription_queries.c
    owed = (links.subscription_id == subscription_id, links.first_digest_run_id.is_(None))
    close = update(subscription_queries).where(*owed).values(first_digest_run_id=match_run_id)
    return conn.execute(close).rowcount > 0


def load_unplanned_first_digests(conn: Connection) -> list[int]:
    """Return the active subscriptions whose first digest waits to be made a digest and has somewhere to go."""
    found = (
        select(matches.c.subscription_id, subscription_destinations.c.destination)
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .join(
            subscription_destinations,
            subscription_destinations.c.subscription_id == matches.c.subscription_id,
        )
        .where(
            UNPLANNED_FIRST_DIGEST,
            matches.c.match_run_id > subscriptions.c.plan_after,
            subscriptions.c.state == SubscriptionState.ACTIVE,
            subscription_destinations.c.state == DestinationState.ACTIVE,
        )
    )
    sent = [row for row in conn.execute(found) if not Destination.parse(row.destination).is_pulled]
    return sorted({row.subscription_id for row in sent})


def _read_row(row: Row[Any]) -> MatchRow:
    return MatchRow(
        match_run_id=row.match_run_id,
        occasion=Occasion(row.occasion),
        changes=unpack(row.changes),
        papers=row.papers,
        matched_at=row.matched_at,
        digest_id=row.digest_id,
        brought=unpack(row.brought),
    )


def _changes_of(conn: Connection, paper_keys: Iterable[int]) -> dict[int, tuple[int, int, int]]:
    """Return every change of some papers by id, as paper key, version, and the key of its text."""
    columns = (changes.c.id, changes.c.paper_id, changes.c.version_id, versions.c.version)
    found = select(*columns).join(versions, versions.c.id == changes.c.version_id)
    rows = select_by(conn, found, changes.c.paper_id, paper_keys)
    return {row.id: (row.paper_id, row.version, row.version_id) for row in rows}


def load_papers_of(conn: Connection, change_ids: Iterable[int]) -> dict[int, int]:
    """Return the key of the paper that each change is about."""
    rows = select_by(conn, select(changes.c.id, changes.c.paper_id), changes.c.id, change_ids)
    return {row.id: row.paper_id for row in rows}


def drop_matches(
    conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]
) -> None:
    """Take changes out of matches that wait for a digest; a match left without any is no match any more.

    `rows` are its waiting matches, as read in this transaction.
    """
    paper_of = load_papers_of(conn, {id_ for row in rows for id_ in row.changes})
    for row in rows:
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if not kept:
            conn.execute(delete(matches).where(*_is_waiting(subscription_id, row)))
        elif len(kept) < len(row.changes):
            _keep(conn, subscription_id, row, kept, paper_of)


def split_sent(
    conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]
) -> list[int]:
    """Separate the changes that were sent from the others; return the match runs that hold only what was sent.

    `rows` are its waiting matches, as read in this transaction.
    """
    paper_of = load_papers_of(conn, {id_ for row in rows for id_ in row.changes})
    runs = []
    for row in rows:
        told = [id_ for id_ in row.changes if id_ in change_ids]
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if not told:
            continue
        if not kept:
            runs.append(row.match_run_id)
            continue
        _keep(conn, subscription_id, row, kept, paper_of)
        beside = begin_match_run(
            conn,
            from_change=told[0] - 1,
            to_change=told[-1],
            at=row.matched_at,
            occasion=Occasion.ALREADY_SENT,
        )
        save_matches(
            conn, beside, {subscription_id: told}, at=row.matched_at, occasion=row.occasion
        )
        conn.execute(
            update(matches)
            .where(matches.c.match_run_id == beside)
            .values(brought=pack(row.brought))
        )
        runs.append(beside)
    return runs


def _keep(
    conn: Connection,
    subscription_id: int,
    row: MatchRow,
    kept: Sequence[int],
    paper_of: Mapping[int, int],
) -> None:
    papers = len({paper_of[id_] for id_ in kept})
    mine = _is_waiting(subscription_id, row)
    values = {"changes": pack(kept), "papers": papers}
    conn.execute(update(matches).where(*mine).values(values))


def _is_waiting(subscription_id: int, row: MatchRow) -> tuple[ColumnElement[bool], ...]:
    return (
        matches.c.subscription_id == subscription_id,
        matches.c.match_run_id == row.match_run_id,
        matches.c.digest_id.is_(None),
    )


class DueSlot(NamedTuple):
    """The turn of a subscription, as stored: a hundred thousand are read for a morning.

    Only matches of runs later than `plan_after` are planned. `written` is its rhythm: equal words say the same.
    """

    id: int
    name: str
    state: TurnState
    plan_after: int
    excludes: bool
    written: tuple[str, ...]
    timing: Timing

    @property
    def group_key(self) -> object:
        """What is the same of turns that came alike: nothing else of it decides over one."""
        return self.written, self.state


def load_due_slots(
    conn: Connection,
    now: datetime,
    limit: int,
    *,
    after: tuple[datetime, int] | None = None,
    only: int | None = None,
    lock: bool = False,
) -> list[DueSlot]:
    """Return the turns that have come, the longest waiting first; those `after` where the last batch ended.

    A subscription that is paused counts again once its pause is over. `lock` keeps other processes from them until
    the transaction ends, and leaves out what others keep.
    """
    is_back = and_(
        subscriptions.c.state == SubscriptionState.PAUSED, subscriptions.c.paused_until <= now
    )
    is_live = or_(subscriptions.c.state == SubscriptionState.ACTIVE, is_back)
    order = (subscriptions.c.next_due_at, subscriptions.c.id)
    columns = (*_SLOT_COLUMNS, _EXCLUDES, *_STATE, *_WRITTEN)
    found = select(*columns).where(subscriptions.c.next_due_at <= now, is_live)
    if after is not None:
        due_at, id_ = after
        # Said like this, the index leads there: of an OR of both SQLite reads all that is due, and sorts it.
        found = found.where(
            subscriptions.c.next_due_at >= due_at,
            or_(subscriptions.c.next_due_at > due_at, subscriptions.c.id > id_),
        )
    if only is not None:
        found = found.where(subscriptions.c.id == only)
    if lock:
        found = found.with_for_update(skip_locked=True)
    rows = conn.execute(found.order_by(*order).limit(limit)).all()
    turns: list[DueSlot] = []
    for key, name, plan_after, excludes, due_at, taken, awaits_after, unchecked, *written in rows:
        state = _read_state(due_at, taken, awaits_after, unchecked)
        timing = _read_timing(*written)
        turns.append(DueSlot(key, name, state, plan_after, excludes, (*written,), timing))
    return turns


@lru_cache(maxsize=1024)
def _read_state(
    next_due_at: datetime | None, last_slot: str, awaits_after: int | None, unchecked: str
) -> TurnState:
    """Read where a turn stands once: of a hundred thousand most are alike."""
    turns = tuple(map(UncheckedTurn.parse, unchecked.splitlines()))
    return TurnState(next_due_at, last_slot, awaits_after is not None, turns)


@lru_cache(maxsize=1024)
def _read_timing(cadence: str, quiet_hours: str, when_empty: str) -> Timing:
    """Read a rhythm once: a hundred thousand subscriptions share a few."""
    return Timing(read_cadence(cadence), read_quiet_hours(quiet_hours), WhenEmpty(when_empty))


def find_outcomes(
    conn: Connection, query_ids: Collection[int], change_ids: Collection[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield what saved queries recorded of changes, as query id, change id and `new`, `changed` or `gone`."""
    wanted = set(change_ids)
    for chunk in in_chunks(query_ids) if wanted else ():
        found = (
            select(query_revisions.c.query_id, query_matches)
            .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
            .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
            .where(query_revisions.c.query_id.in_(chunk), had_before(wanted))
            .order_by(query_matches.c.match_run_id)
        )
        for row in conn.execute(found):
            for name in ("new", "changed", "gone"):
                for change_id in wanted.intersection(unpack(getattr(row, name))):
                    yield row.query_id, change_id, name


def find_recorded(
    conn: Connection, change_ids: Collection[int], query_ids: Collection[int] | None = None
) -> list[tuple[int, ActiveRevision]]:
    """Return the saved queries that recorded any of some changes, each as it read then, with the match run.

    They are in the order of their names, and of one name in the order in which it read so.
    """
    found = (
        every_revision()
        .add_columns(
            *(query_matches.c[name] for name in ("match_run_id", "new", "changed", "gone"))
        )
        .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
        .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
        .where(had_before(change_ids))
        .order_by(saved_queries.c.name, query_revisions.c.number)
    )
    if query_ids is not None:
        found = found.where(saved_queries.c.id.in_(query_ids))
    return [
        (row.match_run_id, read_revision(row))
        for row in conn.execute(found)
        if any(
            set(change_ids).intersection(unpack(blob)) for blob in (row.new, row.changed, row.gone)
        )
    ]
