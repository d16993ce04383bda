"""Saved queries and their revisions: another meaning is another revision, and the old one stays readable.

A text that can't be read means nothing: until it is mended, the query goes on as it was read before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, insert, or_, select, update

from digest.model.announcements import Kind
from digest.model.destinations import OWN_FEED
from digest.model.messages import DayCount
from digest.model.subscriptions import (
    FILE,
    RETURNS_WITHIN,
    ActiveRevision,
    SubscriptionState,
    Wording,
)
from digest.store.dialect import in_chunks, lock_advisory, unpack
from digest.store.papers import MATCHED, load_mark
from digest.store.schema import (
    NEWEST_MATCH_RUN,
    changes,
    match_runs,
    query_matches,
    query_revisions,
    saved_queries,
    subscription_destinations,
    subscription_queries,
    subscriptions,
)
from digest.store.subscribers import DestinationState, DroppedMatches

ACTIVE, ENDED = "active", "ended"
"""States of a saved query."""

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""In place of the moment since when what ended counts: nothing does."""

_SYNCING = 20_260_302
"""Names the lock for bringing the store in line with a file; any number that nothing else uses."""


@dataclass(frozen=True, slots=True)
class SubscriptionFeed:
    """A subscription's feed.

    Attributes:
        generation: of the address that works; earlier ones are no longer valid.
        is_open: it may be read. Not if it was revoked, what it is made of ended, or the file names it no more.
    """

    key: int
    name: str
    title: str
    generation: int
    is_open: bool
    excluded: tuple[str, ...] = ()


def load_subscription_feeds(conn: Connection) -> list[SubscriptionFeed]:
    """Return every feed of a subscription there is or was, by name."""
    places = subscription_destinations.c
    found = (
        select(subscriptions, places.state.label("place_state"), places.since.label("place_since"))
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(places.destination == str(OWN_FEED))
        .order_by(subscriptions.c.name)
    )
    return [_read_feed(row) for row in conn.execute(found)]


def _read_feed(row: Row[Any]) -> SubscriptionFeed:
    closed = [
        row.feed_revoked_at,
        row.ended_at if row.state == SubscriptionState.ENDED else None,
        row.place_since if row.place_state != DestinationState.ACTIVE else None,
    ]
    return SubscriptionFeed(
        key=row.id,
        name=row.name,
        title=row.title,
        generation=row.feed_generation,
        is_open=not any(closed),
        excluded=(row.exclude_queries, row.exclude_papers),
    )


def load_newest_match_run(conn: Connection) -> int:
    """Return the number of the last match run: while it stays, no feed has anything new. 0 before the first."""
    return int(conn.execute(select(NEWEST_MATCH_RUN)).scalar_one())


def load_wordings(conn: Connection, subscription_id: int) -> list[Wording]:
    """Return what the saved queries a subscription follows have asked since it follows them, oldest first."""
    links = subscription_queries.c
    found = (
        select(saved_queries.c.name, query_revisions, links.added_at)
        .join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .join(subscription_queries, links.query_id == saved_queries.c.id)
        .where(links.subscription_id == subscription_id)
        .order_by(links.position, query_revisions.c.number)
    )
    return [
        Wording(row.name, choose_text(row), max(row.created_at, row.added_at), row.ended_at)
        for row in conn.execute(found)
    ]


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Names of what was added (or came back), edited and ended.

    Attributes:
        changed: those of the edited that mean something else now, by name, each with its canonical text before.
        used_as_before: saved queries that can't be read and go on as they were read before.
        dropped: what waited for subscriptions and destinations that are named no more.
    """

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    used_as_before: tuple[str, ...] = ()
    dropped: tuple[DroppedMatches, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A saved query as stored, with its present revision.

    Attributes:
        canonical: as printed; if it can't be read, as it was read before, "" if it never could be.
        problem: why it can't be read, "" if it can.
        revision: counts the meanings it had, from 1.
    """

    id: int
    name: str
    origin: str
    text: str
    canonical: str
    problem: str
    revision: int
    created_at: datetime


