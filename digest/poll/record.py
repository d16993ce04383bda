"""Writes a page of records with the coverage it proves, and decides what is new to each source.

The first check of a source meets old papers, and among them ones that somebody was already
watching for: other saved queries, what this one said before it was edited, or the harvest. Those stay
new, whichever check brings them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TypeAlias

from sqlalchemy import Connection

from digest.arxiv.atom import AtomPage
from digest.arxiv.client import Fetched
from digest.arxiv.oai import OaiPage
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
from digest.model.errors import ArxivError, ArxivRejected, ArxivUnreadable
from digest.model.messages import Coverage
from digest.model.numbers import count
from digest.model.papers import ArxivId, Paper
from digest.model.polls import Source
from digest.model.said import NOTHING, Said
from digest.model.subscriptions import UncheckedTurn
from digest.poll import rules
from digest.query import Query, analyse, matches, parse_query
from digest.site import Site
from digest.store.changes import save_changes
from digest.store.papers import (
    STORED,
    assign_announcements,
    count_announced,
    load_days_before,
    load_forgotten,
    load_known,
    load_mark,
    load_newest_paper,
    load_unassigned,
)
from digest.store.queries import AskedQuery, load_asked_queries
from digest.store.runs import (
    Cursor,
    PollRun,
    finish_run,
    load_cursor,
    load_cursors,
    load_last_runs,
    load_last_start,
    load_last_total,
    load_polls_since,
    load_recent_polls,
    move_cursor,
    note_progress,
    quarantine_entries,
    start_run,
)

NoveltyRule: TypeAlias = "Callable[[Paper], KnownBefore]"
"""By what a check decides what is new: what was known before, for each paper."""

_KIND_WORDS = {
    Kind.NEW: "new",
    Kind.CROSS_LIST: "cross-listed",
    Kind.REPLACEMENT: "replaced",
    Kind.WITHDRAWAL: "withdrawn",
    Kind.METADATA: "edited",
    Kind.KNOWN: "from before the first check",
}


def read_known_before(cursor: Cursor) -> KnownBefore:
    """Return what a source had announced before Digest first checked arXiv, from its cursor."""
    return KnownBefore(
        is_bootstrap=not cursor.is_bootstrapped,
        mark=(cursor.mark_month, cursor.mark_number),
        since=cursor.bootstrapped_at - rules.EDIT_MARGIN if cursor.bootstrapped_at else None,
        began_on=cursor.bootstrapped_at.astimezone(UTC).date() if cursor.bootstrapped_at else None,
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
        followed: queries somebody has watched for without a break, each with what it knew: those in force that
            were searched for or harvested, and what others said, or were put in the place of, before an edit.
        searched: the canonical queries that were searched for since they are wanted.
        checked: by canonical query, when the last complete check started (UTC) that was made for it, or for
            what it was before it was edited; those without any are missing.
    """

    harvest: KnownBefore
    followed: dict[str, KnownBefore] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    checked: dict[str, datetime] = field(default_factory=dict)

    def harvest_rule(self) -> NoveltyRule:
        """Return by what the harvest decides what is new; in its first check it asks what searches found."""
        watched = [
            (text, FollowedQuery(known, known.since)) for text, known in self.followed.items()
        ]
        return make_novelty_rule(self.harvest, watched if self.harvest.is_bootstrap else ())

    def search_rule(self) -> NoveltyRule:
        """Return by what searches for saved queries decide what is new: to a query that waited for it.

        The first search for a query found all that was there then, if no older than it reached: what was not met
        is new, if late or cross-listed later. After a harvest the ids show what came out later.
        """
        watched = [
            (text, FollowedQuery(known, _find_oldest(known)))
            for text, known in self.followed.items()
        ]
        return make_novelty_rule(KnownBefore(is_bootstrap=True), watched)


def _find_oldest(known_before: KnownBefore) -> datetime | None:
    """Return how far back (UTC) the first search for a query reached; None if ids show what came out later."""
    if known_before.mark > (0, 0) or known_before.since is None:
        return None
    return known_before.since + rules.EDIT_MARGIN - timedelta(days=rules.LONGEST_LOOKBACK)


