"""Bodies that are no pages of papers, or not wholly, met by a whole pass.

What is covered of what arXiv was seen to send, or must be expected to: entity bombs, bodies beyond any
bearable size, plain and packed; the wrong content type; web pages and broken XML under 200; an entry that
nobody can read among good ones; a page without a single readable entry.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from digest.store.schema import quarantine
from tests.fakes.loopback import Answer, Request
from tests.integration.faulty import World, assert_all_follows, assert_not_believed, living

MEGABYTE = 1_000_000
ODD = "2603.00003"
"""The paper whose entry nobody can read."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query") as world:
        yield world


def set_aside(world: World) -> list[tuple[str, bytes]]:
    with world.reading() as conn:
        return [tuple(row) for row in conn.execute(select(quarantine.c.error, quarantine.c.snippet))]


def take_ids_away(world: World, id_: str) -> None:
    """Have one paper come without its id, whatever is asked."""
    name = re.compile(rf"<id>(http://arxiv.org/abs/)?{id_}(v\d)?</id>".encode())

    def bend(request: Request) -> Answer:
        answer = world.arxiv.serve(request)
        return replace(answer, body=name.sub(b"<id>none</id>", answer.body))

    world.arxiv.bend = bend


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_entities_are_never_expanded_and_nothing_is_taken_from_such_a_body(source: str, tmp_path: Path) -> None:
    with living(tmp_path, source) as world:
        made = len(world.arxiv.requests)
        world.arxiv.faults.add("bomb", times=99)
        assert_not_believed(world, "a document type, which arXiv never sends")
        assert len(world.arxiv.requests) == made + 1, "once is enough of that"
        assert_all_follows(world)


def test_thirty_megabytes_are_refused_while_they_come(world: World) -> None:
    def grow(request: Request) -> Answer:
        whole = world.arxiv.serve(request)
        return replace(whole, body=whole.body.replace(b"</OAI-PMH>", b" " * 30 * MEGABYTE + b"</OAI-PMH>"))

    world.arxiv.bend = grow
    assert_not_believed(world, "the body has more than 25,000,000 bytes")
    assert_all_follows(world)


def test_thirty_megabytes_packed_into_thirty_kilobytes_are_refused_as_well(world: World) -> None:
    packed = gzip.compress(b"<OAI-PMH>" + b" " * 30 * MEGABYTE, compresslevel=9)
    world.arxiv.bend = lambda _: Answer(packed, media_type="text/xml", headers=(("Content-Encoding", "gzip"),))
    assert_not_believed(world, "the body has more than 25,000,000 bytes")
    assert_all_follows(world)


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_page_under_the_wrong_content_type_is_no_page(source: str, tmp_path: Path) -> None:
    with living(tmp_path, source) as world:
        world.arxiv.bend = lambda request: replace(world.arxiv.serve(request), media_type="text/html")
        assert_not_believed(world, "the answer is text/html, not XML")
        assert_all_follows(world)


def test_a_web_page_in_place_of_a_list_is_no_empty_list(world: World) -> None:
    world.arxiv.bend = lambda _: Answer(b"<!DOCTYPE html><html><p>Soon back</p></html>", media_type="text/xml")
    assert_not_believed(world, "a web page came instead of XML")
    assert_all_follows(world)


def test_broken_xml_on_one_page_leaves_the_pages_before_it_and_is_told(world: World) -> None:
    world.arxiv.faults.add("malformed", times=99, skip=2)
    report = assert_not_believed(world, "the XML breaks off or is damaged", outcome="partial")
    assert report.poll.pages == 2
    assert_all_follows(world)


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_an_entry_nobody_can_read_is_set_aside_with_its_bytes_and_the_others_go_on(
    source: str, tmp_path: Path
) -> None:
    with living(tmp_path, source) as world:
        take_ids_away(world, ODD)
        report = world.look()
        assert report.poll.quarantined >= 1
        assert world.last_run(source).is_complete, report.poll.failures
        missing = {found for found in world.expected if found[1] == ODD}
        assert sorted(world.list_changes()) == sorted(world.expected - missing)
        assert all(b"<id>none</id>" in snippet and error for error, snippet in set_aside(world))
        shown = world.command("status")
        assert re.search(r"ATTENTION .*unreadable and set aside within 7 days", shown)
        assert_all_follows(world)


def test_a_page_on_which_nothing_can_be_read_is_a_change_of_format_and_no_quiet_day(world: World) -> None:
    def bend(request: Request) -> Answer:
        answer = world.arxiv.serve(request)
        return replace(answer, body=re.sub(rb"<id>[^<]*</id>", b"<id>none</id>", answer.body))

    world.arxiv.bend = bend
    assert_not_believed(world, "no entry can be read; the first: its id cannot be read")
    assert_all_follows(world, after=timedelta(hours=5))
