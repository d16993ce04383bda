"""When last nothing was left that was due: the file beside the database says so, and nobody asks in vain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from digest.pipeline import LANES, Site, run_pass
from digest.pipeline.clearing import note_clear
from digest.scheduling import steps as steps_module
from digest.scheduling.steps import Steps
from digest.store import stamps
from tests.integration.web.world import World, live_in


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
