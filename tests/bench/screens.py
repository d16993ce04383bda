"""Mails of real days on a phone and a desk: how many screens they take, and pictures of them.

`python -m tests.bench.screens FOLDER` takes screens of 390 × 844 CSS pixels without a scroll bar,
in two fonts: Liberation Sans, about as wide as what phones have, and DejaVu Sans, which is wider.
It exits with 1 if a mail in one of them is longer than it may be.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from playwright.sync_api import Browser, sync_playwright

from digest.model.announcements import Kind
from digest.model.messages import Digest, DigestEntry
from digest.model.papers import Reason
from digest.model.subscriptions import Grouping
from digest.plan.order import arrange
from digest.query import analyse, find_reasons, parse_query
from digest.render.mail import MailPapers, render_mail_text
from digest.render.samples import SAMPLE_LINKS, make_coverage, make_digest
from digest.render.templates import Templates, find_shipped_templates
from tests.battery.browser import find_chromium
from tests.bench.papers import load_papers
from tests.browser.conftest import FLAGS
from tests.browser.looking import PHONE

TUESDAY = datetime(2016, 8, 9, 0, 40, tzinfo=UTC)
QUERIES = {
    "quantum": "cat:quant-ph",
    "mesoscopic": "cat:cond-mat.mes-hall",
    "topology": "ti:topological OR abs:majorana OR abs:weyl",
    "localization": 'abs:"many-body localization" OR ti:"time crystals"',
    "people": 'au:"Leonard Susskind" OR au:"Michael Walter"',
}
FONTS = ("Liberation Sans", "DejaVu Sans")
GOALS = {"14": 5.0, "63": 6.3}
"""How many screens a mail of so many papers may take."""


def find_entries(first: date, *names: str) -> list[DigestEntry]:
    """Return the papers submitted from a day on that match saved queries, with the reasons."""
    queries = {name: parse_query(QUERIES[name]) for name in names}
    entries = []
    for paper in load_papers()[1]:
        day = paper.published.date()
        if day < first:
            continue
        ready = analyse(paper)
        matched: list[str] = []
        reasons: list[Reason] = []
        for name, query in queries.items():
            found = find_reasons(query, ready)
            if found:
                matched.append(name)
                reasons += [Reason(one.clause, one.spans, name) for one in found]
        if matched:
            announced_on = day + timedelta(days=1)
            entry = DigestEntry(Kind.NEW, paper, "", tuple(matched), tuple(reasons), announced_on)
            entries.append(entry)
    return entries


def compose(
    entries: Sequence[DigestEntry],
    title: str,
    slot: str = "2016-08-09",
    **checked: Any,  # noqa: ANN401 - fields of Coverage
) -> Digest:
    """Make the digest of some papers as it is planned."""
    ordered, groups = arrange(entries, Grouping.KIND, list(QUERIES))
    monday = TUESDAY.date() - timedelta(days=1)
    coverage = make_coverage(len(entries), announcement=monday, new=615, checked_at=TUESDAY)
    fields: dict[str, Any] = {
        "queries": tuple(QUERIES.items()),
        "planned_at": TUESDAY,
        "coverage": replace(coverage, **checked),
    }
    return make_digest(ordered, groups=groups, title=title, slot=slot, **fields)


def list_digests() -> dict[str, Digest]:
    """Return digests by name: of some papers, of a week, and of one whose papers may be missing."""
    day = find_entries(date(2016, 8, 6), *QUERIES)
    narrow = find_entries(date(2016, 8, 1), "topology", "localization")
    days: dict[str, Any] = {
        "since": date(2016, 8, 8),
        "announcement": date(2016, 8, 12),
        "announcements": 5,
    }
    late: dict[str, Any] = {"failure": "arXiv did not answer", "failing_since": TUESDAY}
    digests = {}
    for count in (1, 3):
        digests[str(count)] = compose(narrow[:count], "Majorana and Weyl")
    for count in (14, 18, 63):
        digests[str(count)] = compose(day[:count], "Quantum group")
    digests["week"] = compose(narrow[:9], "Majorana and Weyl", "2016-W32", **days)
    digests["catch-up"] = compose(day[:125], "Quantum group", **days, **late)
    return digests


def measure(browser: Browser, file: Path) -> list[float]:
    """Picture a mail beside its file, and return how many screens it takes in each font."""
    page = browser.new_page()
    page.goto(file.resolve().as_uri())
    for width in (800, PHONE["width"]):
        page.set_viewport_size({"width": width, "height": PHONE["height"]})
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            picture = file.with_name(f"{file.stem}-{width}-{scheme}.png")
            page.screenshot(path=picture, full_page=True)
    screens = []
    for font in FONTS:
        page.add_style_tag(content=f"* {{ font-family: '{font}' !important }}")
        screens.append(page.evaluate("document.documentElement.scrollHeight") / PHONE["height"])
    page.close()
    return screens


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(*, folder: Path) -> None:
    """Write mails and their pictures into a folder, and print how many screens each takes."""
    folder.mkdir(parents=True, exist_ok=True)
    papers = MailPapers(Templates([], find_shipped_templates()))
    is_missed = False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=[*FLAGS, "--hide-scrollbars"]
        )
        for name, digest in list_digests().items():
            mail = render_mail_text(papers, digest, SAMPLE_LINKS)
            file = folder / f"{name}.html"
            file.write_text(mail.html, "utf-8")
            file.with_suffix(".txt").write_text(f"{mail.subject}\n\n{mail.plain}", "utf-8")
            screens = measure(browser, file)
            is_missed |= max(screens) > GOALS.get(name, sys.maxsize)
            by_font = zip(screens, FONTS, strict=True)
            figures = ", ".join(f"{number:.2f} in {font}" for number, font in by_font)
            size = len(mail.html.encode())
            click.echo(f"{name}: {len(digest.entries)} papers, {size:,} bytes, screens: {figures}")
        browser.close()
    sys.exit(is_missed)


if __name__ == "__main__":
    main()
