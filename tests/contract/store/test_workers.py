"""Who is at work, and at what.

Signs of life on the database's clock, and turns that one worker has alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from digest.model.said import NOTHING, Said, Saying
from digest.store import Store, workers
from digest.store.schema import workers as worker_table
from digest.store.workers import FORGOTTEN_AFTER, GONE_AFTER, JobTurn, Worker
from tests.contract.store.made import MORNING, NOW
from tests.threads import do_together

SECOND = timedelta(seconds=1)
ONE = Worker("one", "1.0", "lab1", 11, NOW)
OTHER = Worker("other", "1.1", "lab2", 12, MORNING)


def sign(store: Store, *signing: Worker) -> None:
    with store.begin() as conn:
        for worker in signing:
            workers.save(conn, worker)


NO_NAME = Said.of(Saying.OF_ONE, "team", "no such name")


def fall_silent(store: Store, owner: str, seconds: float) -> None:
    with store.begin() as conn:
        silent = worker_table.update().where(worker_table.c.owner == owner)
        conn.execute(silent.values(seen_at=worker_table.c.seen_at - seconds))


def test_what_went_wrong_in_a_job_is_said_of_the_worker_that_met_it_last_and_lives(
    store: Store,
) -> None:
    sign(store, ONE, OTHER)
    with store.begin() as conn:
        well = JobTurn("plan", ended_at=NOW)
        ill = JobTurn("plan", ended_at=NOW, trouble=NO_NAME)
        unsound = Said.plain("a\x00b")
        for turns, trouble in (
            ((well, well), NOTHING),
            ((well, ill), NO_NAME),
            ((replace(ill, ended_at=MORNING, trouble=unsound), ill), Said.plain("a\ufffdb")),
        ):
            for owner, turn in zip(("one", "other"), turns, strict=True):
                workers.save_turns(conn, owner, [turn])
            assert workers.load_trouble(conn, "plan") == trouble
            assert workers.load_trouble(conn, "poll") == NOTHING
    fall_silent(store, "one", GONE_AFTER + 1)
    with store.read() as conn:
        assert workers.load_trouble(conn, "plan") == NO_NAME


def listed(store: Store) -> list[Worker]:
    with store.read() as conn:
        return workers.load(conn)


def begin(store: Store, owner: str) -> str:
    with store.begin() as conn:
        return workers.begin_job(conn, owner, "poll", MORNING)


def test_who_signs_is_listed_with_its_release_and_place_the_longest_at_work_first(
    store: Store,
) -> None:
    sign(store, OTHER, ONE)
    assert [replace(worker, silent_for=0.0) for worker in listed(store)] == [ONE, OTHER]
    assert max(worker.silent_for for worker in listed(store)) < 5


def test_a_worker_that_falls_silent_counts_as_gone_until_it_signs_again(store: Store) -> None:
    sign(store, ONE, OTHER)
    fall_silent(store, "one", GONE_AFTER + 1)
    assert [worker.owner for worker in listed(store) if worker.is_gone] == ["one"]
    sign(store, ONE)
    assert not [worker for worker in listed(store) if worker.is_gone]
    assert listed(store)[0].started_at == NOW


def test_who_ends_or_is_long_silent_is_struck_off_with_what_it_was_at(store: Store) -> None:
    third = replace(ONE, owner="third")
    sign(store, ONE, OTHER, third)
    with store.begin() as conn:
        for owner in ("one", "other", "third"):
            workers.save_turns(conn, owner, [JobTurn("poll", turns=1)])
        workers.remove(conn, "one")
    fall_silent(store, "other", FORGOTTEN_AFTER + 1)
    sign(store, third)
    assert [worker.owner for worker in listed(store)] == ["third"]
    with store.read() as conn:
        assert [turn.owner for turn in workers.load_job_turns(conn)] == ["third"]


def test_one_that_knows_itself_alone_strikes_off_all_others(store: Store) -> None:
    sign(store, ONE, OTHER)
    with store.begin() as conn:
        workers.remove_others(conn, "other")
    assert [worker.owner for worker in listed(store)] == ["other"]


def test_how_jobs_stand_is_kept_anew_each_time(store: Store) -> None:
    sign(store, ONE)
    first = JobTurn("plan", turns=1, began_at=NOW)
    later = JobTurn("plan", 2, MORNING, MORNING + SECOND, Said.plain("StoreError"))
    with store.begin() as conn:
        workers.save_turns(conn, "one", [JobTurn("deliver"), first])
        workers.save_turns(conn, "one", [later])
    with store.read() as conn:
        kept = workers.load_job_turns(conn)
    assert kept == [JobTurn("deliver", owner="one"), replace(later, owner="one")]
    assert [turn.is_under_way for turn in (first, later, kept[0])] == [True, False, False]


def test_a_turn_is_had_by_one_worker_until_it_ends(store: Store) -> None:
    sign(store, ONE, OTHER)
    assert begin(store, "one") == ""
    assert begin(store, "one") == "", "it knows what it is at"
    assert begin(store, "other") == "one"
    with store.begin() as conn:
        workers.end_job(conn, "one", "poll", MORNING + SECOND)
    assert begin(store, "other") == ""
    assert begin(store, "one") == "other"


def test_a_job_that_had_its_time_and_left_the_turn_to_another_keeps_nobody_from_it(
    store: Store,
) -> None:
    sign(store, ONE, OTHER)
    with store.begin() as conn:
        workers.save_turns(conn, "one", [JobTurn("poll", began_at=NOW)])
    assert begin(store, "other") == ""
    with store.begin() as conn:
        workers.save_turns(conn, "other", [JobTurn("poll", began_at=NOW, ended_at=NOW)])
        assert [turn.job for turn in workers.load_job_turns(conn)] == ["poll", "poll"]
    assert begin(store, "one") == "other"


def test_a_turn_of_a_worker_that_is_gone_keeps_nobody_from_it(store: Store) -> None:
    sign(store, ONE, OTHER)
    assert begin(store, "one") == ""
    fall_silent(store, "one", GONE_AFTER + 1)
    assert begin(store, "other") == ""


@pytest.mark.parametrize("database", ["postgresql"])
def test_of_many_that_want_a_turn_at_the_same_moment_one_has_it(store: Store) -> None:
    many = [replace(ONE, owner=f"worker {number}") for number in range(8)]
    sign(store, *many)
    answers = do_together(many, lambda worker: begin(store, worker.owner))
    assert answers.count("") == 1
    assert len({answer for answer in answers if answer}) == 1
