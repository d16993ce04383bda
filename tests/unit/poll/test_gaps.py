"""Ids are dense: a missing one is asked for, for a week, and then void."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import ArxivId
from digest.model.polls import Gap
from digest.poll.rules import (
    ASKED_AT,
    SPARSE_FROM,
    choose_due,
    explain_giving_up,
    find_missing,
    is_sparse,
)

NOW = datetime(2026, 11, 20, 4, 0, tzinfo=UTC)


def gap(number: int, *, days: float = 0, asks: int = 0) -> Gap:
    missed = NOW - timedelta(days=days)
    last_asked = NOW if asks else None
    return Gap(ArxivId(202611, number), missed, asks, last_asked)


def list_missing(stored: dict[int, set[int]], mark: tuple[int, int]) -> list[str]:
    return [str(id_) for id_ in find_missing(stored, mark)]


def test_what_lies_between_stored_ids_is_missing() -> None:
    missing = list_missing({202611: {100, 101, 104}}, (202611, 99))
    assert missing == ["2611.00102", "2611.00103"]


def test_what_lies_below_the_mark_of_the_first_digest_is_no_business_of_ours() -> None:
    below = list_missing({202611: {90, 104}}, (202611, 104))
    assert below == []
    of_earlier_month = list_missing({202610: {5, 9}, 202611: {2}}, (202611, 0))
    assert of_earlier_month == ["2611.00001"]


def test_a_month_that_began_since_begins_with_number_one_and_two_months_are_compared() -> None:
    stored = {202609: {3}, 202610: {2, 4}, 202611: {2}}
    missing = list_missing(stored, (202609, 1))
    assert missing == ["2610.00001", "2610.00003", "2611.00001"]


def test_older_months_wrote_four_digits() -> None:
    missing = list_missing({201412: {2}}, (201411, 1))
    assert missing == ["1412.0001"]


@given(st.sets(st.integers(1, 200), min_size=1), st.integers(0, 200))
def test_stored_and_missing_together_are_all_ids_from_the_mark_to_the_newest(
    numbers: set[int], mark: int
) -> None:
    missing = {id_.number for id_ in find_missing({202611: numbers}, (202611, mark))}
    assert not missing & numbers
    above = {number for number in numbers if number > mark}
    newest = max(numbers)
    assert missing | above == set(range(mark + 1, newest + 1))


def test_an_id_is_asked_for_at_once_and_then_after_one_two_four_and_seven_days() -> None:
    for asks, after in enumerate(ASKED_AT):
        days = after.total_seconds() / 86_400
        due = gap(1, days=days, asks=asks)
        assert choose_due([due], NOW)
        if asks > 0:
            too_early = gap(1, days=days - 0.01, asks=asks)
            assert not choose_due([too_early], NOW)
    given_up = gap(1, days=30, asks=len(ASKED_AT))
    assert not choose_due([given_up], NOW)


def test_ids_never_asked_for_come_first_and_the_newest_before_the_others() -> None:
    due = choose_due([gap(5, days=2, asks=1), gap(7), gap(9)], NOW)
    assert [one.id.number for one in due] == [9, 7, 5]


def test_an_id_that_is_given_up_says_why() -> None:
    last = gap(1, days=7, asks=len(ASKED_AT))
    said = "arXiv knew no such paper, asked 5 times from 13 Nov to 20 Nov 2026"
    assert str(explain_giving_up(last)) == said


def test_numbers_so_thinly_strewn_that_most_are_missing_are_no_gaps() -> None:
    mark = (202611, 0)
    few = {202611: {10, SPARSE_FROM * 2}}
    missing = list(find_missing(few, mark))
    assert is_sparse(few, missing, mark)
    half = {202611: set(range(2, 2_400, 2))}
    missing = list(find_missing(half, mark))
    assert not is_sparse(half, missing, mark)
