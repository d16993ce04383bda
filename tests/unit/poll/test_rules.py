"""Few polls a day, overlapping, never asking for a day that has only begun."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.announcements import EASTERN
from digest.model.polls import LastChecks
from digest.poll.rules import (
    BOOTSTRAP_DAYS,
    CONFIRM_AFTER,
    HARVEST_OVERLAPS,
    LEAST_OVERLAP,
    LONGEST_LOOKBACK,
    SEARCH_LOOKBACK,
    SEARCH_LOOKBACKS,
    choose_reach,
    describe_pause,
    harvest_from,
    is_poll_due,
    latest_poll_time,
    next_poll_time,
    search_until,
)

FIRST = datetime(2026, 1, 1)  # noqa: DTZ001 - made aware at once
LAST = datetime(2028, 1, 1)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST).map(lambda moment: moment.replace(tzinfo=UTC))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_first_digest_is_always_due() -> None:
    now = utc("2026-11-20T12:00")
    assert is_poll_due(LastChecks(), now)


def test_a_poll_is_fresh_until_the_next_moment_worth_a_request() -> None:
    last = LastChecks(complete=utc("2026-11-20T03:50"))  # 22:50 Eastern time
    assert not is_poll_due(last, utc("2026-11-20T05:29"))
    assert is_poll_due(last, utc("2026-11-20T05:31"))
    said = describe_pause(last, utc("2026-11-20T04:00"), EASTERN)
    assert said.endswith("from Fri 20 Nov 00:30 New York")


def test_a_poll_that_brought_news_is_soon_followed_by_one_that_confirms_it() -> None:
    ended = utc("2026-11-20T03:51")
    last = LastChecks(complete=utc("2026-11-20T03:50"), news=ended)
    due_at = ended + CONFIRM_AFTER
    assert not is_poll_due(last, due_at - timedelta(minutes=1))
    assert is_poll_due(last, due_at)


def count_minutes_until_due(last: LastChecks, now: datetime) -> int:
    for minutes in range(200):
        if is_poll_due(last, now + timedelta(minutes=minutes)):
            return minutes
    raise AssertionError(last)


def test_after_a_failure_it_waits_a_little_and_after_each_further_one_twice_as_long() -> None:
    now = utc("2026-11-20T12:00")
    waits = []
    for failures in range(1, 8):
        last = LastChecks(complete=now, failure=now, failures=failures)
        waits.append(count_minutes_until_due(last, now))
    assert waits == [10, 20, 40, 80, 120, 120, 120]
    once = LastChecks(failure=now, failures=1)
    said = describe_pause(once, now, EASTERN)
    assert said.startswith("the last check failed")


def test_a_harvest_overlaps_two_weeks_once_a_week_three_days_once_a_day_and_one_day_else() -> None:
    now = utc("2026-11-20T12:00")

    def overlap(two_weeks_ago: timedelta | None, three_days_ago: timedelta | None) -> int:
        reached = {
            14: now - two_weeks_ago if two_weeks_ago else None,
            3: now - three_days_ago if three_days_ago else None,
        }
        return choose_reach(HARVEST_OVERLAPS, LEAST_OVERLAP, reached, now)

    assert overlap(None, None) == 14
    assert overlap(timedelta(days=7), timedelta(hours=1)) == 14
    assert overlap(timedelta(days=6), timedelta(hours=20)) == 3
    assert overlap(timedelta(days=6), timedelta(hours=6)) == 1


@pytest.mark.parametrize(
    ("ages", "days"),
    [
        ((29, 6), SEARCH_LOOKBACK),
        *(((29, 7), 35), ((30, 7), 100), ((None, 1), 100)),
        ((None, None), LONGEST_LOOKBACK),
    ],
)
def test_a_search_looks_back_a_hundred_days_monthly_thirty_five_weekly_and_eight_else(
    ages: tuple[int | None, int | None], days: int
) -> None:
    now = utc("2026-11-20T12:00")
    last = {}
    for (reach, _), age in zip(SEARCH_LOOKBACKS, ages, strict=True):
        last[reach] = None if age is None else now - timedelta(days=age)
    assert choose_reach(SEARCH_LOOKBACKS, SEARCH_LOOKBACK, last, now) == days


def test_the_first_harvest_looks_back_ten_days_and_later_ones_behind_the_last_complete_one() -> (
    None
):
    now = utc("2026-11-20T12:00")
    first = harvest_from(None, now, BOOTSTRAP_DAYS)
    assert first == date(2026, 11, 10)
    later = harvest_from(date(2026, 11, 19), now, 3)
    assert later == date(2026, 11, 16)
    after_45_days = harvest_from(date(2026, 10, 6), now, 3)
    assert after_45_days == date(2026, 10, 3)


def test_a_harvest_reaches_back_to_the_last_announcement_also_over_a_long_weekend() -> None:
    last = date(2026, 11, 29)
    on_monday = harvest_from(last, utc("2026-11-30T14:00"), 1)
    assert on_monday == date(2026, 11, 28)
    on_sunday = harvest_from(last, utc("2026-11-29T14:00"), 1)
    assert on_sunday == date(2026, 11, 25), "Thanksgiving has none"


def test_a_harvest_reaches_back_to_the_newest_paper_known_however_long_arxiv_was_quiet() -> None:
    new_year = utc("2027-01-04T14:00")
    newest = date(2026, 12, 24)
    assert harvest_from(date(2027, 1, 4), new_year, 1, newest) == newest


def test_after_an_outage_a_search_looks_back_from_the_last_complete_one() -> None:
    now = utc("2026-11-20T12:00")
    first = search_until(None, now, 8)
    assert first == now - timedelta(days=8)
    last = now - timedelta(days=50)
    assert search_until(last, now, 35) == now - timedelta(days=85)


@given(MOMENTS, st.integers(0, 60), st.sampled_from((1, 3, 14)))
def test_a_harvest_never_starts_at_a_day_that_has_only_begun(
    now: datetime, days: int, overlap: int
) -> None:
    today = now.date()
    last = today - timedelta(days=days)
    assert harvest_from(last, now, overlap) < today


@given(MOMENTS)
def test_some_poll_is_due_within_eight_hours_and_every_day_has_five(now: datetime) -> None:
    last = latest_poll_time(now)
    following = next_poll_time(now)
    assert last <= now < following
    assert following - last <= timedelta(hours=8, minutes=45)
