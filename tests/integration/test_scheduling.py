from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from digest.config import load_config
from digest.deliver.dispatch import LANES
from digest.deliver.step import hold_alike_refusals
from digest.poll.step import poll
from digest.serve.configuration import sync_config
from digest.serve.schedule import EVERY, Jobs, Schedule
from digest.serve.steps import run_pass
from digest.site import Site
from digest.store import alarms, attempts, papers, workers
from digest.store.alarms import AlarmName
from digest.store.papers import MATCHED, STORED
from digest.store.workers import JobTurn
from digest.web.endpoints import find_failures
from tests.harness.serving import wait_until
from tests.integration.web.world import LATER, PAPERS, SUNDAY, World
from tests.threads import do_together

SELDOM = dict.fromkeys(EVERY, 3600.0)
OFTEN = dict.fromkeys(EVERY, 0.1)
MAIL = ("mailto:reader@example.org",)


@pytest.fixture
def world(world: World) -> World:
    world.write_config(to=MAIL)
    return world


@contextmanager
def scheduled(world: World, every: dict[str, float]) -> Iterator[tuple[Schedule, Site]]:
    site = world.open()
    schedule = Schedule(site, every=every)
    try:
        sync_config(site)
        schedule.start()
        yield schedule, site
    finally:
        assert schedule.stop(grace=5, force=20)
        site.close()


def states(site: Site) -> list[str]:
    with site.store.read() as conn:
        return [str(stored.delivery.state) for stored in attempts.load_stored_deliveries(conn)]


def is_all_matched(site: Site) -> bool:
    with site.store.read() as conn:
        return papers.load_mark(conn, MATCHED) == papers.load_mark(conn, STORED) > len(PAPERS)


def test_a_look_at_arxiv_wakes_planning_and_that_delivering_without_waiting_for_their_time(
    world: World,
) -> None:
    with scheduled(world, SELDOM):
        assert len(world.mail.wait_for(1)) == 1


def test_two_lanes_that_end_at_the_same_moment_count_each_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.write_config(to=(*MAIL, "slack:#papers", "slack:#lounge"))
    caplog.set_level(logging.INFO)
    together = threading.Barrier(2)

    def wait_for_other(*given: Any) -> None:  # noqa: ANN401 - whatever it is asked with
        together.wait(20)
        hold_alike_refusals(*given)

    monkeypatch.setattr("digest.serve.steps.hold_alike_refusals", wait_for_other)
    with closing(world.open()) as site:
        sync_config(site)
        jobs = Jobs(site, lambda: False)
        jobs.poll()
        jobs.plan()
        do_together(LANES, jobs.deliver)
    counted = {labels: metric.value for labels, metric in read_counts(jobs)}
    assert counted == {("mailto", "sent"): 1, ("slack", "sent"): 2, ("slack", "held"): 1}
    assert [line.message for line in caplog.records].count("deliver.sent") == 2


