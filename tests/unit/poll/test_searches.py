"""How far searches look back: eight days nightly, further every week and month, and never past what was missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from digest.poll.rules import (
    JOINT_LOOKBACK,
    JOINT_LOOKBACKS,
    SEARCH_LOOKBACK,
    SEARCHED_BY_WORDS,
    SearchPast,
    is_asked_together,
    join_pasts,
    plan_joint_search,
    plan_search,
)

NOW = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)
DAY = timedelta(days=1)
DAYS = [days for days, _ in JOINT_LOOKBACKS]
AGES = st.integers(0, 60).map(lambda days: NOW - days * DAY)
PASTS = st.builds(SearchPast, AGES, st.fixed_dictionaries({days: st.one_of(st.none(), AGES) for days in DAYS}))


def reach(*ages: float | None) -> dict[int, datetime | None]:
    """Return looks that reached a hundred, 35 and eight days back, so many days ago each."""
    return {days: None if age is None else NOW - age * DAY for days, age in zip(DAYS, ages, strict=True)}


def test_five_queries_are_asked_for_as_they_are_and_six_by_their_categories() -> None:
    texts = [f"ti:w{number}" for number in range(SEARCHED_BY_WORDS + 1)]
    assert [is_asked_together(texts[:-1]), is_asked_together(texts)] == [False, True]


def test_the_first_search_for_one_query_reaches_as_far_as_any() -> None:
    assert plan_search(SearchPast(), NOW) == (100, NOW - 100 * DAY)


def test_the_first_search_for_many_is_a_usual_one_for_what_is_news_is_told_by_ids() -> None:
    assert plan_joint_search([], NOW) == (SEARCH_LOOKBACK, NOW - SEARCH_LOOKBACK * DAY)


def test_each_reach_comes_when_it_is_due() -> None:
    last = NOW - timedelta(hours=3)
    for ages, days in (
        ((29, 6, 0.5), JOINT_LOOKBACK),
        ((29, 6, 1), SEARCH_LOOKBACK),
        ((29, 7, 1), 35),
        ((30, 7, 1), 100),
        ((None, 1, 1), 100),
    ):
        past = SearchPast(last, reach(*ages))
        assert plan_joint_search([past], NOW) == (days, last - days * DAY)
        assert plan_search(past, NOW)[0] == max(days, SEARCH_LOOKBACK)


def test_for_many_the_one_looked_for_least_decides() -> None:
    pasts = [SearchPast(NOW - DAY, reach(1, 1, 1)), SearchPast(NOW - 3 * DAY, reach(2, 9, 0.1))]
    assert plan_joint_search(pasts, NOW) == (35, NOW - 38 * DAY)


@given(st.lists(PASTS, min_size=1, max_size=5))
def test_a_search_for_many_reaches_no_less_far_than_any_of_them_needs(pasts: list[SearchPast]) -> None:
    days, until = plan_joint_search(pasts, NOW)
    for past in pasts:
        assert past.complete is not None
        assert until <= past.complete - JOINT_LOOKBACK * DAY
        own, _ = plan_joint_search([past], NOW)
        assert days >= own
    joined = join_pasts(pasts)
    assert joined.complete == min(past.complete for past in pasts if past.complete)
