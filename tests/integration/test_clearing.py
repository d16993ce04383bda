"""When last nothing was left that was due: the file beside the database says so, and nobody asks in vain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from digest.pipeline import LANES, Site, run_pass
from digest.pipeline.clearing import note_clear
from digest.scheduling import steps as steps_module
from digest.scheduling.steps import Steps
from digest.store import stamps
from tests.integration.web.world import EVENING, World, live_in


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with live_in(tmp_path) as world:
        world.write_config(to=("mailto:reader@example.org",))
        yield world


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    """A site whose first digest went out, and another message an hour later."""
    site = world.open()
    run_pass(site)
    world.clock.sleep(timedelta(hours=1).total_seconds())
    stamp = stamps.load_stamp(site.store)
    assert stamp is not None
    assert stamp.clear_at is not None
    stamps.write_stamp(site.store, replace(stamp, sent_at=world.clock.now()))
    yield site
    site.close()


def clear_at(site: Site) -> datetime | None:
    stamp = stamps.load_stamp(site.store)
    return None if stamp is None else stamp.clear_at


@contextmanager
def resting(folder: Path, when: str, extra: str = "") -> Iterator[tuple[World, Site]]:
    """A site that looked at arXiv before a mailing, which is out now: one is told at once, another may rest."""
    with live_in(folder, EVENING - timedelta(hours=16)) as world:
        path = folder / "digest.toml"
        world.write_config(to=("mailto:reader@example.org",), when=when, extra=extra + _AWAKE)
        told = path.read_text(encoding="utf-8")
        path.write_text(told.replace("[defaults]", "[defaults]\nfirst_look = 0"), encoding="utf-8")
        site = world.open()
        run_pass(site)
        world.clock.sleep(timedelta(hours=16).total_seconds())
        yield world, site
        site.close()


_AWAKE = """
[[subscriptions]]
name = "awake"
queries = ["perf"]
to = ["mailto:awake@example.org"]
when = "on announcement"
"""


def told(site: Site) -> set[str]:
    with site.store.read() as conn:
        found = conn.exec_driver_sql(
            "SELECT name FROM subscriptions JOIN digests ON subscription_id = subscriptions.id"
        )
        return set(found.scalars())


def write(site: Site, statement: str) -> None:
    with site.store.begin() as conn:
        conn.exec_driver_sql(statement)


SENT = "UPDATE deliveries SET state = 'sent', ended_at = created_at, not_before = created_at"
LEFT = (
    ("UPDATE deliveries SET state = 'ready', ended_at = NULL, not_before = '2026-11-28 00:00:00'", SENT),
    ("UPDATE deliveries SET state = 'unknown', ended_at = NULL", SENT),
    ("UPDATE deliveries SET state = 'held', ended_at = NULL", SENT),
    (
        "UPDATE subscriptions SET next_due_at = '2026-11-20 00:00:00'",
        "UPDATE subscriptions SET next_due_at = '2026-12-20 00:00:00'",
    ),
    (
        "UPDATE marks SET value = 0 WHERE name = 'matched'",
        "UPDATE marks SET value = (SELECT max(id) FROM changes) WHERE name = 'matched'",
    ),
    ("UPDATE poll_runs SET outcome = 'failed'", "UPDATE poll_runs SET outcome = 'complete'"),
    (
        "UPDATE installation SET quarantined_at = '2026-11-20 00:00:00'",
        "UPDATE installation SET quarantined_at = NULL",
    ),
)
"""What makes something wait that is due, and what ends that."""


def test_while_anything_due_is_left_the_file_says_the_moment_before_and_then_once_when_it_was_not(
    world: World, site: Site
) -> None:
    before = clear_at(site)
    for left, done in LEFT:
        write(site, left)
        is_under_way = "'ready'" in left or "'unknown'" in left
        assert note_clear(site) is is_under_way, left
        assert clear_at(site) == before, left
        write(site, done)
    moment = world.clock.now()
    assert not note_clear(site)
    world.clock.sleep(60)
    assert not note_clear(site)
    assert clear_at(site) == moment


@pytest.mark.parametrize("when", ["at once", "daily at 01:30 UTC"])
def test_what_quiet_hours_put_off_is_left_until_they_end(tmp_path: Path, when: str) -> None:
    with resting(tmp_path, when, 'quiet_hours = "02:00-06:00 UTC"') as (world, site):
        run_pass(site)
        assert (told(site), clear_at(site)) == ({"awake"}, None)
        world.clock.sleep(timedelta(hours=3).total_seconds())
        run_pass(site)
        assert (told(site), clear_at(site)) == ({"awake", "perf-team"}, world.clock.now())


@pytest.mark.parametrize("extra", ["", "paused_until = 2026-12-01"])
def test_what_a_pause_keeps_is_left_since_an_older_copy_may_not_know_of_it(tmp_path: Path, extra: str) -> None:
    with resting(tmp_path, "on announcement", extra) as (_, site):
        if not extra:
            write(site, "UPDATE subscriptions SET state = 'paused' WHERE name = 'perf-team'")
        run_pass(site)
        assert (told(site), clear_at(site)) == ({"awake"}, None)


def test_what_came_before_its_turn_is_not_left(tmp_path: Path) -> None:
    with resting(tmp_path, "daily at 04:30 UTC") as (world, site):
        run_pass(site)
        assert (told(site), clear_at(site)) == ({"awake"}, world.clock.now())


def test_a_turn_with_nothing_to_do_does_not_ask(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(asking: Site) -> bool:
        asked.append(asking)
        return False

    monkeypatch.setattr(steps_module, "note_clear", ask)
    steps = Steps(site, lambda: False)
    for _ in range(3):
        for lane in LANES:
            steps.deliver(lane)
    assert asked == [site], "once, after the start"
