from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import EmailMessage

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Hands, Keyboard, Mouse
from tests.browser.looking import PHONE, Windows, check_page
from tests.browser.world import World
from tests.harness.installation import read_text

pytestmark = pytest.mark.timeout(300)

ADDRESS = "ada@example.org"
FIRST = "tail latency"
SECOND = "queues"
FIRST_FOUND = "Tail latency as of"
SECOND_FOUND = "Queues that never drain"


def words(text: str) -> re.Pattern[str]:
    """Return a pattern for a name on a page, whatever stands around it."""
    return re.compile(text, re.IGNORECASE)


# What the pages call things.
BOX = words("what do you follow|query")
TRY = words("^try it|^show")
BARS = words("30 days")
RATE = words(r"about .+ paper.* a (day|week)")
MAIL_FIELD = words("address")
DAYS = words("^days|^when")
HOUR = words("^hour|^time")
ZONE = words("zone")
SUBSCRIBE = words("^subscribe")
CONFIRM = words("^yes, subscribe me")
CHECK_YOUR_MAIL = words("check your mail")
CONFIRMED = words("you are subscribed|subscribed")
EDIT = words("^edit")
SAVE = words("^save")
CHOOSE, LESS, TAKE_BACK, BACK = map(
    words, ("^open your last", "^less like", "^undo: less", "your subscriptions")
)
DIFFERENCE = words("gained.+lost|lost.+gained")
PAUSE = words("^pause")
PAUSED = words("paused")
UNSUBSCRIBE = words("^unsubscribe")
UNDO = words("^undo|subscribe again")
UNSUBSCRIBED = words("you are unsubscribed")
UNDONE = words("subscribed again|you are subscribed")


@dataclass
class Story:
    """What one person does, from the first page to the last mail."""

    world: World
    page: Page
    hands: Hands
    has_script: bool = True
    looks_closely: bool = False

    def live(self) -> None:
        self.try_query()
        self.subscribe()
        self.confirm()
        digest = self.await_digest(FIRST_FOUND, SECOND_FOUND)
        self.say_less(digest)
        self.edit_query(digest)
        digest = self.await_digest(SECOND_FOUND, FIRST_FOUND)
        self.pause(digest)
        self.expect_silence(days=4)
        self.unsubscribe(digest)
        self.press("button", UNDO)
        self.see(UNDONE)
        self.unsubscribe(digest)
        self.expect_silence(days=7)

    def try_query(self) -> None:
        """Write a query into the box, and see what it would have brought."""
        self.page.goto(self.world.url)
        self.look()
        self.write(BOX, FIRST)
        if not self.has_script:
            self.press("button", TRY)
        expect(self.page.get_by_text(RATE).first).to_be_visible()
        expect(self.page.get_by_role("img", name=BARS)).to_be_visible()
        expect(self.page.get_by_text(FIRST_FOUND).first).to_be_visible()
        self.look()

    def subscribe(self) -> None:
        self.write(MAIL_FIELD, ADDRESS)
        self.choose(DAYS, "Every day")
        self.choose(HOUR, "09:00")
        if self.has_script:
            expect(self.page.get_by_label(ZONE)).to_have_value("Europe/Berlin")
        else:
            self.write(ZONE, "Europe/Berlin")
        self.press("button", SUBSCRIBE)
        self.expect_heading(CHECK_YOUR_MAIL)

    def confirm(self) -> None:
        """Follow the link of the mail, and press its button: until then nothing is promised."""
        letter = self.world.next_mail(ADDRESS, within=0)
        assert FIRST not in letter.as_string()
        self.page.goto(self.world.find_link(letter, "/c/"))
        self.look()
        self.press("button", CONFIRM)
        self.expect_heading(CONFIRMED)

    def await_digest(self, found: str, unasked: str) -> EmailMessage:
        """Return the next digest, which has what was asked for and nothing else."""
        digest = self.world.next_mail(ADDRESS)
        text = read_text(digest).replace("*", "")  # which mark the words that were asked for
        assert found in text
        assert unasked not in text
        return digest

    def say_less(self, digest: EmailMessage) -> None:
        """Say by the link of a digest that less like one of its papers should come, and undo it."""
        self.page.goto(self.world.find_link(digest, "/p/"))
        self.press("link", CHOOSE)
        self.look()
        self.press("button", LESS)
        expect(self.page.get_by_role("button", name=TAKE_BACK)).to_be_visible()
        self.look()
        self.press("link", BACK)
        self.look()
        self.press("button", TAKE_BACK)
        expect(self.page.get_by_role("link", name=CHOOSE)).to_be_visible()
        expect(self.page.get_by_role("button", name=TAKE_BACK)).to_have_count(0)

    def edit_query(self, digest: EmailMessage) -> None:
        """Change the saved query by the link of a digest.

        The difference is seen before it is saved.
        """
        self.page.goto(self.world.find_link(digest, "/p/"))
        self.look()
        self.press("link", EDIT)
        self.write(BOX, SECOND)
        if not self.has_script:
            self.press("button", TRY)
        expect(self.page.get_by_text(DIFFERENCE).first).to_be_visible()
        self.look()
        self.press("button", SAVE)
        expect(self.page.get_by_text(SECOND, exact=True).first).to_be_visible()

    def pause(self, digest: EmailMessage) -> None:
        self.page.goto(self.world.find_link(digest, "/p/"))
        self.press("button", PAUSE)
        expect(self.page.get_by_text(PAUSED).first).to_be_visible()
        self.look()

    def unsubscribe(self, digest: EmailMessage) -> None:
        self.page.goto(self.world.find_link(digest, "/u/"))
        self.look()
        self.press("button", UNSUBSCRIBE)
        self.expect_heading(UNSUBSCRIBED)

    def expect_silence(self, days: int) -> None:
        """Let announcements pass that had something to say."""
        before = len(self.world.list_mails(ADDRESS))
        self.world.live(days)
        assert len(self.world.list_mails(ADDRESS)) == before

    def press(self, role: str, name: re.Pattern[str]) -> None:
        found = self.page.get_by_role(role, name=name)  # type: ignore[arg-type]  # a literal
        self.hands.press(found.first)

    def write(self, label: re.Pattern[str], text: str) -> None:
        self.hands.write(self.page.get_by_label(label).first, text)

    def choose(self, label: re.Pattern[str], entry: str) -> None:
        self.hands.choose(self.page.get_by_label(label).first, entry)

    def see(self, text: re.Pattern[str]) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()
        self.look()

    def expect_heading(self, text: re.Pattern[str]) -> None:
        expect(self.page.get_by_role("heading", level=1, name=text)).to_be_visible()
        self.look()

    def look(self) -> None:
        """Hold the page against axe and the rest, where this story is the one that does."""
        if self.looks_closely:
            check_page(self.page)


def test_somebody_subscribes_changes_and_leaves_with_only_the_pages(
    world: World, windows: Windows
) -> None:
    Story(world, windows.open(), Mouse(), looks_closely=True).live()


def test_the_same_is_done_without_javascript(world: World, windows: Windows) -> None:
    Story(world, windows.open(java_script_enabled=False), Mouse(), has_script=False).live()


def test_the_same_is_done_on_a_phone_by_keyboard_alone(world: World, windows: Windows) -> None:
    page = windows.open(viewport=PHONE)
    Story(world, page, Keyboard(page)).live()
