"""Real papers of two months, beside a stand-in with arXiv's limits: searches tell what a harvest tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.arxiv.pages import walk_search
from digest.config import load_config
from digest.model.clock import Grant, ManualClock, RemoteClock
from digest.poll.search import EVERYTHING
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from tests.acceptance.made import told_ids
from tests.acceptance.worlds import StandIn
from tests.conftest import IS_NIGHTLY
from tests.fakes.config_file import write_config

FOLDER = os.environ.get("DIGEST_REAL_DATA", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="DIGEST_REAL_DATA names no folder of real papers")

PAPERS = ["data/papers_2016-08_09.jsonl.gz"]
WHOLE_ID = re.compile(r"\d{4}\.\d{5}")
"""Some ids of that data have lost their last zero, and with it their place in the order of announcement."""

QUERIES = {
    "perf": "cat:cs.PF",
    "systems": "cat:cs.OS OR cat:cs.AR",
    "gpu": "cat:cs.DC AND (abs:GPU OR abs:accelerator)",
    "numbers": "cat:math.NA ANDNOT ti:wavelet",
    "kernels": "cat:stat.ML AND abs:kernel",
    "net": "cat:cs.NI AND (ti:network OR abs:traffic)",
    "quantum": "cat:quant-ph AND abs:entanglement",
}


class PacedGate:
    """Gives leave after four simulated seconds."""

    def __init__(self, process: StandIn) -> None:
        self._process = process

    def acquire(self) -> Grant:
        """Give leave."""
        self._process.control("now?advance=4", method="POST")
        return Grant(1)

    def release(self, grant: Grant, outcome: object) -> None:
        """Take note of nothing."""


def start(now: str) -> Iterator[StandIn]:
    process = StandIn(Path(FOLDER), PAPERS, now)
    yield process
    process.close()


@pytest.fixture
def at_the_end() -> Iterator[StandIn]:
    yield from start("2016-09-29T12:00:00Z")


@pytest.fixture
def in_between() -> Iterator[StandIn]:
    yield from start("2016-08-22T06:00:00Z")


NIGHTLY = pytest.mark.skipif(not IS_NIGHTLY, reason="fifteen seconds: .ci/nightly sets DIGEST_NIGHTLY")


@pytest.mark.parametrize(
    "query", [pytest.param(EVERYTHING, marks=NIGHTLY), "(cat:cs.* OR (cat:math.* OR cat:stat.*))"]
)
def test_a_search_beyond_the_limit_brings_what_many_small_ones_bring(at_the_end: StandIn, query: str) -> None:
    url, now = at_the_end.url, datetime(2016, 9, 29, 12, tzinfo=UTC)
    addresses = ArxivAddresses(f"{url}/api/query", f"{url}/oai")
    client = ArxivClient(
        addresses, "test/1.0 (mailto:ops@digest.example)", PacedGate(at_the_end), ManualClock(now)
    )

    def walk(asked: str, days: int) -> dict[str, datetime]:
        pages = walk_search(client, asked, until=now - timedelta(days=days), size=1000)
        found: dict[str, datetime] = {}
        for fetched in pages:
            for paper in fetched.page.papers:
                assert str(paper.id) not in found, "given out twice"
                found[str(paper.id)] = paper.updated
        return found

    try:
        whole = walk(query, 400)
        for days in (8, 35):
            before = client.requests
            until = now - timedelta(days=days)
            found = walk(query, days)
            assert {id_ for id_, updated in found.items() if updated >= until} == {
                id_ for id_, updated in whole.items() if updated >= until
            }
            assert client.requests - before <= len(found) / 1000 + 12
    finally:
        client.close()
    assert len(whole) > 8_500


def write_installation(folder: Path, source: str, url: str) -> None:
    folder.mkdir()
    text = write_config(
        url,
        QUERIES,
        [{"name": "team", "follow": list(QUERIES), "to": "file:out/"}],
        arxiv={"source": source},
        defaults={"when": "at once", "kinds": ["new"], "look_back": "0 days", "show": "all"},
    )
    (folder / "digest.toml").write_text(text)


def test_a_search_for_all_tells_what_a_harvest_tells(in_between: StandIn, tmp_path: Path) -> None:
    told: dict[str, list[str]] = {"harvest": [], "query": []}
    spent: dict[str, list[int]] = {"harvest": [], "query": []}
    for source in told:
        write_installation(tmp_path / source, source, in_between.url)
    for day in (22, 23, 24, 29):
        in_between.set_now(datetime(2016, 8, day, 6, tzinfo=UTC))
        for source in told:
            in_between.control("now?advance=60", method="POST")
            environ = {"DIGEST_TEST_CLOCK": in_between.clock_url}
            config = load_config(tmp_path / source / "digest.toml", environ)
            site = open_site(config, RemoteClock(in_between.clock_url), owner="test", jitter=lambda: 0.5)
            try:
                report = run_pass(site)
            finally:
                site.close()
            assert not report.troubles
            told[source] += filter(WHOLE_ID.fullmatch, told_ids(report))
            spent[source].append(report.poll.requests)
    print(f"requests of each run: {spent}")  # noqa: T201 - a figure to read
    assert in_between.violations == 0
    assert len(told["query"]) == len(set(told["query"]))
    assert set(told["query"]) == set(told["harvest"])
    assert len(told["query"]) > 50
