from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient, ShortPage
from digest.model.clock import GateOutcome, Grant, ManualClock, RequestOutcome
from digest.model.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivHostile,
    ArxivMoved,
    ArxivRefused,
    ArxivRejected,
    ArxivThrottled,
    ArxivTruncated,
    ArxivUnreachable,
    ArxivUnreadable,
    ConfigurationError,
)
from digest.model.papers import ArxivId
from digest.model.polls import RequestLog
from tests.fakes.loopback import Ending
from tests.fakes.pages import atom_entry, atom_feed, error_feed, oai_entry, oai_page
from tests.integration.arxiv.conftest import AGENT, WatchedGate
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv

OK = GateOutcome(RequestOutcome.OK)
FAILED = GateOutcome(RequestOutcome.FAILED)
PAGE = atom_feed(atom_entry())
GOOD = Reply(PAGE)
BOMB = (
    b'<!DOCTYPE feed [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>'
    b'<feed xmlns="http://www.w3.org/2005/Atom">&b;</feed>'
)


def test_a_search_is_asked_for_as_arxiv_documents_it_and_comes_with_its_bytes(
    arxiv: ScriptedArxiv, client: ArxivClient, gate: WatchedGate
) -> None:
    page = atom_feed(atom_entry(), start=5, total=6)
    arxiv.script(Reply(page))
    fetched = client.search('cat:cs.PF AND abs:"tail\nlatency"', start=5, size=50)
    (seen,) = arxiv.seen
    assert (seen.method, seen.path) == ("GET", "/api/query")
    assert seen.params == {
        "search_query": 'cat:cs.PF AND abs:"tail latency"',
        "start": "5",
        "max_results": "50",
        "sortBy": "lastUpdatedDate",
        "sortOrder": "descending",
    }
    assert seen.headers["user-agent"] == AGENT
    assert seen.headers["accept-encoding"] == "gzip"
    assert [paper.title for paper in fetched.page.papers] == ["Slow papers"]
    assert fetched.grant == Grant(1)
    assert fetched.fetched_at == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert gate.outcomes == [OK]


