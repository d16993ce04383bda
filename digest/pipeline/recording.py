"""One look at arXiv being recorded: its start, each page with what it changed, and how it ended."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from digest.announcements import Kind, estimate_mailings, latest_mailing, mailings_between
from digest.arxiv.atom import AtomPage
from digest.arxiv.oai import OaiPage
from digest.comparing import Horizon, compare_papers, keep_latest
from digest.counting import count
from digest.errors import ArxivDoubtful, ArxivError, ArxivFaulted, ArxivRejected
from digest.papers import ArxivId
from digest.planning.coverage import VISIBLE_AFTER
from digest.planning.doubts import Walked, doubt_harvest, doubt_search
from digest.planning.polls import Source
from digest.store import cursors as cursor_store
from digest.store import mailings as mailing_store
from digest.store import marks as mark_store
from digest.store import pages as page_store
from digest.store import papers as paper_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.arxiv.client import Fetched
    from digest.comparing import Change, KnownPaper
    from digest.papers import Paper
    from digest.pipeline.horizons import Judge
    from digest.pipeline.poll_report import PollReport
    from digest.pipeline.site import Site
    from digest.store.cursors import Cursor, Together
    from digest.store.runs import PollRun


class RecordedRun:
    """One poll run of one source, from its first request to its end.

    Args:
        site: the installation.
        report: is added to.
        source: where the papers come from.
        query_key: the canonical query; "" for a harvest.
        judge: what it judges news by, the horizon of each paper.
        is_bootstrap: whether this is the source's very first look.
        lookback: days it reaches back.
        together: the queries that a search for several stands for: when it is complete, they have been
            looked for.
    """

    def __init__(
        self,
        site: Site,
        report: PollReport,
        source: Source,
        query_key: str = "",
        *,
        judge: Judge,
        is_bootstrap: bool = False,
        lookback: int = 0,
        together: Together | None = None,
    ) -> None:
        self._site, self._report, self._source, self._query_key = site, report, source, query_key
        self._is_bootstrap, self._lookback, self._together = is_bootstrap, lookback, together
        self._is_single = source is Source.QUERY and query_key != ""
        self._judge = judge
        self._id = 0
        self._pages = self._papers = self._new = self._changed = self._quarantined = 0
        self._highest: ArxivId | None = None
        self._total: int | None = None
        self._token: int | None = None
        self._asked = site.client.requests
        self._shortfall = ""
        self._window_from = date.min
        self._was_widened = False
        self.failure: ArxivError | None = None

    @property
    def id(self) -> int:
        """Its number in the ledger; 0 before it began."""
        return self._id

    @property
    def papers(self) -> int:
        """How many papers it has compared."""
        return self._papers

    @property
    def stops_all(self) -> bool:
        """Whether asking for anything else now is pointless: arXiv is away, or asked for a pause.

        arXiv fails inside at some queries for good, so one such search speaks of its query alone.
        """
        if isinstance(self.failure, ArxivFaulted) and self._is_single:
            return self._report.faulted > 1
        return self.failure is not None and not isinstance(self.failure, ArxivRejected)

    @contextmanager
    def recording(self, *, window_from: date, resumed: PollRun | None = None) -> Iterator[None]:
        """Keep the run's start and its end; an error of arXiv is kept too, and does not go further.

        Args:
            window_from: the first UTC day asked for.
            resumed: the run that was broken off and that this one goes on with.
        """
        site, started = self._site, self._site.clock.now()
        self._highest = ArxivId.parse(resumed.highest_id) if resumed and resumed.highest_id else None
        self._window_from = window_from
        with site.store.begin() as conn:
            newest = mailing_store.find_newest(conn, is_harvested=True)
            cursor = cursor_store.load_cursor(conn, self._source, self._query_key)
            before = run_store.last_runs(conn, self._source, 1, query_key=self._query_key)
            last_total = run_store.last_total(conn, self._source, self._query_key)
            self._id = run_store.start_run(
                conn,
                source=self._source,
                query_key=self._query_key,
                window_from=window_from,
                at=started,
                is_bootstrap=self._is_bootstrap,
                lookback=self._lookback,
                next_token=resumed.next_token if resumed else "",
                highest_id=str(self._highest or ""),
                owner=site.owner,
            )
        try:
            yield
            walked = self._describe(self._window_from)
            last_empty = before[0].finished_at if before and not before[0].papers else None
            if self._source is Source.HARVEST:
                self._doubt(doubt_harvest(walked, newest, last_empty))
            elif self._source in (Source.QUERY, Source.FALLBACK):
                self._doubt(doubt_search(walked, last_total, last_empty))
        except ArxivError as error:
            self.failure = error
            self._report.failures.append(error.message)
            self._report.faulted += isinstance(error, ArxivFaulted) and self._is_single
            self._report.is_cut_short = self._report.is_cut_short or self.stops_all
            self._fail(error.message)
        else:
            if self._shortfall:
                self._fail(self._shortfall)
                return
            self._complete(started, cursor, self._window_from)
            self._report.runs += 1

    def widen(self, window_from: date) -> date:
        """Note that nothing was found, and that it is looked for since an earlier day; return that day."""
        self._window_from, self._was_widened = window_from, True
        with self._site.store.begin() as conn:
            run_store.widen_run(conn, self._id, window_from)
        return window_from

    def note_shortfall(self, reason: str) -> None:
        """Note that all went well but not all was asked: the run is partial, and nobody's fault."""
        self._shortfall = reason

    def store_page(self, page: Fetched[AtomPage] | Fetched[OaiPage]) -> None:
        """Commit one page: raw bytes, papers, versions, changes, what was set aside, and the counts."""
        site, at = self._site, page.fetched_at
        papers, quarantined = page.page.papers, page.page.quarantined
        with site.store.begin() as conn:
            changes = store_changes(
                conn, papers, self._judge, run_id=self._id, at=at, as_of=page.page.response_date
            )
            page_store.save_page(conn, self._id, number=self._pages, url=page.url, at=at, body=page.body)
            page_store.quarantine_entries(conn, self._id, self._pages, quarantined, at)
            self._count(papers, changes, len(quarantined))
            run_store.note_page(
                conn,
                self._id,
                papers=self._papers,
                new=self._new,
                changed=self._changed,
                highest_id=str(self._highest or ""),
                next_token=(page.page.token or "") if isinstance(page.page, OaiPage) else "",
            )
        if isinstance(page.page, AtomPage):
            self._total = page.page.total
        self._token = page.grant.token if page.grant else None
        site.progress.update(self._count_read())

    def summary(self) -> str:
        """Say in words what came of the run."""
        if self.failure is not None:
            return self.failure.message
        if self._shortfall:
            return f"{self._count_read()}; {self._shortfall}"
        return f"{self._count_read()}, complete" if self._papers else "complete: nothing there"

    def _count_read(self) -> str:
        return f"{count(self._papers, 'paper')} on {count(self._pages, 'page')}"

    def _describe(self, window_from: date) -> Walked:
        highest = self._highest.announcement_order if self._highest else (0, 0)
        ended_at = self._site.clock.now()
        return Walked(
            window_from, self._papers, self._quarantined, highest, ended_at, was_widened=self._was_widened
        )

    def _doubt(self, reason: str) -> None:
        if reason:
            raise ArxivDoubtful(reason, hint="What came is kept; the next look asks again.")

    def _count(self, papers: tuple[Paper, ...], changes: tuple[Change, ...], quarantined: int) -> None:
        report = self._report
        self._pages += 1
        self._papers += len(papers)
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

    def _fail(self, failure: str) -> None:
        with self._site.store.begin() as conn:
            self._finish(conn, "partial" if self._pages else "failed", failure)

    def _complete(self, started: datetime, before: Cursor, window_from: date) -> None:
        with self._site.store.begin() as conn:
            self._finish(conn, "complete" if self._papers else "empty")
            if self._source in (Source.HARVEST, Source.QUERY):
                since = (before.last_complete_at or started) - VISIBLE_AFTER[self._source]
                self._report.mailings |= _assign_mailings(conn, since, started)
            has_moved = cursor_store.move_cursor(
                conn,
                source=self._source,
                query_key=self._query_key,
                run_id=self._id,
                started_at=started,
                mark=self._find_mark(window_from) if self._source is Source.HARVEST else (0, 0),
                gate_token=self._token,
            )
            if has_moved and self._together is not None:
                mark = self._together.mark
                cursor_store.move_together(
                    conn,
                    source=self._source,
                    run_id=self._id,
                    started_at=started,
                    together=self._together,
                    mark=mark if mark > (0, 0) else self._find_mark(window_from),
                )

    def _find_mark(self, window_from: date) -> tuple[int, int]:
        """Return the announcement order up to which everything was out before this look.

        Ids of the month before still come out on its last evening, so a look that met none counts from the
        month it looked back to.
        """
        highest = self._highest.announcement_order if self._highest else (0, 0)
        return max(highest, (window_from.year * 100 + window_from.month, 0))

    def _finish(self, conn: Connection, outcome: str, failure: str = "") -> None:
        requests = self._site.client.requests - self._asked
        self._report.requests += requests
        run_store.finish_run(
            conn,
            self._id,
            outcome=outcome,
            at=self._site.clock.now(),
            pages=self._pages,
            papers=self._papers,
            new=self._new,
            changed=self._changed,
            total=self._total,
            highest_id=str(self._highest or ""),
            failure=failure,
            requests=requests,
        )


