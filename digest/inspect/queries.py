"""Tells what queries bring of the last days, how each is read, and what another wording gains and loses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
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
from digest.model.subscriptions import Subscription
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
from digest.store import Store
from digest.store.digests import find_new_destinations
from digest.store.papers import load_stored_span, load_submitted
from digest.store.queries import StoredQuery, load_queries, load_query_counts
from digest.store.subscriptions import load_subscriptions

MATCH_SPAN = timedelta(days=30)
"""How far back matches are counted."""

FEW_ANNOUNCEMENTS, _ANNOUNCEMENTS_A_WEEK = 5, 5

_PAGE, _AT_ONCE = 500, 1_000
"""Papers asked for at once, and stored papers in memory at once."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days (UTC), in order, on which papers were first submitted: of those `begun` more will be announced."""

    whole: tuple[date, ...]
    begun: tuple[date, ...] = ()

    @property
    def dates(self) -> tuple[date, ...]:
        """All of them, in order."""
        return self.whole + self.begun


def list_submission_days(now: datetime, days: int) -> DaySpan:
    """Return the last UTC days whose submissions were all due for announcement by now, so many, and those since.

    What is submitted after a deadline comes with the next announcement, so the last days are begun only.
    """
    today = now.date()
    last = today
    while earliest_announcement(datetime.combine(last, time.max, tzinfo=UTC)) > latest_announcement(
        now
    ):
        last -= timedelta(days=1)
    whole = tuple(last - timedelta(days=back) for back in reversed(range(days)))
    return DaySpan(
        whole, tuple(last + timedelta(days=on) for on in range(1, (today - last).days + 1))
    )


def describe_rate(papers: int, announcements: int, days: int) -> str:
    """Say how much it is that some days brought: `about 6 papers a day`, a week or a month.

    Of none, and if the days are too few for that, say the number as it is: `3 papers in 4 days`.
    """
    known = f"{count(papers, 'paper')} in {count(days, 'day')}"
    if not papers or announcements < FEW_ANNOUNCEMENTS:
        return known
    each = papers / announcements
    for rate, span in ((each, "day"), (each * _ANNOUNCEMENTS_A_WEEK, "week")):
        if rate >= 1:
            return f"about {count(round(rate), 'paper')} a {span}"
    return f"about {count(papers, 'paper')} a month" if days == MATCH_SPAN.days else known


def describe_matches(matched: Iterable[DayCount], began_at: datetime, now: datetime) -> str:
    """Say how much it is that matched in the last 30 days, or since a later moment; see `describe_rate`."""
    first = max(began_at, now - MATCH_SPAN).date()
    days = max((now.date() - first).days, 1)
    announcements = sum(has_announcement(first + timedelta(days=number)) for number in range(days))
    return describe_rate(sum(day.papers for day in matched), announcements, days)


def describe_volume(span: DaySpan, papers: Iterable[Paper]) -> str:
    """Say how much a query brings: `about 3 papers a week (most on Tue 17 Nov: 9)`.

    The rate is that of whole days; what came of days that are only begun is said apart.
    """
    counts = Counter(paper.published.date() for paper in papers)
    total, so_far = sum(counts[day] for day in span.whole), sum(counts[day] for day in span.begun)
    said = describe_rate(total, sum(map(has_announcement, span.whole)), len(span.whole))
    best = max(span.whole, key=lambda day: counts[day], default=None)
    if best is not None and counts[best] > 1:
        said += f" (most on {write_day(best, span.dates[-1])}: {counts[best]:,})"
    return said + (f"; on the days since, {so_far:,} more so far" if so_far else "")


@dataclass(frozen=True, slots=True)
class ChangedPaper:
    """A paper that one of two wordings brings, with the clauses it `met`, and why the other does not."""

    paper: Paper
    met: tuple[str, ...]
    why_not: str


@dataclass(frozen=True, slots=True)
class Rewording:
    """What changes between two wordings, over the same papers; each in the order of announcement, newest first."""

    gained: tuple[ChangedPaper, ...]
    lost: tuple[ChangedPaper, ...]
    kept: tuple[Paper, ...]


