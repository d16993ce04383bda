"""Real papers of two months, beside a stand-in with arXiv's limits.

Searches tell what a harvest tells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from digest.config import load_config
from digest.model.clock import RemoteClock
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from tests.fakes.config_file import write_config
from tests.harness.papers import told_ids
from tests.harness.stand_in import StandIn

FOLDER = os.environ.get("DIGEST_REAL_DATA", "")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="DIGEST_REAL_DATA names no folder of real papers"
)

PAPERS = ["data/papers_2016-08_09.jsonl.gz"]
WHOLE_ID = re.compile(r"\d{4}\.\d{5}")
"""Some ids of that data have lost their last zero, and so their place in the order of the ids."""

QUERIES = {
    "perf": "cat:cs.PF",
    "systems": "cat:cs.OS OR cat:cs.AR",
    "gpu": "cat:cs.DC AND (abs:GPU OR abs:accelerator)",
    "numbers": "cat:math.NA ANDNOT ti:wavelet",
    "kernels": "cat:stat.ML AND abs:kernel",
    "net": "cat:cs.NI AND (ti:network OR abs:traffic)",
    "quantum": "cat:quant-ph AND abs:entanglement",
}


@pytest.fixture
def in_between() -> Iterator[StandIn]:
    with StandIn(Path(FOLDER), PAPERS, "2016-08-22T06:00:00Z") as process:
        yield process


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
            with closing(
                open_site(
                    config, RemoteClock(in_between.clock_url), owner="test", jitter=lambda: 0.5
                )
            ) as site:
                report = run_pass(site)
            assert not report.troubles
            told[source] += filter(WHOLE_ID.fullmatch, told_ids(report))
            spent[source].append(report.poll.requests)
    print(f"requests of each run: {spent}")  # noqa: T201 - a figure to read
    assert in_between.violations == 0
    assert len(told["query"]) == len(set(told["query"]))
    assert set(told["query"]) == set(told["harvest"])
    assert len(told["query"]) > 50