def sync_queries(
    conn: Connection, queries: Mapping[str, tuple[str, str, str]], origin: str, at: datetime
) -> SyncReport:
    """Make the saved queries of an origin exactly these; doing it twice changes nothing.

    Each text starts where matching stands, so no change falls between two of them. One that can't be read
    any more keeps its revision, so that nothing falls between what it meant before and what it means once
    mended. So does a query that is named again within `RETURNS_WITHIN`.

    `queries` says the text as written, the canonical one and the problem, "" for none, by name.
    """
    lock_advisory(conn, _SYNCING)  # replicas that start together read the same file
    stored = {
        row.name: row for row in conn.execute(_current().where(saved_queries.c.origin == origin))
    }
    known = {
        name: row
        for name, row in stored.items()
        if row.state == ACTIVE or row.ended_at >= at - RETURNS_WITHIN
    }
    wanted = {name: _keep_meaning(query, known.get(name)) for name, query in queries.items()}
    added = [name for name in wanted if name not in known]
    returned = [name for name in wanted if name in known and known[name].state != ACTIVE]
    rewritten = [
        name
        for name, row in known.items()
        if name in wanted and (row.text, row.problem) != wanted[name][::2]
    ]
    edited = [name for name in wanted if name in known and known[name].canonical != wanted[name][1]]
    ended = sorted(
        name for name, row in known.items() if name not in wanted and row.state == ACTIVE
    )
    _start(conn, [name for name in added if name not in stored], origin, at)
    _set_state(
        conn, [stored[name].id for name in (*added, *returned) if name in stored], ACTIVE, None
    )
    _set_state(conn, [stored[name].id for name in ended], ENDED, at)
    _end_revisions(conn, [stored[name].revision_id for name in returned], None)
    _end_revisions(conn, [stored[name].revision_id for name in (*edited, *ended)], at)
    _add_revisions(conn, {name: wanted[name] for name in (*added, *edited)}, origin, at)
    _rewrite(
        conn, {stored[name].revision_id: wanted[name] for name in rewritten if name not in edited}
    )
    changed = {*rewritten, *edited}.difference(returned)
    return SyncReport(
        added=(*added, *returned),
        edited=tuple(name for name in wanted if name in changed),
        ended=tuple(ended),
        # Another release may print a query otherwise: nobody edited it. One that can't be read is reported apart.
        changed={
            name: known[name].canonical
            for name in edited
            if known[name].text != wanted[name][0] and not wanted[name][2]
        },
        used_as_before=tuple(
            name for name, (_, canonical, problem) in wanted.items() if problem and canonical
        ),
    )


def active_revisions(conn: Connection, *, ended_since: datetime = NEVER) -> list[ActiveRevision]:
    """Return every saved query in force that can be read, or could be before an edit, by name.

    With them come those that ended since a moment (UTC).
    """
    is_kept = or_(saved_queries.c.state == ACTIVE, saved_queries.c.ended_at >= ended_since)
    found = _current().where(is_kept, query_revisions.c.canonical != "")
    return [read_revision(row) for row in conn.execute(found)]


def load_queries(conn: Connection) -> list[StoredQuery]:
    """Return the saved queries of the operator's file in force, by name."""
    found = _current().where(saved_queries.c.state == ACTIVE, saved_queries.c.origin == FILE)
    return [
        StoredQuery(
            row.id,
            row.name,
            row.origin,
            row.text,
            row.canonical,
            row.problem,
            row.number,
            row.created_at,
        )
        for row in conn.execute(found)
    ]


def load_query_counts(conn: Connection, name: str, since: datetime) -> list[DayCount]:
    """Return how many papers entered a saved query of the file per UTC day since a moment, except empty days.

    What the first check stored as known is older, and is not counted: no subscription gets it either.
    """
    which = (
        saved_queries.c.name == name,
        saved_queries.c.origin == FILE,
        match_runs.c.matched_at >= since,
    )
    found = (
        select(query_matches.c.new, match_runs.c.matched_at)
        .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
        .join(query_revisions, query_revisions.c.id == query_matches.c.revision_id)
        .join(saved_queries, saved_queries.c.id == query_revisions.c.query_id)
        .where(*which)
        .order_by(match_runs.c.id)
    )
    entered = [(row.matched_at.date(), unpack(row.new)) for row in conn.execute(found)]
    counts, known = Counter[date](), set[int]()
    for chunk in in_chunks(id_ for _, ids in entered for id_ in ids):
        known.update(
            conn.scalars(
                select(changes.c.id).where(changes.c.id.in_(chunk), changes.c.kind == Kind.KNOWN)
            )
        )
    for day, ids in entered:
        counts[day] += len({*ids} - known)
    return [DayCount(day, papers) for day, papers in counts.items() if papers]


def current_revision() -> Select[tuple[Any, ...]]:
    """Return the query for saved queries, each with its present revision; see `read_revision`."""
    latest = select(func.max(query_revisions.c.number)).where(
        query_revisions.c.query_id == saved_queries.c.id
    )
    return every_revision().where(
        query_revisions.c.number == latest.correlate(saved_queries).scalar_subquery()
    )


def every_revision() -> Select[tuple[Any, ...]]:
    """Return the query for saved queries with every revision they had; see `read_revision`."""
    return select(
        saved_queries,
        query_revisions.c.id.label("revision_id"),
        query_revisions.c.number,
        query_revisions.c.text,
        query_revisions.c.canonical,
        query_revisions.c.problem,
        query_revisions.c.active_from_change,
    ).join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)


def read_revision(row: Row[Any]) -> ActiveRevision:
    """Return a saved query as it reads in a row of `current_revision` or `every_revision`."""
    return ActiveRevision(
        id=row.revision_id,
        query_id=row.id,
        name=row.name,
        text=choose_text(row),
        canonical=row.canonical,
        active_from_change=row.active_from_change,
    )


