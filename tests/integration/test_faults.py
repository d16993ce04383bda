"""What arXiv does on bad days, met by a whole pass.

Nothing wrong is stored or claimed, and all follows once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

import digest.arxiv.client
import digest.poll.search
from digest.store.schema import quarantine
from tests.conftest import IS_NIGHTLY
from tests.fakes.loopback import Answer, Request
from tests.fakes.pages import ATOM_TYPE, INTERNAL_ERROR, error_feed
from tests.harness.papers import made_up
from tests.integration.faulty import (
    NOON,
    World,
    assert_all_follows,
    assert_all_there_once,
    assert_not_believed,
    assert_nothing_wrong_is_stored,
    living,
)

QUERIES = {"perf": "cat:cs.PF", "tail": "abs:tail", "bo": 'au:"Bo Sample"'}
REFUSAL = "Invalid query string: 'abs:tail'"
ODD = "2603.00003"
"""The paper whose entry nobody can read."""

BROKEN = "no whole answer from 127.0.0.1:"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query", queries=QUERIES) as world:
        yield world


LASTING = [
    ("harvest", "429", 1, "gets too many requests", 1),
    ("query", "429", 0, "gets too many requests", 1),
    ("harvest", "rate_200", 1, "gets too many requests", 1),
    ("harvest", "406", 0, "arXiv asked us to wait (406)", 1),
    ("harvest", "503", 0, "arXiv asked us to wait (503)", 1),
    ("query", "503", 0, "arXiv asked us to wait (503)", 1),
    ("harvest", "403", 0, "refuses to answer this client (403)", 1),
    ("harvest", "500", 0, "arXiv had an error of its own (500)", 3),
    ("harvest", "bomb", 0, "a document type, which arXiv never sends", 1),
    ("query", "bomb", 0, "a document type, which arXiv never sends", 1),
    ("harvest", "malformed", 2, "the XML breaks off or is damaged", 3),
    ("harvest", "reset", 1, BROKEN, 3),
    ("query", "reset", 0, BROKEN, None),
    ("harvest", "cut", 0, BROKEN, 3),
    ("harvest", "hang", 1, "nothing came for 0.2 seconds", 3),
    ("harvest", "empty_page", 1, "the list came without a single entry", 3),
]
"""The source, what arXiv does after how many pages, what is said, and how often it is asked."""

LIVED = LASTING if IS_NIGHTLY else LASTING[::3]


@pytest.mark.parametrize(
    ("source", "kind", "skip", "because", "asked"),
    LIVED,
    ids=[" ".join(map(str, row[:2])) for row in LIVED],
)
def test_a_fault_that_lasts_is_no_quiet_day_and_all_follows_when_it_is_over(  # noqa: PLR0917
    source: str,
    kind: str,
    skip: int,
    because: str,
    asked: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(digest.arxiv.client, "_OAI_SECONDS", 0.2 if kind == "hang" else 60)
    with living(tmp_path, source) as world:
        made = len(world.arxiv.requests)
        world.arxiv.faults.add(kind, times=99, skip=skip)
        report = assert_not_believed(world, because, outcome="partial" if skip else "failed")
        assert report.poll.pages == skip
        assert asked is None or len(world.arxiv.requests) == made + skip + asked
        wishes = {
            "429": "throttled",
            "rate_200": "throttled",
            "406": "throttled",
            "503": "throttled",
            "403": "refused",
        }
        assert world.breaker().reason == wishes.get(kind, "")
        assert (world.breaker().seconds > 0) is (kind in wishes)
        assert_all_follows(world)


ODD_ANSWERS: dict[str, tuple[Callable[[Answer], Answer], str]] = {
    "another type": (
        lambda answer: replace(answer, media_type="text/html"),
        "the answer is text/html, not XML",
    ),
    "a web page": (
        lambda answer: replace(answer, body=b"<!DOCTYPE html><html><p>Soon back</p></html>"),
        "a web page came instead of XML",
    ),
    "half a page": (
        lambda answer: replace(answer, body=answer.body[: answer.body.rfind(b"</record>") + 9]),
        "the XML breaks off",
    ),
    "other ids": (
        lambda answer: replace(
            answer, body=re.sub(rb"<id>[^<]*</id>", b"<id>none</id>", answer.body)
        ),
        "no entry can be read; the first: its id cannot be read",
    ),
    "an error feed": (
        lambda answer: replace(answer, body=error_feed("verb must be in: ListRecords")),
        "its root element is",
    ),
}


@pytest.mark.parametrize("name", [*ODD_ANSWERS][:: 1 if IS_NIGHTLY else 2])
def test_an_answer_that_is_no_page_is_no_empty_list(name: str, world: World) -> None:
    change, because = ODD_ANSWERS[name]
    world.arxiv.bend = lambda request: change(world.arxiv.serve(request))
    assert_not_believed(world, because)
    assert_all_follows(world)


PASSING = ["reset", "drop", "cut", "truncate", "malformed", "html", "500"]


@pytest.mark.parametrize("kind", PASSING if IS_NIGHTLY else PASSING[::3])
def test_what_passes_within_two_more_tries_costs_no_check_and_shows_in_the_log_alone(
    kind: str, world: World
) -> None:
    world.arxiv.faults.add(kind, times=2, skip=1)
    assert world.run().poll.failures == []
    assert [outcome for _, outcome in world.log()][-5:-3] == ["failed", "failed"]
    assert world.breaker().seconds == 0
    assert_all_there_once(world)
    assert_all_follows(world)


def test_rate_exceeded_in_one_search_spares_arxiv_the_searches_of_all_other_saved_queries(
    searching: World,
) -> None:
    made = len(searching.arxiv.requests)
    searching.arxiv.faults.add("429", times=99)
    assert_not_believed(searching, "gets too many requests")
    assert len(searching.arxiv.requests) == made + 1
    searching.clock.advance(timedelta(seconds=20))
    searching.run(anyway=True)
    assert len(searching.arxiv.requests) == made + 2, (
        "one request to see whether it is over, not one for each"
    )
    assert_all_follows(searching)


def refuse_one(world: World, message: str, status: int) -> Callable[[], int]:
    """Answer the search for one saved query with an error feed.

    Return what counts how often it was made.
    """
    refused: list[Request] = []

    def bend(request: Request) -> Answer | None:
        if "tail" not in request.param("search_query"):
            return None
        refused.append(request)
        return Answer(error_feed(message), status, ATOM_TYPE)

    world.arxiv.bend = bend
    return lambda: len(refused)


@pytest.mark.parametrize("status", [400, 404, 405, 200])
def test_a_query_arxiv_rejects_is_asked_once_and_reported_and_keeps_no_other_waiting(
    status: int, searching: World
) -> None:
    count = refuse_one(searching, REFUSAL, status)
    report = searching.run()
    assert [REFUSAL in str(failure) for failure in report.poll.failures] == [True]
    assert sorted(searching.list_changes()) == sorted(searching.expected)
    assert count() == 1
    assert not searching.is_covered()
    assert searching.breaker().seconds == 0


def test_where_arxiv_fails_inside_it_is_asked_a_few_times_and_the_next_check_finds_all(
    searching: World,
) -> None:
    count = refuse_one(searching, INTERNAL_ERROR, 500)
    (failure,) = searching.run().poll.failures
    assert "unable to complete your request" in str(failure)
    assert not searching.is_covered()
    assert 3 <= count() <= 6
    searching.arxiv.bend = None
    searching.clock.sleep(timedelta(minutes=20).total_seconds())
    assert searching.run().poll.failures == []
    assert sorted(searching.list_changes()) == sorted(searching.expected)
    assert_nothing_wrong_is_stored(searching)


def test_an_arxiv_that_fails_at_everything_is_not_asked_for_every_saved_query(
    searching: World,
) -> None:
    made = len(searching.arxiv.requests)
    searching.arxiv.faults.add("500", times=99)
    assert searching.run().poll.runs == 0
    assert len(searching.arxiv.requests) - made <= 12
    assert not searching.is_covered()
    assert_all_follows(searching)


def test_an_id_that_is_counted_and_does_not_come_spoils_no_harvest_and_is_asked_for_again(
    world: World,
) -> None:
    world.arxiv.hidden = {f"2603.{number:05d}" for number in (2, 3, 5)}

    def bend(request: Request) -> Answer | None:
        if not request.param("id_list"):
            return None
        answer = world.arxiv.serve(replace(request, params=(("search_query", "ti:nothing"),)))
        return replace(answer, body=answer.body.replace(b"totalResults>0<", b"totalResults>3<"))

    world.arxiv.bend = bend
    report = world.run()
    assert world.last_run().is_complete, "the harvest itself was"
    assert "3 papers were expected" in " ".join(map(str, report.poll.failures))
    assert len(world.list_changes()) == len(world.expected) - 3
    assert not world.is_covered()
    assert_all_follows(world)


NEVER_ANSWERED = {
    "unary": "ANDNOT (ti:slow OR ti:fast)",
    "wild": "ti:*ing",
    "days": "submittedDate:[2026-01-01 TO *]",
    "short": "submittedDate:20260101*",
    "empty": 'au:""',
    "dashes": "abs:self-supervised AND NOT (cat:cs.CV OR ti:images)",
}


def test_what_arxiv_answers_with_inner_errors_for_good_is_never_sent_to_it(world: World) -> None:
    world.source = "query"
    world.configure(NEVER_ANSWERED)
    made = len(world.arxiv.requests)
    report = world.run()
    sent = [visit.param("search_query") for visit in world.arxiv.requests[made:]]
    assert sent
    assert all(visit.status == 200 for visit in world.arxiv.requests[made:])
    for query in sent:
        assert not query.startswith("ANDNOT")
        assert all(part not in query for part in (":*", '""', "-01-01", "TO *"))
    assert report.config.unreadable
    world.clock.set(NOON + timedelta(hours=3))
    assert world.run().poll.failures == []


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_an_entry_nobody_can_read_is_set_aside_with_its_bytes_and_the_others_go_on(
    source: str, tmp_path: Path
) -> None:
    name = re.compile(rf"<id>(http://arxiv.org/abs/)?{ODD}(v\d)?</id>".encode())

    with living(tmp_path, source) as world:

        def bend(request: Request) -> Answer:
            answer = world.arxiv.serve(request)
            return replace(answer, body=name.sub(b"<id>none</id>", answer.body))

        world.arxiv.bend = bend
        report = world.run()
        assert report.poll.quarantined >= 1
        assert world.last_run(source).is_complete, report.poll.failures
        missing = {found for found in world.expected if found[1] == ODD}
        assert sorted(world.list_changes()) == sorted(world.expected - missing)
        with world.reading() as conn:
            aside = conn.execute(select(quarantine.c.error, quarantine.c.snippet)).all()
        assert all(b"<id>none</id>" in row.snippet and row.error for row in aside)
        assert_all_follows(world)


SIZE = 20
"""Papers on a page of the search: each look takes three of them."""


@pytest.fixture
def paging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("PAGE", "WIDE_PAGE"):
        monkeypatch.setattr(digest.poll.search, name, SIZE)
    with living(tmp_path, "query", past=40) as world:
        yield world


@pytest.mark.parametrize(
    ("kind", "skip", "because"),
    [
        ("empty_page", 1, "10 papers were expected, of 47 in all, but none came"),
        ("empty_zero", 0, "arXiv found nothing where it had 40 papers"),
        ("empty_zero", 1, "the results changed while Digest read them"),
        ("short_page", 0, "4 papers were expected, of 47 in all, but only 3 came"),
    ],
)
def test_papers_that_never_come_are_no_end_of_a_search(
    kind: str, skip: int, because: str, paging: World
) -> None:
    paging.arxiv.faults.add(kind, times=99, skip=skip, keep=0.8)
    assert_not_believed(paging, because, outcome="partial")
    assert_all_follows(paging)


def fail_at_one_place(_world: World, request: Request) -> Answer | None:
    is_bad = request.param("start") == "17" and request.param("max_results") == str(SIZE)
    body = error_feed(INTERNAL_ERROR)
    return Answer(body, 500, ATOM_TYPE) if is_bad else None


def answer_in_no_order(world: World, request: Request) -> Answer:
    asked = dict(request.params) | {"sortBy": "submittedDate", "sortOrder": "ascending"}
    return world.arxiv.serve(replace(request, params=tuple(asked.items())))


@pytest.mark.parametrize("bend", [fail_at_one_place, answer_in_no_order])
def test_a_search_that_is_answered_oddly_is_gone_on_with_to_its_end(
    bend: Callable[[World, Request], Answer | None], paging: World
) -> None:
    paging.arxiv.bend = lambda request: bend(paging, request)
    assert paging.run().poll.failures == []
    assert_all_there_once(paging)
    assert_all_follows(paging)


@pytest.mark.parametrize(("count", "times"), [(1, 1), (25, 1), (60, 6)])
def test_papers_that_come_in_between_two_pages_push_none_out_and_come_with_the_next_check(
    count: int, times: int, paging: World
) -> None:
    public = set(paging.expected)
    asked = list[Request]()
    numbers = iter(range(8, 8 + count * times))

    def bend(request: Request) -> Answer | None:
        asked.append(request)
        if 1 < len(asked) < times + 2:
            now = paging.clock.now()
            late = [made_up(next(numbers), now, announced=now) for _ in range(count)]
            paging.arxiv.add(*late)
            paging.expected.update(("new", paper.id, 1) for paper in late)
        return None

    paging.arxiv.bend = bend
    if times > 1:
        assert_not_believed(paging, "the results changed while Digest read them", outcome="partial")
    else:
        assert paging.run().poll.failures == []
        assert public <= set(paging.list_changes())
    assert_all_follows(paging)
