from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.telemetry import HealthFacts, assess_health

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
TICK = timedelta(seconds=5)
WELL = HealthFacts(
    is_store_writable=True, tick=TICK, heartbeat_at=NOW - TICK, last_complete_poll_at=NOW - timedelta(hours=12)
)


def test_a_process_that_does_its_work_is_ready_and_has_nothing_to_say() -> None:
    health = assess_health(WELL, NOW)
    assert (health.is_ready, health.failures, health.warnings) == (True, (), ())


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (replace(WELL, is_store_writable=False), "the database can't be written"),
        (replace(WELL, heartbeat_at=None), "the scheduler has not ticked yet"),
        (replace(WELL, heartbeat_at=NOW - timedelta(seconds=11)), "the scheduler last ticked 11 s ago"),
    ],
)
def test_a_process_that_does_not_do_its_work_is_not_ready(facts: HealthFacts, words: str) -> None:
    health = assess_health(facts, NOW)
    assert not health.is_ready
    assert health.failures == (words,)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            replace(WELL, breaker_until=NOW + timedelta(hours=4)),
            "arXiv asked for a pause: 4 h are left of it",
        ),
        (replace(WELL, last_complete_poll_at=None), "arXiv has not been looked at completely yet"),
        (
            replace(WELL, last_complete_poll_at=NOW - timedelta(days=2, seconds=1)),
            "the last complete look at arXiv was 2 d ago",
        ),
        (replace(WELL, dead=1), "1 delivery is dead: digest delivery list"),
        (replace(WELL, held=2), "2 deliveries are held for you: digest delivery list"),
    ],
)
def test_what_no_restart_mends_is_a_warning_and_leaves_the_process_ready(facts: HealthFacts, words: str) -> None:
    health = assess_health(facts, NOW)
    assert health.is_ready
    assert health.warnings == (words,)


@given(st.timedeltas(timedelta(0), timedelta(seconds=10)))
def test_two_ticks_are_given(late: timedelta) -> None:
    assert assess_health(replace(WELL, heartbeat_at=NOW - late), NOW).is_ready


def test_a_pause_that_is_over_is_no_warning() -> None:
    assert assess_health(replace(WELL, breaker_until=NOW), NOW).warnings == ()