def _current() -> Select[tuple[Any, ...]]:
    return current_revision().order_by(saved_queries.c.name, saved_queries.c.id)


def choose_text(row: Row[Any]) -> str:
    """Return the text to ask of a revision: as written, or as it was read before if it can't be now.

    One that never could be read is returned as written; reading it shows why.
    """
    return str(row.canonical if row.problem and row.canonical else row.text)


def _keep_meaning(query: tuple[str, str, str], present: Row[Any] | None) -> tuple[str, str, str]:
    """Return a query with what it meant before as its canonical text, if what is written can't be read."""
    text, canonical, problem = query
    return (
        (text, present.canonical, problem)
        if problem and present is not None
        else (text, canonical, problem)
    )


def _start(conn: Connection, names: list[str], origin: str, at: datetime) -> None:
    rows = [{"name": name, "origin": origin, "state": ACTIVE, "created_at": at} for name in names]
    if rows:
        conn.execute(insert(saved_queries), rows)


def _set_state(conn: Connection, ids: list[int], state: str, ended_at: datetime | None) -> None:
    changing = update(saved_queries).where(saved_queries.c.id.in_(ids))
    conn.execute(changing.values(state=state, ended_at=ended_at))


def _end_revisions(conn: Connection, ids: list[int], at: datetime | None) -> None:
    """End revisions, or let them go on as if they had not ended."""
    conn.execute(update(query_revisions).where(query_revisions.c.id.in_(ids)).values(ended_at=at))


def _add_revisions(
    conn: Connection, queries: Mapping[str, tuple[str, str, str]], origin: str, at: datetime
) -> None:
    if not queries:
        return
    mark = load_mark(conn, MATCHED, lock=True)  # nobody matches meanwhile without them
    latest = func.coalesce(func.max(query_revisions.c.number), 0)
    numbered = (
        select(saved_queries.c.id, saved_queries.c.name, latest.label("number"))
        .outerjoin(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .where(saved_queries.c.origin == origin, saved_queries.c.name.in_(queries))
        .group_by(saved_queries.c.id, saved_queries.c.name)
    )
    rows = [
        {
            "query_id": row.id,
            "number": row.number + 1,
            "text": queries[row.name][0],
            "canonical": queries[row.name][1],
            "problem": queries[row.name][2],
            "active_from_change": mark,
            "created_at": at,
        }
        for row in conn.execute(numbered)
    ]
    conn.execute(insert(query_revisions), rows)


def _rewrite(conn: Connection, queries: Mapping[int, tuple[str, str, str]]) -> None:
    """Another way of writing the same query is the same revision, and so is a way that can't be read."""
    rows = [
        {"revision": id_, "written": text, "why": problem}
        for id_, (text, _, problem) in queries.items()
    ]
    if rows:
        rewriting = update(query_revisions).where(query_revisions.c.id == bindparam("revision"))
        conn.execute(rewriting.values(text=bindparam("written"), problem=bindparam("why")), rows)


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query that at least one saved query in force asks.

    Attributes:
        since: since when it is asked without a break (UTC).
        earlier: what these saved queries asked before, up to an interruption, the latest first.
        replaced: what ended at that moment: the same edit may have put this in its place.
    """

    canonical: str
    since: datetime
    earlier: tuple[str, ...]
    replaced: tuple[str, ...] = ()


def load_asked_queries(conn: Connection) -> list[AskedQuery]:
    """Return every distinct query that is asked by one in force, in the order of their texts."""
    rows = conn.execute(
        select(saved_queries.c.id, query_revisions)
        .join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .where(saved_queries.c.state == ACTIVE)
        .order_by(query_revisions.c.number.desc(), query_revisions.c.id)
    )
    revisions: dict[int, list[Row[Any]]] = {}
    for row in rows:
        revisions.setdefault(row.query_id, []).append(row)
    asking: dict[str, list[list[Row[Any]]]] = {}
    for present, *past in revisions.values():
        if present.canonical:
            asking.setdefault(present.canonical, []).append([present, *past])
    ended: dict[datetime, list[str]] = {}
    for row in conn.execute(select(query_revisions).where(query_revisions.c.ended_at.is_not(None))):
        ended.setdefault(row.ended_at, []).append(row.canonical)
    return [
        AskedQuery(
            canonical=text,
            since=(since := min(present.created_at for present, *_ in histories)),
            earlier=tuple(
                row.canonical for history in histories for row in _before(history) if row.canonical
            ),
            replaced=tuple(ended.get(since, ())),
        )
        for text, histories in sorted(asking.items())
    ]


def _before(history: Sequence[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield the revisions that led to the present one by edits alone; a query that came back starts anew."""
    for later, earlier in pairwise(history):
        if earlier.ended_at != later.created_at:
            return
        yield earlier
