"""A mailing is held against arXiv's listing by ids alone, and a listing that cannot be trusted proves nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.announcements import EASTERN, mailing_moment
from digest.papers import ArxivId
from digest.planning.slices import SLICES, Slice
from digest.planning.verifying import (
    CUT_FROM,
    Behind,
    Comparison,
    ListedPaper,
    SliceListing,
    SliceState,
    StoredPaper,
    compare_listings,
    is_listing_day,
    latest_listed,
    name_mailing,
)

WED, THU, SUN = date(2026, 11, 18), date(2026, 11, 19), date(2026, 11, 22)
MORNING = mailing_moment(THU) + timedelta(hours=10)
CS3 = next(one for one in SLICES if one.covers("cs.PF"))
MATH = next(one for one in SLICES if one.name == "math")
REST = SLICES[-1]


def paper(number: int) -> ArxivId:
    return ArxivId(202611, number)


def line(number: int, kind: str = "new", version: int = 1, primary: str = "cs.PF") -> ListedPaper:
    return ListedPaper(paper(number), version, kind, primary)


def listing(*lines: ListedPaper, of: Slice = CS3, unreadable: int = 0) -> SliceListing:
    return SliceListing(of, lines, unreadable)


def stored(
    *numbers: int,
    mailing: date | None = THU,
    version: int = 1,
    seen: datetime = MORNING,
    categories: tuple[str, ...] = ("cs.PF",),
) -> dict[ArxivId, StoredPaper]:
    return {paper(number): StoredPaper(version, seen, mailing, categories) for number in numbers}


def compare(*listings: SliceListing, of: dict[ArxivId, StoredPaper], mailing: date = THU) -> Comparison:
    brought = {id_: one for id_, one in of.items() if one.mailing == mailing}
    return compare_listings(mailing, listings, of, brought)


def states(found: Comparison) -> dict[str, SliceState]:
    return {verdict.slice.name: verdict.state for verdict in found.slices if verdict.state != SliceState.UNREAD}


def test_where_all_that_is_listed_is_stored_and_the_other_way_round_nothing_is_told() -> None:
    found = compare(listing(line(1), line(2), line(3, "cross")), of=stored(1, 2) | stored(3, mailing=None))
    assert (found.new, found.crosses, found.missing, found.unlisted, found.behind) == (2, 1, (), (), ())
    assert (found.is_proof, found.is_whole, states(found)) == (True, False, {"cs 3 of 3": SliceState.READ})


def test_what_is_listed_as_new_and_not_counted_with_the_mailing_is_told_apart() -> None:
    of = stored(1, 2) | stored(3, mailing=None) | stored(4, mailing=WED)
    found = compare(listing(line(1), line(2), line(3), line(4)), of=of)
    assert (found.new, found.known, found.elsewhere, found.missing) == (4, (paper(3),), (paper(4),), ())


def test_what_is_listed_as_new_or_cross_listed_and_not_stored_is_missing_and_replacements_are_not() -> None:
    found = compare(
        listing(line(1), line(2), line(3, "cross"), line(4, "replace", 2), line(5, "replace-cross", 3)),
        of=stored(1),
    )
    assert [(one.id, one.announce_type) for one in found.missing] == [(paper(2), "new"), (paper(3), "cross")]
    assert found.missing_new == 1
    assert found.behind == (Behind(paper(4), 2, 0), Behind(paper(5), 3, 0))


def test_a_paper_that_two_slices_list_counts_once_and_as_new() -> None:
    found = compare(listing(line(1, "cross"), of=REST), listing(line(1)), of={})
    assert (found.new, found.crosses) == (1, 0)
    assert [one.announce_type for one in found.missing] == ["new"]


def test_what_the_mailing_brought_and_no_listing_names_is_told_where_one_of_them_should_have() -> None:
    of = stored(1, 2) | stored(3, categories=("math.PR",)) | stored(4, mailing=WED)
    found = compare(listing(line(1)), of=of)
    assert found.unlisted == (paper(2),)
    assert compare(listing(line(1)), listing(line(9, "replace", 2), of=MATH), of=of).unlisted == (
        paper(2),
        paper(3),
    )


def test_a_paper_listed_in_another_slice_only_is_listed() -> None:
    of = stored(1, 2, categories=("cs.PF", "stat.ML"))
    found = compare(listing(line(1)), listing(line(2, "cross"), of=REST), of=of)
    assert found.unlisted == ()


def test_a_newer_version_listed_than_stored_is_named() -> None:
    of = stored(1) | stored(2, mailing=WED, version=2) | stored(3, mailing=WED, version=4)
    found = compare(listing(line(1), line(2, "replace", 3), line(3, "replace", 3)), of=of)
    assert found.behind == (Behind(paper(2), 3, 2),)


@pytest.mark.parametrize("unreadable", [0, 10])
def test_a_listing_near_arxivs_limit_is_no_proof_of_anything(unreadable: int) -> None:
    lines = [line(number) for number in range(100, 100 + CUT_FROM - unreadable)]
    of = stored(1, *range(100, 100 + CUT_FROM))
    found = compare(listing(*lines, unreadable=unreadable), of=of)
    assert (states(found), found.is_proof, found.unlisted) == ({"cs 3 of 3": SliceState.CUT}, False, ())
    one_less = compare(listing(*lines[1:], unreadable=unreadable), of=of)
    assert (one_less.is_proof, one_less.unlisted[0]) == (True, paper(1))


def test_what_a_cut_listing_names_is_announced_all_the_same() -> None:
    lines = [line(number, "replace", 2) for number in range(100, 100 + CUT_FROM)]
    assert [one.id for one in compare(listing(line(7), *lines), of={}).missing] == [paper(7)]


def test_an_empty_listing_is_no_proof_of_anything() -> None:
    found = compare(listing(), of=stored(1))
    assert (states(found), found.is_proof, found.unlisted) == ({"cs 3 of 3": SliceState.EMPTY}, False, ())
    assert not compare(listing(unreadable=5), of=stored(1)).is_proof


def test_a_listing_whose_papers_mostly_came_with_an_older_mailing_is_of_that_one() -> None:
    shown = listing(line(1), line(2), line(3))
    of = stored(1, 2, mailing=WED) | stored(3)
    assert name_mailing(shown, of, THU) == WED
    found = compare(shown, of=of | stored(8))
    assert (states(found), found.is_proof) == ({"cs 3 of 3": SliceState.OTHER}, False)
    assert next(one.mailing for one in found.slices if one.state == SliceState.OTHER) == WED
    assert (found.new, found.unlisted, found.stale) == (0, (), ())
    assert name_mailing(shown, stored(1, 2) | stored(3, mailing=WED), THU) == THU


def test_a_listing_fetched_a_moment_later_than_thought_is_of_the_newer_mailing() -> None:
    assert name_mailing(listing(line(1), line(2)), stored(1, 2, mailing=SUN), THU) == SUN


def test_papers_met_at_the_first_look_are_of_the_mailing_unless_that_look_was_made_before_it() -> None:
    shown = listing(line(1), line(2))
    assert name_mailing(shown, stored(1, 2, mailing=None), THU) == THU
    before = mailing_moment(THU) - timedelta(hours=1)
    assert name_mailing(shown, stored(1, 2, mailing=None, seen=before), THU) == WED


def test_a_listing_that_names_nothing_stored_is_of_the_mailing_expected() -> None:
    assert name_mailing(listing(line(1), line(2)), {}, THU) == THU
    assert name_mailing(listing(line(1, "replace", 2)), stored(1, mailing=WED), THU) == THU


def test_a_category_that_lists_an_older_batch_is_named_and_none_of_its_papers_counts() -> None:
    shown = listing(*map(line, range(1, 6)), line(20, primary="cs.AR"), line(21, primary="cs.AR"))
    of = stored(*range(1, 6)) | stored(20, 21, mailing=WED, categories=("cs.AR",))
    of |= stored(30, categories=("cs.AR",)) | stored(31, categories=("cs.OS", "cs.AR"))
    found = compare(shown, of=of)
    assert (found.new, found.stale, found.unlisted) == (5, ("cs.AR",), ())
    assert (found.is_proof, found.is_whole) == (True, False)


def test_a_category_with_one_paper_of_this_mailing_is_not_stale() -> None:
    shown = listing(*map(line, range(1, 6)), line(20, primary="cs.AR"), line(21, primary="cs.AR"))
    of = stored(*range(1, 6), 20) | stored(21, mailing=WED)
    assert compare(shown, of=of).stale == ()
    of = stored(*range(1, 6)) | stored(21, mailing=WED)
    assert compare(shown, of=of).stale == ()


def test_most_of_it_missing_means_that_it_has_not_come_here_yet() -> None:
    shown = listing(*map(line, range(1, 6)))
    assert compare(shown, of=stored(1, 2, 3)).has_arrived
    assert not compare(shown, of=stored(1, 2)).has_arrived
    assert compare(of={}).has_arrived


def test_slices_without_a_listing_are_unread() -> None:
    found = compare(listing(line(1)), of=stored(1))
    unread = [one.slice for one in found.slices if one.state == SliceState.UNREAD]
    assert unread == [one for one in SLICES if one != CS3]
    whole = [listing(line(number), of=one) for number, one in enumerate(SLICES, start=1)]
    assert compare(*whole, of=stored(*range(1, len(SLICES) + 1))).is_whole


NUMBERS = st.sets(st.integers(1, 40))


@given(listed=NUMBERS, here=NUMBERS, order=st.permutations(SLICES))
def test_what_differs_is_exactly_what_one_side_has_and_the_other_has_not(
    listed: set[int], here: set[int], order: list[Slice]
) -> None:
    """Whatever the order of the listings, and wherever a paper is listed."""
    shares = [[line(number) for number in sorted(listed) if number % len(order) == n] for n in range(len(order))]
    listings = [listing(*share, of=one) for share, one in zip(shares, order, strict=True)]
    found = compare(*listings, of=stored(*here))
    assert {one.id.number for one in found.missing} == listed - here
    is_proof = any(share for share, one in zip(shares, order, strict=True) if one.covers("cs.PF"))
    assert {id_.number for id_ in found.unlisted} == (here - listed if is_proof else set())
    assert compare(*listings[::-1], of=stored(*here)).missing == found.missing


LISTED_ON_THE_DAY = [
    (
        "2026-11-19T20:30",
        WED,
    ),  # Thursday evening: its own mailing goes out, and that of the evening before is listed
    ("2026-11-19T23:59", WED),
    ("2026-11-20T00:00", THU),
    ("2026-11-20T23:00", THU),
    ("2026-11-23T00:00", SUN),
    ("2026-11-02T00:00", date(2026, 11, 1)),  # after a day of 25 hours
]
NOTHING_LISTED = [
    ("2026-11-21T12:00", THU),
    ("2026-11-22T21:00", THU),
    ("2026-11-27T12:00", date(2026, 11, 25)),  # after Thanksgiving's evening
    ("2026-03-08T12:00", date(2026, 3, 5)),  # a Sunday of 23 hours
]


@pytest.mark.parametrize(("local", "mailing"), LISTED_ON_THE_DAY + NOTHING_LISTED)
def test_a_mailing_is_listed_from_midnight_eastern_time_on_and_for_a_day(local: str, mailing: date) -> None:
    moment = datetime.fromisoformat(local).replace(tzinfo=EASTERN).astimezone(UTC)
    assert latest_listed(moment) == mailing
    assert is_listing_day(moment) == ((local, mailing) in LISTED_ON_THE_DAY)
