"""A quiet day never looks like a failure, nor a failure like a quiet day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from digest.planning import PollSummary, assess_coverage, join_coverages

MAILING = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
"""20:00 Eastern time of Thu 19 Nov."""
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def poll(
    hours: float, *, new: int = 0, papers: int = 412, failure: str = "", source: str = "harvest"
) -> PollSummary:
    started = MAILING + timedelta(hours=hours)
    return PollSummary(source, started, started + timedelta(minutes=1), not failure, papers, new, failure)


def test_before_the_first_look_nothing_is_known() -> None:
    coverage = assess_coverage([], NOW)
    assert (coverage.is_complete, coverage.checked_at, coverage.mailing) == (False, None, date(2026, 11, 19))


def test_a_complete_look_after_the_mailing_that_met_new_papers_is_complete() -> None:
    assert assess_coverage([poll(1, new=3)], NOW).is_complete


def test_an_early_look_that_met_nothing_new_proves_nothing() -> None:
    assert not assess_coverage([poll(1)], NOW).is_complete


def test_a_late_look_that_met_nothing_new_is_a_quiet_day() -> None:
    assert assess_coverage([poll(3)], NOW).is_complete


def test_a_look_before_the_mailing_says_nothing_of_it() -> None:
    assert not assess_coverage([poll(-2, new=500)], NOW).is_complete


def test_a_failed_look_is_reported_as_such() -> None:
    coverage = assess_coverage([poll(3, failure="arXiv can't be reached")], NOW)
    assert (coverage.is_complete, coverage.failure) == (False, "arXiv can't be reached")


def test_a_failure_after_a_complete_look_does_not_take_it_back() -> None:
    coverage = assess_coverage([poll(3, new=9), poll(6, failure="reset")], NOW)
    assert (coverage.is_complete, coverage.failure) == (True, "")


def test_searches_must_be_later_to_count_since_their_index_lags() -> None:
    assert not assess_coverage([poll(3, new=5, source="query")], NOW).is_complete
    assert assess_coverage([poll(5, source="query")], NOW).is_complete


def test_several_looks_are_one_complete_look_only_if_each_of_them_is() -> None:
    done = assess_coverage([poll(5, source="query", papers=7)], NOW)
    failed = assess_coverage([poll(6, source="query", papers=2, failure="reset")], NOW)
    both = join_coverages([done, failed])
    assert (both.is_complete, both.failure, both.looked_at) == (False, "reset", 9)
    assert both.checked_at == MAILING + timedelta(hours=6, minutes=1)
    assert join_coverages([done, done]).is_complete
