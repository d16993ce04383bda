"""arXiv's own error answers, met by a whole pass.

What is covered of what arXiv's search answers: 400 with an error feed for a query it can't read, 404 and
405 likewise, 500 with an error feed for one query alone, the same feed under 200, an id that is counted
but does not come, and, since arXiv answers some queries with inner errors for good, that none of those
ever reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes import atom
from tests.fakes.loopback import Answer, Request
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


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path, "query", queries=QUERIES) as world:
        yield world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with living(tmp_path) as world:
        yield world


def refuse_one(world: World, message: str, status: int) -> Callable[[], int]:
    """Answer the search for one saved query with an error feed; return what counts how often it was made."""
    refused: list[Request] = []

    def bend(request: Request) -> Answer | None:
        if "tail" not in request.param("search_query"):
            return None
        refused.append(request)
        return Answer(atom.write_error(message, world.clock.now()), status, atom.MEDIA_TYPE)

    world.arxiv.bend = bend
    return lambda: len(refused)


def assert_categories_bring_all(world: World) -> None:
    """Make sure that all was found, by a search for categories where the one for the queries failed."""
    assert sorted(world.list_changes()) == sorted(world.expected)
    assert_nothing_wrong_is_stored(world)


@pytest.mark.parametrize("status", [400, 404, 405, 200])
def test_a_query_arxiv_rejects_is_asked_for_once_and_told_and_the_others_go_on(
    status: int, searching: World
) -> None:
    count = refuse_one(searching, REFUSAL, status)
    report = searching.look()
    assert [REFUSAL in failure for failure in report.poll.failures] == [True]
    assert_categories_bring_all(searching)
    assert count() == 1
    assert searching.breaker().seconds == 0


def test_where_arxiv_fails_inside_it_is_asked_a_few_times_and_the_next_look_finds_all(
    searching: World,
) -> None:
    count = refuse_one(searching, atom.INTERNAL_ERROR, 500)
    report = searching.look()
    (failure,) = report.poll.failures
    assert "unable to complete your request" in failure
    assert not searching.is_covered()
    assert "ATTENTION  the last look at arXiv failed" in searching.command("status")
    searching.clock.sleep(timedelta(minutes=20).total_seconds())
    searching.look()
    assert_categories_bring_all(searching)
    assert 3 <= count() <= 6


def test_an_arxiv_that_fails_at_everything_is_not_asked_for_every_saved_query(searching: World) -> None:
    made = len(searching.arxiv.requests)
    searching.arxiv.faults.add("500", times=99)
    report = searching.look()
    assert report.poll.runs == 0
    assert len(searching.arxiv.requests) - made <= 12
    assert not searching.is_covered()
    assert_all_follows(searching)


@pytest.mark.parametrize(
    ("status", "because"),
    [(400, "arXiv rejects the request (400)"), (500, "arXiv failed inside (500)"), (200, "its root element is")],
)
def test_an_error_feed_in_place_of_a_list_is_no_empty_list(status: int, because: str, world: World) -> None:
    body = atom.write_error("verb must be in: ListRecords", world.clock.now())
    world.arxiv.bend = lambda _: Answer(body, status, atom.MEDIA_TYPE)
    assert_not_believed(world, because)
    assert_all_follows(world)


def test_an_id_that_is_counted_and_does_not_come_spoils_no_harvest_and_is_asked_for_again(world: World) -> None:
    world.arxiv.hidden = {f"2603.{number:05d}" for number in (2, 3, 5)}

    def bend(request: Request) -> Answer | None:
        if not request.param("id_list"):
            return None
        none = replace(request, params=(("search_query", "ti:nothing"),))
        answer = world.arxiv.serve(none)
        return replace(answer, body=answer.body.replace(b"totalResults>0<", b"totalResults>3<"))

    world.arxiv.bend = bend
    report = world.look()
    assert world.last_run().is_complete, "the harvest itself was"
    assert "3 papers should have come" in " ".join(report.poll.failures)
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
    report = world.look()
    sent = [visit.param("search_query") for visit in world.arxiv.requests[made:]]
    assert sent
    assert all(visit.status == 200 for visit in world.arxiv.requests[made:])
    for query in sent:
        assert not query.startswith("ANDNOT")
        assert all(part not in query for part in (":*", '""', "-01-01", "TO *"))
    assert report.roster.unreadable
    world.clock.set(NOON + timedelta(hours=3))
    assert world.look().poll.failures == []


def test_no_page_is_asked_for_beyond_the_last_one_arxiv_gives_out(searching: World) -> None:
    searching.look()
    searching.clock.set(NOON + timedelta(hours=9))
    searching.look()
    for visit in searching.arxiv.requests:
        start, size = int(visit.param("start")), int(visit.param("max_results"))
        assert 0 < size <= 1000
        assert start + size <= 10_000
    assert_all_there_once(searching)
