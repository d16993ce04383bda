"""A made-up arXiv and an installation that asks it in whichever way, under one clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from digest.model.clock import ManualClock
from digest.store import runs
from digest.store.runs import PollRun
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation, installed
from tests.harness.papers import START, made_up, told_ids


@dataclass
class World(Installation):
    """An arXiv of made-up papers, and an installation that asks it in whichever way."""

    clock: ManualClock

    def write_queries(
        self,
        queries: dict[str, str],
        *,
        source: str = "query",
        look_back: int = 0,
        new: dict[str, str] | None = None,
    ) -> None:
        """Write its file, with one subscription to these queries, and one to `new` ones."""
        subscriptions = [{"name": "team", "follow": list(queries), "to": "file:out/"}]
        if new:
            subscriptions.append({"name": "new", "follow": list(new), "to": "file:out/"})
        self.write_file(
            queries | (new or {}),
            subscriptions,
            arxiv={"source": source},
            defaults={"when": "at once", "look_back": f"{look_back} days", "show": "all"},
        )

    def run_on(self, day: int, hour: int = 12) -> list[str]:
        """Make one pass on a day of March 2026; return the ids it told."""
        self.clock.set(datetime(2026, 3, day, hour, tzinfo=UTC))
        return sorted(told_ids(self.run()))

    def come_out(self, number: int, **fields: object) -> str:
        """Have a paper announced with the next announcement; return its id."""
        at = self.clock.now() + timedelta(hours=1)
        paper = made_up(number, at, **fields)  # type: ignore[arg-type]  # fields of DemoPaper
        self.arxiv.add(paper)
        return paper.id

    def asked(self) -> list[str]:
        """Return the searches made, in arXiv's words."""
        visits = (dict(visit.params) for visit in self.arxiv.requests)
        return [params["search_query"] for params in visits if "search_query" in params]

    def runs(self, source: str) -> list[PollRun]:
        """Return the looks of a source, the newest first."""
        with self.reading() as conn:
            return runs.load_last(conn, source, 100)


@contextmanager
def surrounded(folder: Path, papers: Sequence[DemoPaper] = ()) -> Iterator[World]:
    """Yield an installation in a folder, and hold it to arXiv's pace when it ends."""
    arxiv = DemoArxiv(papers, ManualClock(START), pace=3.0)
    with installed(World, folder, arxiv) as world:
        yield world
        assert arxiv.violations == ()


def old_papers() -> list[DemoPaper]:
    """Return five papers of the days before."""
    return [
        made_up(n, START - timedelta(days=4, minutes=n), id=f"2602.{n:05d}") for n in range(1, 6)
    ]
