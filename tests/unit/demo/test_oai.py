from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from digest.demo.archive import DemoPaper
from digest.demo.oai import OAI, RAW, OaiDesk
from digest.papers import Author

NAMES = {"o": OAI, "r": RAW}
NOW = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
FIRST_DAY = datetime(2026, 11, 1, 1, 0, tzinfo=UTC)


def make_papers(days: list[int]) -> list[DemoPaper]:
    return [
        DemoPaper(
            id=f"2611.{number:05d}",
            announced=FIRST_DAY + timedelta(days=day),
            submitted=(FIRST_DAY,),
            title="A title",
            abstract="An abstract.",
            authors=(Author("Ren Wexcombe"),),
            categories=("cs.PF", "hep-th", "astro-ph.EP"),
        )
        for number, day in enumerate(sorted(days), start=1)
    ]


def ask(desk: OaiDesk, papers: list[DemoPaper], moment: datetime = NOW, **params: str) -> etree._Element:
    asked = tuple((name.rstrip("_"), value) for name, value in params.items())
    return etree.fromstring(desk.answer(asked, papers, moment))


def list_ids(page: etree._Element) -> list[str]:
    return [element.text or "" for element in page.findall(".//r:id", NAMES)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 18), max_size=40), st.integers(1, 12), st.integers(0, 18))
def test_following_the_tokens_lists_every_paper_once_and_in_order(days: list[int], size: int, since: int) -> None:
    papers, desk = make_papers(days), OaiDesk("http://127.0.0.1/oai", size)
    first = (FIRST_DAY + timedelta(days=since)).date().isoformat()
    page = ask(desk, papers, verb="ListRecords", metadataPrefix="arXivRaw", from_=first)
    listed, pages = list_ids(page), 1
    while token := page.findtext(".//o:resumptionToken", None, NAMES):
        page = ask(desk, papers, verb="ListRecords", resumptionToken=token)
        listed += list_ids(page)
        pages += 1
    wanted = [paper.id for paper in papers if paper.announced.date().isoformat() >= first]
    assert listed == wanted
    assert pages == max(1, -(-len(wanted) // size))
    assert (page.find(".//o:resumptionToken", NAMES) is not None) == (pages > 1)


def test_an_empty_list_is_an_error_of_the_protocol() -> None:
    page = ask(OaiDesk("x", 10), [], verb="ListRecords", metadataPrefix="arXivRaw", from_="2026-11-19")
    error = page.find("o:error", NAMES)
    assert error is not None
    assert error.get("code") == "noRecordsMatch"


def test_until_includes_its_whole_day() -> None:
    papers = make_papers([1, 2, 3])
    page = ask(OaiDesk("x", 10), papers, verb="ListRecords", metadataPrefix="arXivRaw", until="2026-11-03")
    assert list_ids(page) == ["2611.00001", "2611.00002"]


@pytest.mark.parametrize(("wanted", "count"), [("cs", 1), ("cs:cs:PF", 1), ("physics:hep-th", 1), ("math", 0)])
def test_a_set_narrows_the_list(wanted: str, count: int) -> None:
    page = ask(OaiDesk("x", 10), make_papers([1]), verb="ListRecords", metadataPrefix="arXivRaw", set=wanted)
    assert len(list_ids(page)) == count


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "badVerb"),
        ({"verb": "ListEverything"}, "badVerb"),
        ({"verb": "ListRecords"}, "badArgument"),
        ({"verb": "ListRecords", "metadataPrefix": "marc21"}, "cannotDisseminateFormat"),
        ({"verb": "ListRecords", "metadataPrefix": "arXivRaw", "from": "yesterday"}, "badArgument"),
        (
            {"verb": "ListRecords", "metadataPrefix": "arXivRaw", "from": "2026-11-02", "until": "2026-11-01"},
            "badArgument",
        ),
        ({"verb": "ListRecords", "metadataPrefix": "arXivRaw", "colour": "red"}, "badArgument"),
        ({"verb": "ListRecords", "resumptionToken": "nonsense"}, "badResumptionToken"),
        ({"verb": "ListRecords", "resumptionToken": "%00\x00"}, "badResumptionToken"),
        ({"verb": "ListRecords", "resumptionToken": "x", "metadataPrefix": "arXivRaw"}, "badArgument"),
        (
            {"verb": "GetRecord", "metadataPrefix": "arXivRaw", "identifier": "oai:arXiv.org:2611.9"},
            "idDoesNotExist",
        ),
    ],
)
def test_a_wrong_request_is_named(params: dict[str, str], code: str) -> None:
    page = etree.fromstring(OaiDesk("x", 10).answer(tuple(params.items()), make_papers([1]), NOW))
    error = page.find("o:error", NAMES)
    assert error is not None
    assert error.get("code") == code
    assert error.text


def test_a_repeated_argument_is_refused() -> None:
    desk = OaiDesk("x", 10)
    page = etree.fromstring(desk.answer((("verb", "Identify"), ("from", "a"), ("from", "b")), [], NOW))
    assert page.find("o:error[@code='badArgument']", NAMES) is not None


def test_a_token_dies_at_midnight() -> None:
    papers, desk = make_papers([1, 2, 3]), OaiDesk("x", 2)
    page = ask(desk, papers, verb="ListRecords", metadataPrefix="arXivRaw")
    token = page.find(".//o:resumptionToken", NAMES)
    assert token is not None
    assert token.get("expirationDate") == "2026-11-21T00:00:00Z"
    late = ask(desk, papers, NOW + timedelta(days=1), verb="ListRecords", resumptionToken=token.text or "")
    assert late.find("o:error[@code='badResumptionToken']", NAMES) is not None


def test_identify_tells_the_granularity() -> None:
    page = ask(OaiDesk("http://127.0.0.1/oai", 10), [], verb="Identify")
    assert page.findtext(".//o:granularity", None, NAMES) == "YYYY-MM-DD"
    assert page.findtext(".//o:baseURL", None, NAMES) == "http://127.0.0.1/oai"
