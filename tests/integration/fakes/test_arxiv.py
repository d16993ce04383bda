from collections.abc import Iterator
from datetime import date, datetime, timedelta

import httpx
import pytest
from lxml import etree

from digest.model.announcements import mailing_moment
from digest.model.clock import ManualClock, SystemClock
from digest.model.papers import Author
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.spoiling import RATE_BODY

NAMES = {
    "a": "http://www.w3.org/2005/Atom",
    "s": "http://a9.com/-/spec/opensearch/1.1/",
    "o": "http://www.openarchives.org/OAI/2.0/",
    "r": "http://arxiv.org/OAI/arXivRaw/",
}
THURSDAY = mailing_moment(date(2026, 11, 19))
EVENING = THURSDAY + timedelta(hours=2)


def make_paper(number: int, announced: datetime = THURSDAY, **changes: object) -> DemoPaper:
    fields: dict[str, object] = {
        "id": f"2611.{number:05d}",
        "announced": announced,
        "submitted": (announced - timedelta(hours=12 - number % 10),),
        "title": rf"Caf\'e number {number} & more",
        "abstract": "We look at caches.",
        "authors": (Author(r"Zo\"e Abrelund", ("Polytechnic of Vell",)), Author("Ren Wexcombe")),
        "categories": ("cs.PF", "cs.DC"),
    }
    return DemoPaper(**(fields | changes))  # type: ignore[arg-type]  # each field has its own type


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(EVENING)


@pytest.fixture
def arxiv(clock: ManualClock) -> Iterator[DemoArxiv]:
    papers = [make_paper(number) for number in range(1, 6)]
    papers.append(make_paper(6, mailing_moment(date(2026, 11, 22)), title="Not yet"))
    papers.append(make_paper(7, categories=("hep-th",), abstract="We look at strings."))
    with DemoArxiv(papers, clock, page_size=4) as server:
        yield server


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=10) as client:
        yield client


def search(client: httpx.Client, arxiv: DemoArxiv, **params: object) -> etree._Element:
    answer = client.get(arxiv.api_url, params={name: str(value) for name, value in params.items()})
    assert answer.headers["content-type"].startswith("application/atom+xml")
    return etree.fromstring(answer.content)


def list_ids(feed: etree._Element) -> list[str]:
    return [(e.text or "").removeprefix("http://arxiv.org/abs/") for e in feed.findall("a:entry/a:id", NAMES)]


def list_records(client: httpx.Client, arxiv: DemoArxiv, **params: str) -> etree._Element:
    asked = {"verb": "ListRecords", "metadataPrefix": "arXivRaw", **params}
    return etree.fromstring(client.get(arxiv.oai_url, params=asked).content)


def test_search_finds_what_is_public_and_nothing_else(client: httpx.Client, arxiv: DemoArxiv) -> None:
    feed = search(client, arxiv, search_query="cat:cs.PF", sortBy="submittedDate", sortOrder="ascending")
    assert list_ids(feed) == [f"2611.0000{number}v1" for number in range(1, 6)]
    assert feed.findtext("s:totalResults", None, NAMES) == "5"
    assert feed.findtext("a:entry/a:title", None, NAMES) == "Café number 1 & more"


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({"search_query": "(ti:a"}, 400, "Invalid query string: '(ti:a'"),
        ({"id_list": "abc"}, 400, "incorrect id format for abc"),
        ({"search_query": "ti:caches", "max_results": "0"}, 500, "internal error"),
        ({"search_query": "ti:caches", "start": "10000"}, 500, "internal error"),
        ({"search_query": "ti:caches", "max_results": "10001"}, 500, "internal error"),
    ],
)
def test_a_wrong_search_is_answered_with_an_error_feed(
    client: httpx.Client, arxiv: DemoArxiv, params: dict[str, str], status: int, words: str
) -> None:
    answer = client.get(arxiv.api_url, params=params)
    entry = etree.fromstring(answer.content).find("a:entry", NAMES)
    assert entry is not None
    assert answer.status_code == status
    assert entry.findtext("a:title", None, NAMES) == "Error"
    assert words in (entry.findtext("a:summary", None, NAMES) or "")


def test_a_harvest_follows_tokens_to_the_last_page(client: httpx.Client, arxiv: DemoArxiv) -> None:
    page = list_records(client, arxiv, **{"from": "2026-11-19"})
    token = page.findtext(".//o:resumptionToken", None, NAMES) or ""
    for value in (token, httpx.URL("", params={"t": token}).query.decode()[2:]):
        rest = client.get(f"{arxiv.oai_url}?verb=ListRecords&resumptionToken={value}")
        last = etree.fromstring(rest.content)
        assert [e.text for e in last.findall(".//r:id", NAMES)] == ["2611.00005", "2611.00007"]
        assert last.findtext(".//o:resumptionToken", None, NAMES) == ""


