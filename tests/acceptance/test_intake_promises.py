"""What the intake promises, where it was found to be broken once.

Nothing told falsely, nothing left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.compare import KnownBefore
from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.model.errors import StoreError
from digest.model.papers import Paper
from digest.poll.novelty import store_changes
from digest.store import open_store, runs
from tests.harness.papers import START, made_up, told_ids
from tests.integration.searching_worlds import World, old_papers, surrounded
from tests.unit.made_up import SUBMITTED, make_paper

PERF = {"perf": "cat:cs.PF"}
TUESDAY = datetime(2026, 3, 4, 1, 0, tzinfo=UTC)
"""20:00 Eastern time of Tue 3 Mar, winter time still."""
WEDNESDAY = TUESDAY + timedelta(days=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with surrounded(tmp_path, old_papers()) as made:
        yield made


def test_where_the_first_search_came_short_later_ones_do_not_tell_what_is_years_old(
    world: World,
) -> None:
    for number in range(20, 80):
        world.arxiv.add(
            made_up(number, START - timedelta(days=200 + 10 * number), id=f"2301.{number:05d}")
        )
    world.arxiv.faults.add("short_page", path="/api", times=99, keep=0.2)
    world.write_queries(PERF)
    assert told_ids(world.run()) == []
    world.arxiv.faults.clear()
    id_ = world.come_out(101)
    held = made_up(102, START - timedelta(days=60), announced=START + timedelta(hours=13))
    world.arxiv.add(held)
    assert world.run_on(3) == [id_, held.id], "but what was held for long and comes out now is news"


def test_what_was_held_for_long_and_comes_out_while_a_new_query_is_edited_is_told(
    world: World,
) -> None:
    world.write_queries(PERF)
    world.run()
    held = made_up(102, START - timedelta(days=9), announced=START + timedelta(hours=13))
    world.arxiv.add(held)
    world.write_queries({"perf": "cat:cs.PF OR cat:cs.OS"})
    assert world.run_on(3) == [held.id]


def test_after_looks_that_failed_a_late_announcement_is_not_called_complete_for_the_one_before_it(
    world: World,
) -> None:
    world.write_queries(PERF, source="harvest")
    world.run()
    held_up = WEDNESDAY + timedelta(hours=15)
    for number in range(101, 111):
        world.arxiv.add(made_up(number, TUESDAY - timedelta(hours=9), announced=TUESDAY))
        world.arxiv.add(made_up(number + 10, WEDNESDAY - timedelta(hours=9), announced=held_up))
    world.clock.set(WEDNESDAY + timedelta(hours=2, minutes=46))
    report = world.run()
    (digest,) = report.plan.digests
    assert len(digest.entries) == 10
    assert (digest.coverage.is_complete, digest.coverage.is_awaited) == (False, True)
    world.clock.set(WEDNESDAY + timedelta(hours=13))
    (alarm,) = world.run().watch.alarms
    assert str(alarm.what) == "the announcement of Wed 4 Mar is not out yet"
    world.clock.set(held_up + timedelta(hours=5))
    report = world.run()
    (digest,) = report.plan.digests
    assert (digest.coverage.is_complete, digest.coverage.new, report.watch.alarms) == (True, 10, ())


def test_a_last_look_that_is_yet_to_come_is_refused_with_both_moments(world: World) -> None:
    world.write_queries(PERF, source="harvest")
    right = world.clock
    world.clock = ManualClock(TUESDAY + timedelta(days=3))
    world.run()
    right.set(TUESDAY)
    world.clock = right
    with pytest.raises(
        StoreError, match=r"on Sat 7 Mar 2026 .* it is Wed 4 Mar .* here: a clock is wrong"
    ):
        world.run()


def test_a_page_that_holds_a_paper_in_two_versions_tells_it_once_whoever_waits_for_which(
    tmp_path: Path,
) -> None:
    def judge(paper: Paper) -> KnownBefore:
        return KnownBefore() if paper.version == 1 else KnownBefore(since=SUBMITTED)

    store = open_store(f"sqlite:///{tmp_path}/digest.db", create=True)
    with closing(store), store.begin() as conn:
        run_id = runs.start(conn, source="query", at=START)
        page = (make_paper("2611.15012"), make_paper("2611.15012", version=2))
        changes = store_changes(conn, page, judge, run_id=run_id, at=START, as_of=START)
    assert [(change.kind, change.paper.version) for change in changes] == [(Kind.REPLACEMENT, 2)]
