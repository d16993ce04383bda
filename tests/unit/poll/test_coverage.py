"""A quiet day never looks like a failure, nor a failure like a quiet day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_one_look_that_met_the_announcement_does_not_show_that_this_was_all_of_it() -> None:
    coverage = assess_coverage([EVENING, poll(1)], NOW)
    assert (coverage.is_complete, coverage.is_awaited) == (False, False)


def test_two_looks_half_an_hour_apart_that_end_at_the_same_paper_show_it() -> None:
    coverage = assess_coverage([EVENING, poll(1), poll(1.6)], NOW)
    assert (coverage.is_complete, coverage.is_settled) == (True, True)
    assert not assess_coverage([EVENING, poll(1), poll(1.4)], NOW).is_complete


def test_a_clean_gap_check_after_it_shows_it_too_but_not_that_no_second_part_comes() -> None:
    coverage = assess_coverage([EVENING, poll(1)], NOW, checks=[check(1.1)])
    assert (coverage.is_complete, coverage.is_settled) == (True, False)


def test_where_arxiv_is_looked_at_once_a_night_a_clean_gap_check_after_a_late_look_shows_the_end_too() -> (
    None
):
    assert assess_coverage([EVENING, poll(5)], NOW, checks=[check(5.1)]).is_settled
    assert not assess_coverage([EVENING, poll(5)], NOW).is_complete


def test_ids_that_could_not_be_asked_for_speak_against_any_number_of_looks() -> None:
    polls = [EVENING, poll(1), poll(1.6)]
    failed = check(1.7, "12 ids could not be asked for yet")
    assert not assess_coverage(polls, NOW, checks=[failed]).is_complete
    assert assess_coverage(polls, NOW, checks=[failed, check(2)]).is_complete


def test_an_announcement_in_parts_is_complete_again_only_when_its_last_part_is() -> None:
    more = (AFTER[0], AFTER[1] + 300)
    polls = [EVENING, poll(1), poll(1.6), poll(3, more)]
    assert not assess_coverage(polls, NOW, checks=[check(1.7)]).is_complete
    assert assess_coverage([*polls, poll(3.6, more)], NOW).is_complete


def test_it_is_late_from_six_in_the_morning_eastern_time() -> None:
    coverage = assess_coverage([EVENING, poll(3, BEFORE)], NOW)
    assert not is_late(coverage, datetime(2026, 11, 20, 10, 59, tzinfo=UTC))
    assert is_late(coverage, datetime(2026, 11, 20, 11, 0, tzinfo=UTC))
    assert not is_late(assess_coverage([EVENING], NOW), NOW), "nobody has looked"


def test_a_first_digest_counts_from_the_hour_at_which_arxiv_shows_the_announcement() -> None:
    assert not assess_coverage([poll(1), poll(1.6)], NOW).is_complete
    assert assess_coverage([poll(3)], NOW, checks=[check(3.1)]).is_complete


@pytest.mark.parametrize("met", [(0, 0), (202611, 9_000)], ids=["nothing", "some"])
def test_a_look_that_failed_before_it_does_not_tell_how_far_arxiv_had_come(
    met: tuple[int, int],
) -> None:
    failed = poll(-0.5, met, failure="arXiv answered 500")
    early = assess_coverage([failed, poll(0.3)], NOW, checks=[check(0.4)])
    assert (early.is_complete, early.is_awaited) == (False, True)
    assert assess_coverage([failed, poll(3)], NOW, checks=[check(3.1)]).is_complete


def test_a_first_digest_that_meets_nothing_newer_than_a_failed_one_before_it_awaits_the_announcement() -> (
    None
):
    failed = poll(-0.5, BEFORE, failure="arXiv answered 500")
    assert assess_coverage([failed, poll(3, BEFORE)], NOW, checks=[check(3.1)]).is_awaited


def test_a_failure_after_a_complete_look_does_not_take_it_back() -> None:
    polls = [EVENING, poll(3), poll(4), poll(6, failure="reset")]
    coverage = assess_coverage(polls, NOW)
    assert (coverage.is_complete, coverage.failure) == (True, "")


def test_searches_must_be_late_to_count_since_their_index_lags() -> None:
    assert not assess_coverage([poll(3, source="query")], NOW).is_complete
    assert assess_coverage([poll(5, source="query")], NOW).is_settled


LOOKS = st.lists(
    st.tuples(st.floats(-3, 10), st.sampled_from((BEFORE, AFTER, (202611, 15_000))), st.booleans()),
    max_size=8,
)


@given(LOOKS, st.lists(st.tuples(st.floats(-3, 10), st.booleans()), max_size=4))
def test_an_announcement_is_never_complete_without_a_complete_look_that_met_it(
    looks: list[tuple[float, tuple[int, int], bool]], checks: list[tuple[float, bool]]
) -> None:
    polls = [
        EVENING,
        *(poll(at, highest, failure="" if well else "reset") for at, highest, well in looks),
    ]
    made = [check(at, "" if well else "reset") for at, well in checks]
    coverage = assess_coverage(polls, NOW, checks=made)
    met = [
        poll
        for poll in polls
        if poll.is_complete and poll.started_at >= ANNOUNCEMENT and poll.highest > BEFORE
    ]
    assert met or not coverage.is_complete
    assert coverage.is_complete or not coverage.is_settled
    assert not (coverage.is_awaited and coverage.is_complete)
