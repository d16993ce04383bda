"""Writes folders that are sites: a first page, a page of each digest, feeds, and titles to search in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from digest.deliver.feeds import FeedReport, load_site_feed, write_feed
from digest.deliver.transports.file import read_head, write_own
from digest.model.errors import DigestError
from digest.model.messages import Links
from digest.model.papers import Reason
from digest.model.subscriptions import Archive, Destination, DestinationKind, DueSubscription
from digest.plan.links import make_refs_url
from digest.render.contexts import ArchiveContext, PastView
from digest.render.digests import view_digest, view_query
from digest.render.papers import UNTITLED, PaperView
from digest.render.renderer import SITE_FEEDS, SITE_INDEX, mark_page, name_page
from digest.render.text import clean_text, shorten, show_plain, write_long_day
from digest.site import Site
from digest.store.digests import (
    DigestSummary,
    Frozen,
    find_texts,
    load_digest,
    load_frozen,
    load_site_digests,
    thaw_digest,
)
from digest.store.papers import load_versions
from digest.store.subscriptions import load_subscriptions

_TITLES, _ALL = "titles.js", 1_000_000

_WITH_TITLES, _FEW = 60, 3
"""Digests whose first papers a first page names, and how many of each."""

_SEARCHED = timedelta(days=366)
"""How far before the newest digest a paper may have come to be found by its title."""

_LONGEST_NAME = 120


def publish_sites(site: Site, report: FeedReport) -> FeedReport:
    """Write what has changed of every folder of pages; one that can't be written stops no other."""
    with site.store.read() as conn:
        shared: dict[Destination, list[DueSubscription]] = {}
        for due in load_subscriptions(conn):
            for place in due.subscription.destinations:
                if place.kind is DestinationKind.FILE and not place.is_pulled:
                    shared.setdefault(place, []).append(due)
        for place, dues in shared.items():
            try:
                _Folder(site, conn, place, dues, report).publish()
            except DigestError as error:
                report.failures.append(error.message)
    return report


@dataclass
class _Folder:
    """One site. Its files say what they were made of: what would be the same again is not made again."""

    site: Site
    conn: Connection
    place: Destination
    dues: Sequence[DueSubscription]
    report: FeedReport

    def publish(self) -> None:
        digests = load_site_digests(self.conn, [due.id for due in self.dues], self.place)
        for due in self.dues:
            self._write_pages([one for one in digests if one.subscription == due.subscription.name])
        title = shorten(", ".join(clean_text(due.subscription.title) for due in self.dues), _LONGEST_NAME)
        feed = load_site_feed(self.conn, self.site, self.dues, self.place.address, title)
        for name in SITE_FEEDS:
            body = write_feed(self.site, feed, name.rpartition(".")[2])
            self.report.written += write_own(self._find(name), body)
        self._write_first_page(title, digests)

    def _write_pages(self, digests: Sequence[DigestSummary]) -> None:
        """Write the pages of one subscription's digests, the newest first."""
        home, refs = self.site.config.web.base_url, make_refs_url(self.site.config)
        names = ["", *(name_page(one.subscription, one.slot) for one in digests), ""]
        for digest, later, name, earlier in zip(digests, names, names[1:], names[2:], strict=False):
            links = Links(
                home=home, refs=refs, archive=SITE_INDEX, feed=SITE_FEEDS[0], earlier=earlier, later=later
            )
            made = self._sign(digest, links)
            if not self._is_made(name, made):
                shown = load_digest(self.conn, digest.id).hide_queries(self.site.config.open_queries)
                page = self.site.renderer.render_site_page(shown, links, made)
                self.report.pages += write_own(self._find(name), page)

    def _write_first_page(self, title: str, digests: Sequence[DigestSummary]) -> None:
        """Write the page that lists all digests, and the titles that it finds papers by."""
        settings, shown = [due.subscription for due in self.dues], self.site.config.open_queries
        queries = [one for due in self.dues for one in due.revisions if shown is None or one.text in shown]
        page = ArchiveContext(
            title=title,
            queries=tuple(dict.fromkeys(view_query(one.name, one.text) for one in queries)),
            past=(),
            is_public=all(one.archive is Archive.PUBLIC for one in settings),
            is_shared=len(settings) > 1,
            home=self.site.config.web.base_url,
        )
        made = self._sign(digests, page)
        if self._is_made(SITE_INDEX, made) and self._is_made(_TITLES, made):
            return
        kept = (one for each in settings for one in load_frozen(self.conn, each.name, limit=_ALL))
        frozen = {one[0].id: one for one in kept}
        past = [self._view(one, frozen[one.id], number) for number, one in enumerate(digests)]
        titles = json.dumps(self._list_titles(digests, past, frozen), ensure_ascii=False)
        script = f"// Digest {made}\nglobalThis.digestTitles = {titles};\n"
        html = self.site.renderer.render_web("site.html", replace(page, past=tuple(past)))
        for name, body in {_TITLES: script.encode(), SITE_INDEX: mark_page(html, made)}.items():
            self.report.pages += write_own(self._find(name), body)

    def _view(self, digest: DigestSummary, frozen: Frozen, number: int) -> PastView:
        places = range(digest.papers if number < _WITH_TITLES else 0)[:_FEW]
        url = name_page(digest.subscription, digest.slot)
        return view_past(self.conn, frozen, url, places, total=digest.papers)

    def _list_titles(
        self, digests: Sequence[DigestSummary], past: Sequence[PastView], frozen: Mapping[int, Frozen]
    ) -> list[tuple[str, str, list[str]]]:
        """Return the page, the day and the titles of each digest of the last year."""
        recent = [
            (view, [entry["text"] for entry in frozen[one.id][1]["entries"]])
            for one, view in zip(digests, past, strict=True)
            if one.papers and one.planned_at > digests[0].planned_at - _SEARCHED
        ]
        papers = load_versions(self.conn, {text for _, texts in recent for text in texts})
        titles = {key: show_plain(paper.title) or UNTITLED for key, paper in papers.items()}
        whose = len(self.dues) > 1
        return [
            (
                view.url,
                " · ".join([view.digest.long_day, *[view.digest.title] * whose]),
                [titles[text] for text in texts],
            )
            for view, texts in recent
        ]

    def _find(self, name: str) -> Path:
        return self.site.config.folder / self.place.address / name

    def _sign(self, *made_of: object) -> str:
        """Return a name of all that a file is made of."""
        shown = self.site.config.open_queries
        read = repr((self.site.renderer.templates.mark, shown and sorted(shown), *made_of))
        return hashlib.sha256(read.encode()).hexdigest()[:16]

    def _is_made(self, name: str, made: str) -> bool:
        return f"Digest {made}".encode() in read_head(self._find(name))


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
    month = write_long_day(digest.planned_at.astimezone(ZoneInfo(digest.zone)).date()).split(" ", 2)[2]
    return PastView(view_digest(digest), month, url, tuple(papers), total - len(places))
