"""How far searches look back: eight days nightly, further every week and month, and never past what was missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from digest.poll.rules import LONGEST_LOOKBACK, SEARCH_LOOKBACK, SEARCH_LOOKBACKS, choose_reach, search_until

NOW = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("ages", "days"),
    [
        ((29, 6), SEARCH_LOOKBACK),
        ((29, 7), 35),
        ((30, 7), 100),
        ((None, 1), 100),
        ((None, None), LONGEST_LOOKBACK),
    ],
)
def test_each_reach_comes_when_it_is_due(ages: tuple[int | None, int | None], days: int) -> None:
    last = {
        reach: None if age is None else NOW - age * DAY
        for (reach, _), age in zip(SEARCH_LOOKBACKS, ages, strict=True)
    }
    assert choose_reach(SEARCH_LOOKBACKS, SEARCH_LOOKBACK, last, NOW) == days


def test_a_search_reaches_back_from_the_last_complete_one() -> None:
    assert search_until(None, NOW, 100) == NOW - 100 * DAY
    assert search_until(NOW - 3 * DAY, NOW, 8) == NOW - 11 * DAY