def read_counts(jobs: Jobs) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield how many deliveries reached a state, by transport and state."""
    for family in jobs.metrics.deliveries.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield (sample.labels["transport"], sample.labels["state"]), sample


def test_what_was_stored_and_not_matched_does_not_wait_for_the_next_look(world: World) -> None:
    site = world.open()
    run_pass(site)
    world.arxiv.add(LATER)
    world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())
    poll(site)  # and here the process dies
    site.close()
    world.clock.sleep(12 * 3600.0)
    looks = len(world.arxiv.requests)
    world.arxiv.faults.add("hang", times=10, seconds=60.0)
    with scheduled(world, SELDOM) as (_, site):
        wait_until(lambda: is_all_matched(site))
        wait_until(lambda: world.arxiv.faults.waiting < 10)
        assert len(world.arxiv.requests) <= looks + 1


def test_a_job_that_fails_shows_in_health_and_log_and_stops_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with scheduled(world, OFTEN) as (schedule, site):
        world.mail.wait_for(1)
        with site.store.begin() as conn:
            conn.exec_driver_sql(
                "UPDATE subscriptions SET cadence = 'whenever', next_due_at = created_at"
            )
        wait_until(lambda: "plan" in schedule.pulse.troubles)
        assert schedule.pulse.age is not None
        assert not {"deliver-mail", "deliver-posts"} & schedule.pulse.troubles.keys()
        with site.store.begin() as conn:
            conn.exec_driver_sql("UPDATE subscriptions SET cadence = 'daily at 02:00 UTC'")
        wait_until(lambda: not schedule.pulse.troubles)
    failures = [record for record in caplog.records if record.getMessage() == "plan failed"]
    assert failures
    assert failures[0].exc_info


def test_what_was_due_while_nobody_worked_is_planned_before_anybody_is_alarmed(
    world: World,
) -> None:
    site = world.open()
    run_pass(site)
    site.close()
    world.arxiv.add(LATER)
    world.clock.sleep((SUNDAY + timedelta(hours=3) - world.clock.now()).total_seconds())
    with scheduled(world, SELDOM) as (schedule, site):
        wait_until(lambda: "alarms" in schedule.jobs.logged)
        assert schedule.jobs.logged["alarms"] == []
        assert AlarmName.DIGEST not in kept_alarms(site)


def kept_alarms(site: Site) -> list[str]:
    with site.store.read() as conn:
        return [alarm.name for alarm in alarms.load_stored(conn)]


def turns(site: Site) -> dict[str, JobTurn]:
    with site.store.read() as conn:
        return {turn.job: turn for turn in workers.load_job_turns(conn) if turn.owner == site.owner}


def test_a_job_that_hangs_makes_the_process_unready(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mail.script.delay("END", 60.0)
    site = world.open()
    schedule = Schedule(site, every=OFTEN)
    sync_config(site)
    schedule.start()
    wait_until(lambda: not world.mail.script.waiting)
    wait_until(lambda: "deliver-mail" in turns(site) and turns(site)["deliver-mail"].is_under_way)
    assert not schedule.pulse.board.stuck
    monkeypatch.setattr("digest.inspect.alarms.LONGEST_TURNS", {"deliver-mail": 0.2})
    wait_until(lambda: "deliver-mail" in schedule.pulse.board.stuck)
    assert "the job deliver-mail has been busy with one run for 0 min" in find_failures(
        site, schedule.pulse
    )
    assert schedule.stop(grace=0.1, force=5)
    site.close()


def test_an_edited_file_is_taken_over_and_a_spoilt_one_is_not(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "digest.schedule")
    file = world.folder / "digest.toml"

    def load() -> object:
        return load_config(file, world.environ)

    with scheduled(world, SELDOM) as (schedule, site):
        world.mail.wait_for(1)
        file.write_text("[nonsense]\n[defaults]\nwhen = 'never'\n")
        schedule.reload(load)  # type: ignore[arg-type]  # what it returns is a Config
        wait_until(lambda: "digest.toml is not used" in caplog.text)
        (refusal,) = (
            record.getMessage()
            for record in caplog.records
            if "digest.toml is not used" in record.getMessage()
        )
        assert f"{file}: 4 things to correct. `digest doctor --quick` says what is left" in refusal
        assert "\n" not in refusal
        assert [subscription.name for subscription in site.config.subscriptions] == ["perf-team"]
        assert find_failures(site, schedule.pulse) == []
        more = '\n[[subscriptions]]\nname = "added"\nfollow = ["perf"]\nto = "feed"\n'
        world.write_config(to=MAIL, extra=more)
        edited = file.read_text().replace("digest@example.org", "other@example.org")
        file.write_text(f'{edited}\n[network]\nproxy = "http://127.0.0.1:9"\n')
        schedule.reload(load)  # type: ignore[arg-type]  # the same
        wait_until(lambda: "restart `digest serve`" in caplog.text)
        assert "restart `digest serve` for the changes in network, mail" in caplog.text
        assert [subscription.name for subscription in site.config.subscriptions] == [
            "perf-team",
            "added",
        ]
        assert site.config.mail.from_address == "digest@example.org"


def test_feed_files_are_written_when_something_was_matched_and_not_again(world: World) -> None:
    world.write_config(to=("file:feed.atom", "file:site/"))
    path = world.folder / "feed.atom"
    first = world.folder / "site" / "index.html"
    with scheduled(world, SELDOM | {"plan": 0.05, "poll": 0.05}) as (schedule, _):
        wait_until(path.exists)
        wait_until(
            lambda: (schedule.jobs._published or (0, 0))[1] == 1
        )  # after the digest was sent
        assert "#paper-1" in first.read_text("utf-8")
        path.unlink()
        threading.Event().wait(0.5)
        assert not path.exists()
