"""Connections to arXiv that die, met by a whole pass.

What is covered of what arXiv was seen to do: resets, once and for a whole look; silence after the
request; bodies that end too soon, packed or not, with and without a length that tells.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import digest.arxiv.client
from tests.fakes.loopback import Answer, Request
from tests.integration.faulty import World, assert_all_follows, assert_all_there_once, assert_not_believed, living


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query") as world:
        yield world


@pytest.mark.parametrize("kind", ["reset", "drop", "cut", "truncate", "malformed", "html", "500"])
def test_what_passes_within_two_more_tries_costs_no_look_and_shows_in_the_log_alone(
    kind: str, world: World
) -> None:
    world.arxiv.faults.add(kind, times=2, skip=1)
    assert world.look().poll.failures == []
    assert [outcome for _, outcome in world.log()][-5:-3] == ["failed", "failed"]
    assert world.breaker().seconds == 0
    assert_all_there_once(world)
    assert_all_follows(world)


def test_resets_throughout_end_a_harvest_after_three_tries_of_one_page_and_it_is_made_again(world: World) -> None:
    made = len(world.arxiv.requests)
    world.arxiv.faults.add("reset", times=99, skip=1)
    assert_not_believed(world, "the connection to 127.0.0.1 broke", outcome="partial")
    assert len(world.arxiv.requests) == made + 4
    assert world.breaker().seconds == 0, "a broken line is no wish to be left alone"
    assert_all_follows(world)


def test_resets_throughout_end_a_search_and_it_is_made_again(searching: World) -> None:
    searching.arxiv.faults.add("reset", times=99)
    assert_not_believed(searching, "the connection to 127.0.0.1 broke")
    assert_all_follows(searching)


def test_silence_is_borne_only_so_long_and_is_no_quiet_day(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest.arxiv.client, "_OAI_SECONDS", 0.2)
    world.arxiv.faults.add("hang", times=99, skip=1, seconds=30)
    assert_not_believed(world, "said nothing for 0.2 seconds", outcome="partial")
    monkeypatch.undo()
    assert_all_follows(world)


def test_half_a_body_is_no_page_even_where_it_ends_between_two_papers(world: World) -> None:
    def cut(request: Request) -> Answer | None:
        whole = world.arxiv.serve(request)
        end = whole.body.rfind(b"</record>")
        return replace(whole, body=whole.body[: end + len(b"</record>")])

    world.arxiv.bend = cut
    assert_not_believed(world, "the XML breaks off")
    assert_all_follows(world)


def test_a_body_shorter_than_its_length_says_is_no_page(world: World) -> None:
    world.arxiv.faults.add("cut", times=99)
    assert_not_believed(world, "the connection to 127.0.0.1 broke")
    assert_all_follows(world)


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_packed_body_that_ends_too_soon_is_no_page(source: str, tmp_path: Path) -> None:
    with living(tmp_path, source) as world:

        def pack(request: Request) -> Answer:
            packed = gzip.compress(world.arxiv.serve(request).body)
            return Answer(packed[:-40], media_type="text/xml", headers=(("Content-Encoding", "gzip"),))

        world.arxiv.bend = pack
        assert_not_believed(world, "the XML breaks off")
        assert_all_follows(world)
