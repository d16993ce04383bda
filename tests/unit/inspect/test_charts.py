"""Charts: papers a day as bars in plain text."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from digest.cli.output import draw_chart
from digest.inspect.query_volume import Day


def make_days(*counts: int) -> tuple[Day, ...]:
    return tuple(Day(date(2026, 11, 1) + timedelta(days=number), count) for number, count in enumerate(counts))


def test_bars_are_as_long_as_their_numbers() -> None:
    bars = draw_chart(make_days(0, 1, 3, 10), width=20)
    assert [(bar.label, bar.number, bar.bar) for bar in bars] == [
        ("Sun  1 Nov", 0, ""),
        ("Mon  2 Nov", 1, "██"),
        ("Tue  3 Nov", 3, "██████"),
        ("Wed  4 Nov", 10, "█" * 20),
    ]


def test_many_days_become_weeks() -> None:
    bars = draw_chart(make_days(*([1] * 60)), width=20)
    assert [bar.label for bar in bars[:2]] == ["week of 26 Oct", "week of  2 Nov"]
    assert sum(bar.number for bar in bars) == 60


def test_a_long_run_of_empty_days_has_one_line() -> None:
    bars = draw_chart(make_days(1, *([0] * 10), 2), width=20)
    assert [bar.label.rstrip() for bar in bars] == ["Sun  1 Nov", "Mon  2 Nov to Wed 11 Nov", "Thu 12 Nov"]


@given(st.lists(st.integers(0, 500), max_size=80), st.integers(1, 60))
def test_no_bar_is_wider_than_asked_and_none_of_a_paper_is_empty(counts: list[int], width: int) -> None:
    for bar in draw_chart(make_days(*counts), width=width):
        assert len(bar.bar) <= width
        assert bool(bar.bar) == bool(bar.number)


def test_days_that_are_only_begun_are_marked_and_stay_apart_from_the_empty_ones_before_them() -> None:
    begun = Day(date(2026, 11, 8), 0, is_whole=False)
    bars = draw_chart((*make_days(*[0] * 7), begun), width=20)
    assert [(bar.label.rstrip(), bar.is_whole) for bar in bars] == [
        ("Sun  1 Nov to Sat  7 Nov", True),
        ("Sun  8 Nov", False),
    ]


def test_a_week_with_a_day_that_is_only_begun_is_begun() -> None:
    days = make_days(*[1] * 60)
    bars = draw_chart((*days[:-1], Day(days[-1].date, 1, is_whole=False)), width=20)
    assert [bar.is_whole for bar in bars[-2:]] == [True, False]
