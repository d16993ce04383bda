import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.clock import ManualClock, RemoteClock, SystemClock, monotonic
from digest.model.errors import ConfigurationError
from tests.threads import do_together

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock(NOON)
    assert clock.now() == clock.now() == NOON
    assert clock.is_simulated


@given(st.lists(st.floats(-100, 100_000), max_size=5))
def test_sleeping_moves_a_manual_clock_by_exactly_so_much_and_never_back(naps: list[float]) -> None:
    clock = ManualClock(NOON)
    for nap in naps:
        clock.sleep(nap)
    assert clock.now() == NOON + sum(
        (timedelta(seconds=nap) for nap in naps if nap > 0), timedelta()
    )


def test_a_manual_clock_can_be_advanced_and_set() -> None:
    clock = ManualClock(NOON)
    clock.advance(timedelta(days=1))
    assert clock.now() == NOON + timedelta(days=1)
    clock.set(NOON)
    assert clock.now() == NOON


def test_a_clock_tells_utc_whatever_offset_it_was_set_with() -> None:
    berlin = datetime(2026, 11, 20, 13, tzinfo=timezone(timedelta(hours=1)))
    assert ManualClock(berlin).now() == NOON
    assert ManualClock(berlin).now().tzinfo is UTC


def test_a_clock_takes_no_moment_without_an_offset() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(ValueError, match="aware"):
        ManualClock(naive)
    clock = ManualClock(NOON)
    with pytest.raises(ValueError, match="aware"):
        clock.set(naive)


def test_no_advance_is_lost_when_several_threads_move_a_manual_clock() -> None:
    clock = ManualClock(NOON)

    def sleep_often(_: int) -> None:
        for _ in range(200):
            clock.sleep(1)

    do_together(range(4), sleep_often)
    assert clock.now() == NOON + timedelta(seconds=800)


def test_the_system_clock_tells_utc_and_goes_on() -> None:
    clock = SystemClock()
    first = clock.now()
    assert first.tzinfo is UTC
    assert clock.now() >= first
    assert not clock.is_simulated


def test_waking_the_system_clock_ends_a_sleep_at_once() -> None:
    clock = SystemClock()
    sleeper = threading.Thread(target=clock.sleep, args=(60,))
    sleeper.start()
    clock.wake()
    sleeper.join(timeout=10)
    assert not sleeper.is_alive()


@pytest.mark.parametrize("seconds", [0, -5])
def test_the_system_clock_does_not_sleep_for_nothing(seconds: int) -> None:
    began = monotonic()
    SystemClock().sleep(seconds)
    assert monotonic() - began < 5


@pytest.mark.parametrize(
    "url",
    [
        "http://clock.example.org/now",
        "https://127.0.0.1/now",
        "file:///etc/passwd",
        "127.0.0.1:80",
        "",
    ],
)
def test_a_test_clock_elsewhere_than_on_this_machine_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="on this machine") as caught:
        RemoteClock(url)
    assert "DIGEST_TEST_CLOCK" in caught.value.hint


@pytest.mark.skipif(
    not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux counts the time a machine is suspended"
)
def test_the_seconds_that_leases_are_judged_by_go_on_while_the_machine_is_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "clock_gettime", lambda clock: float(clock == time.CLOCK_BOOTTIME))
    assert monotonic() == 1.0
