"""What a pass says of its matches adds up."""

from __future__ import annotations

from digest.match.step import MatchReport


def test_a_paper_that_two_queries_bring_is_counted_once() -> None:
    report = MatchReport(changes=9, by_query={"gpu": 2, "perf": 1}, news={1: 11, 2: 12}, papers={11, 12})
    assert report.describe() == "gpu 2 · perf 1 = 2 papers (1 matched again, shown once)"


def test_papers_of_a_query_nobody_reads_are_counted_apart() -> None:
    report = MatchReport(changes=9, by_query={"gpu": 1, "unread": 2}, news={1: 11, 2: 12, 3: 13}, papers={11})
    assert report.describe() == "gpu 1 · unread 2 = 3 papers, 2 that no subscription takes"


def test_excluded_papers_are_no_papers_without_a_subscription() -> None:
    report = MatchReport(changes=9, by_query={"gpu": 2}, news={1: 11, 2: 12}, papers={11}, excluded={12})
    assert report.describe() == "gpu 2 = 2 papers, 1 excluded by a subscription"


def test_a_paper_announced_and_replaced_at_once_is_one_paper() -> None:
    report = MatchReport(changes=9, by_query={"gpu": 2}, news={1: 11, 2: 11}, papers={11})
    assert report.describe() == "gpu 2 = 1 paper"


def test_a_first_look_is_counted_in_papers_and_apart_from_news() -> None:
    report = MatchReport(changes=9, papers={11}, first_looks=1, looked_back={11})
    assert report.describe() == "1 paper for a first look"
    report = MatchReport(
        changes=9, by_query={"gpu": 1}, news={1: 11}, papers={11, 12, 13}, first_looks=2, looked_back={12, 13}
    )
    assert report.describe() == "gpu 1 = 1 paper, and 2 papers for a first look"
