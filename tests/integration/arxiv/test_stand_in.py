"""The client against a large stand-in for arXiv, a process of its own that judges the pace.

Only where `DIGEST_REAL_DATA` names a folder that has one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.arxiv.pages import fetch_papers, walk_records, walk_search
from digest.model.clock import SPACING, GateOutcome, Grant, RemoteClock
from digest.model.errors import ArxivError, ArxivHostile, ArxivRefused, ArxivRejected, ArxivThrottled
from digest.tex import to_plain
from tests.integration.arxiv.conftest import AGENT, WatchedGate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.model.papers import ArxivId, Paper

NOW = "2026-03-24T12:40:00Z"
EVER = date(2005, 9, 16)
LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)
QUERY = "cat:cs.PF"
MANY = "(cat:cs.*) OR (cat:math.*)"


class SpacedGate(WatchedGate):
    """Keeps the pace by a clock that prints whole seconds."""

    def __init__(self, clock: RemoteClock) -> None:
        super().__init__()
        self._clock = clock
        self._next = clock.now()

    def acquire(self) -> Grant:
        """Wait, in the stand-in's time, and give leave."""
        self._clock.sleep((self._next - self._clock.now()).total_seconds())
        return super().acquire()

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Keep the outcome, and count the spacing from now."""
        super().release(grant, outcome)
        self._next = self._clock.now() + timedelta(seconds=SPACING + 1)


class StandIn:
    """The stand-in, and a way to tell it what to do."""

    def __init__(self, folder: Path) -> None:
        home = folder / "standin"
        self._process = subprocess.Popen(  # noqa: S603 - the path comes from the person running the tests
            [
                *(
                    sys.executable,
                    str(home / "arxiv_standin.py"),
                    "--port",
                    "0",
                    "--pace-clock",
                    "sim",
                    "--now",
                    NOW,
                ),
                *("--oai-page", "250", "--papers", str(home / "seed_papers.jsonl")),
                *("--papers", str(home / "fixture_papers.jsonl")),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline())
        assert found is not None
        self.url = found[0]
        self.total = 0

    def control(self, path: str, value: object = None) -> Any:  # noqa: ANN401 - JSON of many shapes
        """Ask the stand-in about itself, or tell it something."""
        body = None if value is None else json.dumps(value).encode()
        method = "GET" if value is None else "POST"
        request = urllib.request.Request(f"{self.url}/_control/{path}", data=body, method=method)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
            return json.load(answer)

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def process() -> Iterator[StandIn]:
    folder = os.environ.get("DIGEST_REAL_DATA")
    if not folder:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    stand_in = StandIn(Path(folder))
    with ask(stand_in) as client:
        stand_in.total = client.search(MANY, size=1).page.total
    yield stand_in
    stand_in.close()


@pytest.fixture
def stand_in(process: StandIn) -> Iterator[StandIn]:
    """The stand-in at its beginning; in the end nobody may have broken the pace."""
    process.control("reset", {})
    yield process
    assert process.control("now")["violations"] == 0


@contextmanager
def ask(stand_in: StandIn) -> Iterator[ArxivClient]:
    """Make a client that keeps the pace in the stand-in's time, from what that is now."""
    clock = RemoteClock(f"{stand_in.url}/_control/now")
    url = stand_in.url
    addresses = ArxivAddresses(f"{url}/api/query", f"{url}/oai")
    client = ArxivClient(addresses, AGENT, SpacedGate(clock), clock)
    yield client
    client.close()


@pytest.fixture
def asking(stand_in: StandIn) -> Iterator[ArxivClient]:
    """A client that keeps the pace in the stand-in's time."""
    with ask(stand_in) as client:
        yield client


def harvest(client: ArxivClient) -> dict[ArxivId, Paper]:
    pages = list(walk_records(client, EVER))
    assert not any(fetched.page.quarantined for fetched in pages)
    return {paper.id: paper for fetched in pages for paper in fetched.page.papers}


def search(client: ArxivClient, size: int = 20) -> list[str]:
    pages = walk_search(client, MANY, until=LONG_AGO, size=size)
    return [str(paper.id) for fetched in pages for paper in fetched.page.papers]


