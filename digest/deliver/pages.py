"""Writes folders that are sites: a first page, a page of each digest, feeds, and titles to search in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from digest.deliver.feeds import FeedReport, load_site_feed
from digest.deliver.transports.file import read_head, write_own
from digest.model.destinations import Destination
from digest.model.errors import DigestError
from digest.model.messages import SITE_FEEDS, SITE_INDEX, Links
from digest.model.papers import Reason
from digest.model.subscriptions import Archive, DueSubscription
from digest.plan.links import make_refs_url
from digest.render.contexts import ArchiveContext, PastView
from digest.render.digests import say_unchecked, view_digest, view_query
from digest.render.papers import UNTITLED, PaperView
from digest.render.renderer import mark_page, name_page
from digest.render.text import clean_text, shorten, show_plain, write_long_day
from digest.site import Site
from digest.store.digests import load_digest, load_site_digests
from digest.store.frozen import Frozen, find_texts, thaw_digest
from digest.store.papers import load_versions
from digest.store.subscriptions import load_subscriptions

_TITLES, _LONGEST_TITLE = "titles.js", 120

_WITH_PAPERS, _FEW = 60, 3
"""Digests of which a first page names papers, and how many of each."""

_SEARCHED = timedelta(days=366)
"""How far before the newest digest a paper may have come to be found by its title."""


def publish_sites(site: Site, report: FeedReport) -> FeedReport:
    """Write what has changed of every folder of pages; one that can't be written stops no other."""
    with site.store.read() as conn:
        shared: dict[Destination, list[DueSubscription]] = {}
        for due in load_subscriptions(conn):
            for place in due.subscription.destinations:
                if place.is_site:
                    shared.setdefault(place, []).append(due)
        for place, dues in shared.items():
            try:
                _publish(conn, site, place, dues, report)
            except DigestError as error:
                report.failures.append(error.said)
    return report


def _publish(
    conn: Connection,
    site: Site,
    place: Destination,
    dues: Sequence[DueSubscription],
    report: FeedReport,
) -> None:
    """Write a site. Each page says what it was made of: what would be the same again is not made again."""
    folder, hides = site.config.folder / place.address, site.config.hides_queries

    def write(name: str, made_of: object, make: Callable[[str], bytes]) -> None:
        read = repr((site.renderer.templates.mark, hides, made_of))
        made = hashlib.sha256(read.encode()).hexdigest()[:16]
        if f"Digest {made}".encode() not in (read_head(folder / name) or b""):
            report.pages += write_own(folder / name, make(made))

    home, refs = site.config.web.base_url, make_refs_url(site.config)
    links = Links(home=home, refs=refs, archive=SITE_INDEX, feed=SITE_FEEDS[0])
    frozen: list[Frozen] = []
    for due in dues:
        mine = load_site_digests(conn, due.subscription.name, place)
        names = ["", *map(_name, mine), ""]
        for (row, _), later, name, earlier in zip(mine, names, names[1:], names[2:], strict=False):
            to = replace(links, earlier=earlier, later=later)

            def render(made: str, id_: int = row.id, to: Links = to) -> bytes:
                digest = load_digest(conn, id_)
                return site.renderer.render_site_page(
                    digest.hide_queries() if hides else digest, to, made
                )

            write(name, (row.id, row.slot, row.planned_at, row.title, to), render)
        frozen += mine
    title = shorten(", ".join(clean_text(due.subscription.title) for due in dues), _LONGEST_TITLE)
    feed = load_site_feed(conn, site, dues, place.address, title)
    for name in SITE_FEEDS:
        report.written += write_own(
            folder / name, site.renderer.render_feed(feed, name.rpartition(".")[2])
        )
    revisions = [] if hides else [one for due in dues for one in due.revisions]
    first = ArchiveContext(
        title=title,
        queries=tuple(dict.fromkeys(view_query(one.name, one.text) for one in revisions)),
        past=(),
        is_public=all(due.subscription.archive is Archive.PUBLIC for due in dues),
        is_shared=len(dues) > 1,
        coverage=say_unchecked(feed.unchecked),
        home=home,
    )
    frozen.sort(key=lambda one: -one[0].id)
    made_of = first, [(row.id, row.slot, row.planned_at, row.title) for row, _ in frozen]
    write(
        _TITLES, made_of, lambda made: _write_titles(conn, frozen, made, is_shared=first.is_shared)
    )
    write(SITE_INDEX, made_of, lambda made: _render_first_page(conn, site, frozen, first, made))


def _name(frozen: Frozen) -> str:
    return name_page(frozen[0].subscription, frozen[0].slot)


def _render_first_page(
    conn: Connection, site: Site, frozen: Sequence[Frozen], page: ArchiveContext, made: str
) -> bytes:
    past = [
        view_past(
            conn,
            one,
            _name(one),
            range(one[0].papers)[: _FEW * (number < _WITH_PAPERS)],
            total=one[0].papers,
        )
        for number, one in enumerate(frozen)
    ]
    return mark_page(site.renderer.render_web("site.html", replace(page, past=tuple(past))), made)


def _write_titles(
    conn: Connection, frozen: Sequence[Frozen], made: str, *, is_shared: bool
) -> bytes:
    """Write the page, the day and the titles of each digest of the last year."""
    recent = [one for one in frozen if one[0].planned_at > frozen[0][0].planned_at - _SEARCHED]
    texts = {one[0].id: [entry["text"] for entry in one[1]["entries"]] for one in recent}
    papers = load_versions(conn, {text for each in texts.values() for text in each})
    titles = {key: show_plain(paper.title) or UNTITLED for key, paper in papers.items()}
    views = ((one, view_past(conn, one, _name(one), (), total=0).digest) for one in recent)
    rows = [
        (
            _name(one),
            f"{view.long_day} · {view.title}" if is_shared else view.long_day,
            [titles[text] for text in texts[one[0].id]],
        )
        for one, view in views
    ]
    return f"// Digest {made}\nglobalThis.digestTitles = {json.dumps(rows, ensure_ascii=False)};\n".encode()


def view_past(
    conn: Connection,
    frozen: Frozen,
    url: str,
    places: Sequence[int],
    *,
    total: int,
    reasons: Mapping[int, tuple[Reason, ...]] | None = None,
) -> PastView:
    """Show papers at some places of a digest, of a total; why they are there is said anew where it is given."""
    row, content = frozen
    part = {**content, "entries": [content["entries"][place] for place in places]}
    digest = thaw_digest(row, part, load_versions(conn, find_texts(part)))
    papers = []
    for place, entry in zip(places, digest.entries, strict=True):
        why = entry.reasons if reasons is None else reasons[content["entries"][place]["text"]]
        papers.append(PaperView(replace(entry, reasons=why), place + 1))
    month = write_long_day(digest.planned_at.astimezone(ZoneInfo(digest.zone)).date()).split(
        " ", 2
    )[2]
    return PastView(view_digest(digest), month, url, tuple(papers), total - len(places))
