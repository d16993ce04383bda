"""One look at arXiv being recorded: its start, each page with what it changed, and how it ended."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.comparing import compare_papers
from digest.errors import ArxivError, ArxivRejected
from digest.planning.polls import Source
from digest.store import cursors as cursor_store
from digest.store import pages as page_store
from digest.store import papers as paper_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import date, datetime

    from digest.arxiv.atom import AtomPage
    from digest.arxiv.client import Fetched
    from digest.arxiv.oai import OaiPage
    from digest.comparing import Change, Horizon, KnownPaper
    from digest.papers import ArxivId, Paper
    from digest.pipeline.site import Site


_KIND_WORDS = {
    Kind.NEW: "new",
    Kind.CROSS_LIST: "cross-listed",
    Kind.REPLACEMENT: "replaced",
    Kind.WITHDRAWAL: "withdrawn",
    Kind.METADATA: "edited",
    Kind.KNOWN: "known from before",
}


@dataclass
class PollReport:
    """What one pass asked arXiv, for people and for `--json`.

    Attributes:
        was_due: whether anything was asked at all.
        why_not: why nothing was asked, in words; "" where something was.
        is_bootstrap: whether this was the very first look: nothing it found is news.
        runs: looks that ended complete.
        pages: pages stored.
        papers: papers compared.
        kinds: changes found, by kind.
        quarantined: entries set aside because they could not be read.
        failures: what went wrong, one sentence each.
        is_cut_short: arXiv was away or asked for a pause: what is missing will be there another time.
    """

    was_due: bool = False
    why_not: str = ""
    is_bootstrap: bool = False
    runs: int = 0
    pages: int = 0
    papers: int = 0
    kinds: dict[Kind, int] = field(default_factory=dict)
    quarantined: int = 0
    failures: list[str] = field(default_factory=list)
    is_cut_short: bool = False

    def describe_changes(self) -> str:
        """Say how many changes of each kind, in the order a digest shows them."""
        found = [f"{self.kinds[kind]:,} {word}" for kind, word in _KIND_WORDS.items() if self.kinds.get(kind)]
        return " · ".join(found) or "nothing changed"


class RecordedRun:
    """One poll run of one source, from its first request to its end.

    Args:
        site: the installation.
        report: is added to.
        source: where the papers come from.
        query_key: the canonical query; "" for a harvest.
        is_bootstrap: whether this is the source's very first look.
    """

    def __init__(
        self, site: Site, report: PollReport, source: Source, query_key: str, *, is_bootstrap: bool
    ) -> None:
        self._site, self._report, self._source, self._query_key = site, report, source, query_key
        self._is_bootstrap = is_bootstrap
        self._id = 0
        self._pages = self._papers = self._new = self._changed = 0
        self._mark = (0, 0)
        self._token: int | None = None
        self.failure: ArxivError | None = None

    @property
    def stops_all(self) -> bool:
        """Whether asking for anything else now is pointless: arXiv is away, or asked for a pause."""
        return self.failure is not None and not isinstance(self.failure, ArxivRejected)

    @contextmanager
    def recording(self, *, window_from: date) -> Iterator[None]:
        """Keep the run's start and its end; an error of arXiv is kept too, and does not go further."""
        started = self._site.clock.now()
        # Ids of the month before still come out on its last evening, so a look that met none counts from the
        # month it looked back to.
        self._mark = (window_from.year * 100 + window_from.month, 0) if self._source is Source.HARVEST else (0, 0)
        with self._site.store.begin() as conn:
            self._id = run_store.start_run(
                conn,
                source=self._source,
                query_key=self._query_key,
                window_from=window_from,
                at=started,
                is_bootstrap=self._is_bootstrap,
            )
        try:
            yield
        except ArxivError as error:
            self.failure = error
            self._report.failures.append(error.message)
            self._report.is_cut_short = self._report.is_cut_short or self.stops_all
            self._finish("failed", failure=error.message)
        else:
            self._finish("complete" if self._papers else "empty", move_to=started)
            self._report.runs += 1

    def store_page(
        self, page: Fetched[AtomPage] | Fetched[OaiPage], horizon_of: Callable[[Paper], Horizon]
    ) -> None:
        """Commit one page: raw bytes, papers, versions, changes, what was set aside, and the counts."""
        site, at = self._site, page.fetched_at
        papers = page.page.papers
        with site.store.begin() as conn:
            known = paper_store.load_known(conn, [paper.id for paper in papers])
            changes = _compare_by_horizon(papers, known, horizon_of)
            paper_store.save_changes(conn, changes, run_id=self._id, at=at)
            page_store.save_page(conn, self._id, number=self._pages, url=page.url, at=at, body=page.body)
            page_store.quarantine_entries(conn, self._id, self._pages, page.page.quarantined, at)
        self._token = page.grant.token if page.grant else None
        self._count(papers, changes, len(page.page.quarantined))
        site.progress.update(f"{self._papers:,} papers on {self._pages} page{'s' * (self._pages != 1)}")

    def summary(self) -> str:
        """Say in words what came of the run."""
        if self.failure is not None:
            return self.failure.message
        pages = f"{self._pages} page{'s' * (self._pages != 1)}"
        return f"{self._papers:,} papers on {pages}, complete" if self._papers else "complete: nothing there"

    def _count(self, papers: tuple[Paper, ...], changes: tuple[Change, ...], quarantined: int) -> None:
        report = self._report
        self._pages += 1
        self._papers += len(papers)
        self._new += sum(change.kind is Kind.NEW for change in changes)
        self._changed += sum(change.known is not None for change in changes)
        if self._source is Source.HARVEST:
            self._mark = max([self._mark, *(paper.id.announcement_order for paper in papers)])
        report.pages += 1
        report.papers += len(papers)
        report.quarantined += quarantined
        for change in changes:
            report.kinds[change.kind] = report.kinds.get(change.kind, 0) + 1

    def _finish(self, outcome: str, *, failure: str = "", move_to: datetime | None = None) -> None:
        site = self._site
        with site.store.begin() as conn:
            run_store.finish_run(
                conn,
                self._id,
                outcome=outcome,
                at=site.clock.now(),
                pages=self._pages,
                papers=self._papers,
                new=self._new,
                changed=self._changed,
                failure=failure,
            )
            if move_to is not None:
                cursor_store.move_cursor(
                    conn,
                    source=self._source,
                    query_key=self._query_key,
                    run_id=self._id,
                    started_at=move_to,
                    mark=self._mark,
                    gate_token=self._token,
                )


def _compare_by_horizon(
    papers: tuple[Paper, ...], known: Mapping[ArxivId, KnownPaper], horizon_of: Callable[[Paper], Horizon]
) -> tuple[Change, ...]:
    """Compare papers judged by the same horizon together, so that a paper met twice still counts once."""
    groups: dict[Horizon, list[Paper]] = {}
    for paper in papers:
        groups.setdefault(horizon_of(paper), []).append(paper)
    return tuple(change for horizon, group in groups.items() for change in compare_papers(group, known, horizon))