def test_a_harvest_brings_every_public_paper_and_the_search_agrees(stand_in: StandIn, asking: ArxivClient) -> None:
    harvested = harvest(asking)
    assert len(harvested) == stand_in.control("now")["public"] > 600
    requests = stand_in.control("requests")
    assert len(requests) == -(-len(harvested) // 250)
    assert len({request["client_port"] for request in requests}) == 1
    fetched = [paper for page in fetch_papers(asking, list(harvested)[:200]) for paper in page.page.papers]
    assert len(fetched) == 200
    for paper in fetched:
        known = harvested[paper.id]
        assert (paper.version, paper.categories) == (known.version, known.categories)
        assert (paper.published, paper.updated, paper.dois) == (known.published, known.updated, known.dois)
        for name in ("title", "abstract", "comment", "journal_ref"):
            text = getattr(known, name)
            if not re.search(r"\\[{\\]", text):  # a few came to the stand-in with a backslash too many
                assert to_plain(getattr(paper, name)) == to_plain(text)


def test_the_seed_papers_come_with_their_names_as_they_are_written(stand_in: StandIn, asking: ArxivClient) -> None:
    assert stand_in.url
    pages = list(walk_search(asking, QUERY, until=datetime(2026, 2, 1, tzinfo=UTC)))
    found = [paper for fetched in pages for paper in fetched.page.papers if paper.updated.year == 2026]
    harvested = harvest(asking)
    for papers in (found, [harvested[paper.id] for paper in found]):
        names = {author.name for paper in papers for author in paper.authors}
        places = [place for paper in papers for author in paper.authors for place in author.affiliations]
        assert {"Pınar Tözün", "Doğan Sağbili"} <= names
        assert len(papers) == 15
        assert sum(place in {"Yale University", "Stanford University"} for place in places) == 4


PASSING: list[dict[str, object]] = [
    {"kind": "500", "times": 2},
    {"kind": "reset", "times": 2},
    {"kind": "hang", "seconds": 0.2},
    {"kind": "truncate"},
    {"kind": "malformed"},
    {"kind": "html"},
    {"kind": "content_type"},
    {"kind": "empty_page", "times": 2},
    {"kind": "gzip"},
    {"kind": "drip", "seconds": 0.3},
    {"kind": "slow", "seconds": 0.2},
    {"kind": "unsorted", "seed": 3},
]
SEARCH_ONLY: list[dict[str, object]] = [
    {"kind": "short_page", "keep": 7, "times": 3},
    {"kind": "shift", "by": 2, "skip": 1},
    {"kind": "shift", "by": -2, "skip": 1},
    {"kind": "shift", "by": -9, "skip": 1},
]


def by_kind(fault: dict[str, object]) -> str:
    return f"{fault['kind']} {fault.get('by', '')}".strip()


@pytest.mark.parametrize("fault", PASSING, ids=by_kind)
def test_a_harvest_lives_through_what_passes(
    stand_in: StandIn, asking: ArxivClient, fault: dict[str, object]
) -> None:
    stand_in.control("faults", [{**fault, "skip": 1, "path": "/oai"}])
    assert len(harvest(asking)) == stand_in.control("now")["public"]
    assert stand_in.control("faults") == []


@pytest.mark.parametrize("fault", [*PASSING, *SEARCH_ONLY], ids=by_kind)
def test_a_search_lives_through_what_passes(
    stand_in: StandIn, asking: ArxivClient, fault: dict[str, object]
) -> None:
    stand_in.control("faults", [{"skip": 2, **fault, "path": "/api"}])
    found = search(asking, size=60)
    assert len(found) == len(set(found)) == stand_in.total > 200
    assert stand_in.control("faults") == []


ENDING: list[tuple[dict[str, object], type[ArxivError], float | None]] = [
    ({"kind": "429", "retry_after": 60}, ArxivThrottled, 60.0),
    ({"kind": "429"}, ArxivThrottled, None),
    ({"kind": "rate_200"}, ArxivThrottled, None),
    ({"kind": "503"}, ArxivThrottled, None),
    ({"kind": "406"}, ArxivThrottled, None),
    ({"kind": "403"}, ArxivRefused, None),
    ({"kind": "bomb"}, ArxivHostile, None),
    ({"kind": "xxe"}, ArxivHostile, None),
]


@pytest.mark.parametrize(("fault", "expected", "retry_after"), ENDING)
def test_what_does_not_pass_is_an_error_at_once_and_the_next_poll_is_whole(
    stand_in: StandIn,
    asking: ArxivClient,
    fault: dict[str, object],
    expected: type[ArxivError],
    retry_after: float | None,
) -> None:
    for path, walk in (("/oai", harvest), ("/api", search)):
        stand_in.control("faults", [{**fault, "skip": 1, "path": path}])
        made = len(stand_in.control("requests"))
        with pytest.raises(ArxivError) as caught:
            walk(asking)
        assert type(caught.value) is expected
        assert caught.value.retry_after == retry_after
        assert len(stand_in.control("requests")) == made + 2
    assert harvest(asking)


def test_what_arxiv_rejects_is_rejected_with_its_reason(stand_in: StandIn, asking: ArxivClient) -> None:
    assert stand_in.url
    with pytest.raises(ArxivRejected, match="incorrect id format for abc"):
        asking.search("", ids=["abc"])
    with pytest.raises(ArxivRejected, match="Invalid query string"):
        asking.search("ti:a)")
