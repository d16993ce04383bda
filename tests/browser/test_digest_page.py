"""The page of a long digest: it unfolds, filters by words, and can be walked through by keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from digest.model.messages import Form, Group, Links
from digest.render.renderer import Renderer
from digest.render.samples import make_digest, make_entry
from tests.browser.looking import Windows, check_page

RENDERER = Renderer()
GROUPS = (Group("Read first", 2, Form.SENTENCE, reasons=((), ())), Group("hep-th", 28, Form.TITLE))


@pytest.fixture
def address(tmp_path: Path) -> str:
    """Where there is a page of 30 papers, beside its script as it is served."""
    entries = [
        make_entry(number, title=f"Title {number}", abstract=f"Of n{number}é.")
        for number in range(1, 31)
    ]
    page = RENDERER.render_page(
        replace(make_digest(entries), groups=GROUPS), Links(archive="x", refs="y")
    )
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "page.html").write_text(page, encoding="utf-8")
    for name in ("digest.js", "favicon.svg"):
        (tmp_path / name).write_text(
            RENDERER.templates.read_source(f"web/{name}"), encoding="utf-8"
        )
    return (tmp_path / "d" / "page.html").as_uri()


@pytest.mark.parametrize("has_script", [True, False])
def test_papers_unfold_and_links_unfold_theirs(
    windows: Windows, address: str, *, has_script: bool
) -> None:
    page = windows.open(java_script_enabled=has_script)
    for number in (1, 20):
        page.goto(f"{address}#paper-{number}")
        expect(page.locator(f"#paper-{number} .abstract")).to_be_visible()
    expect(page.locator("#paper-2 .abstract")).to_be_hidden()
    page.goto(address)
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator(".abstract:visible")).to_have_count(30)
    expect(page.get_by_role("search")).to_be_visible(visible=has_script)
    if has_script:
        check_page(page)


def test_typing_leaves_the_papers_that_have_all_the_words(windows: Windows, address: str) -> None:
    page = windows.open()
    page.goto(address)
    for words, under, said in (
        ("aydin N2", ["Read first · 1 of 2", "hep-th · 10 of 28"], "11 of 30"),
        ("cs.pf n30e", ["hep-th · 1 of 28"], "1 of 30"),
        ("bibtex", [], "0 of 30. No paper has all these words."),
        ("", ["Read first · 2", "hep-th · 28"], ""),
    ):
        for key in ("/", *words):
            page.keyboard.press(key)
        expect(page.get_by_role("status")).to_have_text(said)
        expect(page.locator("h2:visible")).to_have_text(under)
        expect(page.locator(".paper:visible")).to_have_count(int(said.partition(" ")[0] or 30))
        check_page(page)
        page.keyboard.press("Escape")
        page.locator("body").click(position={"x": 1, "y": 1})


def test_keys_lead_from_paper_to_paper_and_unfold_them(windows: Windows, address: str) -> None:
    page = windows.open()
    page.goto(address)
    here = page.locator(".paper:focus-within")
    keys = (*"jjjjjjjjjjj", "k", "Control+j", "Shift+J", "o", "Enter")
    for key, number in zip(keys, (*range(1, 12), 10, 10, 10, 10, 10), strict=True):
        page.keyboard.press(key)
        expect(here).to_have_id(f"paper-{number}")
        expect(here.locator("h3")).to_be_in_viewport(ratio=1)
        expect(here.locator(".abstract")).to_be_visible(visible=key == "o")