def load_novelty_rules(conn: Connection) -> NoveltyRules:
    """Return what the harvest and all saved queries in force knew before."""
    harvest = load_cursor(conn, Source.HARVEST)
    searched = load_cursors(conn, Source.QUERY)
    novelty = NoveltyRules(read_known_before(harvest))
    for watch in load_asked_queries(conn):
        text, cursor = watch.canonical, searched.get(watch.canonical)
        by_harvest, by_search = _last_check(harvest, watch), _last_check(cursor, watch)
        if cursor is not None and by_search is not None:
            novelty.followed[text] = read_known_before(cursor)
            novelty.searched.add(text)
        elif by_harvest is not None:
            # Until now everything was checked, for this query too.
            novelty.followed[text] = read_known_before(harvest)
        else:
            before = [searched[one] for one in (*watch.replaced, *watch.earlier) if one in searched]
            known = [cursor for cursor in before if cursor.is_bootstrapped]
            for cursor in [one for one in known if one.query_key in watch.replaced] or known[:1]:
                novelty.followed[cursor.query_key] = read_known_before(cursor)
                by_search = cursor.last_complete_at
        looks = [look for look in (by_harvest, by_search) if look is not None]
        if looks:
            novelty.checked[text] = max(looks)
    return novelty


def _last_check(cursor: Cursor | None, watch: AskedQuery) -> datetime | None:
    """Return when a source was last checked while a query was wanted; earlier interrupted spans do not count."""
    last = cursor.last_complete_at if cursor is not None else None
    return last if last is not None and last >= watch.since else None


def make_novelty_rule(
    own: KnownBefore, watched: Iterable[tuple[str, FollowedQuery]] = ()
) -> NoveltyRule:
    """Return what one check knew before, for each paper.

    `own` says what is new to the check itself, `followed` what else is new if it matches a canonical query.
    """
    groups: dict[FollowedQuery, list[str]] = {}
    for text, watch in watched:
        groups.setdefault(watch, []).append(text)

    @cache
    def read_watched() -> list[tuple[FollowedQuery, list[Query]]]:  # most papers need no query
        ordered = sorted(
            groups.items(), key=lambda group: (group[0].known_before.mark, min(group[1]))
        )
        return [(watch, [*map(parse_query, sorted(texts))]) for watch, texts in ordered]

    return lambda paper: (
        own if _is_news(own, paper) else _find_known_before(own, read_watched(), paper)
    )


def _find_known_before(
    own: KnownBefore, watched: Iterable[tuple[FollowedQuery, Collection[Query]]], paper: Paper
) -> KnownBefore:
    """Return what was known of a paper that is not new to a check: by it, or by a query that waited for it."""
    ready = analyse(paper)
    for watch, queries in watched:
        is_recent = watch.oldest is None or paper.updated >= watch.oldest
        if is_recent and any(matches(query, ready) for query in queries):
            return watch.known_before
    return own


def _is_news(known_before: KnownBefore, paper: Paper) -> bool:
    """Whether a paper that is not stored would be new by what was known before."""
    if known_before.is_bootstrap:
        return False
    if paper.version == 1:
        return is_first_news(paper, known_before)
    return known_before.since is not None and paper.updated >= known_before.since


