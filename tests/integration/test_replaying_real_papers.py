"""A replay of real papers: what a week of 2016 brought comes out of its pages once more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from digest.clock import RemoteClock
from digest.config import load_config
from digest.pipeline import open_site, run_pass
from digest.pipeline.replaying import ReplayReport, replay
from digest.store import open_store
from tests.acceptance.worlds import StandIn, days
from tests.integration.replay_worlds import CONFIG

PAPERS = ["data/papers_2016-08_09.jsonl.gz"]


@pytest.fixture(scope="module")
def real_data() -> Path:
    folder = os.environ.get("DIGEST_REAL_DATA")
    if not folder:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    return Path(folder)


@pytest.fixture
def arxiv(real_data: Path) -> Iterator[StandIn]:
    running = StandIn(real_data, PAPERS, "2016-08-10T12:40:00Z")
    yield running
    running.close()


@pytest.mark.timeout(600)
def test_what_real_mailings_brought_comes_out_of_their_pages_again(arxiv: StandIn, tmp_path: Path) -> None:
    text = CONFIG.format(
        source="harvest",
        arxiv=arxiv.url,
        store=f"sqlite:///{tmp_path / 'digest.db'}",
        queries='learning = "cat:cs.LG"',
        names='"learning"',
    )
    (tmp_path / "digest.toml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path / "digest.toml", {"DIGEST_TEST_CLOCK": arxiv.clock_url})
    clock = RemoteClock(arxiv.clock_url)
    for moment in days("2016-08-10", "2016-08-17", "12:40"):
        arxiv.set_now(moment)
        site = open_site(config, clock, owner="test", jitter=lambda: 0.5)
        run_pass(site)
        site.close()
    store = open_store(config.store.url)
    whole, late = replay(store), replay(store, since=date(2016, 8, 15))
    store.close()
    for since, report in (("the first look", whole), ("15 Aug", late)):
        print(_describe(since, report))  # noqa: T201 - shown by `pytest -rP`
        assert (report.differences, report.untold, report.unsure) == ([], [], {})
    assert whole.changes > late.changes > 500
    assert arxiv.violations == 0


def _describe(since: str, report: ReplayReport) -> str:
    return (
        f"since {since}: {report.runs} runs, {report.pages} pages, "
        f"{report.papers:,} papers, {report.changes:,} changes"
    )
