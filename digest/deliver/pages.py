"""Writes folders that are sites.

Each has a first page, a page of each digest, feeds, and titles to search in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from digest.deliver.feeds import FeedReport, load_site_feed
from digest.deliver.transports.file import read_head, write_own
from digest.model.destinations import Destination
from digest.model.errors import DigestError
from digest.model.messages import SITE_FEEDS, SITE_INDEX, Feed, Links
from digest.model.papers import Reason
from digest.model.subscriptions import Archive, DueSubscription
from digest.plan.links import make_refs_url
from digest.render.contexts import ArchiveContext, PastView
from digest.render.digests import QueryView, say_unchecked, view_digest, view_query
from digest.render.papers import UNTITLED, PaperView
from digest.render.renderer import mark_page, name_page
from digest.render.text import clean_text, shorten, show_plain, write_long_day
from digest.site import Site
from digest.store import digests, papers, subscriptions
from digest.store.frozen import Frozen, find_texts, thaw_digest

_TITLES = "titles.js"
"""The file in which a first page searches."""

_LONGEST_TITLE = 120
"""Characters of a site's title."""

_DIGESTS_WITH_PAPERS = 60
"""How many digests a first page shows with papers: the newest."""

_PAPERS_SHOWN = 3
"""How many papers of each of these it shows."""

_SEARCHED_DAYS = timedelta(days=366)
"""How many days before the newest digest another one may be, if its titles can be searched."""


def publish_sites(site: Site, report: FeedReport) -> FeedReport:
    """Write what has changed of every folder of pages; one that can't be written stops no other."""
    with site.store.read() as conn:
        for place, dues in _find_sites(conn).items():
            try:
                _Folder(conn, site, place, dues, report).publish()
            except DigestError as error:
                report.failures.append(error.said)
    return report


def _find_sites(conn: Connection) -> dict[Destination, list[DueSubscription]]:
    """Return each folder with the subscriptions that write into it."""
    shared: dict[Destination, list[DueSubscription]] = {}
    for due in subscriptions.load(conn):
        for place in due.subscription.destinations:
            if place.is_site:
                shared.setdefault(place, []).append(due)
    return shared


