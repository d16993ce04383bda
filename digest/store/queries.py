"""Saved queries and their revisions: another meaning is another revision.

The old one stays readable. A text that can't be read means nothing: until it is mended, the query
goes on as it was read before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any, NamedTuple

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

ACTIVE = "active"
ENDED = "ended"
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
        is_open: it may be read. Not if it was revoked, what it is made of ended, or the file names
            it no more.
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
    state = places.state.label("place_state")
    found = select(subscriptions, state)
    feeds = found.join(subscription_destinations)
    own = feeds.where(places.destination == str(OWN_FEED))
    return [_read_feed(row) for row in conn.execute(own.order_by(subscriptions.c.name))]


def _read_feed(row: Row[Any]) -> SubscriptionFeed:
    is_live = row.state != SubscriptionState.ENDED
    is_named = row.place_state == DestinationState.ACTIVE
    is_revoked = row.feed_revoked_at is not None
    return SubscriptionFeed(
        key=row.id,
        name=row.name,
        title=row.title,
        generation=row.feed_generation,
        is_open=is_live and is_named and not is_revoked,
        excluded=(row.exclude_queries, row.exclude_papers),
    )


def load_newest_match_run(conn: Connection) -> int:
    """Return the number of the last match run; 0 before the first.

    While it stays, no feed has anything new.
    """
    return int(conn.execute(select(NEWEST_MATCH_RUN)).scalar_one())


def load_wordings(conn: Connection, subscription_id: int) -> list[Wording]:
    """Return what the saved queries that a subscription follows have asked, oldest first.

    It counts since the subscription follows them.
    """
    links = subscription_queries.c
    found = select(saved_queries.c.name, query_revisions, links.added_at)
    of_queries = found.select_from(saved_queries).join(query_revisions)
    followed = of_queries.join(subscription_queries).where(links.subscription_id == subscription_id)
    oldest_first = followed.order_by(links.position, query_revisions.c.number)
    wordings = []
    for row in conn.execute(oldest_first):
        since = max(row.created_at, row.added_at)
        wordings.append(Wording(row.name, choose_text(row), since, row.ended_at))
    return wordings


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Names of what was added (or came back), edited and ended.

    Attributes:
        changed: those of the edited that mean something else now, by name, each with its canonical
            text before.
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
        worded_at: since when it has the present one (UTC).
    """

    id: int
    name: str
    origin: str
    text: str
    canonical: str
    problem: str
    revision: int
    created_at: datetime
    worded_at: datetime


class WrittenQuery(NamedTuple):
    """A saved query as somebody wrote it; `canonical` and `problem` are "" for none."""

    text: str
    canonical: str
    problem: str


@dataclass(frozen=True, slots=True)
class _Differences:
    """How saved queries that are wanted differ from those that are stored; all by name.

    Attributes:
        returned: named again after they had ended.
        rewritten: those whose text or problem is another, whatever they mean.
        edited: those that mean something else.
    """

    added: list[str]
    returned: list[str]
    rewritten: list[str]
    edited: list[str]
    ended: list[str]


def sync(
    conn: Connection, queries: Mapping[str, tuple[str, str, str]], origin: str, at: datetime
) -> SyncReport:
    """Make the saved queries of an origin exactly these; doing it twice changes nothing.

    Each text starts where matching stands, so no change falls between two of them. One that can't
    be read any more keeps its revision, so that nothing falls between what it meant before and
    what it means once mended. So does a query that is named again within `RETURNS_WITHIN`.

    `queries` says the text as written, the canonical one and the problem, "" for none, by name.
    """
    lock_advisory(conn, _SYNCING)  # replicas that start together read the same file
    of_origin = _current().where(saved_queries.c.origin == origin)
    stored = {row.name: row for row in conn.execute(of_origin)}
    known = {name: row for name, row in stored.items() if _goes_on(row, at)}
    wanted = {name: _keep_meaning(query, known.get(name)) for name, query in queries.items()}
    found = _compare(known, wanted)
    new = [name for name in found.added if name not in stored]
    came_back = [name for name in found.added if name in stored]
    reworded = [name for name in found.rewritten if name not in found.edited]
    _start(conn, new, origin, at)
    _set_state(conn, _pick(stored, came_back + found.returned), ACTIVE, None)
    _set_state(conn, _pick(stored, found.ended), ENDED, at)
    _end_revisions(conn, _pick(stored, found.returned), None)
    _end_revisions(conn, _pick(stored, found.edited + found.ended), at)
    _add_revisions(conn, found.added + found.edited, wanted, origin, at)
    _rewrite(conn, _pick(stored, reworded), wanted)
    return _report(known, wanted, found)


def _goes_on(row: Row[Any], at: datetime) -> bool:
    """Whether a saved query goes on as it was if it is named: it has not ended, or only lately."""
    if row.state == ACTIVE:
        return True
    return bool(row.ended_at >= at - RETURNS_WITHIN)


