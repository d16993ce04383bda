"""The page to begin: with a query and without, with sign-up and without, and its live part."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from lxml import html
from sqlalchemy import Engine, event

from digest.inspect.trial import PaperSnapshot, read_snapshot
from digest.model.announcements import DELIVERABLE_KINDS
from digest.model.people import DAYS, write_cadence
from digest.serve.steps import run_pass
from tests.harness.serving import serve_site, wait_until
from tests.integration.web.conftest import ServedSite
from tests.integration.web.world import PAPERS, live_in

MOST_BYTES = 60_000
MOST_SCRIPT = 4_000


@contextmanager
def begin(
    folder: Path, *, extra: str = "", runs: bool = True, **environ: str
) -> Iterator[httpx.Client]:
    """Serve an installation with settings of its own, after a first check or before."""
    with live_in(folder) as world:
        world.write_config(extra=extra)
        world.environ.update(environ)
        with closing(world.open()) as site:
            if runs:
                run_pass(site)
            with serve_site(site) as url, httpx.Client(base_url=url) as http:
                yield http


def ask(http: httpx.Client, path: str, **query: str) -> httpx.Response:
    """Return an answer as it is once the papers are read."""
    wait_until(lambda: "data-wait" not in http.get("/live", params={"q": "x"}).text)
    return http.get(path, params=query)


@contextmanager
def counting_statements() -> Iterator[list[str]]:
    """Keep what is asked of any database."""
    asked: list[str] = []

    def keep(_conn: object, _cursor: object, statement: str, *_others: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", keep)


def find(page: str, path: str) -> list[Any]:
    found: Any = read(page).xpath(path)
    return list(found)


def read(page: str) -> Any:  # noqa: ANN401 - what an expression of XPath finds is of many types
    return html.fromstring(page)


def list_texts(page: str, path: str) -> list[str]:
    return [" ".join(one.text_content().split()) for one in find(page, path)]


def test_without_a_query_it_shows_a_box_and_examples_and_what_was_checked(
    shared: ServedSite,
) -> None:
    page = shared.http.get("/").text
    assert find(page, "//form[@class='try']//input/@name") == ["q"]
    assert find(page, "//label[@for='q']/text()") == ["What do you follow?"]
    assert len(find(page, "//a[starts-with(@href, '?q=')]")) == 4
    assert not find(page, "//svg | //form[@method='post']")
    assert "All papers of Thu 19 Nov were checked." in page
    assert "ops@example.org" in page


def test_an_example_is_a_query_that_is_read(shared: ServedSite) -> None:
    for address in find(shared.http.get("/").text, "//a/@href[starts-with(., '?q=')]"):
        assert re.search("Read as:|Finds papers that mention", shared.http.get(f"/{address}").text)


def test_with_a_query_it_shows_all_of_the_trial_without_a_script(shared: ServedSite) -> None:
    page = ask(shared.http, "/", q="cat:cs.PF AND ti:(GPU OR clocks)").text
    assert (
        list_texts(page, "//p[@class='read']")[1]
        == 'Read as: the paper is in cs.PF, and the title has "gpu" or "clocks".'
    )
    assert list_texts(page, "//p[@class='rate']") == [
        "About 1 paper a week, a mail only when there are any."
    ]
    assert "Papers have been stored here since Tue 10 Nov." in page
    assert [PAPERS[2].title, PAPERS[0].title] == list_texts(page, "//h3")
    assert len(find(page, "//svg/rect")) == 10
    assert find(page, "//svg[@role='img']/@aria-label") == [
        "Papers a day over the last 10 of 30 days: between 0 and 2, 2 in all"
    ]
    assert list_texts(page, "//table//tr") == ["Thu 19 Nov2"]
    assert find(page, "//div[@id='said']/@aria-live") == ["polite"]
    assert len(page.encode()) <= MOST_BYTES


def test_the_live_part_is_the_page_s_own(shared: ServedSite) -> None:
    for text in ("cat:cs.PF", "gpu AND (", "nothing such", ""):
        page = ask(shared.http, "/", q=text).text
        part = ask(shared.http, "/live", q=text).text
        for place in ("//div[@id='said']", "//div[@id='shown']"):
            assert list_texts(page, place) == list_texts(part, place)
        assert "<html" not in part


def test_the_live_part_says_what_changes_against_a_query_before(shared: ServedSite) -> None:
    part = ask(shared.http, "/live", q="ti:clocks", was="ti:(GPU OR queues)").text
    assert "1 paper gained, 2 lost, 0 kept" in " ".join(list_texts(part, "//p"))
    assert list_texts(part, "//ins") == ["+ Clocks & caches"]
    assert "Against" not in ask(shared.http, "/live", q="ti:clocks", was="AND").text


def test_a_mistake_is_marked_where_it_stands_and_what_works_is_a_click_away(
    shared: ServedSite,
) -> None:
    page = shared.http.get("/", params={"q": "<b> abstr:GPU"}).text
    assert "abstr: is not a known prefix." in page
    assert list_texts(page, "//p[@class='typed']//mark") == ["abstr:GPU"]
    assert find(page, "//div[@id='said']//a/@href") == ["?q=%3Cb%3E%20abs%3AGPU"]
    assert "<b> " not in page


@pytest.mark.parametrize(
    "text", ["(" * 1_999, "a*" * 999, "x " * 1_000, "x" * 20_000, "\x00", "�", "AND", '"']
)
def test_a_hostile_query_is_answered_with_a_page(shared: ServedSite, text: str) -> None:
    for path in ("/", "/live"):
        answer = ask(shared.http, path, q=text)
        assert answer.status_code == 200
        assert len(answer.content) < MOST_BYTES


def test_where_sign_up_is_on_the_page_takes_an_address_and_what_can_be_joined(
    tmp_path: Path,
) -> None:
    with begin(
        tmp_path, DIGEST_WEB_SIGNUP="open", extra='joinable = true\ntitle = "Our <papers>"\n'
    ) as http:
        page = ask(http, "/", q=" cat:cs.PF").text
    assert len(page.encode()) <= MOST_BYTES
    (form,) = find(page, "//form[@method='post']")
    assert form.get("action") == "subscribe"
    fields = dict.fromkeys(form.xpath(".//@name"))
    assert list(fields) == [
        "token",
        "q",
        "joins",
        "address",
        "days",
        "hour",
        "zone",
        "kinds",
        "feed",
    ]
    assert form.fields["q"] == " cat:cs.PF"
    assert form.xpath(".//input[@name='joins']/@value") == ["perf-team"]
    assert "Our &lt;papers&gt;" in page
    assert form.xpath(".//select[@name='days']/option/@value") == list(DAYS)
    assert set(form.xpath(".//input[@name='kinds']/@value")) <= set(DELIVERABLE_KINDS)
    assert form.xpath(".//input[@name='kinds' and @checked]/@value") == ["new", "cross-listed"]
    for days in form.xpath(".//select[@name='days']/option/@value"):
        assert write_cadence(days, form.fields["hour"], form.fields["zone"])
    for field in form.xpath(".//input[not(@type='hidden')] | .//select"):
        assert field.xpath("ancestor::label") or form.xpath(f".//label[@for='{field.get('id')}']")


def test_the_form_waits_for_a_query_where_nothing_can_be_joined(tmp_path: Path) -> None:
    with begin(tmp_path, DIGEST_WEB_SIGNUP="open") as http:
        hidden = "//section[@id='subscribe']/@hidden"
        assert [len(find(ask(http, "/", q=text).text, hidden)) for text in ("", "gpu")] == [1, 0]


@pytest.mark.parametrize("text", ["gpu AND (", "xyzzyfoo", "cat:cs.PF"])
def test_only_a_query_that_brings_papers_can_be_subscribed_to_and_no_second_field_shows_it(
    tmp_path: Path, text: str
) -> None:
    with begin(tmp_path, DIGEST_WEB_SIGNUP="open", extra="joinable = true\n") as http:
        page = ask(http, "/", q=text).text
        reloaded = http.get("/subscribe")
        refused = [http.get("/private"), http.put("/subscribe")]
    brings = text.startswith("cat:")
    assert find(page, "//form[@method='post']//input[@name='q']/@value") == [text if brings else ""]
    assert find(page, "//input[@readonly] | //input[@name='q' and not(@type='hidden')]/@id") == [
        "q"
    ]
    assert (
        bool(find(page, "//div[@id='said']/@data-brings"))
        == brings
        == ("Finds papers" not in page and brings)
    )
    assert (reloaded.status_code, find(reloaded.text, "//form//input[@name='q']/@value")) == (
        200,
        [""],
    )
    assert find(reloaded.text, "//option[@selected]/@value") == ["weekdays", "9"]
    for answer in refused:
        assert (answer.status_code, "This page opens only from the form." in answer.text) == (
            405,
            True,
        )
        assert find(answer.text, "//a[text()='Start here.']/@href") == ["https://localhost:8000/"]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("tail latency", '"tail latency"'),
        ("ti:tail latency AND cat:cs.PF", 'ti:"tail latency" AND cat:cs.PF'),
        ("tail,  latency", None),
    ],
)
def test_that_quotes_find_words_side_by_side_is_a_link(
    shared: ServedSite, text: str, link: str | None
) -> None:
    page = ask(shared.http, "/live", q=text).text
    found = find(page, "//p[@class='read'][starts-with(., 'Note')]/a/@href")
    assert [unquote(one).removeprefix("?q=") for one in found] == ([link] if link else [])


def test_before_the_first_check_it_says_what_will_be_here(tmp_path: Path) -> None:
    with begin(tmp_path, runs=False) as http:
        assert (
            "No papers are stored here yet. Look again tomorrow"
            in http.get("/", params={"q": "gpu"}).text
        )
        assert ">No announcement has been checked yet." in http.get("/").text


def test_where_only_searches_are_stored_no_box_is_shown(tmp_path: Path) -> None:
    with begin(tmp_path, runs=False, DIGEST_ARXIV_SOURCE="query") as http:
        page = http.get("/", params={"q": "gpu"}).text
    assert "others cannot be tried here" in page
    assert not find(page, "//form")


@pytest.mark.parametrize("path", ["/live.js", "/digest.js"])
def test_a_script_is_small_and_kept_by_browsers(shared: ServedSite, path: str) -> None:
    answer = shared.http.get(path)
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert len(answer.content) <= MOST_SCRIPT
    again = shared.http.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert not re.search(rb"innerHTML|eval|document\.write|http:|https:", answer.content)


def test_trying_asks_arxiv_nothing(served: ServedSite) -> None:
    asked = len(served.world.arxiv.requests)
    ask(served.http, "/", q="anything at all")
    ask(served.http, "/live", q="https://arxiv.org/list/cs.PF/new", was="gpu")
    assert len(served.world.arxiv.requests) == asked


def test_while_papers_are_read_the_first_page_comes_from_memory_and_then_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def read_late(*arguments: Any) -> PaperSnapshot:  # noqa: ANN401 - as the real one
        assert gate.wait(30)
        return read_snapshot(*arguments)

    monkeypatch.setattr("digest.inspect.trial.read_snapshot", read_late)
    monkeypatch.setattr("digest.web.signup._KEPT", 1e6)
    with begin(tmp_path) as http:
        http.get("/").raise_for_status()  # it begins to read
        first = http.get("/").text
        with counting_statements() as asked:
            again = http.get("/")
            assert (again.text, again.status_code, asked) == (first, 200, [])
            assert "data-wait" in again.text
            assert "cs.PF" in http.get("/", params={"q": "cat:cs.PF"}).text
            assert asked
        gate.set()
        assert "data-wait" not in ask(http, "/").text


def test_a_page_that_is_kept_is_made_anew_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def read_late(*arguments: Any) -> PaperSnapshot:  # noqa: ANN401 - as the real one
        assert gate.wait(30)
        return read_snapshot(*arguments)

    monkeypatch.setattr("digest.inspect.trial.read_snapshot", read_late)
    monkeypatch.setattr("digest.web.signup._KEPT", 1e-6)
    with begin(tmp_path) as http, counting_statements() as asked:
        http.get("/")
        asked.clear()
        http.get("/")
        assert asked
        gate.set()