def store_changes(
    conn: Connection,
    papers: tuple[Paper, ...],
    judge: Judge,
    *,
    run_id: int,
    at: datetime,
    as_of: datetime | None,
) -> tuple[Change, ...]:
    """Hold the papers of one page against what is stored, and store what differs.

    Args:
        conn: the transaction that stores the page.
        papers: as they were read from it.
        judge: each paper's horizon.
        run_id: the run the page belongs to.
        at: when it was fetched (UTC).
        as_of: arXiv's own time of it (UTC).
    """
    mark_store.hold_changes(conn)  # who stores the same papers at once waits, and finds them known
    known = paper_store.load_known(conn, [paper.id for paper in papers])
    changes = _compare_by_horizon(papers, known, judge, as_of)
    paper_store.save_changes(conn, changes, run_id=run_id, at=at, as_of=as_of)
    return changes


def _assign_mailings(conn: Connection, since: datetime, until: datetime) -> Counter[date]:
    """Keep which mailing brought each new paper; return how many each brought.

    Args:
        conn: a writing transaction.
        since: mailings that went out until then were there to be seen by the last complete look (UTC).
        until: when this one began (UTC).
    """
    announced = mailing_store.find_unassigned(conn)
    candidates = list(mailings_between(since, until)) or [latest_mailing(until)]
    mailings = estimate_mailings([paper.published for paper in announced], candidates)
    mailing_store.assign_mailings(
        conn, {paper.key: mailing for paper, mailing in zip(announced, mailings, strict=True)}
    )
    return Counter(mailings)


def _compare_by_horizon(
    papers: tuple[Paper, ...],
    known: Mapping[ArxivId, KnownPaper],
    judge: Judge,
    as_of: datetime | None,
) -> tuple[Change, ...]:
    """Compare papers judged by the same horizon together, so that a paper met twice still counts once.

    What is stored is judged only where it was edited: among many saved queries that takes time.
    """
    stored = compare_papers([paper for paper in papers if paper.id in known], known, Horizon(), as_of)
    changes = [
        replace(change, kind=Kind.KNOWN)
        if change.kind is Kind.METADATA and judge(change.paper).is_bootstrap
        else change
        for change in stored
    ]
    groups: dict[Horizon, list[Paper]] = {}
    for paper in keep_latest(papers):
        if paper.id not in known:
            groups.setdefault(judge(paper), []).append(paper)
    for horizon, group in groups.items():
        changes += compare_papers(group, known, horizon, as_of)
    return tuple(sorted(changes, key=lambda change: change.paper.id))
