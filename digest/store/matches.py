"""Matches: which changes a run brought to which saved query and subscription.

And when the digests of those are due.
"""

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
from digest.store.queries import ACTIVE, current_revision, every_revision, read_revision
from digest.store.schema import (
    FIRST_DIGEST_TO_COME,
    UNPLANNED_FIRST_DIGEST,
    WAITS_FOR_DIGEST,
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


_MARKS = ("new", "changed", "gone")
"""What a run can mean to a saved query, as columns of `query_matches`."""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """What one match run brought to one subscription, and the digest it went into.

    `digest_id` is None while it waits. `brought` has the change ids as the run brought them, also
    of those that were taken out since: a feed dates its papers by them.
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


class KeptMatch(NamedTuple):
    """Where a subscription keeps a change: match run, digest (None: none yet) and moment (UTC)."""

    match_run_id: int
    digest_id: int | None
    matched_at: datetime


class _PaperChange(NamedTuple):
    """Which paper a change is about, in which version, and the key of that text."""

    paper_key: int
    version: int
    text_key: int


def set_matched_mark(conn: Connection, to: int, *, expected: int) -> None:
    """Move the mark "matched up to change N" in the transaction that keeps the matches.

    On `StoreBusy`, another process moved it from `expected`: roll back, its matches are kept
    already.
    """
    move = update(marks).where(marks.c.name == MATCHED, marks.c.value == expected)
    if conn.execute(move.values(value=to)).rowcount != 1:
        raise StoreBusy(
            f"another process has already matched the changes after {expected}",
            hint="Nothing is lost. This run starts again.",
        )


def begin_run(
    conn: Connection, *, from_change: int, to_change: int, at: datetime, occasion: str
) -> int:
    """Begin a match run over the changes above `from_change` up to `to_change`; return its id."""
    run = {
        "from_change": from_change,
        "to_change": to_change,
        "matched_at": at,
        "occasion": occasion,
    }
    begin = insert(match_runs).returning(match_runs.c.id)
    return int(conn.execute(begin, run).scalar_one())


def save_for_query(
    conn: Connection, match_run_id: int, outcomes: Mapping[int, QueryOutcome]
) -> None:
    """Keep what a run means to each saved query, by revision id: the seen feed."""
    if not outcomes:
        return
    rows = []
    met: set[int] = set()
    for revision_id, outcome in sorted(outcomes.items()):
        met.update(outcome.new, outcome.changed, outcome.gone)
        row = {
            "match_run_id": match_run_id,
            "revision_id": revision_id,
            "new": pack(outcome.new),
            "changed": pack(outcome.changed),
            "gone": pack(outcome.gone),
        }
        rows.append(row)
    mark_matched(conn, met)
    conn.execute(insert(query_matches), rows)


def save(
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
    met: set[int] = set()
    met.update(*chosen.values())
    if not met:
        return
    paper_of = load_papers_of(conn, met)
    shared = {"match_run_id": match_run_id, "occasion": Occasion(occasion), "matched_at": at}
    rows = []
    for subscription_id, ids in sorted(chosen.items()):
        if ids:
            packed = pack(ids)
            papers = {paper_of[id_] for id_ in ids}
            row = {
                "subscription_id": subscription_id,
                "changes": packed,
                "papers": len(papers),
                "brought": packed,
            }
            rows.append(shared | row)
    mark_matched(conn, paper_of)
    conn.execute(insert(matches), rows)


def load_pending(conn: Connection, subscription_id: int, plan_after: int = 0) -> list[MatchRow]:
    """Return the matches of a subscription in no digest yet, oldest first.

    They are of match runs after `plan_after`.
    """
    pending = load_pending_of_many(conn, {subscription_id: plan_after})
    return pending.get(subscription_id, [])


def load_pending_of_many(
    conn: Connection, plan_after: Mapping[int, int]
) -> dict[int, list[MatchRow]]:
    """Return the same of several subscriptions, by subscription; those without any are missing.

    `plan_after` says after which match run those of each subscription count.
    """
    if not plan_after:
        return {}
    pending: dict[int, list[MatchRow]] = {}
    for row in conn.execute(_PENDING, {"ids": plan_after}).all():
        owner = row.subscription_id
        if row.match_run_id > plan_after[owner]:
            pending.setdefault(owner, []).append(_read_row(row))
    return pending


def load_undue_subscriptions(conn: Connection) -> list[int]:
    """Return the active subscriptions with matches in no digest that wait for no turn, in order."""
    mine = subscriptions.c
    has_waiting = exists().where(matches.c.subscription_id == mine.id, WAITS_FOR_DIGEST)
    is_active = mine.state == SubscriptionState.ACTIVE
    found = select(mine.id).where(is_active, mine.next_due_at.is_(None), has_waiting)
    return list(conn.execute(found.order_by(mine.id)).scalars())


def load_for_feed(
    conn: Connection, subscription_id: int, *, span: timedelta, at_least: int
) -> list[MatchRow]:
    """Return the latest matches of a subscription, newest first, whether in a digest or not.

    That is everything within a span before the latest, and as much from before as it takes for
    that many papers.
    """
    theirs = select(matches).where(matches.c.subscription_id == subscription_id)
    page = theirs.order_by(matches.c.match_run_id.desc()).limit(_FEED_ROWS)
    rows = conn.execute(page).all()
    kept: list[MatchRow] = []
    papers = 0
    while rows:
        for row in rows:
            is_within = not kept or row.matched_at >= kept[0].matched_at - span
            if not is_within and papers >= at_least:
                return kept
            kept.append(_read_row(row))
            papers += row.papers
        is_earlier = matches.c.match_run_id < rows[-1].match_run_id
        rows = conn.execute(page.where(is_earlier)).all()
    return kept


def load_seen_changes(
    conn: Connection, subscription_id: int, change_ids: Iterable[int], *, in_digest: bool = False
) -> frozenset[int]:
    """Return which of these changes a subscription was matched with.

    With `in_digest`, return those it had in a digest.
    """
    kept = find_rows(conn, subscription_id, set(change_ids))
    if not in_digest:
        return frozenset(kept)
    return frozenset(id_ for id_, match in kept.items() if match.digest_id is not None)


def find_rows(
    conn: Connection, subscription_id: int, change_ids: Collection[int]
) -> dict[int, KeptMatch]:
    """Return by change id the match a subscription kept of it.

    A change shown in a digest counts as sent, even if another match holds it too.
    """
    if not change_ids:
        return {}
    mine = matches.c
    found = (
        select(mine.match_run_id, mine.digest_id, mine.matched_at, mine.changes)
        .join(match_runs)
        .where(mine.subscription_id == subscription_id, had_before(change_ids))
        .order_by(mine.match_run_id.desc())
    )
    kept: dict[int, KeptMatch] = {}
    for *match, blob in conn.execute(found):
        for change_id in set(change_ids).intersection(unpack(blob)):
            if change_id not in kept or kept[change_id].digest_id is None:
                kept[change_id] = KeptMatch(*match)
    return kept


def had_before(change_ids: Collection[int]) -> ColumnElement[bool]:
    """Return the condition that a match run had one of these changes before it."""
    ends_after = match_runs.c.to_change >= min(change_ids)
    begins_before = match_runs.c.from_change < max(change_ids)
    return ends_after & begins_before


def load_seen_versions(
    conn: Connection, subscription_id: int, paper_keys: Iterable[int]
) -> dict[int, Seen]:
    """Return the highest version a subscription had in a digest, by paper key.

    Papers it never had are missing. Of that version it is the text it had last.
    """
    theirs = _changes_of(conn, paper_keys)
    seen: dict[int, Seen] = {}
    for id_ in sorted(load_seen_changes(conn, subscription_id, theirs, in_digest=True)):
        change = theirs[id_]
        before = seen.get(change.paper_key)
        if before is None or change.version >= before.version:
            seen[change.paper_key] = Seen(change.version, change.text_key)
    return seen


def load_seen_papers(
    conn: Connection, subscription_id: int, paper_keys: Iterable[int]
) -> frozenset[int]:
    """Return which of these papers a subscription was ever matched with.

    It does not matter by which of their changes.
    """
    theirs = _changes_of(conn, paper_keys)
    seen = load_seen_changes(conn, subscription_id, theirs)
    return frozenset(theirs[id_].paper_key for id_ in seen)


def load_first_digests(conn: Connection) -> list[FirstDigest]:
    """Return the first digests to come of live subscriptions and readable saved queries.

    They are in a fixed order.
    """
    mine = subscriptions.c
    links = subscription_queries.c
    current = current_revision().subquery()
    query = current.c
    found = select(mine.id.label("subscription_id"), mine.look_back, current)
    followed = found.join(subscription_queries, links.subscription_id == mine.id)
    asked = followed.join(current, query.id == links.query_id)
    is_live = mine.state != SubscriptionState.ENDED
    is_readable = and_(query.state == ACTIVE, query.problem == "")
    owed = asked.where(FIRST_DIGEST_TO_COME, is_live, is_readable)
    first_digests = []
    for row in conn.execute(owed.order_by(mine.id, links.position)):
        revision = read_revision(row)
        first_digests.append(FirstDigest(row.subscription_id, row.look_back, revision))
    return first_digests


def owe_first_digest(conn: Connection, subscription_id: int) -> None:
    """Let a subscription have one more first digest, of what it did not have yet."""
    is_its_own = subscription_queries.c.subscription_id == subscription_id
    owed = update(subscription_queries).where(is_its_own)
    conn.execute(owed.values(first_digest_run_id=None))


def close_first_digest(conn: Connection, subscription_id: int, match_run_id: int) -> bool:
    """Record that a subscription's first digest was made.

    Return False if another process did meanwhile.
    """
    links = subscription_queries.c
    is_owed = links.first_digest_run_id.is_(None)
    close = update(subscription_queries).where(links.subscription_id == subscription_id, is_owed)
    return conn.execute(close.values(first_digest_run_id=match_run_id)).rowcount > 0


def load_unplanned_first_digests(conn: Connection) -> list[int]:
    """Return the active subscriptions whose first digest waits to be made a digest.

    It has somewhere to go.
    """
    mine = matches.c
    places = subscription_destinations.c
    found = select(mine.subscription_id, places.destination).select_from(matches)
    with_places = found.join(subscriptions).join(subscription_destinations)
    is_next = mine.match_run_id > subscriptions.c.plan_after
    is_active = subscriptions.c.state == SubscriptionState.ACTIVE
    is_written_to = places.state == DestinationState.ACTIVE
    unplanned = with_places.where(UNPLANNED_FIRST_DIGEST, is_next, is_active, is_written_to)
    sent = set()
    for row in conn.execute(unplanned):
        if not Destination.parse(row.destination).is_pulled:
            sent.add(row.subscription_id)
    return sorted(sent)


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


def _changes_of(conn: Connection, paper_keys: Iterable[int]) -> dict[int, _PaperChange]:
    """Return every change of some papers, by its id."""
    change = changes.c
    columns = (change.id, change.paper_id, versions.c.version, change.version_id)
    found = select(*columns).join(versions, versions.c.id == change.version_id)
    rows = select_by(conn, found, change.paper_id, paper_keys)
    found_changes = {}
    for row in rows:
        found_changes[row.id] = _PaperChange(row.paper_id, row.version, row.version_id)
    return found_changes


def load_papers_of(conn: Connection, change_ids: Iterable[int]) -> dict[int, int]:
    """Return the key of the paper that each change is about."""
    found = select(changes.c.id, changes.c.paper_id)
    rows = select_by(conn, found, changes.c.id, change_ids)
    return {row.id: row.paper_id for row in rows}


def _load_papers_in(conn: Connection, rows: Sequence[MatchRow]) -> dict[int, int]:
    """Return the same for the changes in matches."""
    ids: set[int] = set()
    ids.update(*(row.changes for row in rows))
    return load_papers_of(conn, ids)


def drop(
    conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]
) -> None:
    """Take changes out of matches that wait for a digest.

    A match left without any is no match any more. `rows` are its waiting matches, as read in this
    transaction.
    """
    paper_of = _load_papers_in(conn, rows)
    for row in rows:
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if not kept:
            conn.execute(delete(matches).where(_is_waiting(subscription_id, row)))
        elif len(kept) < len(row.changes):
            _keep(conn, subscription_id, row, kept, paper_of)


def split_sent(
    conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]
) -> list[int]:
    """Separate the changes that were sent from the others.

    Return the match runs that hold only what was sent. `rows` are its waiting matches, as read in
    this transaction.
    """
    paper_of = _load_papers_in(conn, rows)
    runs = []
    for row in rows:
        sent = [id_ for id_ in row.changes if id_ in change_ids]
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if sent and kept:
            _keep(conn, subscription_id, row, kept, paper_of)
            runs.append(_keep_beside(conn, subscription_id, row, sent))
        elif sent:
            runs.append(row.match_run_id)
    return runs


def _keep_beside(conn: Connection, subscription_id: int, row: MatchRow, sent: Sequence[int]) -> int:
    """Keep the changes that were sent as a match of a run of their own; return that run."""
    beside = begin_run(
        conn,
        from_change=sent[0] - 1,
        to_change=sent[-1],
        at=row.matched_at,
        occasion=Occasion.ALREADY_SENT,
    )
    chosen = {subscription_id: sent}
    save(conn, beside, chosen, at=row.matched_at, occasion=row.occasion)
    kept = update(matches).where(matches.c.match_run_id == beside)
    conn.execute(kept.values(brought=pack(row.brought)))
    return beside


def _keep(
    conn: Connection,
    subscription_id: int,
    row: MatchRow,
    kept: Sequence[int],
    paper_of: Mapping[int, int],
) -> None:
    papers = {paper_of[id_] for id_ in kept}
    values = {"changes": pack(kept), "papers": len(papers)}
    shorten = update(matches).where(_is_waiting(subscription_id, row))
    conn.execute(shorten.values(values))


def _is_waiting(subscription_id: int, row: MatchRow) -> ColumnElement[bool]:
    """Return the condition that a match is this one, and still in no digest."""
    match = matches.c
    is_its_own = match.subscription_id == subscription_id
    return and_(is_its_own, match.match_run_id == row.match_run_id, match.digest_id.is_(None))


class DueSlot(NamedTuple):
    """The turn of a subscription, as stored: a hundred thousand are read for a morning.

    Only matches of runs later than `plan_after` are planned. `written` is its rhythm: equal words
    say the same.
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
    """Return the turns that have come, the longest waiting first.

    If `after` is given, it says where the last batch ended. A subscription that is paused counts
    again once its pause is over. `lock` keeps other processes from them until the transaction
    ends, and leaves out what others keep.
    """
    mine = subscriptions.c
    is_back = and_(mine.state == SubscriptionState.PAUSED, mine.paused_until <= now)
    is_live = or_(mine.state == SubscriptionState.ACTIVE, is_back)
    columns = (*_SLOT_COLUMNS, _EXCLUDES, *_STATE, *_WRITTEN)
    found = select(*columns).where(mine.next_due_at <= now, is_live)
    if after is not None:
        due_at, id_ = after
        is_after = or_(mine.next_due_at > due_at, mine.id > id_)
        # The index leads to this column. Of an OR of both SQLite reads all that is due, and sorts.
        found = found.where(mine.next_due_at >= due_at, is_after)
    if only is not None:
        found = found.where(mine.id == only)
    if lock:
        found = found.with_for_update(skip_locked=True)
    in_order = found.order_by(mine.next_due_at, mine.id)
    turns: list[DueSlot] = []
    for row in conn.execute(in_order.limit(limit)).all():
        key, name, plan_after, excludes, due_at, taken, awaits_after, unchecked, *written = row
        state = _read_state(due_at, taken, awaits_after, unchecked)
        timing = _read_timing(*written)
        turns.append(DueSlot(key, name, state, plan_after, excludes, (*written,), timing))
    return turns


@lru_cache(maxsize=1024)
def _read_state(
    next_due_at: datetime | None, last_slot: str, awaits_after: int | None, unchecked: str
) -> TurnState:
    """Read where a turn stands once: of a hundred thousand most are alike."""
    turns = tuple(UncheckedTurn.parse(line) for line in unchecked.splitlines())
    return TurnState(next_due_at, last_slot, awaits_after is not None, turns)


@lru_cache(maxsize=1024)
def _read_timing(cadence: str, quiet_hours: str, when_empty: str) -> Timing:
    """Read a rhythm once: a hundred thousand subscriptions share a few."""
    return Timing(read_cadence(cadence), read_quiet_hours(quiet_hours), WhenEmpty(when_empty))


def find_outcomes(
    conn: Connection, query_ids: Collection[int], change_ids: Collection[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield what saved queries recorded of changes.

    That is query id, change id, and `new`, `changed` or `gone`.
    """
    wanted = set(change_ids)
    if not wanted:
        return
    for chunk in in_chunks(query_ids):
        found = (
            select(query_revisions.c.query_id, query_matches)
            .select_from(query_revisions)
            .join(query_matches)
            .join(match_runs)
            .where(query_revisions.c.query_id.in_(chunk), had_before(wanted))
            .order_by(query_matches.c.match_run_id)
        )
        for row in conn.execute(found).mappings():
            for name in _MARKS:
                for change_id in wanted.intersection(unpack(row[name])):
                    yield row["query_id"], change_id, name


def find_recorded(
    conn: Connection, change_ids: Collection[int], query_ids: Collection[int] | None = None
) -> list[tuple[int, ActiveRevision]]:
    """Return the saved queries that recorded any of some changes, each as it read then.

    With it comes the match run. They are in the order of their names, and of one name in the order
    in which it read so.
    """
    met = query_matches.c
    columns = (met[name] for name in ("match_run_id", *_MARKS))
    found = every_revision().add_columns(*columns)
    recorded = found.join(query_matches).join(match_runs)
    found = recorded.where(had_before(change_ids))
    if query_ids is not None:
        found = found.where(saved_queries.c.id.in_(query_ids))
    in_order = found.order_by(saved_queries.c.name, query_revisions.c.number)
    runs = []
    for row in conn.execute(in_order):
        changed = {*unpack(row.new), *unpack(row.changed), *unpack(row.gone)}
        if not changed.isdisjoint(change_ids):
            runs.append((row.match_run_id, read_revision(row)))
    return runs
