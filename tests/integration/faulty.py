"""An arXiv on its bad days, an installation beside it, and what must hold whatever arXiv does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.poll.coverage import load_coverage
from digest.serve.steps import PassReport
from digest.store import runs
from digest.store.gate import Breaker, load_breaker
from digest.store.runs import PollRun
from digest.store.schema import changes, cursors, papers, requests, versions
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.faults import Fault
from tests.fakes.loopback import Answer, Request
from tests.harness.installation import Installation, installed
from tests.harness.papers import START, made_up

PAGE = 6
"""Papers on a page of the harvest: each look takes four of them."""

OLD = 16
NOON = START.replace(day=3, hour=12)
"""When the look that meets the fault is made: the evening before, an announcement came out."""

FIRST_NEW = 1
LAST_NEW = 7
HELD = 4
REPLACED = "2602.00005"
CROSS_LISTED = "2602.00006"
WITHDRAWN = "2602.00007"

QUERIES = {"perf": "cat:cs.PF"}

Bend = Callable[[Request], Answer | None]
"""Answers a request otherwise than arXiv should; None lets it pass."""

Found = tuple[str, str, int]
"""A change: its kind, the paper's id and version."""


class FaultyArxiv(DemoArxiv):
    """The fake arXiv, on days worse than its faults alone make.

    Attributes:
        bend: may answer a request otherwise; ordered faults come first.
        behind: so far behind is the replica that answers, whatever date it prints.
        hidden: ids that lists and searches do not show; a paper asked for by its id is there.
        unknown: ids that nothing shows.
    """

    bend: Bend | None = None
    behind = timedelta()

    def __init__(
        self, states: Sequence[DemoPaper], clock: ManualClock, *, page_size: int = PAGE
    ) -> None:
        super().__init__(states, clock, pace=3.0, page_size=page_size)
        self.hidden: set[str] = set()
        self.unknown: set[str] = set()

    def mend(self) -> None:
        self.faults.clear()
        self.bend = None
        self.behind = timedelta()
        self.hidden.clear()
        self.unknown.clear()

    def show_truth(self) -> dict[str, DemoPaper]:
        """Return what is public, whatever the faults."""
        return {paper.id: paper for paper in self._archive.list_public(self._clock.now())}

    def serve(self, request: Request) -> Answer:
        """Return the answer of a good day."""
        return self._serve(request)

    def _decide(self, request: Request, fault: Fault | None) -> Answer:
        bent = self.bend(request) if self.bend is not None and fault is None else None
        return bent or super()._decide(request, fault)

    def _serve(self, request: Request, keep: float | None = None) -> Answer:
        is_named = request.param("verb") == "GetRecord" or request.param("id_list")
        unseen = self.unknown if is_named else self.unknown | self.hidden
        return self._show(request, self._clock.now() - self.behind, keep, unseen)


@dataclass
class World(Installation):
    """An installation that knows the past, and passes over it."""

    clock: ManualClock
    arxiv: FaultyArxiv
    source: str = "harvest"
    expected: set[Found] = field(default_factory=set)

    def configure(self, queries: Mapping[str, str] = QUERIES) -> None:
        """Write its file, for these saved queries."""
        self.write_file(
            queries,
            [{"name": "team", "follow": list(queries), "to": "mailto:reader@example.org"}],
            arxiv={"source": self.source},
            defaults={
                "when": "daily at 06:00 UTC",
                "look_back": "0 days",
                "when_empty": "always",
                "kinds": ["new", "cross-listed", "replaced", "withdrawn"],
            },
        )

    def last_run(self, source: str = "") -> PollRun:
        with self.reading() as conn:
            return runs.load_last(conn, source or self.source, 1)[0]

    def cursors(self) -> list[tuple[object, ...]]:
        """Return how far each source has been looked through."""
        with self.reading() as conn:
            return [
                tuple(row) for row in conn.execute(select(cursors).order_by("source", "query_key"))
            ]

    def breaker(self) -> Breaker:
        """Return whether arXiv is left alone."""
        with self.reading() as conn:
            return load_breaker(conn, self.clock)

    def log(self) -> list[tuple[int | None, str]]:
        """Return status and outcome of every request, as they were logged."""
        with self.reading() as conn:
            return [
                tuple(row) for row in conn.execute(select(requests.c.status, requests.c.outcome))
            ]

    def list_changes(self) -> list[Found]:
        """Return the changes that are news, in order.

        A paper asked for by its id has no licence until a list brings it, as a change of its
        metadata alone.
        """
        found = (
            select(changes.c.kind, papers.c.arxiv_id, versions.c.version)
            .join(papers, papers.c.id == changes.c.paper_id)
            .join(versions, versions.c.id == changes.c.version_id)
            .where(changes.c.kind.not_in((Kind.KNOWN, Kind.METADATA)))
            .order_by(changes.c.id)
        )
        with self.reading() as conn:
            return [(row[0], row[1], row[2]) for row in conn.execute(found)]

    def tell(self) -> list[Found]:
        """Return every change told so far, in order."""
        return [
            (str(entry.kind), str(entry.paper.id), entry.paper.version)
            for digest in self.digests
            for entry in digest.entries
        ]

    def is_covered(self) -> bool:
        """Whether the last announcement is known to be all there."""
        with self.reading() as conn:
            return load_coverage(conn, self.source, self.clock.now()).is_complete

    def announce(self) -> None:
        """Announce seven papers, one of them long held, and changes to three that are known."""
        submitted = START + timedelta(hours=1)
        for number in range(FIRST_NEW, LAST_NEW + 1):
            held = timedelta(days=11) if number == HELD else timedelta(0)
            self.arxiv.add(
                made_up(number, submitted - held, announced=plan_announcement(submitted))
            )
        self.arxiv.replace(REPLACED, submitted=submitted, comment="accepted at a conference")
        self.arxiv.cross_list(CROSS_LISTED, "cs.DC", announced=plan_announcement(submitted))
        self.arxiv.withdraw(WITHDRAWN, announced=plan_announcement(submitted))
        self.expected = {
            (str(Kind.NEW), f"2603.{n:05d}", 1) for n in range(FIRST_NEW, LAST_NEW + 1)
        }
        self.expected |= {
            (str(Kind.REPLACEMENT), REPLACED, 2),
            (str(Kind.CROSS_LIST), CROSS_LISTED, 1),
            (str(Kind.WITHDRAWAL), WITHDRAWN, 2),
        }


