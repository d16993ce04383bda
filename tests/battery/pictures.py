"""Pictures of mails in a real Chromium: `python -m tests.battery.pictures --to FOLDER`.

Every mail is painted as it comes out on a phone and on a desk, in light, in dark, and darkened by a
mail reader that obeys no style sheet: once as Chromium darkens pages by itself, once with all
colours turned round. Nobody but you can say whether it is good: look at each. What can be said by a
machine is checked on the way, and exits with 1: nothing is fetched, nothing is wider than the
phone, and a screen reader is told headings in their order. `--readme` paints the README's phones
instead, in light and in dark, and needs `pngquant` to keep them small. All papers are made up.
"""

from __future__ import annotations

import base64
import email
import email.policy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
from playwright.sync_api import Browser

from digest.model.destinations import Destination
from digest.model.messages import Delivery
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest, quiet_digests
from tests.battery.browser import Sight, View, find_chromium, look, open_browser, shrink
from tests.battery.full_day import receive_mail
from tests.samples import merged_digest, odd_entries, revised_digest, sample_digest

PHONE = 360
DESK = 1_000
TURNED_ROUND = (
    "<style>html { filter: invert(1) hue-rotate(180deg); background: #fff }</style></head>"
)

VIEWS = {
    "phone": View(PHONE),
    "desk": View(DESK),
    "phone-dark": View(PHONE, is_dark=True),
    "desk-dark": View(DESK, is_dark=True),
    "phone-darkened": View(PHONE, is_turned=True),
    "phone-turned": View(PHONE),
}
README = {"day.png": View(390), "day-dark.png": View(390, is_dark=True)}
"""The README's pictures: two phones with the first screen of a full day, and the next."""

_SCREEN = 812
_FINE = 2
_PHONES = """<body style="margin: 0; display: flex; gap: 20px">
<style>div {{ width: 390px; height: {height}px; \
border: 1px solid #8c959f80; border-radius: 24px }}</style>
<div style="background: url({picture}) 0 0 / 390px no-repeat"></div>
<div style="background: url({picture}) 0 -{height}px / 390px no-repeat"></div>"""

_GITHUB = Path(__file__).parents[2] / ".github"


def read_html(raw: bytes) -> str:
    part = email.message_from_bytes(raw, policy=email.policy.default).get_body(("html",))
    assert part is not None
    return str(part.get_content())


READER = Destination.parse("mailto:reader@example.org")
IDENTITY = MailIdentity("digest@example.org", "Digest", "example.org", EVENING)


def make_mails() -> Iterator[tuple[str, str]]:
    yield "day", read_html(receive_mail())
    renderer = Renderer()
    digests = {
        "sample": sample_digest(),
        "odd": make_digest(odd_entries()),
        "merged": merged_digest(),
        "revised": revised_digest(),
        **quiet_digests(),
    }
    for name, digest in digests.items():
        delivery = Delivery.make_sample(digest, READER, 0, 1, "picture")
        yield name, read_html(renderer.render(digest, delivery, SAMPLE_LINKS, IDENTITY).body)


def look_at(browser: Browser, html: str, name: str) -> Sight:
    """Look at a mail in one of `VIEWS`."""
    view = VIEWS[name]
    if name.endswith(("-darkened", "-turned")):
        html = ignore_styles(html)
    if name.endswith("-turned"):
        html = html.replace("</head>", TURNED_ROUND)
    return look(browser, html, view)


def ignore_styles(html: str) -> str:
    """Return a mail as readers have it that take no style sheet and know of no dark mode."""
    start = html.index("<style>")
    end = html.index("</style>")
    return html[:start] + html[end:].removeprefix("</style>").replace("light dark", "light")


def find_faults(sight: Sight, width: int) -> list[str]:
    """Say what is wrong with a mail that a machine can see."""
    faults = [f"it fetches {url}" for url in sight.fetched]
    if sight.width > width:
        faults.append(f"it is {sight.width} wide in a window of {width}")
    if sight.levels[:1] != (1,) or sight.levels.count(1) != 1:
        faults.append(f"its headings begin with {sight.levels[:3]}")
    if any(after > before + 1 for before, after in pairwise(sight.levels)):
        faults.append(f"its headings leave out a level: {sight.levels}")
    return faults


def paint_phones(browser: Browser, html: str, view: View) -> bytes:
    """Return two screens of a mail side by side, as PNG with at most 256 colours."""
    mail = look(browser, html, view, height=2 * _SCREEN, scale=_FINE).picture
    picture = f"data:image/png;base64,{base64.b64encode(mail).decode()}"
    page = browser.new_page(
        viewport={"width": 804, "height": _SCREEN + 2}, device_scale_factor=_FINE
    )
    page.set_content(_PHONES.format(height=_SCREEN, picture=picture))
    return shrink(page.screenshot(omit_background=True))


@click.command()
@click.option(
    "--to", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path("pictures")
)
@click.option("--only", default="", help="The mail of this name alone.")
@click.option("--readme", is_flag=True, help="Paint the pictures of the README into .github.")
def main(*, folder: Path, only: str, readme: bool) -> None:
    path = find_chromium()
    if path is None:
        raise click.ClickException("there is no Chromium here (apt-get install chromium)")
    faults: list[str] = []
    with open_browser(path) as browser:
        if readme:
            html = read_html(receive_mail())
            for name, view in README.items():
                picture = paint_phones(browser, html, view)
                (_GITHUB / name).write_bytes(picture)
                click.echo(f"{_GITHUB / name}: {len(picture) / 1000:.0f} KB")
            return
        folder.mkdir(parents=True, exist_ok=True)
        for mail, html in make_mails():
            if only not in ("", mail):
                continue
            for name, view in VIEWS.items():
                sight = look_at(browser, html, name)
                faults += [f"{mail}, {name}: {fault}" for fault in find_faults(sight, view.width)]
                (folder / f"{mail}-{name}.png").write_bytes(sight.picture)
            click.echo(f"{mail}: {len(VIEWS)} pictures in {folder}")
    for fault in faults:
        click.echo(fault, err=True)
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
