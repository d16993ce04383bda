from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.announcements import EASTERN, mailing_moment
from digest.demo.archive import Archive, DemoPaper, open_window, plan_mailing
from digest.errors import UnknownName
from digest.papers import Author

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=EASTERN)
MONDAY_EVENING = mailing_moment(date(2026, 11, 16))


def make_paper(paper_id: str = "2611.00001", announced: datetime = MONDAY_EVENING) -> DemoPaper:
    return DemoPaper(
        id=paper_id,
        announced=announced,
        submitted=(datetime(2026, 11, 16, 10, 0, tzinfo=UTC),),
        title=r"On \'Etale things",
        abstract="We look.",
        authors=(Author(r"Zo\"e Abrelund", ("Polytechnic of Vell",)),),
        categories=("math.AG",),
        doi="10.1/a; 10.1/b",
    )


@pytest.mark.parametrize(
    ("submitted", "announced"),
    [
        ((16, 13, 59), 16),
        ((16, 14, 0), 16),
        ((16, 14, 1), 17),
        ((19, 13, 0), 19),
        ((19, 15, 0), 22),
        ((20, 13, 0), 22),
        ((20, 15, 0), 23),
        ((22, 12, 0), 23),
        ((25, 15, 0), 29),
    ],
)
def test_a_submission_goes_out_with_the_mailing_whose_deadline_it_meets(
    submitted: tuple[int, int, int], announced: int
) -> None:
    day, hour, minute = submitted
    moment = datetime(2026, 11, day, hour, minute, tzinfo=EASTERN)
    assert plan_mailing(moment) == mailing_moment(date(2026, 11, announced))


@settings(deadline=None)
@given(st.integers(0, 365 * 24 * 60))
def test_the_window_of_a_mailing_holds_exactly_what_it_announces(minutes: int) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC) + timedelta(minutes=minutes, seconds=30)
    opens, closes = open_window(plan_mailing(moment).astimezone(EASTERN).date())
    assert opens < moment <= closes


def test_a_paper_is_public_from_its_mailing_on_and_not_before() -> None:
    paper = make_paper()
    archive = Archive([paper])
    assert archive.list_public(paper.announced - timedelta(seconds=1)) == ()
    assert archive.list_public(paper.announced) == (paper,)


def test_a_later_state_takes_the_place_of_the_earlier_one() -> None:
    first = make_paper()
    second = replace(first, title="New", announced=first.announced + timedelta(days=1))
    archive = Archive([second, first])
    assert archive.list_public(first.announced) == (first,)
    assert archive.list_public(second.announced) == (second,)
    assert archive.states(first.id, second.announced) == (first, second)
    assert archive.last(first.id) == second


def test_papers_are_listed_in_order_of_announcement() -> None:
    early = make_paper("2611.00002")
    late = make_paper("2611.00001", early.announced + timedelta(days=1))
    assert Archive([late, early]).list_public(late.announced) == (early, late)


def test_an_unknown_paper_has_no_states() -> None:
    archive = Archive()
    assert archive.states("2611.00001", MONDAY) == ()
    with pytest.raises(UnknownName):
        archive.last("2611.00001")


def test_as_search_sees_it_a_paper_has_letters_for_accents() -> None:
    paper = make_paper().to_paper()
    assert paper.title == "On Étale things"
    assert paper.authors == (Author("Zoë Abrelund", ("Polytechnic of Vell",)),)
    assert paper.dois == ("10.1/a;", "10.1/b")


def test_a_withdrawal_shows_in_the_last_version_only() -> None:
    paper = make_paper()
    withdrawn = replace(paper, submitted=(*paper.submitted, MONDAY), is_withdrawn=True)
    assert [version.is_withdrawal for version in withdrawn.list_versions()] == [False, True]
    assert withdrawn.to_paper().is_withdrawn
