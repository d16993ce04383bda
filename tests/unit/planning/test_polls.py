"""Few looks a day, overlapping, never asking for a day that has only begun."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from digest.planning.polls import (
    QUERY_LOOKBACK,
    harvest_from,
    is_poll_due,
    latest_poll_time,
    next_poll_time,
    search_until,
)

MOMENTS = st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2028, 1, 1)).map(  # noqa: DTZ001 - made aware at once
    lambda moment: moment.replace(tzinfo=UTC)
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_first_look_is_always_due() -> None:
    assert is_poll_due(None, None, utc("2026-11-20T12:00"))


def test_a_look_is_fresh_until_the_next_moment_worth_a_request() -> None:
    looked = utc("2026-11-20T03:50")  # 22:50 Eastern time
    assert not is_poll_due(looked, None, utc("2026-11-20T05:29"))
    assert is_poll_due(looked, None, utc("2026-11-20T05:31"))


def test_after_a_failure_it_waits_a_little() -> None:
    now = utc("2026-11-20T12:00")
    assert not is_poll_due(None, now - timedelta(minutes=5), now)
    assert is_poll_due(None, now - timedelta(minutes=11), now)


def test_the_first_harvest_looks_back_ten_days_and_later_ones_overlap_three() -> None:
    now = utc("2026-11-20T12:00")
    assert harvest_from(None, now) == date(2026, 11, 10)
    assert harvest_from(date(2026, 11, 19), now) == date(2026, 11, 16)


def test_after_an_outage_a_search_looks_back_from_the_last_complete_one() -> None:
    now = utc("2026-11-20T12:00")
    assert search_until(None, now) == now - QUERY_LOOKBACK
    assert search_until(now - timedelta(days=50), now) == now - timedelta(days=50) - QUERY_LOOKBACK


@given(MOMENTS, st.integers(0, 60))
def test_a_harvest_never_starts_at_a_day_that_has_only_begun(now: datetime, days: int) -> None:
    assert harvest_from(now.date() - timedelta(days=days), now) < now.date()


@given(MOMENTS)
def test_some_look_is_due_within_eight_hours_and_every_day_has_five(now: datetime) -> None:
    assert latest_poll_time(now) <= now < next_poll_time(now)
    assert next_poll_time(now) - latest_poll_time(now) <= timedelta(hours=8, minutes=45)
