"""Pages of digests, their archive, its search, and what a browser finds at a feed's address."""

from __future__ import annotations

import re
from contextlib import closing

import httpx
import pytest
from sqlalchemy import delete, select

from digest.serve.steps import run_pass
from digest.store import schema
from digest.web import create_app
from digest.web.archive import list_public_archives
from tests.harness.serving import find_routes, serve_site
from tests.integration.web.conftest import ORIGIN, ServedSite
from tests.integration.web.world import LATER, PAPERS, SUNDAY

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PERSONAL = re.compile(r"/[puck]/[\w-]{8}|mailto:(?!ops@)|@example\.org(?<!ops@example\.org)")


def open_first(served: ServedSite) -> httpx.Response:
    return served.http.get(f"/d/{served.links.web_token('perf-team', 'run:2')}")


def follow(served: ServedSite, page: httpx.Response, words: str) -> httpx.Response:
    """Follow the first link of a page that has these words in it."""
    links = re.findall(r'<a href="([^"]+)"[^>]*>(.*?)</a>', page.text, re.DOTALL)
    found = [href for href, label in links if words in re.sub("<[^>]+>", "", label)]
    assert found, f"{words}: {[label for _, label in links]}"
    answer = served.http.get(page.url.join(found[0].replace("&amp;", "&")))
    assert answer.status_code == 200
    return answer


def search(served: ServedSite, text: str) -> httpx.Response:
    return served.http.get(f"/a/{served.links.archive_token('perf-team')}", params={"q": text})


@pytest.fixture
def grown(served: ServedSite) -> ServedSite:
    """An installation three days later, with a second digest."""
    open_first(served)  # it is kept from now on
    served.world.arxiv.add(LATER)
    served.world.clock.sleep((SUNDAY - served.world.clock.now()).total_seconds())
    with closing(served.world.open()) as site:
        run_pass(site, poll_anyway=True)
    return served


def test_the_page_of_the_latest_digest_leads_to_no_later_one_until_there_is_one(
    shared: ServedSite, grown: ServedSite
) -> None:
    before = open_first(shared)
    after = open_first(grown)
    assert "Later" not in before.text
    assert "Earlier" not in after.text
    later = follow(grown, after, "Later")
    assert LATER.title in later.text
    assert "Later" not in later.text
    assert follow(grown, later, "Earlier").text == after.text


def test_the_archive_lists_every_digest_and_leads_to_each(grown: ServedSite) -> None:
    archive = follow(grown, open_first(grown), "All digests")
    days = re.findall(r"<h3><a [^>]*>(.*?)</a> <span>(.*?)</span>", archive.text)
    assert [count for _, count in days] == ["1 paper", "3 papers"]
    assert (
        len(re.findall(r'<li dir="auto"><a href="\.\./d/[\w-]{22}#paper-\d">', archive.text))
        == 1 + 3
    )
    assert "November 2026" in archive.text
    assert '<code dir="auto">cat:cs.PF</code>' in archive.text
    assert follow(grown, archive, days[0][0]).text.count("<h3") == 1
    assert follow(grown, archive, days[1][0]).url.path == open_first(grown).url.path


def test_a_search_leads_to_the_paper_within_the_digest_that_held_it(grown: ServedSite) -> None:
    found = search(grown, "ti:queues OR ti:stopwatches")
    assert re.findall(r'<li class="found"><a [^>]*>(.*?)</a>', found.text) == [
        "A later paper about <mark>stopwatches</mark>",
        "<mark>Queues</mark> that never drain",
    ]
    place = re.findall(r'href="\.\./d/[\w-]{22}#(paper-\d)"', found.text)[-1]
    assert f'id="{place}">\n<div class="number">' in open_first(grown).text
    nothing = search(grown, "ti:unheard")
    assert "No paper found." in nothing.text
    assert "1 paper" in follow(grown, nothing, "Show all digests").text


@pytest.mark.parametrize("before", ["x", "-1", "1.5", "9" * 19, "9" * 5_000, "%00", ""])
def test_an_archive_goes_on_from_a_number_alone(shared: ServedSite, before: str) -> None:
    answer = shared.http.get(f"/a/{shared.links.archive_token('perf-team')}?before={before}")
    assert answer.status_code == 400
    assert "Begin with the newest ones." in answer.text


@pytest.mark.parametrize("text", ["%00", "a" * 8_000, "(" * 500, "*", '"', "%ED%B3%BF", "%", "é"])
def test_anything_can_be_searched_for(shared: ServedSite, text: str) -> None:
    assert (
        shared.http.get(f"/a/{shared.links.archive_token('perf-team')}?q={text}").status_code == 200
    )


def test_the_archive_of_a_subscription_that_is_no_more_is_gone(served: ServedSite) -> None:
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("UPDATE subscriptions SET name = 'other'")
    assert search(served, "").status_code == 404


def test_a_page_offers_no_archive_that_would_not_answer(served: ServedSite) -> None:
    with served.site.store.begin() as conn:
        conn.execute(delete(schema.tokens).where(schema.tokens.c.purpose == "archive"))
    assert "../a/" not in open_first(served).text


