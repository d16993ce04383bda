"""What arXiv listed is kept by mailing and slice, and read back as it was."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.papers import ArxivId
from digest.planning.slices import SLICES, Slice
from digest.planning.verifying import ListedPaper, SliceListing, StoredPaper
from digest.store import listings, mailings, runs
from digest.store.listings import KeptListing
from tests.contract.store.made import DAY, MORNING, NOW, make_paper, store_papers

if TYPE_CHECKING:
    from digest.store import Store

WED, THU = date(2026, 11, 18), date(2026, 11, 19)
ONE, OTHER = SLICES[0], SLICES[1]


def shown(*numbers: int, of: Slice = ONE, unreadable: int = 0) -> SliceListing:
    lines = (ListedPaper(ArxivId(202611, number), 1, "new", "cs.LG") for number in numbers)
    return SliceListing(of, tuple(lines), unreadable)


def keep(
    store: Store, listing: SliceListing, *, of: date = THU, expected: date = THU, at: datetime = MORNING
) -> None:
    with store.begin() as conn:
        run_id = runs.start_run(
            conn, source="listing", at=at, query_key=listing.slice.key, window_from=None, mailing=expected
        )
        listings.save_listing(conn, run_id, of, listing, at)


def load(store: Store, mailing: date = THU) -> list[KeptListing]:
    with store.read() as conn:
        return listings.load_listings(conn, mailing)


def test_a_listing_comes_back_as_it_was_kept(store: Store) -> None:
    lines = (
        ListedPaper(ArxivId(202611, 7), 1, "new", "cs.LG"),
        ListedPaper(ArxivId(202610, 12345), 5, "replace-cross", "math.PR"),
        ListedPaper(ArxivId.parse("hep-th/9901001"), 2, "cross", ""),
        ListedPaper(ArxivId(201203, 77, digits=4), 1, "replace", "cs.NA"),
    )
    keep(store, SliceListing(ONE, lines, unreadable=3))
    assert load(store) == [KeptListing(SliceListing(ONE, lines, 3), THU, MORNING)]
    assert load(store, WED) == []


def test_a_slice_of_an_earlier_release_keeps_its_subjects(store: Store) -> None:
    keep(store, shown(1, of=Slice("cs", ("cs", "eess"))))
    assert load(store)[0].listing.slice == Slice("cs+eess", ("cs", "eess"))


def test_of_each_slice_the_last_listing_counts_but_no_empty_one_after_a_full_one(store: Store) -> None:
    keep(store, shown(1))
    keep(store, shown(), at=MORNING + DAY)
    keep(store, shown(of=OTHER))
    assert load(store) == [
        KeptListing(shown(1), THU, MORNING),
        KeptListing(shown(of=OTHER), THU, MORNING),
    ]
    keep(store, shown(1, 2))
    assert load(store)[0].listing == shown(1, 2)


def test_a_listing_that_showed_another_mailing_is_told_of_where_there_is_no_better_one(store: Store) -> None:
    keep(store, shown(of=ONE))
    keep(store, shown(1, 2), of=WED)
    assert load(store) == [KeptListing(shown(1, 2), WED, MORNING)]
    assert load(store, WED) == [KeptListing(shown(1, 2), WED, MORNING)]
    keep(store, shown(8, 9))
    keep(store, shown(1, 2), of=WED)
    assert load(store) == [KeptListing(shown(8, 9), THU, MORNING)]


def test_papers_come_with_what_tells_their_mailing(store: Store) -> None:
    changes = store_papers(store, [make_paper(1), make_paper(2, version=3), make_paper(3)])
    store_papers(store, [make_paper(4)], kind=Kind.KNOWN, at=MORNING)
    with store.begin() as conn:
        mailings.assign_mailings(conn, {changes[0].paper_key: WED, changes[1].paper_key: THU})
    with store.read() as conn:
        stored = listings.load_stored(conn, [ArxivId(202611, number) for number in (1, 2, 4, 9)])
        brought = listings.load_brought(conn, THU)
    kinds = ("cs.PF", "cs.DC")
    assert stored == {
        ArxivId(202611, 1): StoredPaper(1, NOW, WED, kinds),
        ArxivId(202611, 2): StoredPaper(3, NOW, THU, kinds),
        ArxivId(202611, 4): StoredPaper(1, MORNING, None, kinds),
    }
    assert brought == {ArxivId(202611, 2): stored[ArxivId(202611, 2)]}