def test_papers_are_asked_for_by_id_with_a_size_that_holds_them_all(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    arxiv.script(Reply(atom_feed(atom_entry(), total=1)))
    client.search("", ids=["2611.00001", "hep-th/9901001"], size=2)
    assert arxiv.seen[0].params == {
        "id_list": "2611.00001,hep-th/9901001",
        "start": "0",
        "max_results": "2",
    }


def test_a_long_query_is_sent_as_a_form(
    arxiv: ScriptedArxiv, client: ArxivClient, requests: list[RequestLog]
) -> None:
    arxiv.script(GOOD, GOOD)
    query = " OR ".join(f'(au:"Author {number}")' for number in range(100))
    client.search(query, size=1)
    (seen,) = arxiv.seen
    assert seen.method == "POST"
    assert seen.headers["content-type"] == "application/x-www-form-urlencoded"
    assert seen.params["search_query"] == query
    assert requests[0].method == "POST"
    assert "Author%2099" in requests[0].url


def test_one_paper_can_be_asked_for(arxiv: ScriptedArxiv, client: ArxivClient) -> None:
    arxiv.script(Reply(oai_page(oai_entry(), verb="GetRecord")))
    assert len(client.get_record(ArxivId.parse("2611.00001")).page.papers) == 1
    assert arxiv.seen[0].params["identifier"] == "oai:arXiv.org:2611.00001"


GZIP = {"Content-Encoding": "gzip"}


def test_every_request_is_reported_after_the_gate_was_released(
    arxiv: ScriptedArxiv, client: ArxivClient, requests: list[RequestLog]
) -> None:
    arxiv.script(Reply(b"<feed", 200), Reply(PAGE, delay=0.03))
    client.search("a", size=1)
    bad, good = requests
    assert (bad.method, bad.status, bad.size, bad.outcome) == ("GET", 200, 5, RequestOutcome.FAILED)
    assert "papers 0-0 of 'a'" in bad.detail
    assert (good.status, good.size, good.outcome, good.detail) == (
        200,
        len(PAGE),
        RequestOutcome.OK,
        "",
    )
    assert good.at == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert good.milliseconds >= 30


def test_the_next_request_need_not_wait_until_an_answer_was_read(
    arxiv: ScriptedArxiv, client: ArxivClient, gate: WatchedGate
) -> None:
    arxiv.script(Reply(oai_page(oai_entry())))
    outcomes: list[GateOutcome] = []

    def load_hashes(_: Sequence[str]) -> dict[str, bytes]:
        outcomes.extend(gate.outcomes)
        return {}

    client.list_records(date(2026, 11, 19), load_hashes=load_hashes)
    assert outcomes == gate.outcomes == [OK]


RETRIED = [
    pytest.param(Reply(ending=Ending.RESET), ArxivUnreachable, FAILED, id="reset"),
    pytest.param(
        Reply(PAGE, ending=Ending.CUT_UNSAID),
        ArxivTruncated,
        FAILED,
        id="body cut off without a length",
    ),
    pytest.param(
        Reply(gzip.compress(PAGE)[:-40], headers=GZIP),
        ArxivTruncated,
        FAILED,
        id="packed body cut off",
    ),
    pytest.param(Reply(b"no gzip", headers=GZIP), ArxivTruncated, FAILED, id="packed body damaged"),
    pytest.param(
        Reply(zlib.compress(PAGE), headers={"Content-Encoding": "br"}),
        ArxivUnreadable,
        FAILED,
        id="packed oddly",
    ),
    pytest.param(
        Reply(error_feed("an internal error"), 500),
        ArxivFaulted,
        FAILED,
        id="500 with an error feed",
    ),
    pytest.param(Reply(atom_feed(atom_entry(), total=7)), ShortPage, OK, id="short page"),
]


@pytest.mark.parametrize(("bad", "expected", "heard"), RETRIED)
def test_what_may_pass_is_asked_again_twice_each_time_with_leave(  # noqa: PLR0917 - a row
    arxiv: ScriptedArxiv,
    client: ArxivClient,
    gate: WatchedGate,
    bad: Reply,
    expected: type[ArxivError],
    heard: GateOutcome,
) -> None:
    arxiv.script(bad, bad, GOOD)
    assert client.search("a", size=1 if expected is not ShortPage else 2).page.entries == 1
    assert gate.outcomes == [heard, heard, OK]
    arxiv.script(bad, bad, bad, GOOD)
    with pytest.raises(ArxivError) as caught:
        client.search("a", size=2)
    assert type(caught.value) is expected
    assert gate.outcomes[3:] == [heard] * 3
    assert gate.open is None
    assert_says_what_was_asked(caught.value, "papers 0-1 of 'a'")


FINAL = [
    pytest.param(
        Reply(b"Rate exceeded.", 429, media_type="text/plain"),
        ArxivThrottled,
        RequestOutcome.THROTTLED,
        id="429",
    ),
    pytest.param(
        Reply(b"<html>Access denied</html>", 403), ArxivRefused, RequestOutcome.REFUSED, id="403"
    ),
    pytest.param(
        Reply(error_feed("incorrect id format"), 400), ArxivRejected, RequestOutcome.OK, id="400"
    ),
    pytest.param(
        Reply(b"", 301, {"Location": "https://n.example/"}),
        ArxivMoved,
        RequestOutcome.FAILED,
        id="301",
    ),
    pytest.param(Reply(BOMB), ArxivHostile, RequestOutcome.FAILED, id="entities"),
    pytest.param(
        Reply(gzip.compress(b" " * 30_000_000), headers=GZIP),
        ArxivHostile,
        RequestOutcome.FAILED,
        id="too large unpacked",
    ),
]


@pytest.mark.parametrize(("bad", "expected", "outcome"), FINAL)
def test_what_will_not_pass_soon_is_not_asked_again(  # noqa: PLR0917 - a row of the table
    arxiv: ScriptedArxiv,
    client: ArxivClient,
    gate: WatchedGate,
    bad: Reply,
    expected: type[ArxivError],
    outcome: RequestOutcome,
) -> None:
    arxiv.script(bad, GOOD)
    with pytest.raises(ArxivError) as caught:
        client.search("a", size=2)
    assert type(caught.value) is expected
    assert gate.outcomes == [GateOutcome(outcome)]
    assert len(arxiv.seen) == 1
    assert_says_what_was_asked(caught.value, "papers 0-1 of 'a'")


def assert_says_what_was_asked(error: ArxivError, name: str) -> None:
    assert error.message.startswith(f"{name}: ")
    assert error.request == name
    assert error.hint
    assert "\n" not in error.message


def test_the_gate_is_told_how_long_arxiv_wants_to_wait(
    arxiv: ScriptedArxiv, client: ArxivClient, gate: WatchedGate
) -> None:
    arxiv.script(Reply(b"Rate exceeded.", 429, {"Retry-After": "90"}))
    with pytest.raises(ArxivThrottled) as caught:
        client.list_records(date(2026, 11, 17))
    assert caught.value.retry_after == 90
    assert gate.outcomes == [GateOutcome(RequestOutcome.THROTTLED, 90)]


def test_a_refused_connection_is_one_plain_sentence(
    connect: Callable[..., ArxivClient], gate: WatchedGate, requests: list[RequestLog]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(
        ArxivUnreachable, match=r"\Apapers 0-0 of 'a': 127\.0\.0\.1:\d+ can't be reached"
    ) as caught:
        connect(url).search("a", size=1)
    assert_says_what_was_asked(caught.value, "papers 0-0 of 'a'")
    assert gate.outcomes == [FAILED] * 3
    assert (requests[0].status, requests[0].size) == (None, 0)


def test_without_leave_nothing_is_asked(arxiv: ScriptedArxiv) -> None:
    class ClosedGate(WatchedGate):
        def acquire(self) -> Grant:
            raise ArxivThrottled("the breaker is open", hint="Wait.")

    gate = ClosedGate()
    addresses = ArxivAddresses(api_url=f"{arxiv.url}/api/query")
    client = ArxivClient(addresses, AGENT, gate, ManualClock(datetime(2026, 11, 20, tzinfo=UTC)))
    with pytest.raises(ArxivThrottled, match="breaker"):
        client.search("a", size=1)
    client.close()
    assert arxiv.seen == []
    assert gate.outcomes == []


def test_a_contact_that_fits_no_header_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="User-Agent"):
        ArxivClient(
            ArxivAddresses(),
            "digest (ö@x)",
            WatchedGate(),
            ManualClock(datetime(2026, 1, 1, tzinfo=UTC)),
        )