@dataclass
class PollReport:
    """What one pass asked arXiv, for people and for `--json`.

    Attributes:
        why_not: why nothing was asked, in words; "" if something was.
        is_cut_short: arXiv was away or asked for a pause: what is missing will be there another time.
        awaiting: canonical queries whose first digest waits until arXiv has answered.
        refused: canonical queries that arXiv's search does not take: nothing waits for these.
        announcements: how many papers announced for the first time each announcement brought, by Eastern date.
    """

    was_due: bool = False
    why_not: str = ""
    is_bootstrap: bool = False
    runs: int = 0
    pages: int = 0
    papers: int = 0
    kinds: dict[Kind, int] = field(default_factory=dict)
    quarantined: int = 0
    failures: list[Said] = field(default_factory=list)
    is_cut_short: bool = False
    requests: int = 0
    awaiting: frozenset[str] = frozenset()
    refused: set[str] = field(default_factory=set)
    announcements: Counter[date] = field(default_factory=Counter)

    @property
    def caught_up(self) -> list[date]:
        """The announcements that came out while nobody checked, and the last one, in order; as a rule []."""
        return sorted(self.announcements) if len(self.announcements) > 1 else []

    @property
    def has_nothing(self) -> bool:
        """Whether the check failed before it met any paper: "nothing changed" would be wrong."""
        return bool(self.failures) and not self.papers

    def describe_changes(self) -> str:
        """Say how many changes of each kind, in a digest's order; of a first check how much it found."""
        if self.is_bootstrap and self.kinds.keys() <= {Kind.KNOWN}:
            return f"{count(self.kinds.get(Kind.KNOWN, 0), 'paper')}, known from now on"
        found = [
            f"{self.kinds[kind]:,} {word}"
            for kind, word in _KIND_WORDS.items()
            if self.kinds.get(kind)
        ]
        return " · ".join(found) or "nothing changed"


