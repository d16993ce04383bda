"""Where harvests keep failing the search stands in.

What can wait takes no more requests than are to spare.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.poll.rules import MOST_FIRST_SEARCHES
from digest.poll.search import EVERYTHING
from digest.render.digests import CoverageState, describe_coverage
from digest.serve.steps import PassReport
from tests.harness.papers import START, made_up, told_ids
from tests.integration.searching_worlds import World, old_papers, surrounded

FEW = {"perf": "cat:cs.PF", "numbers": "cat:math.NA"}
NOON = datetime(2026, 3, 3, 12, tzinfo=UTC)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with surrounded(tmp_path, old_papers()) as made:
        made.write_queries(FEW, source="harvest")
        made.run()
        yield made


def break_harvests(world: World, kind: str = "500", times: int = 1000) -> None:
    world.arxiv.faults.add(kind, times=times, path="/oai")


def run_at(world: World, moment: datetime) -> PassReport:
    world.clock.set(moment)
    return world.run()


def test_a_harvest_that_keeps_failing_is_stood_in_for_by_a_search_for_everything(
    world: World,
) -> None:
    id_ = world.come_out(101)
    break_harvests(world)
    for hours in (0, 1, 2):
        assert told_ids(run_at(world, NOON + timedelta(hours=hours))) == []
    assert world.asked() == []
    report = run_at(world, NOON + timedelta(hours=4))
    assert told_ids(report) == [id_]
    assert world.asked() == [EVERYTHING]
    assert "arXiv had an error of its own" in str(report.poll.failures[0])
    assert str(report.poll.failures[1]).startswith("arXiv's search stood in for the harvest: ")
    assert not report.plan.digests[0].coverage.is_complete


def test_the_next_harvest_that_succeeds_repeats_nothing_and_misses_nothing(world: World) -> None:
    told = []
    first = world.come_out(101)
    other = world.come_out(102, categories=("hep-th",))
    break_harvests(world, times=6)
    for hours in (0, 4):
        told += told_ids(run_at(world, NOON + timedelta(hours=hours)))
    assert told == [first]
    world.write_queries(FEW, new={"high": "cat:hep-th"}, source="harvest", look_back=7)
    assert told_ids(run_at(world, NOON + timedelta(hours=4, minutes=10))) == [other], (
        "what nobody followed came, too"
    )
    late = world.come_out(103)
    assert world.run_on(4) == [late]
    assert world.run_on(5) == []


def test_what_was_submitted_days_before_the_last_good_harvest_is_met(world: World) -> None:
    world.run_on(8)
    held = made_up(
        150, datetime(2026, 3, 5, 20, tzinfo=UTC), announced=datetime(2026, 3, 9, 0, 1, tzinfo=UTC)
    )
    world.arxiv.add(held)
    break_harvests(world)
    world.run_on(9, 8)
    assert world.run_on(9) == [held.id]


@pytest.mark.parametrize("kind", ["429", "403", "redirect"])
def test_where_arxiv_wants_to_be_left_alone_it_is_not_asked_elsewhere(
    world: World, kind: str
) -> None:
    world.come_out(101)
    break_harvests(world, kind)
    for hours in (0, 5, 10, 24):
        assert run_at(world, NOON + timedelta(hours=hours)).poll.failures
    assert world.asked() == []


def test_a_search_that_fails_too_is_told_and_tried_when_the_next_look_is_due(world: World) -> None:
    id_ = world.come_out(101)
    break_harvests(world)
    world.arxiv.faults.add("500", times=6, path="/api/query")
    run_at(world, NOON)
    assert len(run_at(world, NOON + timedelta(hours=4)).poll.failures) == 2
    assert told_ids(run_at(world, NOON + timedelta(hours=6))) == []
    assert told_ids(run_at(world, NOON + timedelta(hours=9))) == [id_]


def add_rare(world: World, count: int) -> dict[str, str]:
    """Add old papers of which new saved queries match one each."""
    for number in range(count):
        long_ago = START - timedelta(days=400 + number)
        world.arxiv.add(
            made_up(number, long_ago, id=f"2412.{number + 1:05d}", title=f"Rare w{number}")
        )
    return {f"rare{number}": f"ti:w{number}" for number in range(count)}


def test_a_run_looks_up_all_new_queries_and_gives_one_first_digest_of_them(world: World) -> None:
    world.write_queries(FEW, new=add_rare(world, 17), source="harvest", look_back=7)
    (digest,) = run_at(world, START + timedelta(minutes=5)).plan.digests
    assert (len(digest.entries), len(world.asked())) == (15, 17)
    later = run_at(world, START + timedelta(minutes=10))
    assert (later.plan.digests, len(world.asked())) == ([], 17)


def test_a_first_digest_waits_for_the_query_that_arxiv_does_not_answer(world: World) -> None:
    rare = add_rare(world, 5)
    world.write_queries(FEW, new=rare, source="harvest", look_back=7)
    world.arxiv.faults.add("malformed", path="/api/query", skip=2, times=3)
    report = run_at(world, START + timedelta(minutes=5))
    assert report.plan.digests == []
    assert report.poll.awaiting == {"ti:w2"}
    world.arxiv.faults.clear()
    (digest,) = run_at(world, START + timedelta(minutes=10)).plan.digests
    assert sorted(entry.queries[0] for entry in digest.entries) == sorted(rare)
    assert describe_coverage(digest.coverage, is_sample=True).state is CoverageState.COMPLETE


def test_of_very_many_first_digests_most_are_taken_from_what_is_stored(world: World) -> None:
    rare = add_rare(world, MOST_FIRST_SEARCHES + 5)
    world.write_queries(FEW, new=rare, source="harvest", look_back=7)
    for minutes in (5, 10):
        run_at(world, START + timedelta(minutes=minutes))
    assert len(world.asked()) == MOST_FIRST_SEARCHES
