"""Previews: what a query brings by day, in words and bars, and what each of its clauses lets through."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.query_volume import (
    MOST_CONDITIONS,
    Day,
    Role,
    Share,
    Span,
    Survey,
    Unit,
    describe_nothing,
    describe_volume,
    list_submission_days,
    survey_everything,
    survey_found,
)
from digest.model.papers import Paper
from digest.query import parse_query
from tests.unit.made_up import make_paper

TUESDAY, WEDNESDAY, THURSDAY = date(2026, 11, 17), date(2026, 11, 18), date(2026, 11, 19)


def make_days(*counts: int, unit: Unit = Unit.MAILING) -> Survey:
    days = tuple(Day(date(2026, 11, 1) + timedelta(days=number), count) for number, count in enumerate(counts))
    papers = tuple(make_paper() for _ in range(sum(counts)))
    return Survey(unit, days, papers)


def gather(*papers: tuple[date, str, str]) -> list[tuple[date, Paper]]:
    """Make papers of a mailing, a category and an abstract each, in the order of their ids."""
    return [
        (day, make_paper(f"2611.{number:05}", categories=(category,), abstract=abstract))
        for number, (day, category, abstract) in enumerate(papers, start=1)
    ]


def make_span(*days: date, unit: Unit = Unit.MAILING) -> Span:
    return Span(unit, days)


PAPERS = gather(
    (TUESDAY, "cs.PF", "On a GPU."),
    (TUESDAY, "cs.PF", "On paper."),
    (WEDNESDAY, "cs.LG", "On a GPU."),
    (WEDNESDAY, "cs.PF", "On a GPU in theory."),
)


def test_papers_are_counted_by_mailing_and_the_newest_comes_first() -> None:
    survey = survey_everything(parse_query("abs:GPU"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert survey.days == (Day(TUESDAY, 1, 2), Day(WEDNESDAY, 2, 2))
    assert [paper.id.number for paper in survey.papers] == [4, 3, 1]


def test_a_mailing_that_brought_nobody_anything_is_none() -> None:
    survey = survey_everything(parse_query("abs:GPU"), make_span(TUESDAY, WEDNESDAY, THURSDAY), PAPERS)
    assert [day.date for day in survey.days] == [TUESDAY, WEDNESDAY]


def test_papers_of_other_days_do_not_count() -> None:
    survey = survey_everything(parse_query("abs:GPU AND cat:cs.PF"), make_span(TUESDAY), PAPERS)
    assert len(survey.papers) == 1
    assert survey.shares[0].alone == 1


def test_each_required_clause_says_what_it_lets_through_and_what_there_were_without_it() -> None:
    survey = survey_everything(parse_query("cat:cs.PF AND abs:GPU"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert survey.shares == (Share("cat:cs.PF", Role.REQUIRED, 3, 3), Share("abs:gpu", Role.REQUIRED, 3, 3))


def test_an_exclusion_says_how_many_have_it_and_what_there_were_without_it() -> None:
    survey = survey_everything(parse_query("abs:GPU ANDNOT abs:theory"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert len(survey.papers) == 2
    assert survey.shares[1] == Share("abs:theory", Role.EXCLUDED, 1, 3)


def test_an_alternative_says_what_it_alone_brings() -> None:
    survey = survey_everything(
        parse_query("abs:theory OR abs:paper OR abs:GPU"), make_span(TUESDAY, WEDNESDAY), PAPERS
    )
    assert [(share.alone, len(survey.papers) - (share.without or 0)) for share in survey.shares] == [
        (1, 0),
        (1, 1),
        (3, 2),
    ]


def test_a_query_of_one_clause_has_no_shares() -> None:
    assert survey_everything(parse_query("abs:GPU"), make_span(TUESDAY), PAPERS).shares == ()


@given(st.sampled_from(["abs:GPU AND cat:cs.PF", "abs:GPU OR cat:cs.LG", "cat:cs.PF ANDNOT abs:theory"]))
def test_leaving_a_clause_out_of_an_and_brings_no_fewer_and_out_of_an_or_no_more(text: str) -> None:
    survey = survey_everything(parse_query(text), make_span(TUESDAY, WEDNESDAY), PAPERS)
    for share in survey.shares:
        assert share.without is not None
        if share.role is Role.ALTERNATIVE:
            assert share.without <= len(survey.papers)
        else:
            assert share.without >= len(survey.papers)


def test_conditions_no_paper_meets_are_named() -> None:
    survey = survey_everything(parse_query("cat:cs.PF AND (abs:zebra OR abs:okapi)"), make_span(TUESDAY), PAPERS)
    assert survey.never_met == ("abs:zebra", "abs:okapi")
    assert describe_nothing(survey) == (
        "no paper of these mailings meets abs:zebra, abs:okapi; "
        "without abs:zebra OR abs:okapi it would bring 2 papers"
    )


def test_conditions_that_are_met_but_never_together_name_the_narrowest() -> None:
    survey = survey_everything(parse_query("cat:cs.LG AND abs:theory"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert describe_nothing(survey) == (
        "each condition is met by some paper, but the whole query by none; "
        "without cat:cs.LG it would bring 1 paper"
    )


def test_an_exclusion_that_leaves_nothing_is_named_as_one() -> None:
    survey = survey_everything(parse_query("abs:GPU ANDNOT cat:cs"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert describe_nothing(survey).endswith("without ANDNOT cat:cs it would bring 3 papers")


def test_that_nothing_but_an_exclusion_would_bring_much_is_no_advice() -> None:
    survey = survey_everything(parse_query("abs:theory ANDNOT cat:cs.PF"), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert [share.without for share in survey.shares] == [1, 1]
    assert describe_nothing(survey).endswith("without ANDNOT cat:cs.PF it would bring 1 paper")


def test_a_query_that_needs_more_than_one_change_says_so_where_that_was_counted() -> None:
    text = "abs:paper AND abs:theory AND cat:cs.LG"
    survey = survey_everything(parse_query(text), make_span(TUESDAY, WEDNESDAY), PAPERS)
    assert [share.without for share in survey.shares] == [0, 0, 0]
    assert describe_nothing(survey) == (
        "each condition is met by some paper, but the whole query by none; "
        "leaving out any one clause would bring none either"
    )


def test_where_no_paper_was_looked_at_no_condition_is_said_to_be_met() -> None:
    survey = survey_everything(parse_query("abs:GPU AND cat:cs.PF"), make_span(THURSDAY), PAPERS)
    assert survey.never_met is None
    assert "is met by some" not in describe_nothing(survey)


def test_of_conditions_too_many_to_be_counted_none_is_said_to_be_met() -> None:
    many = " OR ".join(f"abs:zebra{number}" for number in range(MOST_CONDITIONS + 1))
    survey = survey_everything(parse_query(f"({many}) AND cat:cs.PF"), make_span(TUESDAY), PAPERS)
    assert survey.never_met is None
    assert "each" not in describe_nothing(survey)
    assert describe_nothing(survey).endswith("it would bring 2 papers")


def ask(*shares: Share) -> Survey:
    """Return what arXiv said of a query that has no papers."""
    return survey_found(make_span(WEDNESDAY, unit=Unit.DAY), [], shares)


def test_of_what_arxiv_counted_only_that_is_said() -> None:
    met = [Share(clause, Role.REQUIRED, 10) for clause in ("cat:cs.PF", "abs:performance", "abs:gpu")]
    assert describe_nothing(ask(*met)) == (
        "each clause is met by some paper (as arXiv counts), but the whole query by none"
    )


def test_what_arxiv_has_without_a_clause_is_said_where_it_was_asked() -> None:
    shares = [Share("cat:cs.PF", Role.REQUIRED, 10, 0), Share("abs:gpu", Role.REQUIRED, 10, 9)]
    assert describe_nothing(ask(*shares)) == (
        "each clause is met by some paper (as arXiv counts), but the whole query by none; "
        "without abs:gpu arXiv has 9 papers"
    )


def test_a_clause_that_no_paper_of_arxiv_meets_is_the_reason() -> None:
    shares = [Share("cat:cs.PF", Role.REQUIRED, 10), Share("abs:zebra", Role.REQUIRED, 0)]
    assert describe_nothing(ask(*shares)) == "no paper of these days meets abs:zebra (as arXiv counts)"


def test_an_exclusion_nobody_meets_is_no_reason() -> None:
    shares = [Share("a", Role.REQUIRED, 10), Share("b", Role.REQUIRED, 10), Share("c", Role.EXCLUDED, 0)]
    assert describe_nothing(ask(*shares)).startswith("each clause that must be met is met by some paper")


def test_where_nothing_was_counted_no_reason_is_given() -> None:
    assert describe_nothing(ask()) == ""


def test_what_arxiv_found_is_counted_by_the_day_of_submission() -> None:
    span = Span(Unit.DAY, (WEDNESDAY,), (THURSDAY,))
    late = make_paper(published=datetime(2026, 11, 18, 23, 59, tzinfo=UTC))
    other = make_paper(published=datetime(2026, 11, 20, 1, 0, tzinfo=UTC))
    survey = survey_found(span, [late, other], [Share("abs:gpu", Role.REQUIRED, 7)])
    assert survey.days == (Day(WEDNESDAY, 1), Day(THURSDAY, 0, is_whole=False))
    assert survey.unit is Unit.DAY


def test_a_day_of_submission_without_any_paper_is_shown_all_the_same() -> None:
    survey = survey_everything(parse_query("abs:GPU"), make_span(WEDNESDAY, THURSDAY, unit=Unit.DAY), PAPERS)
    assert survey.days == (Day(WEDNESDAY, 2, 2), Day(THURSDAY, 0, 0))


@given(st.sets(st.sampled_from([TUESDAY, WEDNESDAY, THURSDAY]), min_size=1), st.sampled_from(list(Unit)))
def test_the_figure_of_a_day_is_the_same_whatever_others_are_looked_at(days: set[date], unit: Unit) -> None:
    whole = survey_everything(parse_query("abs:GPU"), make_span(TUESDAY, WEDNESDAY, THURSDAY, unit=unit), PAPERS)
    part = survey_everything(parse_query("abs:GPU"), make_span(*sorted(days), unit=unit), PAPERS)
    assert set(part.days) == {day for day in whole.days if day.date in days}


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 3, 3), "about 3 papers a mailing, some on each of 3; most on Sun 1 Nov: 3"),
        ((0, 9, 3, 0), "about 3 papers a mailing, none on 2 of 4; most on Mon 2 Nov: 9"),
        ((0, 0, 0, 2, 0, 0), "about 1 paper in 3 mailings, none on 5 of 6; most on Wed 4 Nov: 2"),
        ((1, 0, 1, 0), "about 1 paper in 2 mailings, none on 2 of 4"),
        ((1, 1, 1, 0), "about 1 paper a mailing, none on 1 of 4"),
        ((0, 1, 0), "1 paper in 3 mailings, none on 2 of 3"),
        ((1,), "about 1 paper a mailing, some on each of 1"),
        ((0, 0), "no paper in 2 mailings"),
        ((), "there was no mailing in this time"),
    ],
)
def test_the_volume_is_said_in_words(counts: tuple[int, ...], said: str) -> None:
    assert describe_volume(make_days(*counts)) == said


def test_the_volume_of_submissions_is_said_by_the_day() -> None:
    assert describe_volume(make_days(2, 2, unit=Unit.DAY)).startswith("about 2 papers a day")


def test_days_that_are_only_begun_are_no_part_of_the_rate_and_said_apart() -> None:
    days = (Day(TUESDAY, 2), Day(WEDNESDAY, 4), Day(THURSDAY, 1, is_whole=False))
    survey = Survey(Unit.DAY, days, tuple(make_paper() for _ in range(7)))
    assert describe_volume(survey) == (
        "about 3 papers a day, some on each of 2; most on Wed 18 Nov: 4; on the 1 day since, 1 paper so far"
    )


def test_the_last_days_are_begun_until_all_their_submissions_were_due() -> None:
    friday_morning = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    span = list_submission_days(friday_morning, 2)
    assert span == Span(Unit.DAY, (TUESDAY, WEDNESDAY), (THURSDAY, date(2026, 11, 20)))


def test_a_weekend_is_due_with_the_mailing_of_monday() -> None:
    monday = list_submission_days(datetime(2026, 11, 23, 8, 0, tzinfo=UTC), 1)
    assert (monday.whole, len(monday.begun)) == ((THURSDAY,), 4)
    tuesday = list_submission_days(datetime(2026, 11, 24, 8, 0, tzinfo=UTC), 1)
    assert (tuesday.whole, len(tuesday.begun)) == ((date(2026, 11, 22),), 2)


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)), st.integers(1, 40))  # noqa: DTZ001 - made UTC below
def test_days_of_submission_follow_each_other_up_to_today(now: datetime, days: int) -> None:
    now = now.replace(tzinfo=UTC)
    span = list_submission_days(now, days)
    assert len(span.whole) == days
    assert span.dates[-1] == now.date()
    assert all(after - before == timedelta(days=1) for before, after in pairwise(span.dates))