class RecordedRun:
    """One poll run of one source, from its first request to its end.

    `query_key` is the canonical query, "" for a harvest; `lookback` counts the days it reaches back. `papers` says
    how many it has compared so far.
    """

    def __init__(
        self,
        site: Site,
        report: PollReport,
        source: Source,
        query_key: str = "",
        *,
        rule: NoveltyRule,
        is_bootstrap: bool = False,
        lookback: int = 0,
    ) -> None:
        self._site, self._report, self._source, self._query_key = site, report, source, query_key
        self._is_bootstrap, self._lookback = is_bootstrap, lookback
        self._judge = rule
        self._id = 0
        self.papers = 0
        self._pages = self._new = self._changed = self._quarantined = 0
        self._highest: ArxivId | None = None
        self._totals: dict[str, int] = {}
        self._token: int | None = None
        self._asked = site.client.requests
        self._shortfall = NOTHING
        self._reader_message = ""
        self._started = site.clock.now()
        self._window_from = date.min
        self._was_widened = False
        self.failure: ArxivError | None = None

    @property
    def stops_all(self) -> bool:
        """Whether asking for anything else now is pointless: arXiv is away, or asked for a pause."""
        return self.failure is not None and not isinstance(self.failure, ArxivRejected)

    @contextmanager
    def recording(self, *, window_from: date, resumed: PollRun | None = None) -> Iterator[None]:
        """Keep the run's start and its end; an error of arXiv is kept too, and does not go further."""
        site = self._site
        self._highest = (
            ArxivId.parse(resumed.highest_id) if resumed and resumed.highest_id else None
        )
        self._window_from = window_from
        with site.store.begin() as conn:
            newest = load_newest_paper(conn, is_harvested=True)
            before = load_last_runs(conn, self._source, 1)
            last_total = load_last_total(conn, self._source)
            self._id = start_run(
                conn,
                source=self._source,
                query_key=self._query_key,
                window_from=window_from,
                at=self._started,
                is_bootstrap=self._is_bootstrap,
                lookback=self._lookback,
                next_token=resumed.next_token if resumed else "",
                highest_id=str(self._highest or ""),
                owner=site.owner,
            )
        try:
            yield
            walked = rules.Walked(
                self._window_from,
                self.papers,
                self._quarantined,
                self._highest.announcement_order if self._highest else (0, 0),
                site.clock.now(),
                was_widened=self._was_widened,
            )
            last_empty = before[0].finished_at if before and not before[0].papers else None
            if self._source is Source.HARVEST:
                self._doubt(rules.find_harvest_doubt(walked, newest, last_empty))
            elif self._source in (Source.QUERY, Source.FALLBACK) and not self._shortfall:
                self._doubt(rules.find_search_doubt(walked, last_total, last_empty))
        except ArxivError as error:
            self.failure = error
            self._report.failures.append(error.said)
            self._report.is_cut_short = self._report.is_cut_short or self.stops_all
            self._finish(error.said, error.reader_message)
        else:
            self._finish(self._shortfall, self._reader_message)

    def widen(self, window_from: date) -> date:
        """Note that nothing was found, and that it is searched for since an earlier day; return that day."""
        self._window_from, self._was_widened = window_from, True
        with self._site.store.begin() as conn:
            note_progress(conn, self._id, window_from=window_from)
        return window_from

    def note_shortfall(self, reason: Said, reader_message: str = "") -> None:
        """Note that not all was asked for or came, though what came is good: the run is partial.

        `reader_message` says why to readers.
        """
        self._shortfall, self._reader_message = (
            self._shortfall or reason,
            self._reader_message or reader_message,
        )

    def note_searched(self, text: str, *, begins: bool) -> None:
        """Note that one saved query, of several, was searched for to the end; `begins` for the first time.

        An empty answer moves no query on that was searched for before: it may have to be doubted.
        """
        if not (begins or self._totals[text]):
            return
        with self._site.store.begin() as conn:
            move_cursor(
                conn,
                source=self._source,
                query_key=text,
                run_id=self._id,
                started_at=self._started,
                gate_token=self._token,
                begins=begins,
            )

    def store_page(self, page: Fetched[AtomPage] | Fetched[OaiPage], query: str = "") -> None:
        """Commit one page: papers, versions, changes, what was set aside, and the counts.

        `query` is the canonical text that it answers, in a run that searches for several.
        """
        site, at = self._site, page.fetched_at
        papers, quarantined = page.page.papers, page.page.quarantined
        with site.store.begin() as conn:
            changes = store_changes(
                conn, papers, self._judge, run_id=self._id, at=at, as_of=page.page.response_date
            )
            set_aside = ((entry.position, entry.error, entry.snippet) for entry in quarantined)
            quarantine_entries(
                conn, self._id, self._pages, set_aside, at, readable=[paper.id for paper in papers]
            )
            self._count(papers, changes, len(quarantined))
            note_progress(
                conn,
                self._id,
                pages=self._pages,
                papers=self.papers,
                new=self._new,
                changed=self._changed,
                highest_id=str(self._highest or ""),
                next_token=(page.page.token or "") if isinstance(page.page, OaiPage) else "",
            )
        if isinstance(page.page, AtomPage):
            self._totals[query] = page.page.total
        self._token = page.grant.token if page.grant and site.has_gate else None
        site.progress.update(self._count_read())

    def summary(self) -> str:
        """Say in words what came of the run."""
        if self.failure is not None:
            return self.failure.message
        if self._shortfall:
            return f"{self._count_read()}; {self._shortfall}"
        return f"{self._count_read()}, complete" if self.papers else "no papers, complete"

    def _count_read(self) -> str:
        return f"{count(self.papers, 'paper')} on {count(self._pages, 'page')}"

    def _doubt(self, reason: str) -> None:
        if reason:
            raise ArxivUnreadable(reason, hint="What came is kept. The next check asks again.")

    def _count(
        self, papers: tuple[Paper, ...], changes: tuple[Change, ...], quarantined: int
    ) -> None:
        report = self._report
        self._pages += 1
        self.papers += len(papers)
        self._quarantined += quarantined
        self._new += sum(change.kind is Kind.NEW for change in changes)
        self._changed += sum(change.known is not None for change in changes)
        recent = [paper.id for paper in papers if not paper.id.archive]
        self._highest = max([*recent, *filter(None, [self._highest])], default=None)
        report.pages += 1
        report.papers += len(papers)
        report.quarantined += quarantined
        for change in changes:
            report.kinds[change.kind] = report.kinds.get(change.kind, 0) + 1

    def _find_mark(self) -> tuple[int, int]:
        """Return how far everything was out; ids of the month before still come out on its last evening."""
        highest = self._highest.announcement_order if self._highest else (0, 0)
        return max(highest, (self._window_from.year * 100 + self._window_from.month, 0))

    def _finish(self, failure: Said, reader_message: str) -> None:
        """Keep how the run ended; nothing said is no failure."""
        requests = self._site.client.requests - self._asked
        self._report.requests += requests
        outcome = (
            ("partial" if self._pages else "failed")
            if failure
            else "complete"
            if self.papers
            else "empty"
        )
        with self._site.store.begin() as conn:
            self._report.announcements |= _assign_announcements(conn, self._source, self._started)
            finish_run(
                conn,
                self._id,
                outcome=outcome,
                at=self._site.clock.now(),
                total=sum(self._totals.values()) if self._totals else None,
                failure=failure,
                reader_message=reader_message,
                requests=requests,
            )
            if not failure:
                move_cursor(
                    conn,
                    source=self._source,
                    query_key=self._query_key,
                    run_id=self._id,
                    started_at=self._started,
                    mark=self._find_mark() if self._source is Source.HARVEST else (0, 0),
                    gate_token=self._token,
                )
        self._report.runs += not failure