def _compare(known: Mapping[str, Row[Any]], wanted: Mapping[str, WrittenQuery]) -> _Differences:
    """Compare the saved queries that are wanted with those that are stored."""
    found = _Differences([], [], [], [], [])
    for name, query in wanted.items():
        row = known.get(name)
        if row is None:
            found.added.append(name)
            continue
        if row.state != ACTIVE:
            found.returned.append(name)
        if (row.text, row.problem) != (query.text, query.problem):
            found.rewritten.append(name)
        if row.canonical != query.canonical:
            found.edited.append(name)
    for name, row in sorted(known.items()):
        if name not in wanted and row.state == ACTIVE:
            found.ended.append(name)
    return found


def _pick(stored: Mapping[str, Row[Any]], names: Iterable[str]) -> list[Row[Any]]:
    """Return the saved queries of some names, each with its present revision."""
    return [stored[name] for name in names]


def _report(
    known: Mapping[str, Row[Any]], wanted: Mapping[str, WrittenQuery], found: _Differences
) -> SyncReport:
    """Say what a sync did with saved queries."""
    changed = {}
    for name in found.edited:
        before = known[name]
        written = wanted[name]
        # Another release may print a query otherwise: nobody edited it. One that can't be read is
        # reported apart.
        if before.text != written.text and not written.problem:
            changed[name] = before.canonical
    touched = {*found.rewritten, *found.edited}.difference(found.returned)
    edited = [name for name in wanted if name in touched]
    used_as_before = [name for name, one in wanted.items() if one.problem and one.canonical]
    return SyncReport(
        added=(*found.added, *found.returned),
        edited=tuple(edited),
        ended=tuple(found.ended),
        changed=changed,
        used_as_before=tuple(used_as_before),
    )


def active_revisions(conn: Connection, *, ended_since: datetime = NEVER) -> list[ActiveRevision]:
    """Return every saved query in force that can be read, or could be before an edit, by name.

    With them come those that ended since a moment (UTC).
    """
    saved = saved_queries.c
    is_kept = or_(saved.state == ACTIVE, saved.ended_at >= ended_since)
    can_be_asked = query_revisions.c.canonical != ""
    found = _current().where(is_kept, can_be_asked)
    return [read_revision(row) for row in conn.execute(found)]


def load(conn: Connection) -> list[StoredQuery]:
    """Return the saved queries of the operator's file in force, by name."""
    saved = saved_queries.c
    found = _current().where(saved.state == ACTIVE, saved.origin == FILE)
    return [_read_query(row) for row in conn.execute(found)]


def _read_query(row: Row[Any]) -> StoredQuery:
    return StoredQuery(
        id=row.id,
        name=row.name,
        origin=row.origin,
        text=row.text,
        canonical=row.canonical,
        problem=row.problem,
        revision=row.number,
        created_at=row.created_at,
        worded_at=row.worded_at,
    )


def load_counts(conn: Connection, name: str, since: datetime) -> list[DayCount]:
    """Return how many papers entered a saved query of the file per UTC day since a moment.

    Empty days are left out. What the first check stored as known is older, and is not counted: no
    subscription gets it either.
    """
    return count_days(load_matched(conn, name, since))


def count_days(matched: Mapping[int, date]) -> list[DayCount]:
    """Return how many changes matched on each day; see `load_matched`."""
    counts = Counter(matched.values())
    return [DayCount(day, papers) for day, papers in counts.items()]


def load_matched(conn: Connection, name: str, since: datetime) -> dict[int, date]:
    """Return the changes that entered a saved query of the file since a moment, with their UTC day.

    What the first check stored as known is left out.
    """
    saved = saved_queries.c
    matched_at = match_runs.c.matched_at
    found = select(query_matches.c.new, matched_at).join(match_runs)
    of_queries = found.join(query_revisions).join(saved_queries)
    of_query = of_queries.where(saved.name == name, saved.origin == FILE, matched_at >= since)
    matched: dict[int, date] = {}
    for row in conn.execute(of_query.order_by(match_runs.c.id)):
        matched |= dict.fromkeys(unpack(row.new), row.matched_at.date())
    for id_ in _find_known(conn, matched):
        del matched[id_]
    return matched


def _find_known(conn: Connection, change_ids: Collection[int]) -> set[int]:
    """Return those of some changes that a first check stored as known."""
    known: set[int] = set()
    is_known = changes.c.kind == Kind.KNOWN
    for chunk in in_chunks(change_ids):
        found = select(changes.c.id).where(changes.c.id.in_(chunk), is_known)
        known.update(conn.execute(found).scalars())
    return known


def current_revision() -> Select[tuple[Any, ...]]:
    """Return the query for saved queries, each with its present revision; see `read_revision`."""
    number = query_revisions.c.number
    is_its_own = query_revisions.c.query_id == saved_queries.c.id
    latest = select(func.max(number)).where(is_its_own).correlate(saved_queries)
    return every_revision().where(number == latest.scalar_subquery())


