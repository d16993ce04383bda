"""Pictures of every page that people meet.

They are made by `python -m tests.browser.pictures --to FOLDER`, or `--readme`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playwright.sync_api import Page, sync_playwright

from digest.model.clock import ManualClock
from digest.model.people import RequestKind, SignupRequest
from digest.people.signups import save_signup
from tests.battery.browser import find_chromium, shrink
from tests.browser.conftest import FLAGS
from tests.browser.looking import DESK, PHONE
from tests.browser.world import NOW, World, live_in, live_through_a_month

ADDRESS = "ada@example.org"
QUERY = "abs:measure OR abs:wait"

_GITHUB = Path(__file__).parents[2] / ".github"
README = {"start.png": 860, "preferences.png": 860}
"""The README's pictures, and how much of each page they show.

That is in CSS pixels of a window 720 wide.
"""


def list_pages(world: World, page: Page) -> Iterator[tuple[str, str]]:
    """Yield each page's name and address, while somebody subscribes, changes and looks back."""
    start = f"{world.url}/?q=transmons+OR+qubits"
    page.goto(start)
    page.wait_for_timeout(3_000)  # the papers of 30 days are read meanwhile
    yield "start", start
    yield "empty", world.url
    yield "wrong", f"{world.url}/?q=abs:(GPU+OR"
    yield "broad", f"{world.url}/?q=cat:cs.DC"
    yield "nothing", f"{world.url}/?q=ti:%22tail+queues+never%22"
    yield "stored", f"{world.url}/stored"
    yield "link", f"{world.url}/link"
    wish = SignupRequest(
        cadence="weekdays at 09:00 Europe/Berlin", has_feed=True, joins=("perf-team",)
    )
    wish = wish.add_query("transmons OR qubits").add_query("cat:quant-ph ANDNOT abs:photon")
    with world.site.store.begin() as conn:
        save_signup(conn, RequestKind.SUBSCRIBE, ADDRESS, wish, at=world.clock.now())
    confirm = world.find_link(world.next_mail(ADDRESS), "/c/")
    yield "confirm", confirm
    page.goto(confirm)
    page.get_by_role("button", name="Yes").click()
    digest = world.next_mail(ADDRESS)
    preferences = world.find_link(digest, "/p/")
    yield "preferences", preferences
    page.goto(preferences)
    yield (
        "likes",
        str(page.get_by_role("link", name="Open your last digest").evaluate("one => one.href")),
    )
    yield "query", str(page.get_by_role("link", name="Edit").first.evaluate("one => one.href"))
    yield "leave", world.find_link(digest, "/u/")
    shown = world.find_link(digest, "/d/")
    yield "digest", shown
    page.goto(shown)
    yield "archive", str(page.locator("a[href*='/a/']").first.evaluate("one => one.href"))
    with world.site.store.begin() as conn:
        save_signup(conn, RequestKind.FRESH, ADDRESS, SignupRequest(), at=world.clock.now())
    yield "fresh", world.find_link(world.next_mail(ADDRESS), "/k/")


@contextmanager
def open_world() -> Iterator[World]:
    """Open a world that has met a month."""
    with tempfile.TemporaryDirectory(prefix="digest-pictures-") as folder:
        live_through_a_month(Path(folder))
        with live_in(Path(folder), ManualClock(NOW)) as world:
            yield world


@click.command()
@click.option(
    "--to", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path("pictures")
)
@click.option("--readme", is_flag=True, help="Paint the pictures of the README into .github.")
def main(*, folder: Path, readme: bool) -> None:
    """Paint every page."""
    folder = _GITHUB if readme else folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, open_world() as world:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        walker = browser.new_page(timezone_id="Europe/Berlin")
        for name, url in list_pages(world, walker):
            file = f"{name}.png"
            if readme and file in README:
                page = browser.new_page(
                    viewport={"width": 720, "height": README[file]}, device_scale_factor=1.5
                )
                page.goto(url)
                page.evaluate("document.documentElement.style.border = '1px solid #8c959f80'")
                (folder / file).write_bytes(shrink(page.screenshot()))
            elif not readme:
                for view, window, scheme in (("desk", DESK, "light"), ("phone", PHONE, "dark")):
                    page = browser.new_page(
                        viewport=window,
                        color_scheme=scheme,  # type: ignore[arg-type]  # a literal
                    )
                    page.goto(url)
                    page.screenshot(path=folder / f"{name}-{view}.png", full_page=True)
            click.echo(f"{name}: {url}")
        browser.close()


if __name__ == "__main__":
    main()
