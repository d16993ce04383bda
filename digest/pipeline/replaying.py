"""Replay: the pages that are kept, read and compared once more, must make the changes that were recorded.

The pages go through today's parsers into a scratch store, one transaction a page, judged by what each look
judged news by, and without a look at `changes`. Only then is what came out held against them.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from digest.announcements import Kind
from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai
from digest.errors import ArxivError, UsageError
from digest.papers import ArxivId
from digest.pipeline.judging import Judges
from digest.pipeline.outcomes import find_differences
from digest.pipeline.polling import RESUMED_WITHIN
from digest.pipeline.recording import store_changes
from digest.planning.beforehand import list_states, meet_states
from digest.planning.differences import (
    Difference,
    Doubt,
    Subject,
    compare_figures,
    weigh_differences,
    write_figures,
)
from digest.planning.polls import Source
from digest.planning.replays import KeptPage, LedgerRun, ReplayPlan, find_resumed, plan_replay
from digest.store import open_store
from digest.store import pages as page_store
from digest.store import replays as replay_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.arxiv.atom import AtomPage
    from digest.arxiv.oai import OaiPage
    from digest.comparing import Change, Horizon, KnownPaper
    from digest.papers import Paper
    from digest.pipeline.site import Progress
    from digest.store import Store

_BEGINNING = 2_048
"""Bytes within which a page names its root element."""

_NOT_KEPT = "its state before these looks is not known for sure"


@dataclass
class ReplayReport:
    """What came of a replay.

    Attributes:
        plan: what was replayed, and what could not be.
        pages: pages replayed.
        papers: papers compared.
        changes: changes that came out.
        differences: what differs beyond doubt.
        untold: what differs and proves nothing, each with the reason.
        unsure: papers whose state before the first run is not known and matters, each with the reason.
    """

    plan: ReplayPlan
    pages: int = 0
    papers: int = 0
    changes: int = 0
    differences: list[Difference] = field(default_factory=list)
    untold: list[Difference] = field(default_factory=list)
    unsure: dict[str, Doubt] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """How many runs had a page to replay."""
        return len({page.run_id for page in self.plan.pages})

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs beyond doubt."""
        return not self.differences


@dataclass
class _Figures:
    """A run's figures, as they come out."""

    papers: int = 0
    new: int = 0
    changed: int = 0
    highest: ArxivId | None = None

    def add(self, papers: Sequence[Paper], changes: Sequence[Change]) -> None:
        """Count one page."""
        self.papers += len(papers)
        self.new += sum(change.kind is Kind.NEW for change in changes)
        self.changed += sum(change.known is not None for change in changes)
        recent = [paper.id for paper in papers if not paper.id.archive]
        self.highest = max([*recent, *filter(None, [self.highest])], default=None)

    def write(self) -> dict[str, str]:
        """Return them by name."""
        return write_figures(self.papers, self.new, self.changed, str(self.highest or ""))