def list_past(count: int) -> list[DemoPaper]:
    """Return what arXiv had announced in the announcement before the first look."""
    before = START - timedelta(days=4)
    return [
        made_up(n, before - timedelta(minutes=n), id=f"2602.{n:05d}") for n in range(1, count + 1)
    ]


_pasts: dict[tuple[str, ...], bytes] = {}
"""Databases after a first look, by source, papers and saved queries: it is the same each time."""


@contextmanager
def surrounded(
    folder: Path,
    arxiv: FaultyArxiv,
    **more: Any,  # noqa: ANN401 - fields
) -> Iterator[World]:
    """Yield an installation beside an arXiv, and hold it to arXiv's pace when it ends."""
    with installed(World, folder, arxiv, **more) as world:
        yield world
        assert arxiv.violations == ()


@contextmanager
def living(
    folder: Path, source: str = "harvest", *, past: int = OLD, queries: Mapping[str, str] = QUERIES
) -> Iterator[World]:
    """Set up an installation that has taken its first look.

    It is the noon after an announcement with news.
    """
    arxiv = FaultyArxiv(list_past(past), ManualClock(START))
    with surrounded(folder, arxiv, source=source) as world:
        world.configure(queries)
        key = (source, str(past), *queries.values())
        kept = folder / "digest.db"
        if key not in _pasts:
            world.run()
            world.reports.clear()
            world.close()
            _pasts[key] = kept.read_bytes()
        kept.write_bytes(_pasts[key])
        world.clock.set(NOON)
        world.announce()
        yield world


def assert_nothing_wrong_is_stored(world: World) -> None:
    """Every stored paper is in a state that arXiv really gave it."""
    stored = select(papers.c.arxiv_id, versions.c.version, versions.c.title, versions.c.categories)
    with world.reading() as conn:
        rows = conn.execute(
            stored.join(versions, versions.c.id == papers.c.latest_version_id)
        ).all()
    for row in rows:
        states = world.arxiv._archive.states(row.arxiv_id, world.clock.now())
        assert (row.version, row.title, row.categories.split()) in [
            (state.version, state.title, list(state.categories)) for state in states
        ]


TOLD = {"arXiv has not answered", "arXiv has sent nothing that can be read"}
"""What readers are told of a fault."""


def assert_not_believed(
    world: World, because: str, *, outcome: str = "failed", source: str = ""
) -> PassReport:
    """Make the pass that meets the fault.

    Nothing is taken for complete, and everybody is told why.
    """
    before = world.cursors()
    mails = len(world.mail.mails)
    report = world.run()
    assert world.cursors() == before, "the cursor stays where it was"
    (failure,) = report.poll.failures
    assert because in str(failure)
    run = world.last_run(source)
    assert (run.outcome, run.failure) == (outcome, failure)
    assert set(world.list_changes()) <= world.expected
    assert_nothing_wrong_is_stored(world)
    (digest,) = report.plan.digests
    assert not digest.coverage.is_complete
    assert digest.coverage.failure in TOLD
    assert not world.is_covered()
    (text,) = (" ".join(mail.split()) for mail in world.read_mails()[mails:])
    assert "What is missing comes in your next digest" in text
    for claim in (
        "no new papers",
        "everything was checked",
        "were checked",
        str(failure).lower(),
        "127.0.0.1",
    ):
        assert claim not in text.lower()
    return report


def assert_all_follows(world: World, *, after: timedelta = timedelta(hours=5)) -> PassReport:
    """End the faults and move the clock on.

    One more pass has everything, and everything is told once.
    """
    world.arxiv.mend()
    world.clock.advance(after)
    report = world.run()
    assert report.poll.failures == []
    assert_all_there_once(world)
    assert (world.breaker().seconds, world.breaker().failures) == (0, 0)
    world.clock.set(NOON + timedelta(days=1))
    world.run()
    assert_told_once(world)
    return report


def assert_all_there_once(world: World) -> None:
    """All that was announced is stored as it is, each change once.

    The look is known to be complete.
    """
    assert sorted(world.list_changes()) == sorted(world.expected)
    stored = select(papers.c.arxiv_id, versions.c.version).join(
        versions, versions.c.id == papers.c.latest_version_id
    )
    with world.reading() as conn:
        found = {row.arxiv_id: row.version for row in conn.execute(stored)}
    assert found == {id_: paper.version for id_, paper in world.arxiv.show_truth().items()}
    assert_nothing_wrong_is_stored(world)
    assert world.last_run().is_complete
    assert world.is_covered()


def assert_told_once(world: World) -> None:
    """Readers have every change once.

    A cross-list that brings a query nothing new is none for them.
    """
    wanted = {found for found in world.expected if found[0] != Kind.CROSS_LIST}
    assert sorted(world.tell()) == sorted(wanted)