def every_revision() -> Select[tuple[Any, ...]]:
    """Return the query for saved queries with every revision they had; see `read_revision`."""
    revision = query_revisions.c
    columns = (revision.number, revision.text, revision.canonical, revision.problem)
    key = revision.id.label("revision_id")
    worded_at = revision.created_at.label("worded_at")
    found = select(saved_queries, key, *columns, revision.active_from_change, worded_at)
    return found.select_from(saved_queries).join(query_revisions)


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
    """Return the text to ask of a revision: as written, or as it was read before.

    One that can't be read now is asked as it was read before. One that never could be read is
    returned as written; reading it shows why.
    """
    return str(row.canonical if row.problem and row.canonical else row.text)


def _keep_meaning(query: tuple[str, str, str], present: Row[Any] | None) -> WrittenQuery:
    """Return a query with what it meant before as its canonical text, if it can't be read."""
    written = WrittenQuery(*query)
    if written.problem and present is not None:
        return written._replace(canonical=present.canonical)
    return written


def _start(conn: Connection, names: list[str], origin: str, at: datetime) -> None:
    begun = {"origin": origin, "state": ACTIVE, "created_at": at}
    rows = [{"name": name} | begun for name in names]
    if rows:
        conn.execute(insert(saved_queries), rows)


def _set_state(
    conn: Connection, queries: Iterable[Row[Any]], state: str, ended_at: datetime | None
) -> None:
    ids = [row.id for row in queries]
    changing = update(saved_queries).where(saved_queries.c.id.in_(ids))
    conn.execute(changing.values(state=state, ended_at=ended_at))


def _end_revisions(conn: Connection, queries: Iterable[Row[Any]], at: datetime | None) -> None:
    """End the present revisions of saved queries, or let them go on as if they had not ended."""
    ids = [row.revision_id for row in queries]
    ending = update(query_revisions).where(query_revisions.c.id.in_(ids))
    conn.execute(ending.values(ended_at=at))


def _add_revisions(
    conn: Connection,
    names: Collection[str],
    wanted: Mapping[str, WrittenQuery],
    origin: str,
    at: datetime,
) -> None:
    """Add a revision to each of some saved queries, numbered after the last one."""
    if not names:
        return
    mark = load_mark(conn, MATCHED, lock=True)  # nobody matches meanwhile without them
    saved = saved_queries.c
    latest = func.coalesce(func.max(query_revisions.c.number), 0)
    found = select(saved.id, saved.name, latest.label("number")).outerjoin(query_revisions)
    named = found.where(saved.origin == origin, saved.name.in_(names))
    rows = []
    for row in conn.execute(named.group_by(saved.id, saved.name)):
        revision = wanted[row.name]._asdict()
        revision["query_id"] = row.id
        revision["number"] = row.number + 1
        revision["active_from_change"] = mark
        revision["created_at"] = at
        rows.append(revision)
    conn.execute(insert(query_revisions), rows)


def _rewrite(
    conn: Connection, queries: Iterable[Row[Any]], wanted: Mapping[str, WrittenQuery]
) -> None:
    """Store another text of saved queries that mean the same.

    Another way of writing the same query is the same revision, and so is a way that can't be read.
    """
    rows = []
    for row in queries:
        written = wanted[row.name]
        rows.append({"key": row.revision_id, "written": written.text, "why": written.problem})
    if rows:
        rewriting = update(query_revisions).where(query_revisions.c.id == bindparam("key"))
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


def load_asked(conn: Connection) -> list[AskedQuery]:
    """Return every distinct query that is asked by one in force, in the order of their texts."""
    ended = _load_ended_texts(conn)
    asked = []
    for text, histories in sorted(_load_histories(conn).items()):
        since = min(history[0].created_at for history in histories)
        earlier: list[str] = []
        for history in histories:
            earlier.extend(row.canonical for row in _before(history) if row.canonical)
        replaced = tuple(ended.get(since, ()))
        asked.append(AskedQuery(text, since, tuple(earlier), replaced))
    return asked


def _load_histories(conn: Connection) -> dict[str, list[list[Row[Any]]]]:
    """Return the revisions of each saved query in force, the latest first.

    They are by the canonical text that it asks now: several may ask the same.
    """
    found = select(saved_queries.c.id, query_revisions).join(query_revisions)
    active = found.where(saved_queries.c.state == ACTIVE)
    latest_first = active.order_by(query_revisions.c.number.desc(), query_revisions.c.id)
    revisions: dict[int, list[Row[Any]]] = {}
    for row in conn.execute(latest_first):
        revisions.setdefault(row.query_id, []).append(row)
    histories: dict[str, list[list[Row[Any]]]] = {}
    for history in revisions.values():
        present = history[0].canonical
        if present:
            histories.setdefault(present, []).append(history)
    return histories


def _load_ended_texts(conn: Connection) -> dict[datetime, list[str]]:
    """Return the canonical texts of revisions that ended, by the moment."""
    ended: dict[datetime, list[str]] = {}
    has_ended = query_revisions.c.ended_at.is_not(None)
    for row in conn.execute(select(query_revisions).where(has_ended)):
        ended.setdefault(row.ended_at, []).append(row.canonical)
    return ended


def _before(history: Sequence[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield the revisions that led to the present one by edits alone.

    A query that came back starts anew.
    """
    for later, earlier in pairwise(history):
        if earlier.ended_at != later.created_at:
            return
        yield earlier
