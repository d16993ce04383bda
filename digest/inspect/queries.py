"""Tells what queries bring of the last days, and how each is read.

It tells, too, what another wording gains and loses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

from sqlalchemy import Connection

from digest.arxiv.client import ArxivClient
from digest.arxiv.pages import EARLIEST, Window, walk_search
from digest.config import Config
from digest.inspect.here import Here
from digest.match.rules import find_unread, read_saved
from digest.model.announcements import (
    Kind,
    earliest_announcement,
    has_announcement,
    latest_announcement,
)
from digest.model.clock import write_day
from digest.model.messages import DayCount, DigestEntry
from digest.model.numbers import count
from digest.model.papers import Paper
from digest.model.subscriptions import SavedQuery, Subscription
from digest.query import (
    AnalysedPaper,
    And,
    Condition,
    Node,
    Note,
    Or,
    PaperIndex,
    Query,
    analyse,
    find_reasons,
    matches,
    to_arxiv,
)
from digest.query.canonical import print_condition, print_outline
from digest.query.tree import Not
from digest.site import Progress
from digest.store import Store, changes, digests, papers, queries, runs, subscriptions, words
from digest.store.papers import StoredSpan
from digest.store.queries import StoredQuery

MATCH_SPAN = timedelta(days=30)
"""How far back matches are counted."""

_TOO_NEW = timedelta(days=7)
"""A query that was saved later is asked of the stored papers: it has few matches yet."""

FEW_ANNOUNCEMENTS = 5
"""Announcements from which on a rate is said."""

_ANNOUNCEMENTS_A_WEEK = 5

_PAGE = 500
"""Papers asked for at once."""

_AT_ONCE = 4_000
"""Stored papers in memory at once."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days (UTC), in order, on which papers were first submitted.

    Of those `begun` more will be announced.
    """

    whole: tuple[date, ...]
    begun: tuple[date, ...] = ()

    @property
    def dates(self) -> tuple[date, ...]:
        """All of them, in order."""
        return self.whole + self.begun


def list_submission_days(now: datetime, days: int) -> DaySpan:
    """Return the last UTC days whose submissions were all due for announcement, and those since.

    Of the first there are as many as asked. What is submitted after a deadline comes with the next
    announcement, so the last days are begun only.
    """
    today = now.date()
    announced = latest_announcement(now)
    last_whole = today
    while earliest_announcement(_end_of_day(last_whole)) > announced:
        last_whole -= timedelta(days=1)
    whole = [last_whole - timedelta(days=back) for back in reversed(range(days))]
    days_since = (today - last_whole).days
    begun = [last_whole + timedelta(days=on) for on in range(1, days_since + 1)]
    return DaySpan(tuple(whole), tuple(begun))


def _end_of_day(day: date) -> datetime:
    return datetime.combine(day, time.max, tzinfo=UTC)


def describe_rate(papers: int, announcements: int, days: int) -> str:
    """Say how much it is that some days brought: `about 6 papers a day`, a week or a month.

    Of none, and if the days are too few for that, say the number as it is: `3 papers in 4 days`.
    """
    known = f"{count(papers, 'paper')} in {count(days, 'day')}"
    if not papers or announcements < FEW_ANNOUNCEMENTS:
        return known
    a_day = papers / announcements
    if a_day >= 1:
        return f"about {count(round(a_day), 'paper')} a day"
    a_week = a_day * _ANNOUNCEMENTS_A_WEEK
    if a_week >= 1:
        return f"about {count(round(a_week), 'paper')} a week"
    if days == MATCH_SPAN.days:
        return f"about {count(papers, 'paper')} a month"
    return known


def describe_matches(matched: Iterable[DayCount], began_at: datetime, now: datetime) -> str:
    """Say how much it is that matched in the last 30 days, or since a later moment.

    See `describe_rate`.
    """
    first = max(began_at, now - MATCH_SPAN).date()
    days = max((now.date() - first).days, 1)
    dates = [first + timedelta(days=number) for number in range(days)]
    announcements = sum(has_announcement(day) for day in dates)
    papers = sum(day.papers for day in matched)
    return describe_rate(papers, announcements, days)


def describe_volume(span: DaySpan, papers: Iterable[Paper]) -> str:
    """Say how much a query brings: `about 3 papers a week (most on Tue 17 Nov: 9)`.

    The rate is that of whole days; what came of days that are only begun is said apart.
    """
    counts = Counter(paper.published.date() for paper in papers)
    total = sum(counts[day] for day in span.whole)
    announcements = sum(has_announcement(day) for day in span.whole)
    said = describe_rate(total, announcements, len(span.whole))
    best = max(span.whole, key=lambda day: counts[day], default=None)
    if best is not None and counts[best] > 1:
        best_day = write_day(best, span.dates[-1])
        said += f" (most on {best_day}: {counts[best]:,})"
    so_far = sum(counts[day] for day in span.begun)
    if so_far:
        said += f"; on the days since, {so_far:,} more so far"
    return said


@dataclass(frozen=True, slots=True)
class ChangedPaper:
    """A paper that one of two wordings brings, with the clauses it `met`.

    It says, too, why the other wording does not bring it.
    """

    paper: Paper
    met: tuple[str, ...]
    why_not: str


@dataclass(frozen=True, slots=True)
class Rewording:
    """What changes between two wordings, over the same papers.

    Each is in the order of announcement, the newest first.
    """

    gained: tuple[ChangedPaper, ...]
    lost: tuple[ChangedPaper, ...]
    kept: tuple[Paper, ...]


def find_why_not(query: Query, paper: AnalysedPaper) -> str:
    """Say what a paper lacks, and which excluded conditions it meets; "" if it matches."""
    tree = query.tree
    lacks, has = _split_reasons(tree, paper)
    said = []
    if lacks:
        wanted = _list_wanted(tree, paper) or lacks
        said.append(f"lacks {' and '.join(wanted)}")
    if has:
        said.append(f"has {' and '.join(has)}, which is excluded")
    return "; ".join(said)


def _list_wanted(tree: Node, paper: AnalysedPaper) -> Collection[str]:
    """Return what a paper would have to have, by the parts of a query, each once."""
    if isinstance(tree, Or):
        has_only_conditions = all(isinstance(operand, Condition) for operand in tree.operands)
        words = "" if has_only_conditions else _name_wanted(tree, paper)
        return [words] if words else []
    wanted: dict[str, None] = {}
    if isinstance(tree, And):
        for operand in tree.operands:
            if matches(operand, paper):
                continue
            words = _name_wanted(operand, paper)
            if words:
                wanted[words] = None
            else:
                lacks, _ = _split_reasons(operand, paper)
                wanted |= dict.fromkeys(lacks)
    return wanted


def _split_reasons(tree: Node, paper: AnalysedPaper) -> tuple[list[str], list[str]]:
    """Return the conditions a paper lacks for a query, and the excluded ones it meets."""
    lacks = []
    has = []
    for reason in find_reasons(Not(tree), paper):
        if reason.clause.startswith("NOT "):
            lacks.append(reason.clause.removeprefix("NOT "))
        else:
            has.append(reason.clause)
    return lacks, has


def _name_wanted(node: Node, paper: AnalysedPaper) -> str:
    """Say in words what of a query that is not met would have to be there.

    It is "" if something is excluded.
    """
    match node:
        case Condition():
            return print_condition(node)
        case And(operands) | Or(operands):
            unmet = [operand for operand in operands if not matches(operand, paper)]
            wanted = [_name_wanted(operand, paper) for operand in unmet]
            if not all(wanted):
                return ""
            if isinstance(node, And):
                return " and ".join(wanted)
            *others, last = wanted
            return f"either {', '.join(others)} or {last}" if others else last
        case Not():
            return ""


def compare_wordings(old: Query, new: Query, papers: Iterable[Paper]) -> Rewording:
    """Hold papers against two wordings of a query."""
    listed = _sort(papers)
    had, has = (set(numbers) for numbers in PaperIndex(listed).find([old, new]))
    gained = [listed[number] for number in sorted(has - had)]
    lost = [listed[number] for number in sorted(had - has)]
    kept = [listed[number] for number in sorted(had & has)]
    return Rewording(
        gained=tuple(_explain_changed(paper, new, old) for paper in gained),
        lost=tuple(_explain_changed(paper, old, new) for paper in lost),
        kept=tuple(kept),
    )


def _explain_changed(paper: Paper, brings: Query, fails: Query) -> ChangedPaper:
    ready = analyse(paper)
    met = tuple(reason.clause for reason in find_reasons(brings, ready))
    return ChangedPaper(paper, met, find_why_not(fails, ready))


@dataclass(frozen=True, slots=True)
class Found:
    """Papers of some days, the last announced first.

    `checked_at` is None if arXiv's search was asked.
    """

    span: DaySpan
    papers: tuple[Paper, ...]
    checked_at: datetime | None


def find_stored(
    store: Store | None, query: Query | Or, now: datetime, days: int, progress: Progress
) -> Found | None:
    """Return what is stored of the last days that a query means; None if nothing of them is."""
    if store is None:
        return None
    with store.read() as conn:
        reach = papers.load_stored_span(conn)
        if reach is None:
            return None
        span = _limit_to_stored(reach, now, days)
        if not span.whole:
            return None
        progress.begin("read", "what is stored")
        begin, end = _limit(span, time.max)
        coming = words.walk(conn, papers.list_submitted(conn, begin, end))
        meant: list[int] = []
        while some := dict(islice(coming, _AT_ONCE)):
            (numbers,) = PaperIndex(some.values()).find([query])
            keys = list(some)
            meant += [keys[number] for number in numbers]
        found = papers.load_versions(conn, meant)
    progress.end("read", f"{len(found):,} papers found")
    return Found(span, _sort(found.values()), reach.until)


def _limit_to_stored(reach: StoredSpan, now: datetime, days: int) -> DaySpan:
    """Return the days of the last ones whose papers are stored."""
    first = max(list_submission_days(now, days).whole[0], reach.since)
    days_since_first = (now.date() - first).days + 1
    known = list_submission_days(min(reach.until, now), days_since_first)
    whole = [day for day in known.whole if day >= first]
    begun = [day for day in known.begun if day >= first]
    return DaySpan(tuple(whole), tuple(begun))


def search_days(client: ArxivClient, query: Query | Or, span: DaySpan, progress: Progress) -> Found:
    """Ask arXiv's search for the papers that a query means, submitted on some days."""
    begin, end = _limit(span, time(23, 59))
    progress.begin("search", f"{begin:%-d %b} to {end:%-d %b}")
    asked = Window(begin, end).confine(to_arxiv(query))
    found: list[Paper] = []
    looked_at = 0
    for fetched in walk_search(client, asked, until=EARLIEST, size=_PAGE, asks_twice=True):
        page = fetched.page
        looked_at += len(page.papers)
        progress.update(f"{looked_at:,} of {page.total:,} papers")
        met = select_meant(query, page.papers)
        found += [paper for paper in met if paper.published.date() in span.dates]
    progress.end("search", f"{len(found):,} found")
    return Found(span, _sort(found), None)