def find_why_not(query: Query, paper: AnalysedPaper) -> str:
    """Say what a paper lacks, and which excluded conditions it meets; "" if it matches."""
    tree, wants = query.tree, dict[str, None]()
    lacks, has = _split_reasons(tree, paper)
    if isinstance(tree, Or) and not all(
        isinstance(operand, Condition) for operand in tree.operands
    ):
        wants = dict.fromkeys(filter(None, [_name_wanted(tree, paper)]))
    if isinstance(tree, And):
        for operand in tree.operands:
            if not matches(operand, paper):
                words = _name_wanted(operand, paper)
                wants |= dict.fromkeys([words] if words else _split_reasons(operand, paper)[0])
    said = [f"lacks {' and '.join(wants or lacks)}"] if lacks else []
    return "; ".join([*said, f"has {' and '.join(has)}, which is excluded"] if has else said)


def _split_reasons(tree: Node, paper: AnalysedPaper) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the conditions a paper lacks for a query, and the excluded ones it meets."""
    clauses = [reason.clause for reason in find_reasons(Not(tree), paper)]
    lacks = tuple(clause.removeprefix("NOT ") for clause in clauses if clause.startswith("NOT "))
    return lacks, tuple(clause for clause in clauses if not clause.startswith("NOT "))


def _name_wanted(node: Node, ready: AnalysedPaper) -> str:
    """Say in words what of a query that is not met would have to be there; "" if something is excluded."""
    match node:
        case Condition():
            return print_condition(node)
        case And(operands) | Or(operands):
            wanted = [
                _name_wanted(operand, ready) for operand in operands if not matches(operand, ready)
            ]
            if not all(wanted):
                return ""
            if isinstance(node, And):
                return " and ".join(wanted)
            return (
                f"either {', '.join(wanted[:-1])} or {wanted[-1]}" if len(wanted) > 1 else wanted[0]
            )
        case Not():
            return ""


def compare_wordings(old: Query, new: Query, papers: Iterable[Paper]) -> Rewording:
    """Hold papers against two wordings of a query."""
    listed = _sort(papers)
    had, has = map(set, PaperIndex(listed).find([old, new]))
    return Rewording(
        tuple(_explain_changed(listed[number], new, old) for number in sorted(has - had)),
        tuple(_explain_changed(listed[number], old, new) for number in sorted(had - has)),
        tuple(listed[number] for number in sorted(had & has)),
    )


def _explain_changed(paper: Paper, brings: Query, fails: Query) -> ChangedPaper:
    ready = analyse(paper)
    met = tuple(reason.clause for reason in find_reasons(brings, ready))
    return ChangedPaper(paper, met, find_why_not(fails, ready))


@dataclass(frozen=True, slots=True)
class Found:
    """Papers of some days, the last announced first; `checked_at` is None if arXiv's search was asked."""

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
        reach = load_stored_span(conn)
        if reach is None:
            return None
        first = max(list_submission_days(now, days).whole[0], reach.since)
        known = list_submission_days(min(reach.until, now), (now.date() - first).days + 1)
        whole, begun = (
            tuple(day for day in dates if day >= first) for dates in (known.whole, known.begun)
        )
        if not whole:
            return None
        span = DaySpan(whole, begun)
        progress.begin("read", "what is stored")
        begin, end = _limit(span, time.max)
        coming, found = load_submitted(conn, begin, end), list[Paper]()
        while some := list(islice(coming, _AT_ONCE)):
            found += select_meant(query, some)
    progress.end("read", f"{len(found):,} papers found")
    return Found(span, _sort(found), reach.until)


def search_days(client: ArxivClient, query: Query | Or, span: DaySpan, progress: Progress) -> Found:
    """Ask arXiv's search for the papers that a query means, submitted on some days."""
    found, looked_at = list[Paper](), 0
    begin, end = _limit(span, time(23, 59))
    progress.begin("search", f"{begin:%-d %b} to {end:%-d %b}")
    asked = Window(begin, end).confine(to_arxiv(query))
    for fetched in walk_search(client, asked, until=EARLIEST, size=_PAGE, asks_twice=True):
        looked_at += len(fetched.page.papers)
        progress.update(f"{looked_at:,} of {fetched.page.total:,} papers")
        met = select_meant(query, fetched.page.papers)
        found += [paper for paper in met if paper.published.date() in span.dates]
    progress.end("search", f"{len(found):,} found")
    return Found(span, _sort(found), None)


def _limit(span: DaySpan, last: time) -> tuple[datetime, datetime]:
    dates = span.dates
    return datetime.combine(dates[0], time.min, tzinfo=UTC), datetime.combine(
        dates[-1], last, tzinfo=UTC
    )


