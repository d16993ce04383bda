"""That what looks at pages sees what is wrong with them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.hands import Keyboard
from tests.browser.looking import PHONE, Windows, find_faults

_PAGE = """<!doctype html><html lang="en">
<head><meta name="viewport" content="width=device-width"><title>One</title>
<style>button, input, select {{ min-height: 44px }} {style}</style></head>
<body><main><h1>One page</h1>{body}</main></body></html>"""


def show(page: Page, body: str, style: str = "", **headers: str) -> None:
    html = _PAGE.format(body=body, style=style)
    page.route(
        "**/*", lambda route: route.fulfill(body=html, content_type="text/html", headers=headers)
    )
    page.goto("http://127.0.0.1/")


@pytest.mark.parametrize(
    ("body", "style", "views", "said"),
    [
        ("<input>", "", 4, "label"),
        (
            "<p>Pale</p>",
            "@media (prefers-color-scheme: dark) { p { color: #eee } }",
            2,
            "color-contrast",
        ),
        ("<h3>Deep</h3>", "", 4, "heading-order"),
        (
            "<button>Low</button>",
            "@media (max-width: 400px) { button { min-height: 20px } }",
            2,
            "px high",
        ),
        ("<p>Wide</p>", "p { width: 600px }", 2, "px too wide"),
        (f"<!-- {'x' * 60_000} -->", "", 1, "bytes"),
        ('<label>Name <input></label><button>Send</button><a href="/">Home</a>', "", 0, ""),
    ],
)
def test_a_fault_is_found_in_the_views_that_have_it(
    windows: Windows, body: str, style: str, views: int, said: str
) -> None:
    page = windows.open()
    show(page, body, style)
    faults = list(find_faults(page))
    assert len(faults) == views, faults
    assert all(said in fault for fault in faults)


@pytest.mark.parametrize(
    "body", ["<script>throw 1</script>", '<p style="color: red">Red</p>', '<img alt="" src="x">']
)
def test_what_a_page_must_not_do_is_noted(windows: Windows, body: str) -> None:
    policy = "default-src 'none'; style-src 'none'; img-src 'none'; script-src 'unsafe-inline'"
    show(windows.open(), body, **{"Content-Security-Policy": policy})
    assert windows.complaints
    windows.complaints.clear()


_TWO = '<p><a href="#a">A</a></p><button>Send</button>'


@pytest.mark.parametrize(
    ("body", "style", "said"),
    [
        (_TWO, "a:focus { outline: none }", "nothing shows"),
        (_TWO, "a { position: absolute; left: -999px; top: -999px }", "out of sight"),
        (_TWO, "main { display: flex; flex-direction: column-reverse }", "comes after"),
        ('<button tabindex="-1">Send</button>', "", "does not reach"),
    ],
)
def test_the_keyboard_notices_a_stop_that_is_not_marked_or_seen_or_in_order(
    windows: Windows, body: str, style: str, said: str
) -> None:
    page = windows.open(viewport=PHONE)
    show(page, body, style)
    with pytest.raises(AssertionError, match=said):
        Keyboard(page).press(page.get_by_role("button"))
