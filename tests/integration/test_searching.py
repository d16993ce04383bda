"""Searching in place of harvesting.

One search for each saved query, nothing lost and nothing told twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.arxiv.pages import SMALLEST_PAGE
from digest.model.polls import MOST_SEARCHED
from digest.poll import search
from digest.poll.rules import POLL_TIMES
from tests.fakes.loopback import Answer, Request
from tests.fakes.pages import ATOM_TYPE, error_feed
from tests.harness.papers import START, made_up, told_ids
from tests.integration.searching_worlds import World, old_papers, surrounded

FEW = {"perf": "cat:cs.PF", "tail": "cat:cs.PF AND abs:tail"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with surrounded(tmp_path, old_papers()) as made:
        yield made


def test_each_query_is_asked_for_as_it_is_whenever_a_check_is_due(world: World) -> None:
    world.write_queries(FEW)
    assert told_ids(world.run()) == []
    assert sorted(world.asked()) == ["(abs:tail AND cat:cs.PF)", "cat:cs.PF"]
    id_ = world.come_out(101)
    told = world.run_on(3, 0)
    before = len(world.asked())
    told += [one for hour in range(1, 24) for one in world.run_on(3, hour)]
    assert told == [id_]
    assert len(world.asked()) - before == len(FEW) * len(POLL_TIMES)


def test_what_was_held_for_weeks_is_told_by_the_wide_looks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PAGE", "WIDE_PAGE"):
        monkeypatch.setattr(search, name, SMALLEST_PAGE)
    for number in range(60):
        world.arxiv.add(
            made_up(number, START - timedelta(days=5, hours=4 * number), id=f"2602.{number:05d}")
        )
    world.write_queries(FEW)
    world.run()
    assert world.run_on(3) == []
    held = made_up(77, START - timedelta(days=20), announced=datetime(2026, 3, 5, 1, tzinfo=UTC))
    world.arxiv.add(held)
    told = [(day, id_) for day in range(4, 14) for id_ in world.run_on(day)]
    assert told == [(10, held.id)], "35 days are looked through once a week"


def test_a_query_that_comes_in_is_told_what_comes_out_from_then_on_and_nothing_older(
    world: World,
) -> None:
    old = [
        made_up(50 + n, START - timedelta(days=2, hours=n), categories=("math.NA",))
        for n in range(20)
    ]
    world.arxiv.add(*old)
    world.write_queries(FEW)
    world.run()
    world.come_out(101)
    world.run_on(3)
    world.write_queries(FEW | {"numbers": "cat:math.NA"})
    assert world.run_on(4) == []
    id_ = world.come_out(110, categories=("math.NA",))
    assert world.run_on(5) == [id_]


def test_an_old_paper_that_is_cross_listed_into_the_category_of_a_query_is_told(
    world: World,
) -> None:
    world.write_queries(FEW)
    world.run()
    id_ = world.come_out(101, categories=("math.NA",))
    world.come_out(102)
    assert world.run_on(3) == ["2603.00102"]
    world.arxiv.cross_list(id_, "cs.PF")
    assert world.run_on(4) == [id_]


def test_the_first_digest_of_a_query_shows_its_newest_papers_however_old(world: World) -> None:
    old = [
        made_up(n, START - timedelta(days=300 + n), id=f"2501.{n:05d}", categories=("cs.NI",))
        for n in range(9)
    ]
    world.arxiv.add(*old)
    world.write_queries({"net": "cat:cs.NI"}, look_back=7)
    assert sorted(told_ids(world.run())) == sorted(paper.id for paper in old)


def test_that_arxiv_has_nothing_for_a_query_is_asked_once_more(world: World) -> None:
    world.write_queries(dict(list(FEW.items())[:1]))
    world.arxiv.faults.add("empty_zero")
    world.run()
    assert [run.papers for run in world.runs("query")] == [5]
    assert len(world.asked()) == 2


def test_a_new_query_beside_one_that_arxiv_refuses_is_shown_its_newest_papers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = [
        made_up(n, START - timedelta(days=40 + n), id=f"2601.{n:05d}", categories=("cs.NI",))
        for n in range(9)
    ]
    world.arxiv.add(*rare)
    serve = world.arxiv._serve

    def refuse(request: Request, *others: Any) -> Answer:  # noqa: ANN401 - passed on as it came
        if "tail" in request.param("search_query"):
            return Answer(error_feed("refused"), 400, ATOM_TYPE)
        return serve(request, *others)

    monkeypatch.setattr(world.arxiv, "_serve", refuse)
    world.write_queries({"rare": "cat:cs.NI", "tail": "cat:cs.PF AND abs:tail"}, look_back=7)
    report = world.run()
    assert report.poll.failures
    assert sorted(told_ids(report)) == sorted(paper.id for paper in rare)
    id_ = world.come_out(101, categories=("cs.NI",))
    assert world.run_on(3) == [id_]
    assert not any(run.is_complete for run in world.runs("query"))


def test_more_queries_than_arxivs_search_is_asked_for_are_said_and_not_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write_queries({f"q{number}": f"ti:w{number}" for number in range(MOST_SEARCHED)})
    monkeypatch.setattr(search, "MOST_SEARCHED", MOST_SEARCHED - 1)
    report = world.run()
    assert "there are 30 saved queries" in str(report.poll.failures[0])
    assert world.asked() == []
    assert [run.is_complete for run in world.runs("query")] == [False]
