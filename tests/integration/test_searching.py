"""Searching in place of harvesting: one look for many saved queries, nothing lost and nothing told twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.arxiv.pages import SMALLEST_PAGE
from digest.poll import search
from digest.poll.rules import POLL_TIMES, REQUESTS_A_DAY, SEARCHED_BY_WORDS
from tests.acceptance.made import START, made_up, told_ids
from tests.conftest import IS_NIGHTLY
from tests.fakes import atom
from tests.fakes.loopback import Answer, Request
from tests.integration.searching_worlds import World, old_papers, surrounded

FEW = {"perf": "cat:cs.PF", "tail": "cat:cs.PF AND abs:tail"}
OTHERS = {f"other{number}": f"cat:cs.DC AND ti:w{number}" for number in range(SEARCHED_BY_WORDS)}
MANY = FEW | OTHERS
CONFINED = "(cat:cs.DC OR cat:cs.PF)"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with surrounded(tmp_path, old_papers()) as made:
        yield made


def test_many_queries_are_asked_for_together_by_the_categories_they_are_confined_to(world: World) -> None:
    world.write(MANY)
    assert told_ids(world.run()) == []
    assert world.asked() == [CONFINED]
    id_ = world.come_out(101)
    assert world.run_on(3) == [id_]
    assert len(world.asked()) == 2


@pytest.mark.parametrize("is_first_one_by_one", [True, False])
def test_going_over_to_many_queries_and_back_neither_loses_nor_repeats_anything(
    world: World, *, is_first_one_by_one: bool
) -> None:
    told: list[str] = []
    announced: list[str] = []
    for step, day in enumerate((2, 3, 4, 5, 6, 10)):
        is_few = (step % 2 == 0) == is_first_one_by_one
        world.write(FEW if is_few else MANY)
        told += world.run_on(day)
        assert sorted(told) == sorted(announced)
        announced.append(world.come_out(100 + step))
        held = made_up(200 + step, world.clock.now() - timedelta(days=6), announced=world.clock.now())
        if step % 2:
            world.arxiv.add(held)
            announced.append(held.id)
    told += world.run_on(11)
    assert sorted(told) == sorted(announced)


def test_what_was_held_for_weeks_is_told_by_the_wide_looks_for_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "JOINT_PAGE", SMALLEST_PAGE)
    for number in range(60):
        world.arxiv.add(made_up(number, START - timedelta(days=5, hours=4 * number), id=f"2602.{number:05d}"))
    world.write(FEW)
    world.run()
    world.write(MANY)
    assert world.run_on(3) == []
    held = made_up(77, START - timedelta(days=20), announced=datetime(2026, 3, 5, 1, tzinfo=UTC))
    world.arxiv.add(held)
    told = [(day, id_) for day in range(4, 14) for id_ in world.run_on(day)]
    assert told == [(10, held.id)], "35 days are looked through once a week"


def test_a_query_that_comes_in_is_told_what_comes_out_from_then_on_and_nothing_older(world: World) -> None:
    old = [made_up(50 + n, START - timedelta(days=2, hours=n), categories=("math.NA",)) for n in range(20)]
    world.arxiv.add(*old)
    world.write(MANY)
    world.run()
    world.come_out(101)
    world.run_on(3)
    world.write(MANY | {"numbers": "cat:math.NA"})
    id_ = world.come_out(110, categories=("math.NA",))
    assert world.run_on(4) == [id_]
    late = world.come_out(111, categories=("math.NA",))
    assert world.run_on(5) == [late]


@pytest.mark.parametrize("is_few_again", [True, False])
def test_an_old_paper_that_is_cross_listed_into_the_categories_of_many_is_told(
    world: World, *, is_few_again: bool
) -> None:
    world.write(MANY)
    world.run()
    id_ = world.come_out(101, categories=("math.NA",))
    world.come_out(102)
    assert world.run_on(3) == ["2603.00102"]
    world.arxiv.cross_list(id_, "cs.PF")
    world.write(FEW if is_few_again else MANY)
    assert world.run_on(4) == [id_]


def test_the_first_digest_of_a_query_among_many_shows_its_newest_papers(world: World) -> None:
    old = [
        made_up(n, START - timedelta(days=300 + n), id=f"2501.{n:05d}", categories=("cs.NI",)) for n in range(9)
    ]
    world.arxiv.add(*old)
    world.write(MANY, look_back=7)
    world.run()
    world.write(MANY | {"net": "cat:cs.NI"}, look_back=7)
    before = len(world.arxiv.requests)
    report = world.run()
    assert sorted(told_ids(report)) == sorted(paper.id for paper in old)
    assert "cat:cs.NI" in world.asked(before)
    assert CONFINED not in world.asked(before), "no look for all was due"


def test_that_arxiv_has_nothing_for_a_new_query_is_asked_once_more(world: World) -> None:
    world.write(FEW)
    world.arxiv.faults.add("empty_zero")
    world.run()
    assert [run.papers for run in world.runs("query")] == [5]
    assert len(world.asked()) == 2


@pytest.mark.parametrize("more", [{}, OTHERS] if IS_NIGHTLY else [OTHERS])
def test_a_day_of_looks_keeps_to_its_budget_of_requests(world: World, more: dict[str, str]) -> None:
    few = {f"q{number}": f"cat:cs.PF AND abs:w{number}" for number in range(SEARCHED_BY_WORDS)}
    world.write(few | more)
    world.run()
    world.come_out(101)
    world.run_on(3, 0)
    before = len(world.asked())
    for hour in range(1, 24):
        world.run_on(3, hour)
    looks_a_day = len(POLL_TIMES)
    assert len(world.asked()) - before == looks_a_day <= REQUESTS_A_DAY


def test_a_new_query_beside_one_that_arxiv_refuses_is_shown_its_newest_papers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "JOINT_PAGE", 20)
    rare = [
        made_up(n, START - timedelta(days=40 + n), id=f"2601.{n:05d}", categories=("cs.NI",)) for n in range(9)
    ]
    crowd = [made_up(n, START - timedelta(days=9, minutes=n), id=f"2602.{n:05d}") for n in range(500, 530)]
    world.arxiv.add(*rare, *crowd)
    serve = world.arxiv._serve_search

    def refuse(request: Request, *others: Any) -> Answer:  # noqa: ANN401 - passed on as it came
        if "tail" in request.param("search_query"):
            return Answer(atom.write_error("refused", START), 400, atom.MEDIA_TYPE)
        return serve(request, *others)

    monkeypatch.setattr(world.arxiv, "_serve_search", refuse)
    world.write({"rare": "cat:cs.NI", "tail": "cat:cs.PF AND abs:tail"}, look_back=7)
    report = world.run()
    assert report.poll.failures
    assert {*told_ids(report)} >= {paper.id for paper in rare}