def load_coverage(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement: each check is for all saved queries."""
    announcement = latest_announcement(now)
    return rules.assess_coverage(
        load_recent_polls(conn, source, now),
        now,
        checks=load_recent_polls(conn, Source.GAPS, now) if source == Source.HARVEST else (),
        new=count_announced(conn, announcement, announcement).get(announcement, 0),
    )


def load_visible(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been checked of the last announcement that arXiv shows by now."""
    return load_coverage(conn, source, now - rules.VISIBLE_AFTER[source])


def load_unchecked(conn: Connection, source: str) -> tuple[UncheckedTurn, ...]:
    """Return the announcements of the week before the last check that were not checked before the next one."""
    last = load_last_start(conn)
    since = last and last - timedelta(days=7)
    return tuple(rules.find_unchecked(load_polls_since(conn, source, since))) if since else ()


def store_changes(
    conn: Connection,
    papers: tuple[Paper, ...],
    rule: NoveltyRule,
    *,
    run_id: int,
    at: datetime,
    as_of: datetime | None,
) -> tuple[Change, ...]:
    """Compare the papers of one page, fetched at a moment (UTC), with what is stored, and store what differs."""
    # Who stores the same papers at once waits, and finds them known.
    load_mark(conn, STORED, lock=True)
    known = load_known(conn, [paper.id for paper in papers])
    gone = load_forgotten(conn, [paper.id for paper in papers if paper.id not in known])
    changes = _compare_by_rule(
        [paper for paper in papers if paper.id not in gone], known, rule, as_of
    )
    for paper in keep_latest(paper for paper in papers if paper.id in gone):
        changes += compare_forgotten(paper, gone[paper.id].version, gone[paper.id].begun_hash)
    save_changes(conn, changes, content_hash, run_id=run_id, at=at, as_of=as_of)
    return changes


def _assign_announcements(conn: Connection, source: Source, until: datetime) -> Counter[date]:
    """Keep which announcement brought each new paper; return how many each brought."""
    submitted = load_unassigned(conn)
    if source is Source.GAPS:
        announcements = load_days_before(conn, submitted)
    else:
        source = Source.QUERY if source is Source.QUERY else Source.HARVEST
        last = load_cursor(conn, source).last_complete_at or until
        candidates = list(announcements_between(last - rules.VISIBLE_AFTER[source], until)) or [
            latest_announcement(until)
        ]
        days = estimate_announcements([*submitted.values()], candidates)
        announcements = dict(zip(submitted, days, strict=True))
    assign_announcements(conn, announcements)
    return Counter(announcements.values())


def _compare_by_rule(
    papers: Sequence[Paper],
    known: Mapping[ArxivId, KnownPaper],
    rule: NoveltyRule,
    as_of: datetime | None,
) -> tuple[Change, ...]:
    """Compare papers of which the same was known before together, so that one met twice counts once."""
    stored = compare_papers(
        [paper for paper in papers if paper.id in known], known, KnownBefore(), as_of
    )
    changes = [
        replace(change, kind=Kind.KNOWN)
        if change.kind is Kind.METADATA and rule(change.paper).is_bootstrap
        else change
        for change in stored
    ]
    groups: dict[KnownBefore, list[Paper]] = {}
    for paper in keep_latest(papers):
        if paper.id not in known:
            groups.setdefault(rule(paper), []).append(paper)
    for known_before, group in groups.items():
        changes += compare_papers(group, known, known_before, as_of)
    return tuple(sorted(changes, key=lambda change: change.paper.id))
