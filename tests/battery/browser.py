"""A real Chromium, and what it makes of a mail.

What it paints, which headings it tells a screen reader, and what it fetches.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, sync_playwright

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_PAGE = "https://mail.example.org/"


def find_chromium() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def shrink(picture: bytes) -> bytes:
    """Return a PNG with at most 256 colours; it takes `pngquant` (apt-get install pngquant)."""
    return subprocess.run(
        ["pngquant", "--speed", "1", "-"],  # noqa: S607 - wherever it is installed
        input=picture,
        capture_output=True,
        check=True,
    ).stdout


@contextmanager
def open_browser(path: str) -> Iterator[Browser]:
    """Run one Chromium, of a path, with a profile of its own, as long as a context lasts."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@dataclass(frozen=True)
class View:
    """How a page is looked at.

    Attributes:
        width: of the window, in CSS pixels.
        is_dark: the reader prefers dark, and the page is told so.
        is_turned: Chromium darkens the page by itself, as mail readers do that obey no style sheet.
    """

    width: int
    is_dark: bool = False
    is_turned: bool = False


@dataclass(frozen=True)
class Sight:
    """What was seen of a page.

    Attributes:
        picture: as PNG.
        width: how wide the page came out, in CSS pixels.
        levels: of the headings that a screen reader is told, in their order.
        fetched: addresses asked for besides the page's own.
    """

    picture: bytes
    width: int
    levels: tuple[int, ...]
    fetched: tuple[str, ...]


def look(
    browser: Browser, html: str, view: View, *, height: int | None = None, scale: float = 1
) -> Sight:
    """Show a page and return what is seen of it: the whole of it, or the first `height` CSS pixels.

    The picture has `scale` pixels for each of them.
    """
    fetched: list[str] = []
    with browser.new_context(
        viewport={"width": view.width, "height": height or 800},
        device_scale_factor=scale,
        color_scheme="dark" if view.is_dark else "light",
    ) as context:
        context.route(
            _PAGE, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8")
        )
        page = context.new_page()
        page.on("request", lambda request: fetched.append(request.url))
        protocol = context.new_cdp_session(page)
        if view.is_turned:
            protocol.send("Emulation.setAutoDarkModeOverride", {"enabled": True})
        page.goto(_PAGE)
        nodes = protocol.send("Accessibility.getFullAXTree")["nodes"]
        told = [
            node["properties"] for node in nodes if node.get("role", {}).get("value") == "heading"
        ]
        levels = [
            int(one["value"]["value"]) for each in told for one in each if one["name"] == "level"
        ]
        return Sight(
            picture=page.screenshot(full_page=height is None),
            width=page.evaluate("document.documentElement.scrollWidth"),
            levels=tuple(levels),
            fetched=tuple(url for url in fetched if url != _PAGE),
        )