def _sort(papers: Iterable[Paper]) -> tuple[Paper, ...]:
    return tuple(sorted(papers, key=lambda paper: paper.id, reverse=True))


def select_meant(query: Query | Or, papers: Sequence[Paper]) -> list[Paper]:
    """Return the papers that a query means."""
    return [papers[number] for number in next(PaperIndex(papers).find([query]))]


@dataclass(frozen=True, slots=True)
class QueryReading:
    """How a query is read, and the last papers it brought; `volume` is None if the last days are not stored."""

    here: Here
    name: str
    query: str
    canonical: str
    pasted_as: str
    outline: tuple[str, ...]
    arxiv: str
    notes: tuple[Note, ...]
    subscriptions: tuple[str, ...]
    volume: str | None
    span: DaySpan | None
    checked_at: datetime | None
    papers: tuple[DigestEntry, ...]


def read_query(
    name: str,
    query: Query,
    subscriptions: Iterable[Subscription],
    found: Found | None,
    here: Here,
    *,
    limit: int,
) -> QueryReading:
    """Say how a query is read, and what it brought of what is stored."""
    return QueryReading(
        here=here,
        name=name,
        query=query.text,
        canonical=query.canonical,
        pasted_as=query.pasted_as,
        outline=tuple(print_outline(query.tree)),
        arxiv=to_arxiv(query),
        notes=query.notes,
        subscriptions=tuple(one.name for one in subscriptions if name in one.queries),
        volume=describe_volume(found.span, found.papers) if found else None,
        span=found.span if found else None,
        checked_at=found.checked_at if found else None,
        papers=tuple(
            DigestEntry(Kind.NEW, paper, "", (), find_reasons(query, paper), paper.published.date())
            for paper in (found.papers[:limit] if found else ())
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatus(StoredQuery):
    """A saved query, who follows it, the papers it matched by day, and how much it brings in words."""

    subscriptions: tuple[str, ...]
    days: tuple[DayCount, ...]
    volume: str


@dataclass(frozen=True, slots=True)
class QueryList:
    """The saved queries of the file, and what of digest.toml the next run takes over, "" for nothing."""

    queries: tuple[QueryStatus, ...]
    edited: str


def list_queries(conn: Connection, config: Config, now: datetime) -> QueryList:
    """Gather the saved queries, what each brought, and who follows it."""
    followers = defaultdict[str, list[str]](list)
    for due in load_subscriptions(conn):
        for revision in () if due.is_personal else due.revisions:
            followers[revision.name].append(due.subscription.name)
    found = []
    for one in load_queries(conn):
        days = tuple(load_query_counts(conn, one.name, now - MATCH_SPAN))
        volume = describe_matches(days, one.created_at, now)
        own = {each.name: getattr(one, each.name) for each in fields(one)}
        found.append(
            QueryStatus(**own, subscriptions=tuple(followers[one.name]), days=days, volume=volume)
        )
    return QueryList(tuple(found), describe_pending_edits(config, conn))


def describe_pending_edits(config: Config, conn: Connection) -> str:
    """Say what of the file a run will take over: not what can't be read; "" for nothing."""
    dues = {due.subscription.name: due for due in load_subscriptions(conn) if not due.is_personal}
    live = [due.subscription for due in dues.values()]
    stored = _list_followed(((query.name, query.text) for query in load_queries(conn)), live)
    written = _list_followed(
        ((query.name, query.text) for query in config.queries), config.subscriptions
    )
    for one in config.subscriptions:
        if one.name in dues and find_new_destinations(conn, dues[one.name], one):
            del stored[f"subscription {one.name}"]
    left_out = {f"query {query.name}" for query in config.queries if read_saved(query.text) is None}
    left_out |= {
        f"subscription {one.name}"
        for one in config.subscriptions
        if find_unread(one, config.query_names)
    }
    names = [name for name in {**written, **stored} if stored.get(name) != written.get(name)]
    names = [name for name in names if name not in left_out]
    if not names:
        return ""
    return (
        f"digest.toml was edited since the last run. `digest run` takes over: {', '.join(names)}."
    )


def _list_followed(
    queries: Iterable[tuple[str, str]], subscriptions: Iterable[Subscription]
) -> dict[str, tuple[object, ...]]:
    wishes: dict[str, tuple[object, ...]] = {
        f"query {name}": (text,) for name, text in queries if name != text
    }
    return wishes | {
        f"subscription {one.name}": (one.cadence, one.kinds, one.queries) for one in subscriptions
    }
