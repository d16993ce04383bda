"""Listings that lie, met by a whole pass that reads them as a witness.

What is covered of what arXiv's daily listings were seen to do: cut at two thousand lines with the new
papers gone first; left behind under today's date; no answer at all. No paper comes in by a
listing, so none can be lost by one: what they can do is to prove too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest

from digest.demo import rss
from digest.demo.archive import DemoPaper
from digest.demo.loopback import Answer, Request
from tests.integration.faulty import World, assert_all_follows, assert_all_there_once, living

LIMIT = 2_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        path = tmp_path / "digest.toml"
        path.write_text(path.read_text().replace("[arxiv]\n", "[arxiv]\nwitness = true\n"))
        world.arxiv._oai._page_size = 50
        yield world


def list_instead(world: World, news: list[tuple[DemoPaper, DemoPaper | None]]) -> None:
    """Have every listing that shows cs.PF show these papers, each with its state before."""

    def bend(request: Request) -> Answer | None:
        subjects = unquote(request.path.removeprefix("/rss/"))
        if not request.path.startswith("/rss/") or "cs.PF" not in subjects:
            return None
        return Answer(rss.write_rss(subjects, news, world.clock.now()), media_type=rss.MEDIA_TYPE)

    world.arxiv.bend = bend


def test_a_listing_cut_at_two_thousand_lines_loses_no_paper_and_proves_nothing(world: World) -> None:
    paper = world.arxiv.show_truth()["2602.00001"]
    many = [replace(paper, id=f"2601.{n:05d}", submitted=paper.submitted * 2) for n in range(1, LIMIT + 1)]
    list_instead(world, [(state, replace(state, submitted=paper.submitted)) for state in many])
    assert world.look().poll.failures == []
    assert_all_there_once(world)
    assert "cs 3 of 3: 2,000 lines are so many that arXiv may have cut" in world.command("verify", expect=1)
    assert_all_follows(world)


def test_a_listing_left_behind_under_todays_date_loses_no_paper_and_is_named(world: World) -> None:
    old = [paper for paper in world.arxiv.show_truth().values() if paper.version == 1 and "2602" in paper.id]
    list_instead(world, [(paper, None) for paper in old])
    assert world.look().poll.failures == []
    assert_all_there_once(world)
    assert "cs 3 of 3: shows the mailing of Sun 1 Mar" in world.command("verify", expect=1)
    assert_all_follows(world)


@pytest.mark.parametrize("kind", ["429", "503", "reset", "html", "truncate"])
def test_a_listing_that_cannot_be_read_spoils_no_pass(kind: str, world: World) -> None:
    world.arxiv.faults.add(kind, times=99, path="/rss")
    report = world.look()
    assert (report.poll.failures, report.troubles) == ([], [])
    assert world.last_run("listing").failure
    assert_all_there_once(world)
    assert_all_follows(world, after=timedelta(hours=5))
