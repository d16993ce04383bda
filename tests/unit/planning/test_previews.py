"""Previews: what a query brings by day, in words and bars, and what each of its clauses lets through."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.papers import Paper
from digest.planning.previews import (
    Day,
    Role,
    Share,
    Survey,
    Unit,
    describe_nothing,
    describe_volume,
    draw_chart,
    list_submission_days,
    place_papers,
    survey_everything,
    survey_found,
)
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


PAPERS = gather(
    (TUESDAY, "cs.PF", "On a GPU."),
    (TUESDAY, "cs.PF", "On paper."),
    (WEDNESDAY, "cs.LG", "On a GPU."),
    (WEDNESDAY, "cs.PF", "On a GPU in theory."),
)


def test_papers_are_counted_by_mailing_and_the_newest_comes_first() -> None:
    survey = survey_everything(parse_query("abs:GPU"), [TUESDAY, WEDNESDAY], PAPERS)
    assert survey.days == (Day(TUESDAY, 1, 2), Day(WEDNESDAY, 2, 2))
    assert [paper.id.number for paper in survey.papers] == [4, 3, 1]


def test_a_mailing_that_brought_nobody_anything_is_none() -> None:
    survey = survey_everything(parse_query("abs:GPU"), [TUESDAY, WEDNESDAY, THURSDAY], PAPERS)
    assert [day.date for day in survey.days] == [TUESDAY, WEDNESDAY]


def test_papers_of_other_days_do_not_count() -> None:
    survey = survey_everything(parse_query("abs:GPU AND cat:cs.PF"), [TUESDAY], PAPERS)
    assert len(survey.papers) == 1
    assert survey.shares[0].alone == 1


def test_each_required_clause_says_what_it_lets_through_and_what_there_were_without_it() -> None:
    survey = survey_everything(parse_query("cat:cs.PF AND abs:GPU"), [TUESDAY, WEDNESDAY], PAPERS)
    assert survey.shares == (Share("cat:cs.PF", Role.REQUIRED, 3, 3), Share("abs:gpu", Role.REQUIRED, 3, 3))


def test_an_exclusion_says_how_many_have_it_and_what_there_were_without_it() -> None:
    survey = survey_everything(parse_query("abs:GPU ANDNOT abs:theory"), [TUESDAY, WEDNESDAY], PAPERS)
    assert len(survey.papers) == 2
    assert survey.shares[1] == Share("abs:theory", Role.EXCLUDED, 1, 3)


def test_an_alternative_says_what_it_alone_brings() -> None:
    survey = survey_everything(parse_query("abs:theory OR abs:paper OR abs:GPU"), [TUESDAY, WEDNESDAY], PAPERS)
    assert [(share.alone, len(survey.papers) - (share.without or 0)) for share in survey.shares] == [
        (1, 0),
        (1, 1),
        (3, 2),
    ]


def test_a_query_of_one_clause_has_no_shares() -> None:
    assert survey_everything(parse_query("abs:GPU"), [TUESDAY], PAPERS).shares == ()


@given(st.sampled_from(["abs:GPU AND cat:cs.PF", "abs:GPU OR cat:cs.LG", "cat:cs.PF ANDNOT abs:theory"]))
def test_leaving_a_clause_out_of_an_and_brings_no_fewer_and_out_of_an_or_no_more(text: str) -> None:
    survey = survey_everything(parse_query(text), [TUESDAY, WEDNESDAY], PAPERS)
    for share in survey.shares:
        assert share.without is not None
        if share.role is Role.ALTERNATIVE:
            assert share.without <= len(survey.papers)
        else:
            assert share.without >= len(survey.papers)


def test_conditions_no_paper_meets_are_named() -> None:
    survey = survey_everything(parse_query("cat:cs.PF AND (abs:zebra OR abs:okapi)"), [TUESDAY], PAPERS)
    assert survey.never_met == ("abs:zebra", "abs:okapi")
    assert describe_nothing(survey) == (
        "no paper of these mailings meets abs:zebra, abs:okapi; "
        "without abs:zebra OR abs:okapi it would bring 2 papers"
    )


def test_conditions_that_are_met_but_never_together_name_the_narrowest() -> None:
    survey = survey_everything(parse_query("cat:cs.LG AND abs:theory"), [TUESDAY, WEDNESDAY], PAPERS)
    assert describe_nothing(survey) == (
        "each condition is met by some paper, but never all by one; without cat:cs.LG it would bring 1 paper"
    )


def test_an_exclusion_that_leaves_nothing_is_named_as_one() -> None:
    survey = survey_everything(parse_query("abs:GPU ANDNOT cat:cs"), [TUESDAY, WEDNESDAY], PAPERS)
    assert describe_nothing(survey).endswith("without ANDNOT cat:cs it would bring 3 papers")


def test_what_arxiv_found_is_counted_by_the_day_of_submission() -> None:
    days = [WEDNESDAY, THURSDAY]
    late = make_paper(published=datetime(2026, 11, 18, 23, 59, tzinfo=UTC))
    other = make_paper(published=datetime(2026, 11, 20, 1, 0, tzinfo=UTC))
    survey = survey_found(days, [late, other], [Share("abs:gpu", Role.REQUIRED, 7)])
    assert survey.days == (Day(WEDNESDAY, 1), Day(THURSDAY, 0))
    assert survey.unit is Unit.DAY


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


def test_bars_are_as_long_as_their_numbers() -> None:
    bars = draw_chart(make_days(0, 1, 3, 10).days, width=20, is_unicode=True)
    assert [(bar.label, bar.number, bar.bar) for bar in bars] == [
        ("Sun  1 Nov", 0, ""),
        ("Mon  2 Nov", 1, "██"),
        ("Tue  3 Nov", 3, "██████"),
        ("Wed  4 Nov", 10, "█" * 20),
    ]


def test_a_terminal_without_blocks_gets_plain_signs() -> None:
    bars = draw_chart(make_days(1, 40, 3).days, width=20, is_unicode=False)
    assert [bar.bar for bar in bars] == ["#", "#" * 20, "##"]


def test_many_days_become_weeks() -> None:
    bars = draw_chart(make_days(*([1] * 60)).days, width=20, is_unicode=True)
    assert [bar.label for bar in bars[:2]] == ["week of 26 Oct", "week of  2 Nov"]
    assert sum(bar.number for bar in bars) == 60


def test_a_long_run_of_empty_days_has_one_line() -> None:
    bars = draw_chart(make_days(1, *([0] * 10), 2).days, width=20, is_unicode=True)
    assert [bar.label.rstrip() for bar in bars] == ["Sun  1 Nov", "Mon  2 Nov to Wed 11 Nov", "Thu 12 Nov"]


@given(st.lists(st.integers(0, 500), max_size=80), st.integers(1, 60))
def test_no_bar_is_wider_than_asked_and_none_of_a_paper_is_empty(counts: list[int], width: int) -> None:
    for bar in draw_chart(_days(counts), width=width, is_unicode=True):
        assert len(bar.bar) <= width
        assert bool(bar.bar) == bool(bar.number)


def _days(counts: list[int]) -> tuple[Day, ...]:
    return tuple(Day(date(2026, 1, 1) + timedelta(days=number), count) for number, count in enumerate(counts))


def test_only_days_whose_submissions_were_due_are_looked_at() -> None:
    friday_morning = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    assert list_submission_days(friday_morning, 2) == [TUESDAY, WEDNESDAY]


def test_a_weekend_is_due_with_the_mailing_of_monday() -> None:
    assert list_submission_days(datetime(2026, 11, 23, 8, 0, tzinfo=UTC), 1) == [date(2026, 11, 19)]
    assert list_submission_days(datetime(2026, 11, 24, 8, 0, tzinfo=UTC), 1) == [date(2026, 11, 22)]


def test_papers_of_the_first_look_are_placed_by_their_ids_and_dates() -> None:
    evening = datetime(2026, 11, 17, 15, 0, tzinfo=UTC)
    before = [make_paper(f"2611.{number:05}", published=evening) for number in range(1, 9)]
    after = [make_paper(f"2611.{number:05}", published=evening + timedelta(days=1)) for number in range(9, 17)]
    placed = dict.fromkeys((TUESDAY, WEDNESDAY), 0)
    for day, _ in place_papers([(None, paper) for paper in (*before, *after)], [TUESDAY, WEDNESDAY]):
        placed[day] += 1
    assert placed == {TUESDAY: 8, WEDNESDAY: 8}


def test_old_papers_that_were_only_touched_belong_to_no_mailing() -> None:
    old = make_paper("2603.00001", published=datetime(2026, 3, 1, tzinfo=UTC))
    new = make_paper("2611.00001", published=datetime(2026, 11, 17, 15, 0, tzinfo=UTC))
    assert [paper for _, paper in place_papers([(None, old), (None, new)], [TUESDAY])] == [new]


def test_a_mailing_that_is_kept_is_believed() -> None:
    paper = make_paper(published=datetime(2026, 9, 1, tzinfo=UTC))
    assert list(place_papers([(TUESDAY, paper)], [TUESDAY])) == [(TUESDAY, paper)]