def _limit(span: DaySpan, last: time) -> tuple[datetime, datetime]:
    dates = span.dates
    begin = datetime.combine(dates[0], time.min, tzinfo=UTC)
    end = datetime.combine(dates[-1], last, tzinfo=UTC)
    return begin, end


def _sort(papers: Iterable[Paper]) -> tuple[Paper, ...]:
    return tuple(sorted(papers, key=lambda paper: paper.id, reverse=True))


def select_meant(query: Query | Or, papers: Sequence[Paper]) -> list[Paper]:
    """Return the papers that a query means."""
    (numbers,) = PaperIndex(papers).find([query])
    return [papers[number] for number in numbers]


@dataclass(frozen=True, slots=True)
class QueryReading:
    """How a query is read, and the last papers it brought.

    Attributes:
        volume: None if it is not known.
        span: the days of which stored papers were counted; None if matches were.
        saved_at: since when matches were counted; None for 30 days, or if papers were counted.
    """

    here: Here
    name: str
    query: str
    canonical: str
    pasted_as: str
    outline: tuple[str, ...]
    arxiv: str
    notes: tuple[Note, ...]
    subscriptions: tuple[str, ...]
    volume: str | None = None
    span: DaySpan | None = None
    saved_at: datetime | None = None
    checked_at: datetime | None = None
    papers: tuple[DigestEntry, ...] = ()