def test_everybody_may_find_public_archives_and_nothing_else(served: ServedSite) -> None:
    path = f"/a/{served.links.archive_token('perf-team')}"
    hidden = served.http.get(path)
    assert (hidden.headers["X-Robots-Tag"], '<meta name="robots"' in hidden.text) == (
        "noindex",
        True,
    )
    assert path not in served.http.get("/robots.txt").text
    served.world.write_config(extra='title = "Fast <i>"\narchive = "public"\n')
    with closing(served.world.open()) as site, serve_site(site) as url:
        with site.store.read() as conn:
            assert list_public_archives(conn, site) == (("Fast <i>", ORIGIN + path),)
        shown = served.http.get(url + path)
        found = served.http.get(f"{url}{path}?q=queues")
        robots = served.http.get(f"{url}/robots.txt")
        digest = served.http.get(url + open_first(served).url.path)
        assert (
            f'<a href="{ORIGIN}{path}" dir="auto">Fast &lt;i&gt;</a>' in served.http.get(url).text
        )
    assert (shown.headers["X-Robots-Tag"], '<meta name="robots"' in shown.text) == ("all", False)
    assert [page.headers["X-Robots-Tag"] for page in (found, digest)] == ["noindex"] * 2
    assert robots.text == f"User-agent: *\nDisallow: /\nAllow: /$\nAllow: {path}\n"


def test_no_page_feed_or_post_that_several_see_has_a_personal_link(grown: ServedSite) -> None:
    links = grown.links
    slots = read_slots(grown)
    paths = [f"/d/{links.web_token('perf-team', slot)}" for slot in slots]
    paths += [
        f"/a/{links.archive_token('perf-team')}{query}"
        for query in ("", "?q=cs", "?q=(", "?before=1")
    ]
    paths += [grown.feed_path(suffix) for suffix in ("atom", "json")]
    for route in find_routes(create_app(grown.site)):
        if not route.path.startswith(("/u/", "/p/", "/c/", "/k/", "/refs/")):
            paths += [route.path.split("{")[0] + end for end in ("", "x")]
    seen = [
        grown.http.get(path, headers=headers).text for path in paths for headers in ({}, BROWSER)
    ]
    posts = [repr(message) for message in grown.world.slack.messages]
    assert len(seen) > 30
    assert posts
    assert [found for text in (*seen, *posts) for found in PERSONAL.findall(text)] == []
    assert any(PERSONAL.search(str(mail.raw)) for mail in grown.world.mail.mails), (
        "it would be found"
    )


def read_slots(served: ServedSite) -> list[str]:
    with served.site.store.read() as conn:
        return list(conn.execute(select(schema.digests.c.slot)).scalars())


def test_a_browser_finds_a_page_at_the_address_of_a_feed(shared: ServedSite) -> None:
    feed = shared.http.get(shared.feed_path())
    page = shared.http.get(shared.feed_path(), headers=BROWSER)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert feed.headers["Vary"] == page.headers["Vary"] == "Accept, Accept-Encoding"
    assert feed.headers["ETag"] != page.headers["ETag"]
    assert all(paper.title.replace("&", "&amp;") in page.text for paper in PAPERS)
    found = re.findall(r'<link rel="alternate" type="application/(.*?)" .*href="(.*?)">', page.text)
    addresses = [f"{ORIGIN}{shared.feed_path(suffix)}?as=feed" for suffix in ("atom", "json")]
    assert found == list(zip(("atom+xml", "feed+json"), addresses, strict=True))
    for kind, address in found:
        led = shared.http.get(address.removeprefix(ORIGIN), headers=BROWSER)
        assert led.headers["Content-Type"] == f"application/{kind}; charset=utf-8"
    assert shared.http.get(f"{shared.feed_path()}?as=feed", headers=BROWSER).content == feed.content
    assert shared.http.get(shared.feed_path("json"), headers=BROWSER).content == page.content
    again = shared.http.get(
        shared.feed_path(), headers=BROWSER | {"If-None-Match": page.headers["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    other = shared.http.get(
        shared.feed_path(), headers=BROWSER | {"If-None-Match": feed.headers["ETag"]}
    )
    assert other.status_code == 200
    assert shared.http.get(shared.feed_path("html"), headers=BROWSER).status_code == 404


def test_a_program_that_asks_for_html_as_java_does_gets_the_feed(shared: ServedSite) -> None:
    java = {"Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}
    answer = shared.http.get(shared.feed_path(), headers=java)
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert answer.content == shared.http.get(shared.feed_path()).content


def test_the_icon_is_small_and_kept(shared: ServedSite) -> None:
    answers = [shared.http.get(path) for path in ("/favicon.svg", "/favicon.ico")]
    assert answers[0].content == answers[1].content
    assert len(answers[0].content) <= 600
    assert answers[0].headers["Content-Type"] == "image/svg+xml"
    assert answers[0].headers["Cache-Control"] == "private, max-age=900"
    by_tag = {"If-None-Match": answers[0].headers["ETag"]}
    assert shared.http.get("/favicon.ico", headers=by_tag).status_code == 304
    assert 'href="../favicon.svg"' in open_first(shared).text
    assert f'href="{ORIGIN}/favicon.svg"' in shared.http.get("/nothing").text
    assert 'href="./favicon.svg"' in shared.http.get("/").text, "it may be served below a path"


@pytest.mark.parametrize("path", ["/stored", "/link", "/nothing"])
def test_the_first_page_is_linked_so_that_its_own_links_stay_below_a_path(
    shared: ServedSite, path: str
) -> None:
    assert f'<a href="{ORIGIN}/">' in shared.http.get(path).text
