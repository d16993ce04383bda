"""How the operator is told of alarms: by every way at once, as often as it takes, and not for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from digest.pipeline import deliver, match, plan, poll, raising, sync_roster
from digest.pipeline.watching import WatchReport, watch
from digest.pipeline.writing import SLACK_SPACING
from digest.store.schema import deliveries, destination_addresses
from tests.integration.alarming import MONDAY, operator_mails, pass_at, write_alarms
from tests.integration.web.world import EVENING, LATER, SUNDAY, World, live_in, wait_until


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with live_in(tmp_path) as world:
        yield world


def test_while_the_mail_server_hangs_over_a_digest_alarms_reach_it_and_every_other_place(world: World) -> None:
    write_alarms(world, "mailto:ops@example.org", "slack:#papers")
    world.environ["DIGEST_MAIL_CONNECTIONS"] = "1"
    pass_at(world)
    world.arxiv.add(LATER)
    world.clock.sleep((SUNDAY + timedelta(hours=6) - world.clock.now()).total_seconds())
    world.mail.script.delay("END", 60.0, times=2)
    site = world.open()
    sync_roster(site)
    poll(site)
    match(site)
    plan(site)
    delivering = threading.Thread(target=deliver, args=[site])
    delivering.start()
    try:
        wait_until(lambda: len(world.mail.mails) == 2)  # the last one waits for its answer
        world.clock.sleep(2 * 3600.0)
        told: list[WatchReport] = []
        telling = threading.Thread(target=lambda: told.append(watch(site)))
        telling.start()
        wait_until(lambda: bool(world.slack.messages))
        wait_until(lambda: len(operator_mails(world)) == 1)
    finally:
        site.interrupt()
        delivering.join(10)
        telling.join(10)
        site.close()
    assert [str(place) for place in told[0].told] == ["slack:#papers"]
    assert "could not be told at mailto:ops@example.org" in told[0].failures[0]


def test_a_place_that_never_answers_is_broken_off_and_the_alarm_is_told_by_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raising, "LONGEST_TELLING", 0.5)
    write_alarms(world, "mailto:ops@example.org", "slack:#papers")
    pass_at(world)
    world.mail.script.delay("END", 60.0)
    report = pass_at(world, MONDAY)
    assert [str(place) for place in report.watch.told] == ["slack:#papers"]
    assert len(report.watch.failures) == 1
    assert pass_at(world, MONDAY + timedelta(minutes=10)).watch.told == (), "it was told"


def test_an_alarm_in_a_channel_counts_for_the_pace_of_its_digests(world: World) -> None:
    write_alarms(world, "slack:#papers")
    pass_at(world)
    pass_at(world, MONDAY)
    assert find_rest(world) == SLACK_SPACING


def test_a_pause_that_slack_asks_of_an_alarm_is_kept_by_the_outbox(world: World) -> None:
    write_alarms(world, "slack:#papers")
    pass_at(world)
    world.slack.faults.add("ratelimited", path="chat.postMessage", retry_after=30)
    assert pass_at(world, MONDAY).watch.told == ()
    assert find_rest(world) == timedelta(seconds=30)


def find_rest(world: World) -> timedelta:
    """Return how long the channel is left alone from now on."""
    blocked = destination_addresses.c.blocked_until
    site = world.open()
    with site.store.read() as conn:
        until = conn.execute(select(blocked).where(destination_addresses.c.destination == "slack:#papers"))
        rest: timedelta = until.scalar_one() - world.clock.now()
    site.close()
    return rest


def test_a_message_given_up_is_told_and_recalled_and_over_when_the_operator_ends_it(world: World) -> None:
    write_alarms(world, "mailto:ops@example.org")
    give_up(world)
    for hours in (0, 23, 24.5, 26):
        pass_at(world, EVENING + timedelta(hours=hours))
    assert len(told_of_dead(world)) == 2
    drop(world)
    assert pass_at(world, EVENING + timedelta(hours=27)).watch.ended == ()
    assert len(told_of_dead(world)) == 2, "it was let go before"


def test_a_message_given_up_and_dropped_within_a_day_is_told_to_be_over(world: World) -> None:
    write_alarms(world, "mailto:ops@example.org")
    give_up(world)
    pass_at(world)
    drop(world)
    assert pass_at(world, EVENING + timedelta(hours=1)).watch.ended == ("dead",)
    assert told_of_dead(world)[-1].startswith(
        "Digest: over, it was: the delivery to mailto:reader@example.org was given up"
    )


def test_a_message_given_up_is_told_however_long_nobody_can_be(world: World) -> None:
    write_alarms(world, "mailto:ops@example.org")
    give_up(world)
    world.mail.script.reply("RCPT", "451 4.3.0 try later", match="ops@", times=1000)
    for hours in (0, 20, 30):
        pass_at(world, EVENING + timedelta(hours=hours))
    assert told_of_dead(world) == []
    world.mail.script.clear()
    for hours in (32, 33, 60):
        pass_at(world, EVENING + timedelta(hours=hours))
    assert len(told_of_dead(world)) == 1


def give_up(world: World) -> None:
    """Let the reader's address be dead for good."""
    world.mail.script.reply("RCPT", "550 5.1.1 no such user", match="reader@")


def drop(world: World) -> None:
    """End what was given up, as an operator does."""
    site = world.open()
    with site.store.begin() as conn:
        conn.execute(update(deliveries).where(deliveries.c.state == "dead").values(state="suppressed"))
    site.close()


def told_of_dead(world: World) -> list[str]:
    return [mail for mail in operator_mails(world) if "was given up" in mail]
