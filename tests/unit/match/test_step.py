"""What a pass says of its matches adds up."""

from __future__ import annotations

from digest.match.step import MatchReport


def test_a_paper_that_two_queries_bring_is_counted_once() -> None:
    report = MatchReport(
        changes=9, by_query={"gpu": 2, "perf": 1}, news={1: 11, 2: 12}, papers={11, 12}
    )
    assert report.describe() == "gpu 2 · perf 1 = 3 matches, 2 papers"


def test_excluded_papers_are_no_papers_without_a_subscription() -> None:
    report = MatchReport(
        changes=9, by_query={"gpu": 2}, news={1: 11, 2: 12}, papers={11}, excluded={12}
    )
    assert report.describe() == "gpu: 2 papers, 1 excluded by a subscription"


def test_a_paper_announced_and_replaced_at_once_is_one_paper() -> None:
    report = MatchReport(changes=9, by_query={"gpu": 2}, news={1: 11, 2: 11}, papers={11})
    assert report.describe() == "gpu: 1 paper"
