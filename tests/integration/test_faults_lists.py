"""Lists of a harvest that lack something or change while they are read, met by a whole pass.

What is covered of what arXiv was seen to do, or is known to: pages of a list that come short or
empty; rows that are touched between two pages, which pushes others out of the list; tokens that end
at midnight UTC; an answer of nothing that a cache keeps until midnight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.loopback import Answer, Request
from tests.integration.faulty import (
    CROSS_LISTED,
    NOON,
    REPLACED,
    WITHDRAWN,
    World,
    assert_all_follows,
    assert_all_there_once,
    assert_not_believed,
    assert_told_once,
    living,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


def is_page(request: Request, number: int, counted: list[Request]) -> bool:
    """Whether a request asks for the list's page of that number, counting from 1."""
    if request.param("verb") == "ListRecords":
        counted.append(request)
        return len(counted) == number
    return False


def touch_before_page(world: World, number: int, *ids: str) -> None:
    """Have arXiv touch papers, without changing a word, when a page is asked for.

    They move to the list's end.
    """
    counted: list[Request] = []

    def bend(request: Request) -> Answer | None:
        if is_page(request, number, counted):
            truth = world.arxiv.show_truth()
            world.arxiv.add(*(replace(truth[id_], announced=world.clock.now()) for id_ in ids))
        return None

    world.arxiv.bend = bend


def list_public(world: World) -> list[str]:
    """Return the ids that arXiv lists for today, in its order."""
    today = world.clock.now().date()
    papers = world.arxiv.show_truth().values()
    return [paper.id for paper in papers if paper.announced.astimezone(UTC).date() == today]


def test_while_missing_ids_could_not_be_asked_for_yet_an_announcement_is_not_complete(
    world: World,
) -> None:
    def bend(request: Request) -> Answer | None:
        is_third = "skip%3D12" in request.param("resumptionToken")
        return world.arxiv._serve(request, 0.6) if is_third else None

    world.arxiv.bend = bend
    report = world.run()
    assert (report.poll.failures, report.poll.requests) == ([], 6), "what a run may cost is used up"
    assert str(world.last_run("gaps").failure) == "2 ids could not be asked for yet"
    assert not world.is_covered()
    assert_all_follows(world)


def test_new_papers_pushed_out_of_the_list_by_rows_that_change_are_found_by_their_ids_at_once(
    world: World,
) -> None:
    assert list_public(world)[:5] == [REPLACED, CROSS_LISTED, WITHDRAWN, "2603.00001", "2603.00002"]
    touch_before_page(world, 4, REPLACED, CROSS_LISTED, WITHDRAWN)
    report = world.run()
    assert world.arxiv.requests[-1].param("id_list").split(",") == [
        "2603.00005",
        "2603.00004",
        "2603.00003",
    ]
    assert report.poll.failures == []
    assert_all_there_once(world)
    assert_all_follows(world)


def test_changes_pushed_out_of_the_list_by_rows_that_change_come_with_the_next_look(
    world: World,
) -> None:
    world.arxiv._page_size = 15
    touch_before_page(world, 2, REPLACED, CROSS_LISTED)
    assert world.run().poll.failures == []
    pushed_out = ("withdrawn", WITHDRAWN, 2)
    assert set(world.list_changes()) == world.expected - {pushed_out}
    assert_all_follows(world)


def test_a_token_that_ends_at_midnight_ends_the_look_and_the_list_is_read_anew(
    world: World,
) -> None:
    counted: list[Request] = []

    def bend(request: Request) -> Answer | None:
        if is_page(request, 3, counted):
            world.clock.set(datetime(2026, 3, 4, 0, 0, 5, tzinfo=UTC))
        return None

    world.clock.set(NOON.replace(hour=23, minute=59, second=30))
    world.arxiv.bend = bend
    assert_not_believed(world, "the list can't be continued", outcome="partial")
    assert_all_follows(world, after=timedelta(minutes=15))
    restarted = [visit for visit in world.arxiv.requests if visit.param("from")][-2]
    assert restarted.param("from") == "2026-02-16", "as far back as the look that was broken off"


def test_a_list_said_to_be_empty_all_day_is_never_believed_where_papers_are_known_to_be_in_it(
    world: World,
) -> None:
    def bend(request: Request) -> Answer | None:
        is_list = request.param("verb") == "ListRecords"
        nothing = replace(request, params=tuple((dict(request.params) | {"from": "9999"}).items()))
        return world.arxiv.serve(nothing) if is_list else None

    world.arxiv.bend = bend
    assert_not_believed(
        world, "arXiv showed an older state than before: 2602.00016 is not among", outcome="partial"
    )
    before = world.cursors()
    for hours in (2, 5, 9):
        world.clock.set(NOON + timedelta(hours=hours))
        assert world.run().poll.failures
        assert world.cursors()[-2:] == before
    assert_all_follows(world, after=timedelta(hours=2, minutes=50))


def test_an_answer_of_nothing_that_a_cache_keeps_until_midnight_is_never_asked_for(
    world: World,
) -> None:
    kept: dict[tuple[str, str], Answer] = {}

    def bend(request: Request) -> Answer | None:
        key = (str(world.clock.now().date()), repr(request.params))
        answer = kept.get(key) or world.arxiv.serve(request)
        if b"noRecordsMatch" in answer.body:
            kept[key] = answer
        return answer

    world.arxiv.bend = bend
    for hours in (-11.8, -11.3, -8, 0):
        world.clock.set(NOON + timedelta(hours=hours))
        world.run()
    assert kept == {}
    assert_all_there_once(world)
    assert_told_once(world)
