"""How somebody does things on a page: with a mouse, or with the keyboard alone."""

from __future__ import annotations

from typing import Protocol

from playwright.sync_api import Locator, Page, expect

_FOCUSED = """() => {
    const one = document.activeElement, style = getComputedStyle(one),\
 place = one.getBoundingClientRect()
    return {
        loadedAt: performance.timeOrigin,
        place: one === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(one),
        top: place.top + scrollY, bottom: place.bottom + scrollY,
        isMarked: style.outlineStyle != "none" && parseFloat(style.outlineWidth) > 0\
 || style.boxShadow != "none",
        isSeen: place.width > 0 && place.height > 0 && place.bottom > 0 && place.top < innerHeight,
        what: one.outerHTML.slice(0, 200), hasParts: one.type === "date",
    }
}"""


class Hands(Protocol):
    """Does what a page offers."""

    def press(self, target: Locator) -> None:
        """Press a button, follow a link, or tick a box."""
        ...

    def write(self, target: Locator, text: str) -> None:
        """Write into a field, in place of what is there."""
        ...

    def choose(self, target: Locator, label: str) -> None:
        """Choose an entry of a list."""
        ...


class Mouse:
    """Clicks."""

    def press(self, target: Locator) -> None:
        target.click()

    def write(self, target: Locator, text: str) -> None:
        target.fill(text)

    def choose(self, target: Locator, label: str) -> None:
        target.select_option(label=label)


class Keyboard:
    """Tab, Enter, Space and letters.

    At every stop it looks whether it is marked, seen, and in order.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._keys = page.keyboard

    def press(self, target: Locator) -> None:
        self._reach(target)
        self._keys.press("Enter" if target.evaluate("one => one.tagName") == "A" else "Space")

    def write(self, target: Locator, text: str) -> None:
        self._reach(target)
        self._keys.press("ControlOrMeta+a")
        self._keys.type(text)

    def choose(self, target: Locator, label: str) -> None:
        self._reach(target)
        self._keys.type(label)
        expect(target.locator("option:checked")).to_have_text(label)

    def _reach(self, target: Locator) -> None:
        """Press Tab until something has the focus.

        It begins where the focus is, and once more at the top. A page that is loaded meanwhile,
        as after a form was sent, begins the search anew.
        """
        expect(target).to_be_visible()
        before = self._page.evaluate(_FOCUSED)
        turns = 0
        while not target.evaluate("one => one === document.activeElement"):
            self._keys.press("Tab")
            now = self._page.evaluate(_FOCUSED)
            if now["loadedAt"] != before["loadedAt"]:
                turns = 0
                before = now
                continue
            goes_on = now["place"] > before["place"] or (
                now["hasParts"] and now["place"] == before["place"]
            )
            turns += not goes_on
            assert turns <= 1, f"the Tab key does not reach {target}"
            if now["place"] >= 0:
                assert now["isMarked"], f"nothing shows that this has the focus: {now['what']}"
                assert now["isSeen"], f"this has the focus and is out of sight: {now['what']}"
                if now["place"] > before["place"] >= 0:
                    assert now["bottom"] > before["top"], (
                        f"{now['what']} comes after {before['what']}"
                    )
            before = now
