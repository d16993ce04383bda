"""A made-up arXiv and an installation that asks it in whichever way, under one clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from digest.model.clock import ManualClock
from digest.serve.steps import PassReport, run_pass
from digest.store import runs
from digest.store.runs import PollRun
from tests.acceptance.made import START, made_up, told_ids
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.kept_sites import KeptSite


@dataclass
class World:
    """An arXiv of made-up papers, and an installation that asks it. Close it when done."""

    arxiv: DemoArxiv
    clock: ManualClock
    folder: Path

    def __post_init__(self) -> None:
        self._kept = KeptSite()

    def write(self, queries: dict[str, str], *, source: str = "query", look_back: int = 0) -> None:
        """Write digest.toml, with one subscription to these queries."""
        text = write_config(
            self.arxiv.url,
            queries,
            [{"name": "team", "follow": list(queries), "to": "file:out/"}],
            arxiv={"source": source},
            defaults={"when": "at once", "look_back": f"{look_back} days", "show": "all"},
        )
        (self.folder / "digest.toml").write_text(text)

    def run(self) -> PassReport:
        return run_pass(self._kept.open(self.folder, self.clock))

    def close(self) -> None:
        self._kept.close()

    def run_on(self, day: int, hour: int = 12) -> list[str]:
        """Make one pass on a day of March 2026; return the ids it told."""
        self.clock.set(datetime(2026, 3, day, hour, tzinfo=UTC))
        return sorted(told_ids(self.run()))

    def come_out(self, number: int, **fields: object) -> str:
        """Have a paper announced with the next announcement; return its id."""
        paper = made_up(number, self.clock.now() + timedelta(hours=1), **fields)  # type: ignore[arg-type]  # fields of DemoPaper
        self.arxiv.add(paper)
        return paper.id

    def asked(self) -> list[str]:
        """Return the searches made, in arXiv's words."""
        visits = (dict(visit.params) for visit in self.arxiv.requests)
        return [params["search_query"] for params in visits if "search_query" in params]

    def runs(self, source: str) -> list[PollRun]:
        """Return the looks of a source, the newest first."""
        with self._kept.open(self.folder, self.clock).store.read() as conn:
            return runs.load_last(conn, source, 100)


@contextmanager
def surrounded(folder: Path, papers: Sequence[DemoPaper] = ()) -> Iterator[World]:
    """Yield a world in a folder, and hold it to the pace when it ends."""
    clock = ManualClock(START)
    with DemoArxiv(papers, clock, pace=3.0) as arxiv:
        world = World(arxiv, clock, folder)
        yield world
        world.close()
        assert arxiv.violations == ()


def old_papers() -> list[DemoPaper]:
    """Return five papers of the days before."""
    return [
        made_up(n, START - timedelta(days=4, minutes=n), id=f"2602.{n:05d}") for n in range(1, 6)
    ]
