"""A folder that is a site, in a browser: from a disk and from below a path of any web server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from digest.config import load_config
from digest.deliver.feeds import FeedReport
from digest.deliver.pages import publish_sites
from digest.model.clock import ManualClock
from digest.serve.installation import open_site
from tests.browser.looking import PHONE, Windows, check_page
from tests.browser.world import NOW
from tests.fakes.config_file import write_config
from tests.kept_digests import keep_digests

PAPERS = 10


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and writes no log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a site of two subscriptions, six digests each."""
    folder = tmp_path_factory.mktemp("work")
    each = [{"name": name, "follow": name, "to": "file:out/site/"} for name in ("perf", "gpu")]
    queries = {"perf": "cat:cs.PF", "gpu": "abs:GPU"}
    (folder / "digest.toml").write_text(
        write_config("http://127.0.0.1:9", queries, each), encoding="utf-8"
    )
    site = open_site(
        load_config(folder / "digest.toml", {}), ManualClock(NOW), owner="x", jitter=lambda: 0.5
    )
    keep_digests(site, 6, PAPERS)
    assert publish_sites(site, FeedReport()).failures == []
    site.close()
    return folder / "out"


@pytest.fixture(params=["file", "http"])
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Where the site begins."""
    if request.param == "file":
        yield (folder / "site").as_uri()
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/site"
        server.shutdown()


def test_a_reader_finds_a_paper_by_its_title_and_walks_from_digest_to_digest(
    windows: Windows, address: str
) -> None:
    page = windows.open()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/index.html")
    check_page(page)
    expect(page.get_by_role("heading", level=3)).to_have_count(12)
    title = page.locator("#digests li a").nth(4).inner_text()
    page.keyboard.press("/")
    page.keyboard.type(title.upper())
    expect(page.locator("#found a").first).to_have_text(title)
    expect(page.get_by_role("status")).to_contain_text("paper")
    expect(page.locator("#digests")).to_be_hidden()
    check_page(page)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url("**/*.html#paper-*")
    place = page.url.partition("#")[2]
    expect(page.locator(f"#{place} h3")).to_have_text(title)
    expect(page.locator(f"#{place} .abstract")).to_be_visible()
    check_page(page)
    page.get_by_role("link", name="Earlier").first.click()
    expect(page.locator(".paper")).to_have_count(PAPERS)
    page.get_by_role("link", name="Later").first.click()
    page.get_by_role("link", name="All digests").first.click()
    page.wait_for_url("**/index.html")
    page.get_by_role("textbox").fill("zzz")
    expect(page.get_by_role("status")).to_have_text("No title has all these words.")
    page.get_by_role("button", name="Show all digests").click()
    expect(page.locator("#digests")).to_be_visible()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


def test_without_its_script_on_a_phone_all_digests_are_there(
    windows: Windows, address: str
) -> None:
    page = windows.open(java_script_enabled=False, viewport=PHONE)
    page.goto(f"{address}/index.html")
    expect(page.get_by_role("search")).to_be_hidden()
    page.get_by_role("heading", level=3).first.get_by_role("link").click()
    expect(page.locator(".paper")).to_have_count(PAPERS)
    page.get_by_role("link", name="All digests").first.click()
    page.get_by_role("link", name="Feed", exact=True).first.click(trial=True)
