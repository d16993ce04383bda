from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from digest.arxiv.rss import LISTING_LIMIT, Announced, parse_rss
from digest.errors import ArxivError, ArxivHostile, ArxivRejected, ArxivThrottled, ArxivTruncated, ArxivUnreadable
from digest.papers import ArxivId
from tests.unit.arxiv.pages import atom_line, atom_listing, oai_page, rss_item, rss_listing

BOTH = pytest.mark.parametrize(("listing", "line"), [(rss_listing, rss_item), (atom_listing, atom_line)])
EITHER = pytest.mark.parametrize("listing", [rss_listing, atom_listing])
Listing = Callable[..., bytes]
Line = Callable[..., str]


@BOTH
def test_both_formats_give_ids_versions_types_categories_and_the_mailing(listing: Listing, line: Line) -> None:
    read = parse_rss(listing(line("2611.00001v1"), line("hep-th/9901001v12", "replace-cross")))
    mailing = datetime(2026, 11, 20, 5, tzinfo=UTC)
    assert read.entries == (
        Announced(ArxivId.parse("2611.00001"), 1, "new", ("cs.PF", "cs.DC"), mailing),
        Announced(ArxivId.parse("hep-th/9901001"), 12, "replace-cross", ("cs.PF", "cs.DC"), mailing),
    )
    assert read.title == "cs updates on arXiv.org"
    assert read.built.replace(microsecond=0) == datetime(2026, 11, 20, 5, 0, 2, tzinfo=UTC)
    assert not read.is_cut


@EITHER
def test_a_day_without_a_mailing_is_an_empty_listing(listing: Listing) -> None:
    assert parse_rss(listing()).entries == ()


@EITHER
def test_an_error_feed_is_an_error(listing: Listing) -> None:
    with pytest.raises(ArxivRejected, match="Bad archive 'x'"):
        parse_rss(listing(title="Feed error for query: https://rss.arxiv.org/rss/x", about="Bad archive 'x'."))


@BOTH
def test_a_malformed_line_is_put_aside(listing: Listing, line: Line) -> None:
    read = parse_rss(
        listing(line(), line("2611.00002"), line("x"), line("2611.00003v1", ""), line("2611.00004v1"))
    )
    assert [entry.id.number for entry in read.entries] == [1, 4]
    assert [put_aside.position for put_aside in read.quarantined] == [1, 2, 3]


@BOTH
def test_a_listing_as_long_as_arxiv_allows_may_have_lost_papers(listing: Listing, line: Line) -> None:
    assert parse_rss(listing(*(line(f"2611.{number:05d}v1") for number in range(1, LISTING_LIMIT + 1)))).is_cut


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"Rate exceeded.", ArxivThrottled),
        (rss_listing(rss_item())[:-3], ArxivTruncated),
        (b"<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>", ArxivHostile),
        (b"<rss/>", ArxivUnreadable),
        (rss_listing().replace(b"lastBuildDate", b"other"), ArxivUnreadable),
        (rss_listing(rss_item(), rss_item("2611.00002v1").replace("item>", "itm>")), ArxivUnreadable),
        (atom_listing(atom_line(), atom_line("2611.00002v1").replace("entry>", "enter>")), ArxivUnreadable),
        (oai_page(), ArxivUnreadable),
    ],
)
def test_what_is_no_listing_is_an_error(body: bytes, expected: type[ArxivError]) -> None:
    with pytest.raises(expected):
        parse_rss(body)