def read_query(
    name: str, query: Query, subscriptions: Iterable[Subscription], here: Here
) -> QueryReading:
    """Say how a query is read, and who follows it."""
    followers = [one.name for one in subscriptions if name in one.queries]
    return QueryReading(
        here=here,
        name=name,
        query=query.text,
        canonical=query.canonical,
        pasted_as=query.pasted_as,
        outline=tuple(print_outline(query.tree)),
        arxiv=to_arxiv(query),
        notes=query.notes,
        subscriptions=tuple(followers),
    )


def add_found(reading: QueryReading, query: Query, found: Found, limit: int) -> QueryReading:
    """Add what a query brought of what is stored."""
    return replace(
        reading,
        volume=describe_volume(found.span, found.papers),
        span=found.span,
        checked_at=found.checked_at,
        papers=tuple(
            _show_paper(query, paper, paper.published.date()) for paper in found.papers[:limit]
        ),
    )


def add_matches(
    conn: Connection, source: str, reading: QueryReading, query: Query, limit: int
) -> QueryReading | None:
    """Add what a saved query matched; None if its matches do not tell what it brings.

    It may not be stored, mean something else there, have been edited in these days, or be too new.
    Its first digest is neither shown nor counted.
    """
    now = reading.here.now
    since = now - MATCH_SPAN
    stored = {one.name: one for one in queries.load(conn)}.get(reading.name)
    if stored is None or stored.canonical != query.canonical:
        return None
    is_edited = stored.worded_at > max(stored.created_at, since)
    if is_edited or stored.created_at > now - _TOO_NEW:
        return None
    matched = queries.load_matched(conn, stored.name, since)
    is_new = stored.created_at > since
    last = changes.load_last_announced(conn, matched, limit)
    days = {change.paper.id: change.announced for change in reversed(last)}
    found = {change.paper_key: change.paper for change in reversed(last)}
    meant = _sort(select_meant(query, [*found.values()]))[:limit]
    checked_at = _find_checked(conn, source, query)
    until = min(checked_at or now, now)
    return replace(
        reading,
        volume=describe_matches(queries.count_days(matched), stored.created_at, until),
        saved_at=stored.created_at if is_new else None,
        checked_at=checked_at,
        papers=tuple(_show_paper(query, paper, days[paper.id]) for paper in meant),
    )


