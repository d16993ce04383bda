"""The very first check: it reports nothing as new, shows how far it is, and may be killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, unquote

import pytest
from sqlalchemy import select

from digest.model.clock import ManualClock
from digest.store.schema import changes, papers, poll_runs
from tests.fakes.loopback import Answer, Request
from tests.harness.papers import START
from tests.integration.faulty import NOON, FaultyArxiv, World, list_past, surrounded
from tests.simulator.deaths import KILLED, ForkedProcesses, Point

PAST = 40


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    arxiv = FaultyArxiv(list_past(PAST), ManualClock(START))
    with surrounded(tmp_path, arxiv) as world:
        world.configure()
        yield world


@pytest.fixture(scope="module")
def forked_processes() -> Iterator[ForkedProcesses]:
    with ForkedProcesses() as one:
        yield one


def kill_after_page(world: World, forked_processes: ForkedProcesses, number: int) -> None:
    """Start a real process and kill it once so many pages are stored."""
    point = Point("digest.poll.record:RecordedRun.store_page", after=True, skip=number - 1)
    environ = {"DIGEST_TEST_CLOCK": world.arxiv.clock_url}
    assert forked_processes.run(point, folder=world.folder, environ=environ, owner="dead") == KILLED


def list_asked(world: World, since: int) -> list[str]:
    """Return what was asked from a request on: the day, or how many rows are skipped."""
    visits = world.arxiv.requests[since:]
    return [
        visit.param("from") or parse_qs(unquote(visit.param("resumptionToken")))["skip"][0]
        for visit in visits
    ]


def assert_is_known_and_no_news(world: World) -> None:
    """All that was announced is stored once and told to nobody; what comes out next is told."""
    with world.reading() as conn:
        stored = set(conn.execute(select(papers.c.arxiv_id)).scalars())
        kinds = list(conn.execute(select(changes.c.kind)).scalars())
    assert stored == set(world.arxiv.show_truth())
    assert kinds == ["known"] * PAST
    assert world.mail.mails == ()
    run = world.last_run()
    assert (run.is_complete, run.is_bootstrap, run.papers >= 6) == (True, True, True)
    assert world.cursors()[-1][4:6] == (202602, PAST), "what was the newest paper at the beginning"
    world.announce()
    world.clock.set(NOON)
    world.run()
    assert sorted(world.list_changes()) == sorted(world.expected)
    assert {found[1] for found in world.tell()} == {found[1] for found in world.expected} - {
        "2602.00006"
    }


def test_the_first_digest_says_what_it_is_and_calls_nothing_new(world: World) -> None:
    shown = world.command("run")
    assert "First check done. From now on you get only newly announced papers." in shown
    assert "everything arXiv announced since Fri 20 Feb: 40 papers on 7 pages, complete" in shown
    assert_is_known_and_no_news(world)


def test_killed_between_two_pages_it_goes_on_from_the_next_one_that_day(
    world: World, forked_processes: ForkedProcesses
) -> None:
    kill_after_page(world, forked_processes, 3)
    made = len(world.arxiv.requests)
    world.clock.advance(timedelta(hours=1))
    shown = world.command("run")
    rest = (
        "where the last check stopped, of what was changed since Fri 20 Feb: "
        "22 papers on 4 pages, complete"
    )
    assert rest in shown
    assert list_asked(world, made) == ["18", "24", "30", "36"], (
        "no page that was stored is asked for again"
    )
    with world.reading() as conn:
        pages = conn.execute(select(poll_runs.c.pages).where(poll_runs.c.pages > 0)).scalars().all()
    assert pages == [3, 4]
    assert_is_known_and_no_news(world)


def test_a_token_that_has_expired_all_the_same_has_it_begin_again_at_once(
    world: World, forked_processes: ForkedProcesses
) -> None:
    kill_after_page(world, forked_processes, 3)
    made = len(world.arxiv.requests)

    def bend(request: Request) -> Answer:
        world.arxiv.bend = None
        return world.arxiv.serve(
            replace(request, params=(("verb", "ListRecords"), ("resumptionToken", "old")))
        )

    world.arxiv.bend = bend
    shown = world.command("run")
    assert "40 papers on 7 pages, complete" in shown
    assert list_asked(world, made)[:3] == ["18", "2026-02-20", "6"]
    assert_is_known_and_no_news(world)