class _Folder:
    """One site, and the subscriptions that write into its folder."""

    def __init__(
        self,
        conn: Connection,
        site: Site,
        place: Destination,
        dues: Sequence[DueSubscription],
        report: FeedReport,
    ) -> None:
        self._conn = conn
        self._site = site
        self._place = place
        self._dues = dues
        self._report = report
        self._folder = site.config.folder / place.address
        self._hides = site.config.hides_queries
        self._links = Links(
            home=site.config.web.base_url,
            refs=make_refs_url(site.config),
            archive=SITE_INDEX,
            feed=SITE_FEEDS[0],
        )

    def publish(self) -> None:
        """Write all of it that has changed."""
        of_site: list[Frozen] = []
        for due in self._dues:
            of_subscription = digests.load_for_site(self._conn, due.subscription.name, self._place)
            self._write_pages(of_subscription)
            of_site += of_subscription
        titles = [clean_text(due.subscription.title) for due in self._dues]
        feed = load_site_feed(
            self._conn,
            self._site,
            self._dues,
            self._place.address,
            shorten(", ".join(titles), _LONGEST_TITLE),
        )
        self._write_feeds(feed)
        of_site.sort(key=_get_number, reverse=True)
        self._write_first_page(of_site, feed)

    def _write(self, name: str, made_of: object, render: Callable[[str], bytes]) -> None:
        """Write a file, unless the one that is there was made of the same.

        `render` takes the hash of that, and puts it at the beginning of the file.
        """
        templates = self._site.renderer.templates.fingerprint
        source = repr((templates, self._hides, made_of))
        made = hashlib.sha256(source.encode()).hexdigest()[:16]
        path = self._folder / name
        head = read_head(path) or b""
        if f"Digest {made}".encode() not in head:
            is_changed = write_own(path, render(made))
            self._report.pages += is_changed

    def _write_pages(self, frozen: Sequence[Frozen]) -> None:
        """Write a page of each digest of a subscription, the newest first."""
        names = [_name_page(one) for one in frozen]
        later_pages = ["", *names[:-1]]
        earlier_pages = [*names[1:], ""]
        for (row, _), name, later, earlier in zip(
            frozen, names, later_pages, earlier_pages, strict=False
        ):
            links = replace(self._links, earlier=earlier, later=later)
            made_of = (row.id, row.slot, row.planned_at, row.title, links)
            self._write(name, made_of, partial(self._render_page, row.id, links))

    def _render_page(self, digest_id: int, links: Links, made: str) -> bytes:
        digest = digests.load(self._conn, digest_id)
        shown = digest.hide_queries() if self._hides else digest
        return self._site.renderer.render_site_page(shown, links, made)

    def _write_feeds(self, feed: Feed) -> None:
        for name in SITE_FEEDS:
            form = name.rpartition(".")[2]
            body = self._site.renderer.render_feed(feed, form)
            self._report.written += write_own(self._folder / name, body)

    def _write_first_page(self, frozen: Sequence[Frozen], feed: Feed) -> None:
        """Write the first page, and the titles to search in."""
        page = ArchiveContext(
            title=feed.title,
            queries=self._view_queries(),
            past=(),
            is_public=all(due.subscription.archive is Archive.PUBLIC for due in self._dues),
            is_shared=len(self._dues) > 1,
            coverage=say_unchecked(feed.unchecked),
            home=self._links.home,
        )
        shown = [(row.id, row.slot, row.planned_at, row.title) for row, _ in frozen]
        made_of = (page, shown)
        render_titles = partial(self._render_titles, frozen, is_shared=page.is_shared)
        self._write(_TITLES, made_of, render_titles)
        self._write(SITE_INDEX, made_of, partial(self._render_first_page, frozen, page))

    def _view_queries(self) -> tuple[QueryView, ...]:
        """Return the queries that are shown, each once."""
        if self._hides:
            return ()
        views: list[QueryView] = []
        for due in self._dues:
            views += [view_query(one.name, one.text) for one in due.revisions]
        return tuple(dict.fromkeys(views))

    def _render_first_page(
        self, frozen: Sequence[Frozen], page: ArchiveContext, made: str
    ) -> bytes:
        past = []
        for number, one in enumerate(frozen):
            row, _ = one
            most_shown = _PAPERS_SHOWN if number < _DIGESTS_WITH_PAPERS else 0
            places = range(min(row.papers, most_shown))
            past.append(view_past(self._conn, one, _name_page(one), places, total=row.papers))
        body = self._site.renderer.render_web("site.html", replace(page, past=tuple(past)))
        return mark_page(body, made)

    def _render_titles(self, frozen: Sequence[Frozen], made: str, *, is_shared: bool) -> bytes:
        """Return the page, the day and the titles of each digest of the last year, as a script."""
        recent = _list_recent(frozen)
        keys = [_list_texts(content) for _, content in recent]
        versions = papers.load_versions(self._conn, set(chain.from_iterable(keys)))
        title_by_key = {key: show_plain(paper.title) or UNTITLED for key, paper in versions.items()}
        rows = []
        for one, keys_of_digest in zip(recent, keys, strict=True):
            name = _name_page(one)
            view = view_past(self._conn, one, name, (), total=0).digest
            day = f"{view.long_day} · {view.title}" if is_shared else view.long_day
            titles = [title_by_key[key] for key in keys_of_digest]
            rows.append((name, day, titles))
        listed = json.dumps(rows, ensure_ascii=False)
        return f"// Digest {made}\nglobalThis.digestTitles = {listed};\n".encode()


def _list_recent(frozen: Sequence[Frozen]) -> list[Frozen]:
    """Return those of some digests, the newest first, whose titles can be searched."""
    if not frozen:
        return []
    newest, _ = frozen[0]
    earliest = newest.planned_at - _SEARCHED_DAYS
    return [one for one in frozen if one[0].planned_at > earliest]


def _list_texts(content: Mapping[str, Any]) -> list[int]:
    """Return the keys of the texts that a digest shows."""
    return [entry["text"] for entry in content["entries"]]


def _get_number(frozen: Frozen) -> int:
    row, _ = frozen
    number: int = row.id
    return number


def _name_page(frozen: Frozen) -> str:
    row, _ = frozen
    return name_page(row.subscription, row.slot)


def view_past(
    conn: Connection,
    frozen: Frozen,
    url: str,
    places: Sequence[int],
    *,
    total: int,
    reasons: Mapping[int, tuple[Reason, ...]] | None = None,
) -> PastView:
    """Show a past digest with the papers at some places of it, of a total.

    `reasons`: why papers match, by the keys of their texts, in place of what the digest says.
    """
    row, content = frozen
    chosen = [content["entries"][place] for place in places]
    part = {**content, "entries": chosen}
    digest = thaw_digest(row, part, papers.load_versions(conn, find_texts(part)))
    views = []
    for place, stored, entry in zip(places, chosen, digest.entries, strict=True):
        why = entry.reasons if reasons is None else reasons[stored["text"]]
        views.append(PaperView(replace(entry, reasons=why), place + 1))
    local = digest.planned_at.astimezone(ZoneInfo(digest.zone))
    _weekday, _day, month_and_year = write_long_day(local.date()).split(" ", 2)
    return PastView(view_digest(digest), month_and_year, url, tuple(views), total - len(places))
