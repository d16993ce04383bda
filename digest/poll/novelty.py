"""Decides what is new to each source of papers, and stores it.

The first check of a source meets old papers, and among them ones that somebody was already
watching for: other saved queries, what this one said before it was edited, or the harvest. Those
stay new, whichever check brings them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TypeAlias

from sqlalchemy import Connection

from digest.compare import (
    KnownBefore,
    compare_forgotten,
    compare_papers,
    content_hash,
    is_first_news,
    keep_latest,
)
from digest.model.announcements import (
    Change,
    Kind,
    KnownPaper,
    announcements_between,
    estimate_announcements,
    latest_announcement,
)
from digest.model.papers import ArxivId, Paper
from digest.model.polls import Source
from digest.poll import rules
from digest.query import Query, analyse, matches, parse_query
from digest.store import changes, papers, queries, runs
from digest.store.papers import STORED
from digest.store.queries import AskedQuery
from digest.store.runs import Cursor

NoveltyRule: TypeAlias = "Callable[[Paper], KnownBefore]"
"""By what a check decides what is new: what was known before, for each paper."""


def read_known_before(cursor: Cursor) -> KnownBefore:
    """Return what a source had announced before Digest first checked arXiv, from its cursor."""
    mark = (cursor.mark_month, cursor.mark_number)
    began_at = cursor.bootstrapped_at
    if began_at is None:
        return KnownBefore(is_bootstrap=not cursor.is_bootstrapped, mark=mark)
    return KnownBefore(
        is_bootstrap=not cursor.is_bootstrapped,
        mark=mark,
        since=began_at - rules.EDIT_MARGIN,
        began_on=began_at.astimezone(UTC).date(),
    )


@dataclass(frozen=True, slots=True)
class FollowedQuery:
    """A query that somebody has watched for without a break.

    `oldest`: papers whose present version is older (UTC) are none; None if their ids show that.
    """

    known_before: KnownBefore
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class NoveltyRules:
    """What was known before to the harvest, and to every saved query that is searched for.

    Attributes:
        followed: queries somebody has watched for without a break, each with what it knew: those in
            force that were searched for or harvested, and what others said, or were put in the
            place of, before an edit.
        searched: the canonical queries that were searched for since they are wanted.
        checked: by canonical query, when the last complete check started (UTC) that was made for
            it, or for what it was before it was edited; those without any are missing.
    """

    harvest: KnownBefore
    followed: dict[str, KnownBefore] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    checked: dict[str, datetime] = field(default_factory=dict)

    def harvest_rule(self) -> NoveltyRule:
        """Return by what the harvest decides what is new.

        In its first check it asks what searches found.
        """
        if not self.harvest.is_bootstrap:
            return make_novelty_rule(self.harvest)
        watched = {text: FollowedQuery(known, known.since) for text, known in self.followed.items()}
        return make_novelty_rule(self.harvest, watched)

    def search_rule(self) -> NoveltyRule:
        """Return by what searches for saved queries decide what is new: to a query that waited.

        The first search for a query found all that was there then, if no older than it reached:
        what was not met is new, if late or cross-listed later. After a harvest the ids show what
        came out later.
        """
        watched = {}
        for text, known in self.followed.items():
            watched[text] = FollowedQuery(known, _find_oldest(known))
        return make_novelty_rule(KnownBefore(is_bootstrap=True), watched)


def _find_oldest(known_before: KnownBefore) -> datetime | None:
    """Return how far back (UTC) the first search for a query reached.

    It is None if ids show what came out later.
    """
    if known_before.mark > (0, 0) or known_before.since is None:
        return None
    began_at = known_before.since + rules.EDIT_MARGIN
    return began_at - timedelta(days=rules.LONGEST_LOOKBACK)


def load_novelty_rules(conn: Connection) -> NoveltyRules:
    """Return what the harvest and all saved queries in force knew before."""
    harvest = runs.load_cursor(conn, Source.HARVEST)
    searched = runs.load_cursors(conn, Source.QUERY)
    novelty = NoveltyRules(read_known_before(harvest))
    for watch in queries.load_asked(conn):
        text = watch.canonical
        cursor = searched.get(text)
        by_harvest = _find_last_check(harvest, watch)
        by_search = _find_last_check(cursor, watch)
        if cursor is not None and by_search is not None:
            novelty.followed[text] = read_known_before(cursor)
            novelty.searched.add(text)
        elif by_harvest is not None:
            # Until now everything was checked, for this query too.
            novelty.followed[text] = read_known_before(harvest)
        else:
            for former in _choose_former(searched, watch):
                novelty.followed[former.query_key] = read_known_before(former)
                by_search = former.last_complete_at
        checks = [moment for moment in (by_harvest, by_search) if moment is not None]
        if checks:
            novelty.checked[text] = max(checks)
    return novelty


def _choose_former(searched: Mapping[str, Cursor], watch: AskedQuery) -> list[Cursor]:
    """Return the searches for what a query was before: what it replaced, else its last text."""
    texts = (*watch.replaced, *watch.earlier)
    cursors = [searched[text] for text in texts if text in searched]
    known = [cursor for cursor in cursors if cursor.is_bootstrapped]
    replaced = [cursor for cursor in known if cursor.query_key in watch.replaced]
    return replaced or known[:1]


def _find_last_check(cursor: Cursor | None, watch: AskedQuery) -> datetime | None:
    """Return when a source was last checked while a query was wanted.

    Earlier spans, which were interrupted, do not count.
    """
    if cursor is None or cursor.last_complete_at is None:
        return None
    return cursor.last_complete_at if cursor.last_complete_at >= watch.since else None


def make_novelty_rule(
    own: KnownBefore, watched: Mapping[str, FollowedQuery] | None = None
) -> NoveltyRule:
    """Return what one check knew before, for each paper.

    `own` says what is new to the check itself, `watched` what else is new if it matches a
    canonical query.
    """
    texts: dict[FollowedQuery, list[str]] = {}
    for text, followed in (watched or {}).items():
        texts.setdefault(followed, []).append(text)

    @cache  # most papers need no query, so none is parsed before
    def read_watched() -> list[_WatchedQueries]:
        groups = []
        for followed, group in texts.items():
            group.sort()
            queries = [parse_query(text) for text in group]
            groups.append(_WatchedQueries(followed, group[0], queries))
        groups.sort(key=lambda group: (group.followed.known_before.mark, group.first))
        return groups

    def know(paper: Paper) -> KnownBefore:
        if _is_news(own, paper):
            return own
        return _find_known_before(own, read_watched(), paper)

    return know


@dataclass(frozen=True, slots=True)
class _WatchedQueries:
    """Queries of which the same was known before; `first` is their first canonical text."""

    followed: FollowedQuery
    first: str
    queries: Collection[Query]


def _find_known_before(
    own: KnownBefore, watched: Iterable[_WatchedQueries], paper: Paper
) -> KnownBefore:
    """Return what was known of a paper that is not new to a check.

    The check knew it, or a query that waited for it did.
    """
    ready = analyse(paper)
    for group in watched:
        oldest = group.followed.oldest
        is_recent = oldest is None or paper.updated >= oldest
        if is_recent and any(matches(query, ready) for query in group.queries):
            return group.followed.known_before
    return own


def _is_news(known_before: KnownBefore, paper: Paper) -> bool:
    """Whether a paper that is not stored would be new by what was known before."""
    if known_before.is_bootstrap:
        return False
    if paper.version == 1:
        return is_first_news(paper, known_before)
    return known_before.since is not None and paper.updated >= known_before.since


def store_changes(
    conn: Connection,
    page: Sequence[Paper],
    rule: NoveltyRule,
    *,
    run_id: int,
    at: datetime,
    as_of: datetime | None,
    hashes: Mapping[str, bytes] | None = None,
) -> tuple[Change, ...]:
    """Store how the papers of one page, fetched at a moment (UTC), differ from what is stored.

    `hashes` are those of the records they were read from, by their ids; none for a search.
    """
    # Who stores the same papers at once waits, and finds them known.
    papers.load_mark(conn, STORED, lock=True)
    known = papers.load_known(conn, [paper.id for paper in page])
    forgotten = papers.load_forgotten(conn, [paper.id for paper in page if paper.id not in known])
    present = [paper for paper in page if paper.id not in forgotten]
    returning = [paper for paper in page if paper.id in forgotten]
    found = _compare_by_rule(present, known, rule, as_of)
    for paper in keep_latest(returning):
        begun = forgotten[paper.id]
        found += compare_forgotten(paper, begun.version, begun.begun_hash)
    changes.save(conn, found, content_hash, run_id=run_id, at=at, as_of=as_of, hashes=hashes)
    return found


def _compare_by_rule(
    papers: Sequence[Paper],
    known: Mapping[ArxivId, KnownPaper],
    rule: NoveltyRule,
    as_of: datetime | None,
) -> tuple[Change, ...]:
    """Compare papers of which the same was known before together; one met twice counts once."""
    stored = [paper for paper in papers if paper.id in known]
    changes = []
    for change in compare_papers(stored, known, KnownBefore(), as_of):
        if change.kind is Kind.METADATA and rule(change.paper).is_bootstrap:
            changes.append(replace(change, kind=Kind.KNOWN))
        else:
            changes.append(change)
    groups: dict[KnownBefore, list[Paper]] = {}
    for paper in keep_latest(papers):
        if paper.id not in known:
            groups.setdefault(rule(paper), []).append(paper)
    for known_before, group in groups.items():
        changes += compare_papers(group, known, known_before, as_of)
    changes.sort(key=lambda change: change.paper.id)
    return tuple(changes)


def assign_new_papers(conn: Connection, source: Source, until: datetime) -> Counter[date]:
    """Keep which announcement brought each new paper; return how many each brought."""
    submitted = papers.load_unassigned(conn)
    if source is Source.GAPS:
        announcements = papers.load_days_before(conn, submitted)
    else:
        checked = Source.QUERY if source is Source.QUERY else Source.HARVEST
        last = runs.load_cursor(conn, checked).last_complete_at or until
        since = last - rules.VISIBLE_AFTER[checked]
        candidates = list(announcements_between(since, until))
        if not candidates:
            candidates = [latest_announcement(until)]
        days = estimate_announcements([*submitted.values()], candidates)
        announcements = dict(zip(submitted, days, strict=True))
    papers.assign_announcements(conn, announcements)
    return Counter(announcements.values())
