"""What follows a failed delivery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import DeliveryError
from digest.planning.retries import LONGEST_PAUSE, MAX_ATTEMPTS, Step, decide_failure, decide_unknown

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def decide(
    attempts: int = 1, age: timedelta = timedelta(0), jitter: float = 0.5, **error: object
) -> tuple[Step, float]:
    step = decide_failure(
        DeliveryError("no", **error),  # type: ignore[arg-type]  # keywords of DeliveryError
        settling=timedelta(seconds=15),
        attempts=attempts,
        created_at=NOW - age,
        now=NOW,
        jitter=jitter,
    )
    return step.step, (step.not_before - NOW).total_seconds()


@pytest.mark.parametrize(
    ("error", "step"),
    [
        ({}, Step.RETRY),
        ({"permanent": True}, Step.GIVE_UP),
        ({"permanent": True, "whole_transport": True}, Step.HOLD),
        ({"whole_transport": True}, Step.RETRY),
        ({"ambiguous": True}, Step.ASK),
        ({"ambiguous": True, "retry_after": 3.0}, Step.ASK),
    ],
)
def test_a_failure_knows_what_follows(error: dict[str, object], step: Step) -> None:
    assert decide(**error)[0] is step  # type: ignore[arg-type]  # the same


def test_the_other_sides_wish_wins_over_our_own_pause() -> None:
    assert decide(attempts=9, retry_after=30.0, jitter=0.25) == (Step.RETRY, 30.25)


def test_an_ambiguous_message_is_asked_about_only_after_it_has_settled() -> None:
    assert decide(ambiguous=True) == (Step.ASK, 15.0)


def test_one_that_is_ambiguous_again_and_again_is_asked_about_ever_later() -> None:
    waits = [decide(attempts=attempts, ambiguous=True)[1] for attempts in range(1, 8)]
    assert waits == sorted(set(waits))


def test_what_never_came_goes_out_again_a_bounded_number_of_times() -> None:
    def follow(attempts: int) -> Step:
        return decide_unknown(is_harmless=True, may_repeat=False, attempts=attempts, repeats=0)

    assert (follow(1), follow(MAX_ATTEMPTS)) == (Step.RETRY, Step.HOLD)


@pytest.mark.parametrize(
    ("may_repeat", "repeats", "step"), [(True, 0, Step.RETRY), (True, 1, Step.HOLD), (False, 0, Step.HOLD)]
)
def test_what_may_have_come_is_repeated_once_where_that_is_the_lesser_harm(
    may_repeat: bool,  # noqa: FBT001 - pytest passes it by name
    repeats: int,
    step: Step,
) -> None:
    assert decide_unknown(is_harmless=False, may_repeat=may_repeat, attempts=1, repeats=repeats) is step


def test_after_enough_attempts_or_two_days_it_is_given_up() -> None:
    assert decide(attempts=MAX_ATTEMPTS)[0] is Step.GIVE_UP
    assert decide(age=timedelta(hours=49))[0] is Step.GIVE_UP


@given(attempts=st.integers(1, MAX_ATTEMPTS - 1), jitter=st.floats(0, 1, exclude_max=True))
def test_pauses_grow_within_bounds_and_never_vanish(attempts: int, jitter: float) -> None:
    step, seconds = decide(attempts=attempts, jitter=jitter)
    assert step is Step.RETRY
    assert 30 <= seconds <= LONGEST_PAUSE.total_seconds()
