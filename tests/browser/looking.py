"""What every page must be, whoever looks at it.

Axe's rules in four views, small, and without a complaint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, Self

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}


@dataclass(frozen=True)
class View:
    """How a page is looked at."""

    window: ViewportSize
    scheme: Literal["light", "dark"]

    def __str__(self) -> str:
        return f"{self.window['width']} px, {self.scheme}"


PATIENCE = 10_000
"""Milliseconds a page has to show what it should."""

VIEWS = tuple(View(window, scheme) for window in (DESK, PHONE) for scheme in ("light", "dark"))

MOST_BYTES = 60_000
"""Of a page with its styles, its script and its pictures, as they are before compression."""

LEAST_TARGET = 44
"""How high a control is on a phone, in CSS pixels."""

_AXE_RUN = (
    """() => axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}})"""
)

_BYTES = """() => performance.getEntries()
    .filter(one => one.entryType == "navigation"\
 || one.entryType == "resource" && one.initiatorType != "fetch")
    .reduce((sum, one) => sum + one.decodedBodySize, 0)"""

_LOW = """least => [...document.querySelectorAll("button, select, textarea, input")]
    .filter(one => !["hidden", "checkbox", "radio"].includes(one.type)\
 && one.getClientRects().length)
    .filter(one => one.getBoundingClientRect().height < least - .5)
    .map(one => `${one.outerHTML} is ${one.getBoundingClientRect().height} px high`)"""

_WIDE = """() => document.documentElement.scrollWidth - innerWidth"""


def find_faults(page: Page) -> Iterator[str]:
    """Yield what is wrong with a page as it stands, in each view, and where.

    The browser shows it as before afterwards.
    """
    size = page.evaluate(_BYTES)
    if size > MOST_BYTES:
        yield f"it has {size:,} bytes"
    before = page.viewport_size
    page.evaluate(AXE)
    for view in VIEWS:
        page.set_viewport_size(view.window)
        page.emulate_media(color_scheme=view.scheme)
        for violation in page.evaluate(_AXE_RUN)["violations"]:
            if violation["impact"] != "minor":
                yield f"{view}: {describe(violation)}"
        if (over := page.evaluate(_WIDE)) > 0:
            yield f"{view}: it is {over} px too wide"
        if view.window is PHONE:
            yield from (f"{view}: {fault}" for fault in page.evaluate(_LOW, LEAST_TARGET))
    page.emulate_media(color_scheme=None)
    if before is not None:
        page.set_viewport_size(before)


def describe(violation: dict[str, Any]) -> str:
    """Say what axe found, and where."""
    places = [
        f"    {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for node in violation["nodes"]
    ]
    return "\n".join((f"{violation['impact']}, {violation['id']}: {violation['help']}", *places))


def check_page(page: Page) -> None:
    """Assert that a page is good in all views.

    What its console says is checked when the test ends.
    """
    faults = list(find_faults(page))
    assert not faults, "\n".join((f"{page.title()} ({page.url})", *faults))


class Windows:
    """Opens windows, each for one more person.

    What their consoles say is kept as `complaints`.
    """

    def __init__(self, browser: Browser) -> None:
        self.complaints: list[str] = []
        self._browser = browser
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, **options: object) -> Page:
        """Open a window as wide as a desk; the options are those of Playwright's `new_context`."""
        chosen = {"viewport": DESK, "locale": "en-GB", "timezone_id": "Europe/Berlin", **options}
        context = self._browser.new_context(**chosen)  # type: ignore[arg-type]  # Playwright's own
        self._stack.callback(context.close)
        context.set_default_timeout(PATIENCE)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("console", self._note)
        return context.new_page()

    def _note(self, said: ConsoleMessage) -> None:
        # Chromium remarks on every page with the status of an error.
        is_of_page = said.page is not None and said.location["url"] == said.page.url
        if is_of_page and "the server responded with a status of" in said.text:
            return
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)
