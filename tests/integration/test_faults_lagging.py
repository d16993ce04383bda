"""Answers from behind and with holes, met by a whole pass.

What is covered of what arXiv was seen to do: replicas and caches hours or days behind, with today's
date on them; a search whose index follows late; ids that lists and the index leave out and fill in
later.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.faulty import (
    NOON,
    World,
    assert_all_follows,
    assert_all_there_once,
    assert_nothing_wrong_is_stored,
    living,
)

SOME = {"2603.00003", "2603.00005"}
MORE = {"2603.00002", "2603.00003", "2603.00005"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query") as world:
        yield world


@pytest.mark.parametrize("days", [1, 3, 5])
def test_a_replica_behind_what_is_stored_is_not_believed_and_takes_nothing_back(
    days: int, world: World
) -> None:
    world.run()
    assert_all_there_once(world)
    world.arxiv.behind = timedelta(days=days)
    world.clock.advance(timedelta(hours=5))
    before = world.cursors()
    report = world.run()
    assert "arXiv showed an older state than before" in " ".join(map(str, report.poll.failures))
    assert world.cursors() == before
    assert set(world.list_changes()) == world.expected
    assert_nothing_wrong_is_stored(world)
    assert_all_follows(world)


def test_a_replica_that_answers_every_second_page_mixes_no_states(world: World) -> None:
    asked: list[object] = []

    def bend(request: object) -> None:
        asked.append(request)
        world.arxiv.behind = timedelta(days=2) * (len(asked) % 2)

    world.arxiv.bend = bend
    world.run()
    assert set(world.list_changes()) <= world.expected
    assert_nothing_wrong_is_stored(world)
    assert_all_follows(world)


def test_a_search_whose_index_follows_a_day_late_loses_nothing_and_tells_nothing_twice(
    searching: World,
) -> None:
    searching.arxiv.behind = timedelta(hours=24)
    for hours in (0, 2):
        searching.clock.set(NOON + timedelta(hours=hours))
        assert searching.run().poll.failures == []
    assert searching.list_changes() == []
    assert_all_follows(searching, after=timedelta(hours=6))


def test_a_search_that_falls_behind_what_is_stored_takes_nothing_back(searching: World) -> None:
    searching.run()
    searching.arxiv.behind = timedelta(days=2)
    searching.clock.advance(timedelta(hours=7))
    searching.run()
    assert set(searching.list_changes()) == searching.expected
    assert_nothing_wrong_is_stored(searching)
    assert_all_follows(searching)


@pytest.mark.parametrize("ids", [SOME, MORE], ids=["two", "three"])
def test_ids_that_the_list_leaves_out_are_asked_for_by_id_in_the_same_pass(
    ids: set[str], world: World
) -> None:
    world.arxiv.hidden = ids
    assert world.run().poll.failures == []
    assert_all_there_once(world)
    world.arxiv.hidden = set()
    assert_all_follows(world)
