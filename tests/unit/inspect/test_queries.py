"""What a query brings of the last days, by the day of submission and in words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.queries import DaySpan, describe_matches, describe_volume, list_submission_days
from digest.model.messages import DayCount
from digest.model.papers import Paper
from tests.unit.made_up import make_paper

TUESDAY = date(2026, 11, 17)
WEDNESDAY = date(2026, 11, 18)
THURSDAY = date(2026, 11, 19)


def submit(*counts: int) -> tuple[DaySpan, list[Paper]]:
    """Make so many papers a day, from 1 November on."""
    first = datetime(2026, 11, 1, 12, tzinfo=UTC)
    dates = []
    papers = []
    for number, count in enumerate(counts):
        day = first + timedelta(days=number)
        dates.append(day.date())
        papers += [make_paper(published=day)] * count
    return DaySpan(tuple(dates)), papers


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 3, 3), "9 papers in 3 days (most on Sun 1 Nov: 3)"),
        ((0, 9, 3, 0), "12 papers in 4 days (most on Mon 2 Nov: 9)"),
        ((1, 0, 0, 0, 0, 0, 0), "about 1 paper a week"),
        ((1, *[0] * 29), "about 1 paper a month"),
        ((9, *[2] * 29), "about 3 papers a day (most on Sun 1 Nov: 9)"),
        ((0, 0), "0 papers in 2 days"),
    ],
)
def test_the_volume_is_said_in_words(counts: tuple[int, ...], said: str) -> None:
    span, papers = submit(*counts)
    assert describe_volume(span, papers) == said


@pytest.mark.parametrize(
    ("days_ago", "papers", "said"),
    [
        *(
            (90, 44, "about 2 papers a day"),
            (20, 1, "1 paper in 20 days"),
            (9, 5, "about 4 papers a week"),
        ),
        *((2, 0, "0 papers in 2 days"), (0, 3, "3 papers in 1 day")),
    ],
)
def test_matches_are_said_of_30_days_or_of_those_since_it_began(
    days_ago: int, papers: int, said: str
) -> None:
    now = datetime(2026, 11, 20, 9, tzinfo=UTC)
    began_at = now - timedelta(days=days_ago)
    today = DayCount(now.date(), papers)
    assert describe_matches([today], began_at, now) == said


def test_days_that_are_only_begun_are_no_part_of_the_rate_and_said_apart() -> None:
    span, papers = submit(2, 4, 1)
    whole = span.whole[:2]
    begun = span.whole[2:]
    said = describe_volume(DaySpan(whole, begun), papers)
    assert said == "6 papers in 2 days (most on Mon 2 Nov: 4); on the days since, 1 more so far"


def test_the_last_days_are_begun_until_all_their_submissions_were_due() -> None:
    friday_morning = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    span = list_submission_days(friday_morning, 2)
    assert span == DaySpan((TUESDAY, WEDNESDAY), (THURSDAY, date(2026, 11, 20)))


def test_a_weekend_is_due_with_the_announcement_of_monday() -> None:
    monday = list_submission_days(datetime(2026, 11, 23, 8, 0, tzinfo=UTC), 1)
    assert monday.whole == (THURSDAY,)
    assert len(monday.begun) == 4
    tuesday = list_submission_days(datetime(2026, 11, 24, 8, 0, tzinfo=UTC), 1)
    assert tuesday.whole == (date(2026, 11, 22),)
    assert len(tuesday.begun) == 2


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)),  # noqa: DTZ001 - made UTC below
    st.integers(1, 40),
)
def test_days_of_submission_follow_each_other_up_to_today(now: datetime, days: int) -> None:
    now = now.replace(tzinfo=UTC)
    span = list_submission_days(now, days)
    assert len(span.whole) == days
    assert span.dates[-1] == now.date()
    steps = [after - before for before, after in pairwise(span.dates)]
    assert all(step == timedelta(days=1) for step in steps)