def replay(
    store: Store,
    *,
    since: date | None = None,
    until: date | None = None,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> ReplayReport:
    """Replay the looks of a span of days and hold what comes out against what was recorded.

    Args:
        store: the installation's; it is read in one state, and never written to.
        since: UTC day on which the first look started; None for as far back as pages are kept.
        until: UTC day on which the last one did; None for no end.
        keep: a file to be made for what comes out; None for one that is thrown away.
        progress: is told how far it has come.

    Raises:
        UsageError: `keep` is there already.
        StoreError: a database can't be used.
    """
    with store.read() as conn, _open_scratch(keep) as scratch:
        runs = replay_store.list_runs(conn)
        judges = Judges(conn)
        plan = _plan(runs, replay_store.list_pages(conn), since, until, judges)
        replaying = _Replay(conn, scratch, plan, runs, judges)
        for number, page in enumerate(plan.pages, start=1):
            replaying.replay_page(page)
            if progress is not None:
                progress.update(f"{number:,} of {len(plan.pages):,} pages, {replaying.report.papers:,} papers")
        if plan.runs:
            replaying.compare()
        return replaying.report


def _plan(
    runs: Sequence[LedgerRun], pages: Sequence[KeptPage], since: date | None, until: date | None, judges: Judges
) -> ReplayPlan:
    """Choose what to replay: nothing before the first run whose judge this release can read."""
    while True:
        plan = plan_replay(runs, pages, since, until)
        first = next((run for run in plan.runs if run.pages), None)
        if first is None or judges.is_readable(first):
            return plan
        runs = [replace(run, has_judge=run.has_judge and run.id != first.id) for run in runs]


@contextmanager
def _open_scratch(keep: Path | None) -> Iterator[Store]:
    """Make a store of its own, and close it afterwards; it is thrown away unless it is to be kept."""
    if keep is not None and keep.exists():
        raise UsageError(
            f"{keep} is there already", hint="A replay writes into a file of its own: name a new one."
        )
    if keep is not None and not keep.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {keep.absolute().parent}", hint="Make it, or name another file.")
    with TemporaryDirectory(prefix="digest-replay-") as folder:
        store = open_store(f"sqlite:///{keep or Path(folder) / 'replay.db'}", create=True)
        try:
            yield store
        finally:
            store.close()


class _Replay:
    """A replay under way.

    Args:
        conn: reads the installation.
        scratch: is written to.
        plan: what is replayed.
        ledger: every run of the installation.
        judges: what each of them judged news by.
    """

    def __init__(
        self, conn: Connection, scratch: Store, plan: ReplayPlan, ledger: Sequence[LedgerRun], judges: Judges
    ) -> None:
        self.report = ReplayReport(plan)
        self._conn, self._scratch, self._judges = conn, scratch, judges
        self._runs = {run.id: run for run in plan.runs}
        self._ledger = ledger
        self._was_harvested = bool(plan.runs) and any(
            run.source in (Source.HARVEST, Source.GAPS) and run.id < plan.runs[0].id for run in ledger
        )
        self._told_at: dict[ArxivId, datetime] = {}
        self._figures: dict[int, _Figures] = {}
        self._given_out: dict[int, set[ArxivId]] = {}
        self._asked_for: set[ArxivId] = set()
        self._states: dict[ArxivId, tuple[KnownPaper, ...]] = {}
        self._broken = dict(plan.broken)
        self._pages_differ = [
            Difference(run_id, Subject.PAGE, "its pages", f"{self._runs[run_id].pages:,}", why)
            for run_id, why in plan.broken.items()
        ]

    def replay_page(self, page: KeptPage) -> None:
        """Read one page again, hold it against the scratch store, and store what differs there."""
        run = self._runs[page.run_id]
        try:
            body = replay_store.load_body(self._conn, page.id)
            self._store_page(run, page, _read_page(body), self._judges.load(run))
        except (ArxivError, ValueError) as error:
            self._note_broken(page, error)
            return
        sha256 = hashlib.sha256(body).hexdigest()
        if sha256 != page.sha256:
            self._pages_differ.append(
                Difference(run.id, Subject.PAGE, _name(page), f"bytes {page.sha256[:8]}", f"bytes {sha256[:8]}")
            )

    def _store_page(
        self, run: LedgerRun, page: KeptPage, parsed: AtomPage | OaiPage, judge: Callable[[Paper], Horizon]
    ) -> None:
        papers, as_of = self._drop_given_out(page, parsed.papers), parsed.response_date
        figures = self._figures.get(run.id)
        with self._scratch.begin() as conn:
            if figures is None:
                replay_store.copy_run(self._conn, conn, run.id)
                figures = self._begin_figures(run)
            self._fill_in(conn, papers)
            changes = store_changes(conn, papers, judge, run_id=run.id, at=page.fetched_at, as_of=as_of)
            page_store.quarantine_entries(conn, run.id, page.number, parsed.quarantined, page.fetched_at)
            figures.add(papers, changes)
            run_store.note_page(
                conn,
                run.id,
                papers=figures.papers,
                new=figures.new,
                changed=figures.changed,
                highest_id=str(figures.highest or ""),
                next_token=run.next_token,
            )
        self._figures[run.id] = figures
        self._asked_for.update(paper.id for paper in papers)
        self._meet_states(run, papers, as_of)
        self.report.pages += 1
        self.report.papers += len(papers)
        self.report.changes += len(changes)

    def compare(self) -> None:
        """Hold what came out against what was recorded, and report what differs."""
        first, last = self.report.plan.runs[0].id, self.report.plan.runs[-1].id
        with self._scratch.read() as scratch:
            differences = find_differences(self._conn, scratch, first, last)
        unsettled = {str(id_) for id_ in self._states}
        for run in self.report.plan.runs:
            recorded = write_figures(run.papers, run.new, run.changed, run.highest_id)
            figures = self._figures.get(run.id) or self._begin_figures(run)
            differences += compare_figures(run.id, recorded, figures.write())
        differences = [
            replace(difference, doubt=_NOT_KEPT)
            if difference.subject is Subject.PAPER and difference.name in unsettled
            else difference
            for difference in differences
        ]
        weighed = weigh_differences([*self._pages_differ, *differences], self.report.unsure, self._broken)
        weighed.sort(key=lambda difference: difference.run_id)
        self.report.differences = [difference for difference in weighed if not difference.doubt]
        self.report.untold = [difference for difference in weighed if difference.doubt]

    def _begin_figures(self, run: LedgerRun) -> _Figures:
        """Return a run's figures before its first page: the newest paper of a run it went on with counts."""
        earlier = (before for before in reversed(self._ledger) if before.id < run.id)
        resumed = find_resumed(run, earlier, RESUMED_WITHIN)
        return _Figures(highest=ArxivId.parse(resumed.highest_id) if resumed and resumed.highest_id else None)

    def _drop_given_out(self, page: KeptPage, papers: tuple[Paper, ...]) -> tuple[Paper, ...]:
        """Leave out what earlier pages of the same search held, as `walk_search` does: its pages overlap."""
        if "search_query" not in parse_qs(urlsplit(page.url).query):
            return papers
        given_out = self._given_out.setdefault(page.run_id, set())
        fresh = tuple(paper for paper in papers if paper.id not in given_out)
        given_out.update(paper.id for paper in fresh)
        return fresh

    def _fill_in(self, scratch: Connection, papers: Sequence[Paper]) -> None:
        """Store what was known of papers before the first run, when they are met first."""
        met = {paper.id for paper in papers} - self._asked_for
        first = self.report.plan.runs[0]
        for id_, kept in replay_store.load_pasts(self._conn, sorted(met), first.id).items():
            states = list_states(kept.past, first.started_at, was_harvested=self._was_harvested)
            replay_store.save_past(scratch, kept, states[0])
            if len(states) > 1:
                self._states[id_] = states
            elif kept.past.as_of is not None:
                self._told_at[id_] = kept.past.as_of

    def _meet_states(self, run: LedgerRun, papers: Sequence[Paper], as_of: datetime | None) -> None:
        """See whether it matters in which of its possible states a paper was."""
        unsure: dict[ArxivId, list[Paper]] = {}
        for paper in papers:
            if as_of is not None and self._told_at.get(paper.id) == as_of:
                # An answer older than these looks that came with one of them may be what told its present state.
                self.report.unsure[str(paper.id)] = Doubt(self.report.plan.runs[0].id, _NOT_KEPT)
            if paper.id in self._states:
                unsure.setdefault(paper.id, []).append(paper)
        for id_, came in unsure.items():
            after = meet_states(self._states[id_], came, as_of)
            if after is None:
                self.report.unsure[str(id_)] = Doubt(run.id, _NOT_KEPT)
            if after is None or len(after) == 1:
                del self._states[id_]
            else:
                self._states[id_] = after

    def _note_broken(self, page: KeptPage, error: Exception) -> None:
        why = f"{_name(page)} can't be read: {error}"
        known = self._broken.get(page.run_id)
        self._broken[page.run_id] = f"{known}; {why}" if known else why
        self._pages_differ.append(
            Difference(page.run_id, Subject.PAGE, _name(page), "readable", f"unreadable: {error}")
        )


def _read_page(body: bytes) -> AtomPage | OaiPage:
    """Read a page as what its root says it is.

    Raises:
        ArxivError: it can't be read.
    """
    return parse_oai(body) if b"<OAI-PMH" in body[:_BEGINNING] else parse_atom(body)


def _name(page: KeptPage) -> str:
    return f"page {page.number + 1}"
