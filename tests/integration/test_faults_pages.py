"""Pages of a search that lack something, lie about their number, or move while they are read, met by a whole pass.

What is covered of what arXiv's search was seen to do: pages without an entry though there are more; a
total of nothing though there were hits; short pages; an order that is none, for days; papers that come in
at the top between two pages; an inner error for some beginnings and sizes of a page alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import digest.poll.search
from tests.acceptance.made import made_up
from tests.fakes import atom
from tests.fakes.loopback import Answer, Request
from tests.integration.faulty import World, assert_all_follows, assert_all_there_once, assert_not_believed, living

SIZE = 20
"""Papers on a page of the search: each look takes three of them."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("PAGE", "JOINT_PAGE"):
        monkeypatch.setattr(digest.poll.search, name, SIZE)
    with living(tmp_path, "query", past=40) as world:
        yield world


def assert_complete_all_the_same(world: World) -> None:
    """Make the pass that meets the fault: all of it is there."""
    assert world.look().poll.failures == []
    assert_all_there_once(world)
    assert_all_follows(world)


def insert_between_pages(world: World, count: int, *, times: int = 1) -> None:
    """Have papers come out whenever a further page is asked for: they push the others down."""
    numbers = iter(range(8, 8 + count * times))
    asked: list[Request] = []

    def bend(request: Request) -> Answer | None:
        asked.append(request)
        if 1 < len(asked) < times + 2:
            now = world.clock.now()
            late = [made_up(next(numbers), now, announced=now) for _ in range(count)]
            world.arxiv.add(*late)
            world.expected.update(("new", paper.id, 1) for paper in late)
        return None

    world.arxiv.bend = bend


def test_an_empty_page_before_the_end_is_asked_for_again(world: World) -> None:
    world.arxiv.faults.add("empty_page", times=2, skip=1)
    assert_complete_all_the_same(world)


def test_a_page_that_stays_empty_is_asked_for_in_smaller_ones(world: World) -> None:
    def bend(request: Request) -> Answer | None:
        is_bad = request.param("start") != "0" and request.param("max_results") == str(SIZE)
        return world.arxiv._serve(request, 0.0) if is_bad else None

    world.arxiv.bend = bend
    assert_complete_all_the_same(world)


def test_pages_that_stay_empty_however_small_are_no_end_of_the_search(world: World) -> None:
    world.arxiv.faults.add("empty_page", times=99, skip=1)
    assert_not_believed(world, "10 papers should have come, of 47 in all, but none did", outcome="partial")
    assert_all_follows(world)


def test_a_total_of_nothing_where_there_were_papers_is_no_quiet_day(world: World) -> None:
    world.arxiv.faults.add("empty_zero", times=99)
    assert_not_believed(world, "arXiv found nothing where it had 40 papers", outcome="partial")
    assert_all_follows(world)


def test_a_total_that_falls_to_nothing_between_two_pages_is_no_end_of_the_search(world: World) -> None:
    world.arxiv.faults.add("empty_zero", times=99, skip=1)
    assert_not_believed(world, "the results moved while they were read", outcome="partial")
    assert_all_follows(world)


def test_a_page_that_stays_short_is_gone_on_from_where_it_ends(world: World) -> None:
    def bend(request: Request) -> Answer | None:
        return world.arxiv._serve(request, 0.5) if request.param("start") == "17" else None

    world.arxiv.bend = bend
    assert_complete_all_the_same(world)


def test_papers_that_are_counted_and_never_come_are_no_end_of_the_search(world: World) -> None:
    world.arxiv.faults.add("short_page", times=99, keep=0.8)
    assert_not_believed(world, "4 papers should have come, of 47 in all, but only 3 did", outcome="partial")
    assert_all_follows(world)


def test_an_order_that_is_none_is_read_to_its_end_before_anything_is_taken_for_complete(world: World) -> None:
    def bend(request: Request) -> Answer:
        asked = dict(request.params) | {"sortBy": "submittedDate", "sortOrder": "ascending"}
        return world.arxiv.serve(replace(request, params=tuple(asked.items())))

    world.arxiv.bend = bend
    assert_complete_all_the_same(world)


def test_a_shuffled_page_loses_nothing(world: World) -> None:
    def bend(request: Request) -> Answer:
        answer = world.arxiv.serve(request)
        head, *entries = re.split(rb"(?=<entry>)", answer.body.rstrip().removesuffix(b"</feed>"))
        mixed = [*entries[1::2], *entries[0::2]]
        return replace(answer, body=head + b"".join(mixed) + b"</feed>")

    world.arxiv.bend = bend
    assert_complete_all_the_same(world)


@pytest.mark.parametrize("count", [1, 3, 4, 25])
def test_papers_that_come_in_between_two_pages_push_none_out_and_come_with_the_next_look(
    count: int, world: World
) -> None:
    public = set(world.expected)
    insert_between_pages(world, count)
    assert world.look().poll.failures == []
    assert public <= set(world.list_changes())
    assert_all_follows(world)


def test_results_that_move_faster_than_they_are_read_are_not_taken_for_complete(world: World) -> None:
    insert_between_pages(world, 60, times=6)
    assert_not_believed(world, "the results moved while they were read", outcome="partial")
    assert_all_follows(world)


def test_an_inner_error_for_one_beginning_and_size_alone_is_gone_around(world: World) -> None:
    def bend(request: Request) -> Answer | None:
        is_bad = request.param("start") == "17" and request.param("max_results") == str(SIZE)
        body = atom.write_error(atom.INTERNAL_ERROR, world.clock.now())
        return Answer(body, 500, atom.MEDIA_TYPE) if is_bad else None

    world.arxiv.bend = bend
    assert_complete_all_the_same(world)
