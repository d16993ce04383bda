from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from digest.arxiv.oai import TokenExpired, UnknownPaper, parse_oai
from digest.model.errors import ArxivError, ArxivFaulted, ArxivRejected, ArxivShort, ArxivUnreadable
from digest.model.papers import ArxivId, Author, Paper
from tests.fakes.pages import atom_feed, oai_entry, oai_error, oai_page, raw_paper, raw_version


def read_one(metadata: str) -> Paper:
    (paper,) = parse_oai(oai_page(oai_entry(metadata))).papers
    return paper


def test_an_entry_is_read_with_every_field_and_its_whole_history() -> None:
    versions = raw_version(
        1, "Sun, 1 Nov 2026 10:00:00 GMT", "<size>9kb</size><source_type>D</source_type>"
    ) + raw_version(2, "Mon, 2 Nov 2026 11:00:00 GMT")
    extra = (
        "<comments>7 pages,\n  2 figures</comments><proxy>ccsd</proxy><report-no>SLOW-1</report-no>"
        "<msc-class>68M20</msc-class><acm-class>None</acm-class>"
        "<journal-ref>J. Slow 1</journal-ref>"
        "<doi>10.1/a; 10.1/b</doi><license>http://creativecommons.org/licenses/by/4.0/</license>"
    )
    metadata = raw_paper(
        versions=versions,
        title="$\\mu$path\n  waits",
        authors="Ada One (CERN), for the Slow Collaboration",
        abstract="  First\nline.\n  Second.\n",
        extra=extra,
    )
    assert read_one(metadata) == Paper(
        id=ArxivId.parse("2611.00001"),
        version=2,
        title="$\\mu$path waits",
        abstract="First line.\nSecond.",
        authors=(Author("Ada One", ("CERN",)), Author("Slow Collaboration")),
        categories=("cs.PF", "cs.DC"),
        published=datetime(2026, 11, 1, 10, tzinfo=UTC),
        updated=datetime(2026, 11, 2, 11, tzinfo=UTC),
        comment="7 pages, 2 figures",
        journal_ref="J. Slow 1",
        dois=("10.1/a", "10.1/b"),
        report_no="SLOW-1",
        license="http://creativecommons.org/licenses/by/4.0/",
        datestamp=date(2026, 11, 20),
    )


@pytest.mark.parametrize("datestamp", ["2026-11-20", " 2026-11-20\n", "2026-11-20T23:59:59Z"])
def test_a_paper_comes_with_the_day_arxiv_last_touched_it(datestamp: str) -> None:
    (paper,) = parse_oai(oai_page(oai_entry(datestamp=datestamp))).papers
    assert paper.datestamp == date(2026, 11, 20)


@pytest.mark.parametrize("header", ["math.GT/0309136", "math/0309136"])
@pytest.mark.parametrize("text", ["math.GT/0309136", "math/0309136"])
def test_an_old_id_may_name_its_subject_class_in_header_and_text(header: str, text: str) -> None:
    page = parse_oai(oai_page(oai_entry(raw_paper(text), id_=header)))
    assert [str(paper.id) for paper in page.papers] == ["math/0309136"]
    assert page.quarantined == ()


@pytest.mark.parametrize("datestamp", ["", "today", "2026-13-01"])
def test_a_paper_without_such_a_day_is_put_aside(datestamp: str) -> None:
    page = parse_oai(oai_page(oai_entry(), oai_entry(datestamp=datestamp)))
    assert page.records == 2
    assert ["datestamp" in put_aside.error for put_aside in page.quarantined] == [True]


def test_accents_in_names_are_resolved_and_texts_stay_in_tex() -> None:
    paper = read_one(
        raw_paper(authors='P\\i nar T\\"oz\\"un', title="On Erd\\H{o}s", abstract="L\\'evy")
    )
    assert paper.authors == (Author("Pınar Tözün"),)
    assert paper.title == "On Erd\\H{o}s"
    assert paper.abstract == "L\\'evy"


def test_the_latest_version_is_the_highest_whatever_the_order() -> None:
    versions = raw_version(10, "Tue, 3 Nov 2026 10:00:00 GMT") + raw_version(
        2, "Mon, 2 Nov 2026 10:00:00 GMT"
    )
    paper = read_one(raw_paper(versions=raw_version(1, "Sun, 1 Nov 2026 10:00:00 GMT") + versions))
    assert paper.version == 10
    assert paper.published.day == 1
    assert paper.updated.day == 3


@pytest.mark.parametrize(
    ("first", "second", "comment", "is_withdrawn"),
    [
        ("D", "I", "", True),
        ("I", "D", "", False),
        ("", "", "This paper has been withdrawn by the author", True),
        ("", "", "12 pages", False),
    ],
)
def test_a_paper_is_withdrawn_by_its_latest_version_or_its_comment(
    first: str,
    second: str,
    comment: str,
    is_withdrawn: bool,  # noqa: FBT001 - a column of the table
) -> None:
    mark = "<source_type>{}</source_type>"
    versions = raw_version(1, "Sun, 1 Nov 2026 10:00:00 GMT", mark.format(first)) + raw_version(
        2, "Mon, 2 Nov 2026 10:00:00 GMT", mark.format(second)
    )
    paper = read_one(raw_paper(versions=versions, extra=f"<comments>{comment}</comments>"))
    assert paper.is_withdrawn is is_withdrawn


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("verb%3DListRecords%26skip%3D5", "verb%3DListRecords%26skip%3D5"),
        *(("496549|96001", "496549|96001"), (" \n", None), ("", None), (None, None)),
    ],
)
def test_the_last_page_has_no_token_or_an_empty_one(
    token: str | None, expected: str | None
) -> None:
    page = parse_oai(oai_page(oai_entry(), token=token))
    assert page.token == expected
    assert page.records == 1
    assert page.response_date == datetime(2026, 11, 20, 4, 5, 6, tzinfo=UTC)


