"""Writes the pages of one poll run with the coverage they prove, and reports what a pass asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

from digest.arxiv.atom import AtomPage
from digest.arxiv.client import Fetched
from digest.arxiv.oai import OaiPage
from digest.model.announcements import Change, Kind
from digest.model.errors import ArxivError, ArxivRejected, ArxivUnreadable
from digest.model.numbers import count
from digest.model.papers import ArxivId
from digest.model.polls import RunOutcome, Source
from digest.model.said import NOTHING, Said
from digest.poll import rules
from digest.poll.novelty import NoveltyRule, assign_new_papers, store_changes
from digest.site import Site
from digest.store import papers, runs
from digest.store.runs import PollRun

_KIND_WORDS = {
    Kind.NEW: "new",
    Kind.CROSS_LIST: "cross-listed",
    Kind.REPLACEMENT: "replaced",
    Kind.WITHDRAWAL: "withdrawn",
    Kind.METADATA: "edited",
    Kind.KNOWN: "from before the first check",
}


@dataclass
class PollReport:
    """What one pass asked arXiv, for people and for `--json`.

    Attributes:
        why_not: why nothing was asked, in words; "" if something was.
        is_cut_short: arXiv was away or asked for a pause: what is missing will come another time.
        awaiting: canonical queries whose first digest waits until arXiv has answered.
        refused: canonical queries that arXiv's search does not take: nothing waits for these.
        announcements: how many papers announced for the first time each announcement brought, by
            Eastern date.
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
        """The announcements that came out while nobody checked, and the last one, in order.

        As a rule there are none.
        """
        if len(self.announcements) <= 1:
            return []
        return sorted(self.announcements)

    @property
    def has_nothing(self) -> bool:
        """Whether the check failed before it met any paper: "nothing changed" would be wrong."""
        return bool(self.failures) and not self.papers

    def describe_changes(self) -> str:
        """Say how many changes of each kind, in a digest's order; of a first check the papers."""
        has_known_alone = self.kinds.keys() <= {Kind.KNOWN}
        if self.is_bootstrap and has_known_alone:
            known = count(self.kinds.get(Kind.KNOWN, 0), "paper")
            return f"{known}, known from now on"
        found = []
        for kind, word in _KIND_WORDS.items():
            number = self.kinds.get(kind, 0)
            if number:
                found.append(f"{number:,} {word}")
        return " · ".join(found) or "nothing changed"


@dataclass(slots=True)
class RunTally:
    """What the pages of one run brought so far.

    Attributes:
        changed: papers that were stored before and differ.
        highest: the newest paper; None if none came.
        totals: how many papers arXiv's search says there are, by canonical query.
    """

    pages: int = 0
    papers: int = 0
    new: int = 0
    changed: int = 0
    quarantined: int = 0
    highest: ArxivId | None = None
    totals: dict[str, int] = field(default_factory=dict)

    def add_page(self, ids: Sequence[ArxivId], changes: Sequence[Change]) -> None:
        """Count what one page brought; ids of before April 2007 don't show how new they are."""
        self.pages += 1
        self.papers += len(ids)
        self.new += sum(change.kind is Kind.NEW for change in changes)
        self.changed += sum(change.known is not None for change in changes)
        recent = [id_ for id_ in ids if not id_.archive]
        if self.highest is not None:
            recent.append(self.highest)
        self.highest = max(recent, default=None)

    @property
    def highest_id(self) -> str:
        """The newest paper's id, "" if none came."""
        return str(self.highest or "")

    @property
    def highest_order(self) -> tuple[int, int]:
        """The newest paper's place in the order of announcements, (0, 0) if none came."""
        return self.highest.announcement_order if self.highest else (0, 0)

    @property
    def total(self) -> int | None:
        """How many papers arXiv's search says there are for all queries; None if none was made."""
        return sum(self.totals.values()) if self.totals else None

    def __str__(self) -> str:
        return f"{count(self.papers, 'paper')} on {count(self.pages, 'page')}"


