from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from digest.model.clock import SystemClock
from digest.model.polls import LastChecks, RunOutcome
from digest.model.said import NOTHING, Said
from digest.store import Store, runs, workers
from digest.store.gate import StoreGate
from digest.store.runs import ABANDONED, Cursor, PollRun
from digest.store.schema import quarantine, requests
from digest.store.schema import workers as worker_table
from digest.store.workers import Worker
from tests.contract.store.made import DAY, MORNING, NOW

ASKED: dict[str, Any] = {
    "at": NOW,
    "method": "GET",
    "url": "http://127.0.0.1/oai",
    "status": 200,
    "milliseconds": 812,
    "size": 1000,
    "outcome": "ok",
    "detail": "",
}


def start(
    store: Store,
    source: str = "harvest",
    *,
    at: datetime = NOW,
    **more: Any,  # noqa: ANN401 - what `runs.start` takes
) -> int:
    with store.begin() as conn:
        return runs.start(conn, source=source, at=at, **more)


def finish(
    store: Store,
    run_id: int,
    outcome: str = "complete",
    *,
    at: datetime = MORNING,
    failure: str = "",
    requests: int = 2,
) -> bool:
    found = {"pages": 2, "papers": 412, "new": 298, "changed": 114}
    with store.begin() as conn:
        return runs.finish(
            conn,
            run_id,
            outcome=outcome,
            at=at,
            failure=Said.plain(failure),
            requests=requests,
            **found,
        )


def test_a_run_is_kept_with_what_it_asked_and_found(store: Store) -> None:
    run_id = start(store, window_from=date(2026, 11, 16), is_bootstrap=True)
    assert finish(store, run_id)
    with store.read() as conn:
        (run,) = runs.load_last(conn, "harvest", 1)
    assert run == PollRun(
        id=run_id,
        source="harvest",
        query_key="",
        window_from=date(2026, 11, 16),
        started_at=NOW,
        finished_at=MORNING,
        outcome=RunOutcome.COMPLETE,
        pages=2,
        papers=412,
        total=None,
        new=298,
        changed=114,
        requests=2,
        highest_id="",
        is_bootstrap=True,
        failure=NOTHING,
    )
    assert run.is_complete


def test_the_latest_runs_come_first_and_of_one_source_where_asked(store: Store) -> None:
    ids = [start(store, "query") for _ in range(3)]
    harvest = start(store)
    with store.read() as conn:
        every_run = runs.load_last(conn)
        last_two = runs.load_last(conn, "query", 2)
    assert [run.id for run in every_run] == [harvest, *reversed(ids)]
    assert [run.id for run in last_two] == [ids[2], ids[1]]


def test_entries_nobody_could_read_are_set_aside(store: Store) -> None:
    run_id = start(store)
    with store.begin() as conn:
        runs.quarantine_entries(conn, run_id, 3, [(17, "no id", b"<entry>\xff")], NOW)
        runs.quarantine_entries(conn, run_id, 4, [], NOW)
    with store.read() as conn:
        (row,) = conn.execute(select(quarantine)).all()
    assert (row.page, row.position, row.snippet, row.error) == (3, 17, b"<entry>\xff", "no id")


def test_every_request_is_logged(store: Store) -> None:
    with store.begin() as conn:
        runs.log_request(conn, ASKED)
        runs.log_request(conn, ASKED | {"status": None, "outcome": "failed", "detail": "reset"})
    with store.read() as conn:
        rows = conn.execute(select(requests).order_by(requests.c.id)).all()
    assert [(row.status, row.outcome, row.detail) for row in rows] == [
        (200, "ok", ""),
        (None, "failed", "reset"),
    ]


def test_failures_count_until_a_later_run_is_well(store: Store) -> None:
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest") == LastChecks()
    finish(store, start(store), "failed", failure="503")
    finish(store, start(store), "partial", failure="reset")
    start(store)
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest") == LastChecks(failure=MORNING, failures=2)
        assert runs.load_last_checks(conn, "query") == LastChecks()
    finish(store, start(store), "empty")
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest").failure is None


def test_a_failure_that_asked_nothing_does_not_count(store: Store) -> None:
    finish(store, start(store), "failed", failure="arXiv asked us to wait (429)")
    later = MORNING + timedelta(hours=1)
    finish(
        store,
        start(store),
        "failed",
        at=later,
        failure="the next request is sent in 2 h",
        requests=0,
    )
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest") == LastChecks(failure=MORNING, failures=1)


def test_a_complete_run_that_brought_news_is_known_as_such_and_a_first_digest_is_none(
    store: Store,
) -> None:
    finish(store, start(store, is_bootstrap=True))
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest").news is None
    finish(store, start(store))
    with store.read() as conn:
        assert runs.load_last_checks(conn, "harvest").news == MORNING


def test_how_far_back_complete_runs_reached_is_known(store: Store) -> None:
    finish(store, start(store, lookback=14, at=NOW - DAY))
    finish(store, start(store, lookback=3))
    finish(store, start(store, lookback=14), "failed", failure="503")
    with store.read() as conn:
        assert runs.load_last_reaching(conn, "harvest", 14) == NOW - DAY
        assert runs.load_last_reaching(conn, "harvest", 3) == NOW
        assert runs.load_last_reaching(conn, "harvest", 35) is None