def test_a_single_paper_is_read_as_a_page_of_one() -> None:
    page = parse_oai(oai_page(oai_entry(), verb="GetRecord"))
    assert len(page.papers) == 1
    assert page.token is None


CONTINUED = b"<request verb=\"ListRecords\" resumptionToken='t'>"


def continued(page: bytes) -> bytes:
    return page.replace(b'<request verb="ListRecords">', CONTINUED)


def test_a_list_that_came_in_pages_ends_only_where_it_says_so() -> None:
    assert parse_oai(continued(oai_page(oai_entry(), token=""))).token is None
    assert parse_oai(continued(oai_page(oai_entry(), token="u"))).token == "u"
    with pytest.raises(ArxivShort, match="does not say where it ends"):
        parse_oai(continued(oai_page(oai_entry())))


@pytest.mark.parametrize(
    "body",
    [
        oai_page(oai_entry(), token="t").replace(b"resumptionToken", b"resumptiontoken"),
        oai_page(oai_entry(), "<resumptionToken/>", token="t"),
        oai_page(oai_entry(), token="").replace(
            b"<ListRecords>", b"<resumptionToken>t</resumptionToken><ListRecords>"
        ),
        oai_page(oai_entry(), "<![CDATA[<resumptionToken>t</resumptionToken>]]>"),
        oai_page(oai_entry(), oai_entry(id_="2611.00002").replace("record>", "recor>")),
        oai_page(oai_entry(), oai_entry(id_="2611.00002"), verb="GetRecord"),
        oai_page(oai_entry(), token="t", verb="GetRecord"),
        oai_page(oai_entry()).replace(
            b"<ListRecords>", b"<error code='noRecordsMatch'>None.</error><ListRecords>"
        ),
        oai_page().replace(
            b"<ListRecords>", b"<error code='noRecordsMatch'>None.</error><ListRecords>"
        ),
        oai_error("noRecordsMatch").replace(b"<error", b"<a><record/></a><error"),
    ],
)
def test_a_list_with_something_in_it_that_does_not_belong_there_may_be_short(body: bytes) -> None:
    with pytest.raises(ArxivUnreadable):
        parse_oai(body)


def test_an_empty_list_is_told_apart_from_every_fault() -> None:
    page = parse_oai(oai_error("noRecordsMatch", "The combination results in an empty list."))
    assert page.is_no_records_match
    assert page.papers == ()
    assert page.token is None
    assert page.records == 0
    assert not parse_oai(oai_page(oai_entry())).is_no_records_match


def test_deleted_entries_are_counted() -> None:
    page = parse_oai(oai_page(oai_entry(id_="2611.00007", status="deleted"), oai_entry()))
    assert page.records == 2
    assert len(page.papers) == 1
    assert page.quarantined == ()


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (raw_paper("x/1"), "not an arXiv identifier"),
        (raw_paper("2911.00001"), "its header names '2611.00001'"),
        (raw_paper("math.GT/0309136"), "its header names '2611.00001', its text math/0309136"),
        (raw_paper(versions=""), "no version"),
        (raw_paper(versions=raw_version(0, "Sun, 1 Nov 2026 10:00:00 GMT")), "version called 'v0'"),
        (raw_paper(versions=raw_version(1, "some day")), "date of version 1"),
        (raw_paper(title=""), "no title"),
        (raw_paper(categories=" "), "no categories"),
        ("", "without metadata"),
    ],
)
def test_a_malformed_entry_is_put_aside_with_its_bytes_and_the_others_go_on(
    metadata: str, reason: str
) -> None:
    page = parse_oai(
        oai_page(
            oai_entry(id_="2611.00007"), oai_entry(metadata), oai_entry(id_="2611.00009"), token="t"
        )
    )
    assert [str(paper.id) for paper in page.papers] == ["2611.00007", "2611.00009"]
    (put_aside,) = page.quarantined
    assert put_aside.position == 1
    assert page.records == 3
    assert page.token == "t"
    assert reason in put_aside.error
    assert b"record" in put_aside.snippet


def test_a_page_of_which_no_entry_can_be_read_is_an_error() -> None:
    with pytest.raises(ArxivUnreadable, match="no entry can be read"):
        parse_oai(oai_page(*[oai_entry(raw_paper(versions=""))] * 5))


def test_a_page_in_another_metadata_format_is_an_error() -> None:
    with pytest.raises(ArxivUnreadable, match="not as arXivRaw"):
        parse_oai(
            oai_page(
                oai_entry('<arXiv xmlns="http://arxiv.org/OAI/arXiv/"><id>2611.00001</id></arXiv>')
            )
        )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (oai_error("badResumptionToken"), TokenExpired),
        (oai_error("idDoesNotExist"), UnknownPaper),
        (oai_error("badArgument"), ArxivRejected),
        (oai_error("badVerb"), ArxivRejected),
        (oai_error("cannotDisseminateFormat"), ArxivRejected),
        (oai_error("somethingNew"), ArxivFaulted),
        (oai_page(), ArxivShort),
        (oai_page(token="t"), ArxivShort),
        (oai_page(verb="ListSets"), ArxivUnreadable),
        (oai_page(oai_entry()).replace(b"2026-11-20T04:05:06Z", b""), ArxivUnreadable),
        (atom_feed(), ArxivUnreadable),
        (b"Rate exceeded.", ArxivError),
    ],
)
def test_everything_else_is_an_error_of_its_own(body: bytes, expected: type[ArxivError]) -> None:
    with pytest.raises(expected) as caught:
        parse_oai(body)
    assert caught.value.hint