class RecordedRun:
    """One poll run of one source, from its first request to its end.

    `query_key` is the canonical query, "" for a harvest; `lookback` counts the days it reaches
    back.
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
        self._site = site
        self._report = report
        self._source = source
        self._query_key = query_key
        self._rule = rule
        self._is_bootstrap = is_bootstrap
        self._lookback = lookback
        self._id = 0
        self._tally = RunTally()
        self._token: int | None = None
        self._asked = site.client.requests
        self._shortfall = NOTHING
        self._reader_message = ""
        self._started = site.clock.now()
        self._window_from = date.min
        self._was_widened = False
        self.failure: ArxivError | None = None

    @property
    def papers(self) -> int:
        """How many papers it has compared so far."""
        return self._tally.papers

    @property
    def stops_all(self) -> bool:
        """Whether it is pointless to ask for more now: arXiv is away, or asked for a pause."""
        return self.failure is not None and not isinstance(self.failure, ArxivRejected)

    @contextmanager
    def recording(self, *, window_from: date, resumed: PollRun | None = None) -> Iterator[None]:
        """Keep the run's start and its end; an error of arXiv is kept too, and goes no further."""
        site = self._site
        next_token = ""
        if resumed is not None:
            next_token = resumed.next_token
            self._tally.highest = ArxivId.parse(resumed.highest_id) if resumed.highest_id else None
        self._window_from = window_from
        with site.store.begin() as conn:
            newest = papers.load_newest_paper(conn, is_harvested=True)
            before = runs.load_last(conn, self._source, 1)
            last_total = runs.load_last_total(conn, self._source)
            self._id = runs.start(
                conn,
                source=self._source,
                query_key=self._query_key,
                window_from=window_from,
                at=self._started,
                is_bootstrap=self._is_bootstrap,
                lookback=self._lookback,
                next_token=next_token,
                highest_id=self._tally.highest_id,
                owner=site.owner,
            )
        try:
            yield
            walked = self._describe_walk()
            was_empty = bool(before) and not before[0].papers
            last_empty = before[0].finished_at if was_empty else None
            if self._source is Source.HARVEST:
                self._doubt(rules.find_harvest_doubt(walked, newest, last_empty))
            elif self._source in (Source.QUERY, Source.FALLBACK) and not self._shortfall:
                self._doubt(rules.find_search_doubt(walked, last_total, last_empty))
        except ArxivError as error:
            self.failure = error
            self._report.failures.append(error.said)
            if self.stops_all:
                self._report.is_cut_short = True
            self._finish(error.said, error.reader_message)
        else:
            self._finish(self._shortfall, self._reader_message)

    def _describe_walk(self) -> rules.Walked:
        return rules.Walked(
            self._window_from,
            self._tally.papers,
            self._tally.quarantined,
            self._tally.highest_order,
            self._site.clock.now(),
            was_widened=self._was_widened,
        )

    def _doubt(self, reason: str) -> None:
        if reason:
            raise ArxivUnreadable(reason, hint="What came is kept. The next check asks again.")

    def widen(self, window_from: date) -> date:
        """Note that nothing was found, and from which earlier day on is searched; return it."""
        self._window_from = window_from
        self._was_widened = True
        with self._site.store.begin() as conn:
            runs.note_progress(conn, self._id, window_from=window_from)
        return window_from

    def note_shortfall(self, reason: Said, reader_message: str = "") -> None:
        """Note that not all was asked for or came, though what came is good: the run is partial.

        `reader_message` says why to readers. What was noted first stays.
        """
        self._shortfall = self._shortfall or reason
        self._reader_message = self._reader_message or reader_message

    def note_searched(self, text: str, *, begins: bool) -> None:
        """Note that one saved query, of several, was searched for to the end.

        It `begins` if that was the first time. An empty answer moves no query on that was searched
        for before: it may have to be doubted.
        """
        if not begins and not self._tally.totals[text]:
            return
        with self._site.store.begin() as conn:
            runs.move_cursor(
                conn,
                source=self._source,
                query_key=text,
                run_id=self._id,
                started_at=self._started,
                gate_token=self._token,
                begins=begins,
            )

    def store_page(self, fetched: Fetched[AtomPage] | Fetched[OaiPage], query: str = "") -> None:
        """Commit one page: papers, versions, changes, what was set aside, and the counts.

        `query` is the canonical text that it answers, in a run that searches for several.
        """
        page = fetched.page
        with self._site.store.begin() as conn:
            changes = store_changes(
                conn,
                page.papers,
                self._rule,
                run_id=self._id,
                at=fetched.fetched_at,
                as_of=page.response_date,
                hashes=page.hashes if isinstance(page, OaiPage) else None,
            )
            set_aside = [(entry.position, entry.error, entry.snippet) for entry in page.quarantined]
            runs.quarantine_entries(
                conn,
                self._id,
                self._tally.pages,
                set_aside,
                fetched.fetched_at,
                readable=page.ids,
            )
            self._count(page, changes)
            runs.note_progress(
                conn,
                self._id,
                pages=self._tally.pages,
                papers=self._tally.papers,
                new=self._tally.new,
                changed=self._tally.changed,
                highest_id=self._tally.highest_id,
                next_token=(page.token or "") if isinstance(page, OaiPage) else "",
            )
        if isinstance(page, AtomPage):
            self._tally.totals[query] = page.total
        grant = fetched.grant if self._site.has_gate else None
        self._token = grant.token if grant is not None else None
        self._site.progress.update(str(self._tally))

    def _count(self, page: AtomPage | OaiPage, changes: Sequence[Change]) -> None:
        set_aside = len(page.quarantined)
        self._tally.add_page(page.ids, changes)
        self._tally.quarantined += set_aside
        report = self._report
        report.pages += 1
        report.papers += len(page.ids)
        report.quarantined += set_aside
        for change in changes:
            report.kinds[change.kind] = report.kinds.get(change.kind, 0) + 1

    def summary(self) -> str:
        """Say in words what came of the run."""
        if self.failure is not None:
            return self.failure.message
        if self._shortfall:
            return f"{self._tally}; {self._shortfall}"
        return f"{self._tally}, complete" if self.papers else "no papers, complete"

    def _find_mark(self) -> tuple[int, int]:
        """Return how far everything was out.

        Ids of the month before still come out on its last evening.
        """
        month = self._window_from.year * 100 + self._window_from.month
        return max(self._tally.highest_order, (month, 0))

    def _name_outcome(self, failure: Said) -> RunOutcome:
        if failure:
            return RunOutcome.PARTIAL if self._tally.pages else RunOutcome.FAILED
        return RunOutcome.COMPLETE if self.papers else RunOutcome.EMPTY

    def _finish(self, failure: Said, reader_message: str) -> None:
        """Keep how the run ended; nothing said is no failure."""
        requests = self._site.client.requests - self._asked
        self._report.requests += requests
        with self._site.store.begin() as conn:
            self._report.announcements |= assign_new_papers(conn, self._source, self._started)
            runs.finish(
                conn,
                self._id,
                outcome=self._name_outcome(failure),
                at=self._site.clock.now(),
                total=self._tally.total,
                failure=failure,
                reader_message=reader_message,
                requests=requests,
            )
            if not failure:
                is_harvest = self._source is Source.HARVEST
                runs.move_cursor(
                    conn,
                    source=self._source,
                    query_key=self._query_key,
                    run_id=self._id,
                    started_at=self._started,
                    mark=self._find_mark() if is_harvest else (0, 0),
                    gate_token=self._token,
                )
        if not failure:
            self._report.runs += 1
