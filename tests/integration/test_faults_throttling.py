"""arXiv that asks to be left alone, met by a whole pass.

What is covered of what arXiv was seen to do: "Rate exceeded." under 429, for a moment and for hours and
to lone requests; the same words under 200; 406 for everybody behind an address; a front that gives up
with 503 and says `Retry-After: 0`; a refusal of the client as such, 403.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.integration.faulty import (
    NOON,
    World,
    assert_all_follows,
    assert_not_believed,
    living,
)

QUERIES = {"perf": "cat:cs.PF", "tail": "abs:tail", "bo": 'au:"Bo Sample"'}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query", queries=QUERIES) as world:
        yield world


def throttle(world: World, kind: str, *, skip: int = 0, retry_after: object = "") -> int:
    """Have arXiv refuse from a request on; return how many were made before."""
    world.arxiv.faults.add(kind, times=99, skip=skip, retry_after=retry_after)
    return len(world.arxiv.requests)


def test_rate_exceeded_between_two_pages_ends_the_look_and_keeps_the_first_page(world: World) -> None:
    made = throttle(world, "429", skip=1)
    report = assert_not_believed(world, "its rate is exceeded", outcome="partial")
    assert len(world.arxiv.requests) == made + 2, "it is not asked once more"
    assert report.poll.papers == 6
    breaker = world.breaker()
    assert (breaker.reason, breaker.failures) == ("throttled", 1)
    assert 0 < breaker.seconds <= 60
    assert world.log()[-1] == (429, "throttled")
    assert_all_follows(world)


def test_rate_exceeded_for_hours_is_met_by_ever_fewer_requests_and_loses_nothing(world: World) -> None:
    made = throttle(world, "429")
    for minutes in range(0, 6 * 60, 15):
        world.clock.set(NOON + timedelta(minutes=minutes))
        world.look()
    asked = [visit.at for visit in world.arxiv.requests[made:]]
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert 4 <= len(asked) <= 7
    assert pauses == sorted(pauses)
    assert world.breaker().failures == len(asked)
    assert world.list_changes() == []
    assert "could not be looked at" in world.command("run", "--now", expect=4)
    assert_all_follows(world)


def test_rate_exceeded_in_one_search_spares_arxiv_the_searches_of_all_other_saved_queries(
    searching: World,
) -> None:
    made = throttle(searching, "429")
    assert_not_believed(searching, "its rate is exceeded")
    assert len(searching.arxiv.requests) == made + 1
    searching.clock.advance(timedelta(seconds=20))
    searching.look(anyway=True)
    assert len(searching.arxiv.requests) == made + 2, "one request to see whether it is over, not one for each"
    assert_all_follows(searching)


def test_rate_exceeded_under_200_is_no_page_and_opens_the_breaker_like_429(world: World) -> None:
    throttle(world, "rate_200", skip=1)
    assert_not_believed(world, "its rate is exceeded", outcome="partial")
    assert world.log()[-1] == (200, "throttled")
    assert world.breaker().reason == "throttled"
    assert_all_follows(world)


def test_406_for_everybody_is_a_pause_and_no_mistake_of_ours(world: World) -> None:
    made = throttle(world, "406")
    assert_not_believed(world, "asks to be spared for a while (406)")
    assert len(world.arxiv.requests) == made + 1
    assert world.breaker().reason == "throttled"
    assert_all_follows(world)


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_503_that_says_to_come_back_in_0_seconds_is_left_alone_for_longer(source: str, tmp_path: Path) -> None:
    with living(tmp_path, source) as world:
        made = throttle(world, "503")
        assert_not_believed(world, "asks to be spared for a while (503)")
        assert len(world.arxiv.requests) == made + 1
        assert 30 <= world.breaker().seconds <= 60
        assert_all_follows(world)


def test_a_wish_to_wait_is_obeyed_to_the_second_whoever_asks_again(world: World) -> None:
    throttle(world, "429", retry_after=1800)
    assert_not_believed(world, "its rate is exceeded")
    until = world.clock.now() + timedelta(seconds=world.breaker().seconds)
    assert timedelta(minutes=30) <= until - NOON <= timedelta(minutes=31)
    made = len(world.arxiv.requests)
    world.arxiv.faults.clear()
    world.clock.set(until - timedelta(minutes=15))
    assert "asked for a pause; it is asked again in 15 min" in world.command("run", "--now", expect=4)
    assert len(world.arxiv.requests) == made
    world.clock.set(until)
    assert world.look(anyway=True).poll.failures == []
    assert world.arxiv.requests[made].at >= until
    assert_all_follows(world)


def test_403_keeps_everybody_away_for_hours_and_is_shown_to_the_operator(world: World) -> None:
    made = throttle(world, "403")
    assert_not_believed(world, "refuses to answer this client (403)")
    world.arxiv.faults.clear()
    for hours in (1, 2, 3):
        world.clock.set(NOON + timedelta(hours=hours))
        assert "blocked this client" in " ".join(world.look(anyway=True).poll.failures)
    assert len(world.arxiv.requests) == made + 1
    assert "ATTENTION  arXiv is left alone for" in world.command("status")
    assert_all_follows(world)
