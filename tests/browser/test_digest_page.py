"""The page of a long digest: it unfolds, filters by words, and can be walked through by keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from digest.model.messages import Links
from digest.model.papers import Author, Field
from digest.model.subscriptions import Grouping
from digest.plan.order import arrange
from digest.render import Renderer
from digest.render.samples import make_digest, make_entry
from digest.web.guards import write_headers
from tests.browser.looking import PHONE, Windows, check_page

RENDERER = Renderer()
Open = Callable[..., Page]


def write_page(links: Links) -> str:
    """Return a page of 30 papers: two to be read first, then 14 of math.CO and 14 of hep-th."""
    followed, others = (Author("José Gómez"),), (Author("Ann Lee"),)
    papers = [
        make_entry(
            40 - number,
            title=f"Title {number}",
            abstract=f"Its abstract is of {('queues', 'strings')[number % 2]}, and has the number n{number}.",
            categories=(("math.CO", "hep-th")[number % 2],),
            authors=followed if number in (1, 2) else others,
            found=((Field.AUTHORS, "José Gómez"),),
        )
        for number in range(1, 31)
    ]
    entries, groups = arrange(papers, Grouping.KIND, ("perf",))
    return RENDERER.render_page(replace(make_digest(entries), groups=groups), links)


@pytest.fixture
def page_of(windows: Windows) -> Open:
    """Opens the page as it is served, with its script and the headers of every answer."""

    def answer(route: Route) -> None:
        if route.request.url.endswith("/digest.js"):
            script = RENDERER.templates.read_source("web/digest.js")
            route.fulfill(body=script, content_type="text/javascript")
        elif "/d/" in route.request.url:
            body, headers = (
                write_page(Links(archive="../a/x", refs="/refs")),
                write_headers(RENDERER.web_style_hash()),
            )
            route.fulfill(body=body, content_type="text/html", headers=headers)
        else:
            route.fulfill(body="", content_type="image/svg+xml")

    def open_page(fragment: str = "", **options: object) -> Page:
        page = windows.open(**options)
        page.route("**/*", answer)
        page.goto(f"http://127.0.0.1/d/x{fragment}")
        return page

    return open_page


def test_a_paper_unfolds_and_folds_again(page_of: Open) -> None:
    page = page_of(viewport=PHONE)
    for title, number in (("Title 3", "n3"), ("Title 1", "n1")):
        paper = page.locator(".paper", has=page.get_by_role("heading", name=title, exact=True))
        abstract = paper.locator(".abstract", has_text=f"the number {number}.")
        expect(abstract).to_be_hidden()
        paper.locator("summary").click()
        expect(abstract).to_be_visible()
        expect(paper.get_by_role("link", name="BibTeX")).to_be_visible()
        paper.locator("summary").press("Enter")
        expect(abstract).to_be_hidden()
    page.locator("summary").first.click()
    page.locator("summary").last.click()
    check_page(page)


def test_typing_leaves_the_papers_that_have_all_the_words(page_of: Open) -> None:
    page = page_of()
    shown, headings, count = page.locator(".paper:visible"), page.locator("h2:visible"), page.get_by_role("status")
    page.keyboard.press("/")
    for words, left, under, said in (
        ("STRINGS title", 15, ["Read first · 1 of 2", "hep-th · 14"], "15 of 30"),
        ("gomez", 2, ["Read first · 2"], "2 of 30"),
        ("lee n30", 1, ["math.CO · 1 of 14"], "1 of 30"),
        ("bibtex", 0, [], "0 of 30. No paper has all these words."),
        ("math.co", 15, ["Read first · 1 of 2", "math.CO · 14"], "15 of 30"),
    ):
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(words)
        expect(count).to_have_text(said)
        expect(shown).to_have_count(left)
        expect(headings).to_have_text(under)
    check_page(page)
    page.keyboard.press("Escape")
    expect(shown).to_have_count(30)
    expect(count).to_have_text("")


def test_keys_lead_from_paper_to_paper_and_unfold(page_of: Open) -> None:
    page = page_of()
    here = page.locator(".paper:focus-within")
    for keys, number in (("j", 1), ("jj", 3), ("k", 2), ("jjjjjjjjj", 11)):
        for key in keys:
            page.keyboard.press(key)
        expect(here).to_have_id(f"paper-{number}")
        expect(here.locator("h3")).to_be_in_viewport(ratio=1)
    for key, is_open in (("Control+j", False), ("Shift+J", False), ("o", True), ("Enter", False), ("o", True)):
        page.keyboard.press(key)
        expect(here).to_have_id("paper-11")
        expect(here.locator(".abstract")).to_be_visible(visible=is_open)
    page.keyboard.press("/")
    page.keyboard.type("joke")
    expect(page.get_by_role("search").get_by_role("textbox")).to_have_value("joke")
    page.keyboard.press("Escape")
    page.keyboard.type("n30")
    page.keyboard.press("Enter")
    expect(here.locator("h3")).to_have_text("Title 30")


@pytest.mark.parametrize("has_script", [True, False])
def test_a_link_shows_its_paper_unfolded(page_of: Open, has_script: bool) -> None:  # noqa: FBT001 - a parameter
    page = page_of("#paper-20", java_script_enabled=has_script)
    expect(page.locator("#paper-20 .abstract")).to_be_visible()
    expect(page.locator(".abstract:visible")).to_have_count(1)
    page.goto("http://127.0.0.1/d/x#paper-2")
    expect(page.locator("#paper-2 .abstract")).to_be_visible()
    expect(page.locator("#paper-2")).to_be_in_viewport()


@pytest.mark.parametrize("is_file", [True, False])
def test_without_a_script_every_paper_unfolds_and_no_filter_is_shown(
    page_of: Open,
    windows: Windows,
    tmp_path: Path,
    is_file: bool,  # noqa: FBT001 - a parameter
) -> None:
    if is_file:
        (tmp_path / "page.html").write_text(write_page(Links()), encoding="utf-8")
        page = windows.open()
        page.goto((tmp_path / "page.html").as_uri())
    else:
        page = page_of(java_script_enabled=False)
    expect(page.get_by_role("search")).to_be_hidden()
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator(".abstract:visible")).to_have_count(30)
