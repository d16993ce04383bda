"""The date of a feed: readers that ask by it alone keep nothing that is not so any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from digest.web.feeds import ChangeDates

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FEED = ("token", "atom")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_what_is_met_for_the_first_time_is_dated_by_that_moment_and_stays_so() -> None:
    dates = ChangeDates()
    assert dates.settle(FEED, "a", NOON - timedelta(days=3), after(0.5)) == NOON
    assert dates.settle(FEED, "a", NOON - timedelta(days=3), after(900)) == NOON


def test_what_a_match_run_changed_has_the_date_of_the_run_at_every_process() -> None:
    one, other = ChangeDates(), ChangeDates()
    one.settle(FEED, "a", NOON, after(10))
    other.settle(FEED, "a", NOON, after(20))
    assert (
        one.settle(FEED, "b", after(60), after(70)) == other.settle(FEED, "b", after(60), after(90)) == after(60)
    )


def test_what_anything_else_changed_is_dated_by_the_moment_it_is_met() -> None:
    dates = ChangeDates()
    dates.settle(FEED, "a", NOON, after(10))
    assert dates.settle(FEED, "b", NOON, after(70)) == after(70)


def test_a_feed_that_was_forgotten_is_dated_anew() -> None:
    dates = ChangeDates(room=1)
    dates.settle(FEED, "a", NOON, NOON)
    dates.settle(("other", "atom"), "a", NOON, NOON)
    assert dates.settle(FEED, "a", NOON, after(5)) == after(5)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3), st.floats(-5, 5)), max_size=12))
def test_another_body_has_a_later_date_and_the_same_body_the_same(steps: list[tuple[str, float, float]]) -> None:
    dates, now, before = ChangeDates(), NOON, ("", NOON - timedelta(days=1))
    for etag, pause, updated in steps:
        now += timedelta(seconds=pause)
        since = dates.settle(FEED, etag, now + timedelta(seconds=updated), now)
        assert since == before[1] if etag == before[0] else since > before[1]
        before = (etag, since)