def _find_checked(conn: Connection, source: str, query: Query) -> datetime | None:
    """Return when the last complete check for a saved query began (UTC); None if none was."""
    cursors = runs.load_cursors(conn, source)
    checked = [cursors[key].last_complete_at for key in ("", query.canonical) if key in cursors]
    return max(filter(None, checked), default=None)


def _show_paper(query: Query, paper: Paper, day: date) -> DigestEntry:
    return DigestEntry(Kind.NEW, paper, "", (), find_reasons(query, paper), day)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatus(StoredQuery):
    """A saved query, who follows it, what it matched by day, and how much it brings in words."""

    subscriptions: tuple[str, ...]
    days: tuple[DayCount, ...]
    volume: str


@dataclass(frozen=True, slots=True)
class QueryList:
    """The saved queries of the file, and what of digest.toml the next run takes over.

    That is "" for nothing.
    """

    queries: tuple[QueryStatus, ...]
    edited: str


def list_queries(conn: Connection, config: Config, now: datetime) -> QueryList:
    """Gather the saved queries, what each brought, and who follows it."""
    followers = defaultdict[str, list[str]](list)
    for due in subscriptions.load(conn):
        if due.is_personal:
            continue
        for revision in due.revisions:
            followers[revision.name].append(due.subscription.name)
    found = []
    for query in queries.load(conn):
        days = tuple(queries.load_counts(conn, query.name, now - MATCH_SPAN))
        stored = {field.name: getattr(query, field.name) for field in fields(query)}
        status = QueryStatus(
            **stored,
            subscriptions=tuple(followers[query.name]),
            days=days,
            volume=describe_matches(days, query.created_at, now),
        )
        found.append(status)
    return QueryList(tuple(found), describe_pending_edits(config, conn))


def describe_pending_edits(config: Config, conn: Connection) -> str:
    """Say what of the file a run will take over: not what can't be read; "" for nothing."""
    dues = {due.subscription.name: due for due in subscriptions.load(conn) if not due.is_personal}
    live = [due.subscription for due in dues.values()]
    stored = _list_followed(queries.load(conn), live)
    written = _list_followed(config.queries, config.subscriptions)
    left_out = set()
    for query in config.queries:
        if read_saved(query.text) is None:
            left_out.add(f"query {query.name}")
    for one in config.subscriptions:
        if one.name in dues and digests.find_new_destinations(conn, dues[one.name], one):
            del stored[f"subscription {one.name}"]
        if find_unread(one, config.query_names):
            left_out.add(f"subscription {one.name}")
    names = []
    for name in {**written, **stored}:
        is_edited = stored.get(name) != written.get(name)
        if is_edited and name not in left_out:
            names.append(name)
    if not names:
        return ""
    return (
        f"digest.toml was edited since the last run. `digest run` takes over: {', '.join(names)}."
    )


def _list_followed(
    queries: Iterable[StoredQuery | SavedQuery], subscriptions: Iterable[Subscription]
) -> dict[str, tuple[object, ...]]:
    """Return what a run would take over of each query and subscription."""
    followed: dict[str, tuple[object, ...]] = {}
    for query in queries:
        if query.name != query.text:
            followed[f"query {query.name}"] = (query.text,)
    for one in subscriptions:
        followed[f"subscription {one.name}"] = (one.cadence, one.kinds, one.queries)
    return followed