def test_a_harvest_keeps_accents_as_typed_and_tells_the_whole_history(
    client: httpx.Client, arxiv: DemoArxiv, clock: ManualClock
) -> None:
    arxiv.withdraw("2611.00007", announced=clock.now())
    page = etree.fromstring(
        client.get(
            arxiv.oai_url,
            params={"verb": "GetRecord", "metadataPrefix": "arXivRaw", "identifier": "oai:arXiv.org:2611.00007"},
        ).content
    )
    raw = page.find(".//r:arXivRaw", NAMES)
    assert raw is not None
    assert raw.findtext("r:title", None, NAMES) == r"Caf\'e number 7 & more"
    assert raw.findtext("r:authors", None, NAMES) == r"Zo\"e Abrelund (Polytechnic of Vell), Ren Wexcombe"
    assert [v.get("version") for v in raw.findall("r:version", NAMES)] == ["v1", "v2"]
    assert raw.findtext("r:version/r:date", None, NAMES) == "Thu, 19 Nov 2026 20:00:00 GMT"
    assert raw.findtext("r:version/r:source_type", None, NAMES) == "I"


def test_requests_are_noted_with_their_distance(client: httpx.Client, clock: ManualClock) -> None:
    with DemoArxiv([], clock, pace=3.0) as arxiv:
        client.get(arxiv.api_url, params={"search_query": "ti:caches"}, headers={"User-Agent": "demo/1"})
        clock.sleep(3)
        client.get(arxiv.oai_url, params={"verb": "Identify"})
    first, second = arxiv.requests
    assert (first.at, first.path, first.param("search_query"), first.user_agent) == (
        EVENING,
        "/api/query",
        "ti:caches",
        "demo/1",
    )
    assert (first.gap, second.gap, first.status) == (None, 3.0, 200)
    assert first.port == second.port
    assert arxiv.violations == ()


def test_who_comes_too_soon_is_refused_and_noted(client: httpx.Client, clock: ManualClock) -> None:
    with DemoArxiv([], clock, pace=3.0) as arxiv:
        client.get(arxiv.oai_url, params={"verb": "Identify"})
        clock.sleep(2.9)
        answer = client.get(arxiv.oai_url, params={"verb": "Identify"})
    assert (answer.status_code, answer.content) == (429, RATE_BODY)
    assert [visit.violation for visit in arxiv.requests] == ["", "pace"]
    assert arxiv.violations[0].gap == pytest.approx(2.9)


def test_a_lenient_server_only_notes_who_comes_too_soon(client: httpx.Client) -> None:
    with DemoArxiv([], SystemClock(), pace=3.0, is_strict=False) as arxiv:
        answers = [client.get(arxiv.oai_url, params={"verb": "Identify"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(arxiv.violations) == 1


@pytest.mark.parametrize(
    ("kind", "retry_after", "expected"),
    [
        ("429", "", (429, None)),
        ("429", "60", (429, "60")),
        ("rate_200", "", (200, None)),
        ("503", "", (503, "0")),
        ("503", "30", (503, "30")),
        ("406", "", (406, None)),
        ("403", "", (403, None)),
        ("500", "", (500, None)),
        ("redirect", "", (301, None)),
        ("html", "", (200, None)),
    ],
)
def test_a_refusal_has_its_status_and_perhaps_a_time_to_wait(
    client: httpx.Client, arxiv: DemoArxiv, kind: str, retry_after: str, expected: tuple[int, str | None]
) -> None:
    arxiv.faults.add(kind, retry_after=retry_after)
    answer = client.get(arxiv.oai_url, params={"verb": "Identify"})
    assert (answer.status_code, answer.headers.get("retry-after")) == expected
    assert arxiv.requests[0].fault == kind
    assert client.get(arxiv.oai_url, params={"verb": "Identify"}).status_code == 200


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("reset", httpx.ReadError),
        ("drop", httpx.RemoteProtocolError),
        ("cut", httpx.RemoteProtocolError),
        ("hang", httpx.ReadTimeout),
    ],
)
def test_a_lost_connection_looks_like_one(
    client: httpx.Client, arxiv: DemoArxiv, kind: str, error: type[httpx.TransportError]
) -> None:
    arxiv.faults.add(kind)
    with pytest.raises(error):
        client.get(arxiv.oai_url, params={"verb": "Identify"}, timeout=0.5)
    assert client.get(arxiv.oai_url, params={"verb": "Identify"}).status_code == 200


@pytest.mark.parametrize(
    ("kind", "entries", "total"), [("empty_page", 0, "5"), ("empty_zero", 0, "0"), ("short_page", 2, "5")]
)
def test_a_thin_page_of_a_search(
    client: httpx.Client, arxiv: DemoArxiv, kind: str, entries: int, total: str
) -> None:
    arxiv.faults.add(kind)
    feed = search(client, arxiv, search_query="cat:cs.PF")
    assert (len(list_ids(feed)), feed.findtext("s:totalResults", None, NAMES)) == (entries, total)


@pytest.mark.parametrize(("kind", "entries"), [("empty_page", 0), ("short_page", 2)])
def test_a_thin_page_of_a_harvest_keeps_its_token(
    client: httpx.Client, arxiv: DemoArxiv, kind: str, entries: int
) -> None:
    arxiv.faults.add(kind)
    page = list_records(client, arxiv)
    assert len(page.findall(".//r:id", NAMES)) == entries
    assert page.findtext(".//o:resumptionToken", None, NAMES)