def test_a_run_notes_how_far_it_has_come_with_every_page(store: Store) -> None:
    run_id = start(store)
    with store.begin() as conn:
        figures = {"pages": 2, "papers": 9, "new": 4, "changed": 2}
        runs.note_progress(conn, run_id, **figures, highest_id="2611.14001", next_token="p2")
    with store.read() as conn:
        (run,) = runs.load_last(conn)
        assert (run.pages, run.papers, run.new, run.changed) == (2, 9, 4, 2)
        assert (run.highest_id, run.next_token) == ("2611.14001", "p2")


def test_a_run_whose_process_died_is_given_up_and_cannot_be_finished_any_more(store: Store) -> None:
    run_id = start(store)
    done = start(store)
    finish(store, done)
    with store.begin() as conn:
        assert runs.abandon_running(conn, MORNING) == 1
        assert runs.abandon_running(conn, MORNING) == 0
    assert not finish(store, run_id)
    with store.read() as conn:
        abandoned = runs.load_last(conn)[1]
        assert (abandoned.outcome, abandoned.failure) == ("failed", ABANDONED)
        assert runs.load_last_checks(conn, "harvest").failure is None, "it says nothing of arXiv"


def make_worker(owner: str) -> Worker:
    return Worker(owner, "1.0", "lab1", 7, NOW)


@pytest.mark.parametrize("database", ["postgresql"])
def test_a_run_is_given_up_once_its_worker_gives_no_signs_of_life_and_not_between_two_requests(
    store: Store,
) -> None:
    with store.begin() as conn:
        workers.save(conn, make_worker("one"))
        workers.save(conn, make_worker("other"))
    mine = start(store, owner="one")
    others = start(store, owner="other")
    worker_one = worker_table.update().where(worker_table.c.owner == "one")
    with store.begin() as conn:
        assert runs.abandon_running(conn, MORNING) == 0
        conn.execute(worker_one.values(seen_at=0.0))
        assert runs.abandon_running(conn, MORNING) == 1
    assert not finish(store, mine)
    assert finish(store, others)


def test_recent_polls_are_the_finished_ones(store: Store) -> None:
    for days in (9, 6):
        moment = NOW - days * DAY
        run_id = start(store, "query", at=moment)
        finish(store, run_id, at=moment)
    finish(store, start(store, "query"), at=NOW)
    finish(store, start(store, "query"), "failed", at=NOW, failure="503")
    finish(store, start(store, "harvest"), at=NOW)
    start(store, "query")
    with store.read() as conn:
        polls = runs.load_recent_polls(conn, "query", NOW)
    assert [
        (poll.started_at, poll.is_complete, poll.papers, str(poll.failure)) for poll in polls
    ] == [
        (NOW - 6 * DAY, True, 412, ""),
        (NOW, True, 412, ""),
        (NOW, False, 412, "503"),
    ], "the last complete one before the four days tells how far arXiv had come"


def test_a_source_never_asked_has_an_empty_cursor(store: Store) -> None:
    with store.read() as conn:
        assert runs.load_cursor(conn, "harvest") == Cursor("harvest")


def test_the_first_complete_run_sets_the_mark_and_later_ones_only_move_on(store: Store) -> None:
    first = start(store)
    second = start(store)
    with store.begin() as conn:
        assert runs.move_cursor(
            conn, source="harvest", run_id=first, started_at=NOW, mark=(202611, 15012)
        )
        assert runs.move_cursor(
            conn, source="harvest", run_id=second, started_at=NOW + DAY, mark=(202611, 99999)
        )
    with store.read() as conn:
        assert runs.load_cursor(conn, "harvest") == Cursor(
            source="harvest",
            query_key="",
            last_complete_run_id=second,
            last_complete_at=NOW + DAY,
            mark_month=202611,
            mark_number=15012,
            bootstrapped_at=NOW,
        )
        assert runs.load_cursor(conn, "query") == Cursor("query")


def test_a_cursor_never_moves_back(store: Store) -> None:
    with store.begin() as conn:
        assert runs.move_cursor(conn, source="harvest", run_id=2, started_at=NOW)
        earlier = NOW - timedelta(hours=5)
        assert not runs.move_cursor(conn, source="harvest", run_id=1, started_at=earlier)
        cursor = runs.load_cursor(conn, "harvest")
    assert (cursor.last_complete_run_id, cursor.complete_from) == (2, NOW.date())


def test_a_run_that_lost_the_gate_moves_no_cursor(store: Store) -> None:
    clock = SystemClock()
    slow = StoreGate(store, clock, "slow", spacing=0, lease=0)
    quick = StoreGate(store, clock, "quick", spacing=0)
    lost = slow.acquire()
    clock.sleep(0.31)
    held = quick.acquire()
    with store.begin() as conn:
        assert not runs.move_cursor(
            conn, source="harvest", run_id=1, started_at=NOW, gate_token=lost.token
        )
        assert runs.load_cursor(conn, "harvest").last_complete_at is None
        assert runs.move_cursor(
            conn, source="harvest", run_id=2, started_at=NOW, gate_token=held.token
        )


def test_the_day_of_a_run_counts_in_utc(store: Store) -> None:
    late = datetime(2026, 11, 19, 23, 59, tzinfo=UTC)
    with store.begin() as conn:
        runs.move_cursor(conn, source="harvest", run_id=1, started_at=late)
        assert runs.load_cursor(conn, "harvest").complete_from == date(2026, 11, 19)
