"""What follows a failed delivery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.deliver.rules import (
    FEWEST_TRIES,
    LONGEST_PAUSE,
    LONGEST_RETRY_AFTER,
    MAX_AGE,
    MAX_SENDINGS,
    MAX_TRIES,
    NextStep,
    Step,
    Tries,
    are_refused_alike,
    decide_failure,
    decide_unknown,
    shorten_share,
)
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import Share
from digest.model.said import Said

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


class Failed(NamedTuple):
    """What follows a failure, and after how many seconds."""

    step: Step
    seconds: float


def decide(
    attempts: int = 1, age: timedelta = timedelta(0), jitter: float = 0.5, **error: object
) -> Failed:
    failure = DeliveryError(
        Said.plain("no"),
        **error,  # type: ignore[arg-type]  # keywords of DeliveryError
    )
    decided = decide_failure(
        failure,
        settling=timedelta(seconds=15),
        tries=Tries(attempts, NOW - age),
        now=NOW,
        jitter=jitter,
    )
    pause = decided.not_before - NOW
    return Failed(decided.step, pause.total_seconds())


def decide_refused(error: DeliveryError, tries: Tries) -> NextStep:
    return decide_failure(error, settling=timedelta(0), tries=tries, now=NOW, jitter=0.5)


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
    failed = decide(**error)  # type: ignore[arg-type]  # the same
    assert failed.step is step


@pytest.mark.parametrize(
    ("refusal", "step"),
    [
        (Refusal.PLACE, Step.HOLD),
        (Refusal.ACCOUNT, Step.HOLD),
        (Refusal.SETTINGS, Step.HOLD),
        (Refusal.CONTENT, Step.GIVE_UP),
        (Refusal.READER, Step.GIVE_UP),
        (None, Step.GIVE_UP),
    ],
)
def test_what_the_operator_may_mend_is_held_with_its_code_and_the_rest_given_up(
    refusal: Refusal | None, step: Step
) -> None:
    error = DeliveryError(Said.plain("no"), permanent=True, refusal=refusal)
    decided = decide_refused(error, Tries(1, NOW))
    assert decided.step is step
    assert decided.refusal is refusal
    assert decided.given_up_before is None


@pytest.mark.parametrize("refusal", [*Refusal, None])
@given(hours=st.integers(0, 400))
def test_what_is_held_is_tried_after_six_hours_until_seven_days_have_passed(
    refusal: Refusal | None, hours: int
) -> None:
    tries = Tries(1, NOW - timedelta(days=30), held_at=NOW - timedelta(hours=hours))
    error = DeliveryError(Said.plain("no"), permanent=True, refusal=refusal)
    decided = decide_refused(error, tries)
    if refusal in (Refusal.CONTENT, Refusal.READER):
        assert decided.step is Step.GIVE_UP
        assert decided.refusal is refusal
    elif refusal is Refusal.SETTINGS:
        assert decided.step is Step.HOLD
        assert decided.refusal is refusal
    elif hours < 7 * 24:
        assert decided.step is Step.HOLD
        assert decided.refusal is (refusal or Refusal.PLACE)
        pause = decided.not_before - NOW
        assert timedelta(hours=5) < pause <= timedelta(hours=6)
    else:
        assert decided.step is Step.GIVE_UP
        assert decided.refusal is (refusal or Refusal.PLACE)
        assert decided.given_up_before == NOW - timedelta(days=7)


def test_what_may_pass_is_no_refusal_however_long_it_is_held() -> None:
    tries = Tries(1, NOW, held_at=NOW - timedelta(days=30))
    error = DeliveryError(Said.plain("away"), whole_transport=True)
    decided = decide_refused(error, tries)
    assert decided.step is Step.RETRY
    assert decided.refusal is None


def test_the_other_sides_wish_wins_over_our_own_pause() -> None:
    assert decide(attempts=5, retry_after=30.0, jitter=0.25) == (Step.RETRY, 30.25)


@pytest.mark.parametrize("wish", [1e300, 999_999_999_999.0, 366 * 86_400.0])
def test_no_wish_is_taken_for_longer_than_a_day(wish: float) -> None:
    failed = decide(retry_after=wish)
    assert failed == (Step.RETRY, LONGEST_RETRY_AFTER.total_seconds())


def test_a_wish_that_is_repeated_for_ever_is_believed_ever_less() -> None:
    waits = [decide(attempts=attempts, retry_after=1.0).seconds for attempts in range(1, 20)]
    believed = waits[:5]
    doubted = waits[5:]
    assert believed == [1.5] * 5
    assert doubted == sorted(doubted)
    assert doubted[0] > 600
    last = decide(attempts=MAX_TRIES, retry_after=1.0)
    assert last.step is Step.GIVE_UP


def test_what_fails_before_anything_is_sent_waits_the_longer_the_longer_it_has_failed() -> None:
    waits = []
    for doublings in range(12):
        age = timedelta(minutes=2**doublings)
        waits.append(decide(attempts=0, age=age, jitter=1.0).seconds)
    assert waits == sorted(waits)
    assert waits[0] == 60
    assert waits[-1] == 3600


def test_an_ambiguous_message_is_asked_about_only_after_it_has_settled() -> None:
    assert decide(ambiguous=True) == (Step.ASK, 15.0)
    assert decide(ambiguous=True, retry_after=60.0) == (Step.ASK, 60.5)


def test_one_that_is_ambiguous_again_and_again_is_asked_about_ever_later() -> None:
    waits = [decide(attempts=attempts, ambiguous=True).seconds for attempts in range(1, 8)]
    assert waits == sorted(set(waits))


def test_what_never_came_goes_out_again_a_bounded_number_of_times() -> None:
    def follow(attempts: int) -> Step:
        return decide_unknown(is_harmless=True, may_repeat=False, attempts=attempts, repeats=0)

    assert follow(1) is Step.RETRY
    assert follow(MAX_SENDINGS) is Step.HOLD


@pytest.mark.parametrize(
    ("may_repeat", "repeats", "step"),
    [(True, 0, Step.RETRY), (True, 1, Step.HOLD), (False, 0, Step.HOLD)],
)
def test_what_may_have_come_is_repeated_once_where_that_is_the_lesser_harm(
    may_repeat: bool,  # noqa: FBT001 - pytest passes it by name
    repeats: int,
    step: Step,
) -> None:
    decided = decide_unknown(is_harmless=False, may_repeat=may_repeat, attempts=1, repeats=repeats)
    assert decided is step


def test_after_enough_tries_or_five_days_it_is_given_up() -> None:
    after_most_tries = decide(attempts=MAX_TRIES)
    assert after_most_tries.step is Step.GIVE_UP
    too_old = MAX_AGE + timedelta(minutes=1)
    tried_often = decide(attempts=FEWEST_TRIES, age=too_old)
    assert tried_often.step is Step.GIVE_UP
    tried_too_little = decide(attempts=FEWEST_TRIES - 1, age=too_old)
    assert tried_too_little.step is Step.RETRY


def test_a_way_out_that_is_away_for_all_ends_nobodys_digest() -> None:
    failed = decide(attempts=10 * MAX_TRIES, age=10 * MAX_AGE, whole_transport=True)
    assert failed.step is Step.RETRY


def test_three_days_of_refusals_are_outlasted_wherever_the_jitter_falls() -> None:
    three_days = timedelta(days=3)
    for jitter in (0.3, 0.5, 0.99):
        elapsed = timedelta(0)
        for count in range(1, MAX_TRIES):
            failed = decide(attempts=count, age=elapsed, jitter=jitter)
            assert failed.step is Step.RETRY or elapsed > three_days
            elapsed += timedelta(seconds=failed.seconds)
        assert elapsed > three_days


@given(attempts=st.integers(1, MAX_TRIES - 1), jitter=st.floats(0, 1, exclude_max=True))
def test_pauses_grow_within_bounds_and_never_vanish(attempts: int, jitter: float) -> None:
    step, seconds = decide(attempts=attempts, jitter=jitter)
    assert step is Step.RETRY
    assert 30 <= seconds <= LONGEST_PAUSE.total_seconds()


def test_what_is_too_large_shows_half_as_many_papers_down_to_none_and_then_is_given_up() -> None:
    shown = []
    shorter = shorten_share(Share(5, 14, 9))
    while shorter is not None:
        assert shorter.first == 5
        assert shorter.end == 14
        assert Share.parse(str(shorter)) == shorter
        shown.append(shorter.shown)
        shorter = shorten_share(shorter)
    assert shown == [4, 2, 1, 0]


@pytest.mark.parametrize(
    ("refusals", "is_ours"),
    [
        (
            {"a@x.org": "550 at RCPT TO: <a@x.org> no", "b@y.org": "550 at RCPT TO: <b@y.org> no"},
            True,
        ),
        (
            {"a@x.org": "550 no A@x.org, session 4k2", "b@y.org": "550 no b@y.org, session 9z1"},
            True,
        ),
        ({"a@x.org": "550 5.2.2 full", "b@y.org": "550 5.2.2 full"}, True),
        ({"a@x.org": "550 no", "b@y.org": "552 no"}, False),
        ({"a@x.org": "550 5.2.1 no", "b@y.org": "550 5.2.2 no"}, False),
        ({"a@x.org": "550 no"}, False),
        ({}, False),
    ],
)
def test_the_same_refusal_for_several_readers_is_ours(
    refusals: dict[str, str], *, is_ours: bool
) -> None:
    said = {place: Said.plain(words) for place, words in refusals.items()}
    assert are_refused_alike(said.values(), said) == is_ours


def test_a_refusal_is_ours_if_another_mail_that_is_tried_again_met_the_same() -> None:
    no = Said.plain("452 no")
    later = Said.plain("451 later")
    answers = {"a@x.org": no, "b@y.org": no, "c@z.org": later}
    assert are_refused_alike([no], answers)
    assert not are_refused_alike([later], answers)
