from __future__ import annotations

import pytest

from tests.browser.looking import Windows, check_page
from tests.browser.world import TEAM, World


def latest_digest(world: World) -> str:
    """Return the path of the page of the last digest."""
    return f"/d/{world.links().web_token(TEAM, '2026-11-18')}"


def test_the_first_page_is_good_in_every_view(world: World, windows: Windows) -> None:
    page = windows.open()
    page.goto(world.url)
    check_page(page)


def test_a_digest_and_the_archive_are_good_in_every_view(world: World, windows: Windows) -> None:
    page = windows.open()
    page.goto(world.url + latest_digest(world))
    check_page(page)
    page.get_by_role("link", name="All digests").first.click()
    check_page(page)
    for text in ("tail OR queues", "cat:cs.*", "queues AND (ti:x"):
        page.get_by_label("Search their papers").fill(text)
        page.get_by_role("button", name="Search").click()
        check_page(page)


def test_the_page_about_a_feed_is_good_in_every_view(world: World, windows: Windows) -> None:
    page = windows.open()
    page.goto(f"{world.url}/f/{world.links().feed_token(TEAM, 0)}.atom")
    assert "copy this address" in page.inner_text("main")
    check_page(page)


def test_the_pages_of_unsubscribing_are_good_in_every_view(world: World, windows: Windows) -> None:
    page = windows.open()
    page.goto(world.find_link(world.next_mail("reader@example.org"), "/u/"))
    check_page(page)
    page.get_by_role("button", name="Unsubscribe").click()
    check_page(page)


@pytest.mark.parametrize("path", ["/nothing", "/d/x", "/u/x", "/f/x.atom"])
def test_pages_of_errors_are_good_in_every_view(world: World, windows: Windows, path: str) -> None:
    page = windows.open()
    page.goto(world.url + path)
    check_page(page)
