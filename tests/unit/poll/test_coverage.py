"""A quiet day never looks like a failure, nor a failure like a quiet day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.messages import Coverage
from digest.model.polls import PollSummary
from digest.model.said import Said
from digest.poll.rules import assess_coverage, is_late

ANNOUNCEMENT = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
"""20:00 Eastern time of Thu 19 Nov."""
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
BEFORE = (202611, 14_000)
AFTER = (202611, 15_400)
"""The newest paper before that announcement, and after it."""


def poll(
    hours: float,
    highest: tuple[int, int] = AFTER,
    *,
    papers: int = 412,
    failure: str = "",
    source: str = "harvest",
) -> PollSummary:
    started = ANNOUNCEMENT + timedelta(hours=hours)
    ended = started + timedelta(minutes=1)
    return PollSummary(source, started, ended, not failure, papers, Said.plain(failure), highest)


def check(hours: float, failure: str = "") -> PollSummary:
    return poll(hours, (0, 0), source="gaps", failure=failure)


EVENING = poll(-2, BEFORE)


def assess(*polls: PollSummary, checks: Sequence[PollSummary] = ()) -> Coverage:
    return assess_coverage(polls, NOW, checks=checks)


def test_one_poll_that_met_the_announcement_does_not_show_that_this_was_all_of_it() -> None:
    coverage = assess(EVENING, poll(1))
    assert coverage.is_complete is False
    assert coverage.is_awaited is False


def test_two_polls_half_an_hour_apart_that_end_at_the_same_paper_show_it() -> None:
    coverage = assess(EVENING, poll(1), poll(1.6))
    assert coverage.is_complete is True
    assert coverage.is_settled is True
    too_near = assess(EVENING, poll(1), poll(1.4))
    assert not too_near.is_complete


def test_a_clean_gap_check_after_it_shows_it_too_but_not_that_no_second_part_comes() -> None:
    coverage = assess(EVENING, poll(1), checks=[check(1.1)])
    assert coverage.is_complete is True
    assert coverage.is_settled is False


def test_with_one_poll_a_night_a_clean_gap_check_after_a_late_one_shows_the_end_too() -> None:
    checked = assess(EVENING, poll(5), checks=[check(5.1)])
    assert checked.is_settled
    unchecked = assess(EVENING, poll(5))
    assert not unchecked.is_complete


def test_ids_that_could_not_be_asked_for_speak_against_any_number_of_polls() -> None:
    polls = [EVENING, poll(1), poll(1.6)]
    failed = check(1.7, "12 ids could not be asked for yet")
    coverage = assess(*polls, checks=[failed])
    assert not coverage.is_complete
    coverage = assess(*polls, checks=[failed, check(2)])
    assert coverage.is_complete


def test_an_announcement_in_parts_is_complete_again_only_when_its_last_part_is() -> None:
    year_and_month, number = AFTER
    more = (year_and_month, number + 300)
    polls = [EVENING, poll(1), poll(1.6), poll(3, more)]
    once = assess(*polls, checks=[check(1.7)])
    assert not once.is_complete
    twice = assess(*polls, poll(3.6, more))
    assert twice.is_complete


def test_it_is_late_from_six_in_the_morning_eastern_time() -> None:
    coverage = assess(EVENING, poll(3, BEFORE))
    assert not is_late(coverage, datetime(2026, 11, 20, 10, 59, tzinfo=UTC))
    assert is_late(coverage, datetime(2026, 11, 20, 11, 0, tzinfo=UTC))
    unchecked = assess(EVENING)
    assert not is_late(unchecked, NOW), "nobody has looked"


def test_a_first_digest_counts_from_the_hour_at_which_arxiv_shows_the_announcement() -> None:
    too_early = assess(poll(1), poll(1.6))
    assert not too_early.is_complete
    coverage = assess(poll(3), checks=[check(3.1)])
    assert coverage.is_complete


@pytest.mark.parametrize("met", [(0, 0), (202611, 9_000)], ids=["nothing", "some"])
def test_a_poll_that_failed_before_it_does_not_show_how_far_arxiv_had_come(
    met: tuple[int, int],
) -> None:
    failed = poll(-0.5, met, failure="arXiv answered 500")
    early = assess(failed, poll(0.3), checks=[check(0.4)])
    assert early.is_complete is False
    assert early.is_awaited is True
    later = assess(failed, poll(3), checks=[check(3.1)])
    assert later.is_complete


def test_a_first_digest_that_meets_nothing_newer_than_a_failed_one_awaits_it() -> None:
    failed = poll(-0.5, BEFORE, failure="arXiv answered 500")
    coverage = assess(failed, poll(3, BEFORE), checks=[check(3.1)])
    assert coverage.is_awaited


def test_a_failure_after_a_complete_poll_does_not_take_it_back() -> None:
    coverage = assess(EVENING, poll(3), poll(4), poll(6, failure="reset"))
    assert coverage.is_complete is True
    assert coverage.failure == ""


def test_searches_must_be_late_to_count_since_their_index_lags() -> None:
    early = assess(poll(3, source="query"))
    assert not early.is_complete
    late = assess(poll(5, source="query"))
    assert late.is_settled


LOOKS = st.lists(
    st.tuples(st.floats(-3, 10), st.sampled_from((BEFORE, AFTER, (202611, 15_000))), st.booleans()),
    max_size=8,
)


@given(LOOKS, st.lists(st.tuples(st.floats(-3, 10), st.booleans()), max_size=4))
def test_an_announcement_is_never_complete_without_a_complete_poll_that_met_it(
    looks: list[tuple[float, tuple[int, int], bool]], checks: list[tuple[float, bool]]
) -> None:
    polls = [EVENING]
    for at, highest, is_well in looks:
        polls.append(poll(at, highest, failure="" if is_well else "reset"))
    made = [check(at, "" if is_well else "reset") for at, is_well in checks]
    coverage = assess(*polls, checks=made)
    complete = [one for one in polls if one.is_complete and one.started_at >= ANNOUNCEMENT]
    met = [one for one in complete if one.highest > BEFORE]
    assert met or not coverage.is_complete
    assert coverage.is_complete or not coverage.is_settled
    assert not (coverage.is_awaited and coverage.is_complete)
