"""Keeps feeds in memory, with their tags (RFC 9110 §8.8, §13).

Tags are weak: the same feed travels plain or compressed, and one tag is for both.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from digest.deliver.feeds import load_feed
from digest.model import secrets
from digest.model.clock import monotonic, read_rfc_date
from digest.model.messages import Feed
from digest.plan.links import make_links
from digest.render.contexts import FeedContext
from digest.render.papers import PaperView
from digest.render.text import clean_text
from digest.site import Site
from digest.store import queries, subscriptions
from digest.store.queries import SubscriptionFeed

CACHE_CONTROL = "private, max-age=900"
"""An announcement comes once a day; readers that ask four times an hour miss nothing."""

KEPT = 900.0
"""Seconds a body is kept at most, though no match run came.

What saved queries are called may have changed.
"""

ROOM = 16 * 1024 * 1024
"""Bytes of bodies from which on all that are kept are dropped."""

MEDIA_TYPES = {
    "atom": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json; charset=utf-8",
}

_PAGE = "html"
_PAGE_ENTRIES = 20

CHECK_AGAIN = 10.0
"""Seconds for which the table counts as it was read.

A revoked address may go on working for as long.
"""

FRESH = 1.0
"""Seconds for which it is not asked again what was matched last.

Who asks in between gets it next time.
"""

_BETWEEN = 0.25
"""Seconds between two readings of the table at least, if unknown addresses are asked for.

Who asks for one waits that long.
"""


def make_etag(body: bytes) -> str:
    """Return the weak entity tag of a body: what it holds decides, nothing else."""
    return f'W/"sha256-{hashlib.sha256(body).hexdigest()}"'


def is_unmodified(asked: Headers, etag: str, last_modified: datetime | None = None) -> bool:
    """Whether a GET or HEAD is answered with 304: by its tags, and by its date if it has none."""
    fields = asked.getlist("if-none-match")
    if fields:
        tags = {tag.strip().removeprefix("W/") for tag in ",".join(fields).split(",")}
        return "*" in tags or etag.removeprefix("W/") in tags
    try:
        since = read_rfc_date(asked.get("if-modified-since", ""))
    except ValueError:
        return False
    return last_modified is not None and last_modified.replace(microsecond=0) <= since


def write_http_date(moment: datetime) -> str:
    """Write a moment as `Fri, 20 Nov 2026 03:50:00 GMT`."""
    second = moment.astimezone(UTC).replace(microsecond=0)
    return format_datetime(second, usegmt=True)


@dataclass(frozen=True, slots=True)
class FeedCopy:
    """A feed as it is sent, plain and compressed by gzip.

    `updated` is when its newest entry came or changed.
    """

    etag: str
    updated: datetime
    media_type: str
    body: bytes = field(repr=False)
    packed: bytes = field(repr=False)

    @property
    def size(self) -> int:
        """The bytes that it holds."""
        return len(self.body) + len(self.packed)


def prefers_page(accept: str) -> bool:
    """Whether an Accept field (RFC 9110 §12.5.1) is surely a browser's.

    Browsers ask for HTML first, then for XHTML. Java asks for HTML alone, feed readers for a feed.
    """
    named = accept.lower()
    is_for_feed = any(kind in named for kind in ("atom+", "rss+", "feed+json"))
    is_for_page = named.startswith("text/html") and "application/xhtml+xml" in named
    return is_for_page and not is_for_feed


@dataclass(frozen=True, slots=True)
class _Address:
    """An address that works or did: `generation` is the one it was made for."""

    place: SubscriptionFeed
    generation: int

    @property
    def is_open(self) -> bool:
        return self.place.is_open and self.generation == self.place.generation


class FeedCache:
    """Hands out feeds. Its methods belong to the web server's event loop."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._addresses: Mapping[str, _Address] = {}
        self._newest_run = 0
        self._checked_at = -CHECK_AGAIN
        self._read_at = -CHECK_AGAIN
        self._reading = asyncio.Lock()
        self._building = asyncio.Lock()
        self._copies: dict[tuple[object, ...], FeedCopy] = {}
        self._hashes: dict[tuple[str, int], str] = {}

    async def find(
        self, token: str, suffix: str, *, is_page: bool = False
    ) -> FeedCopy | HTTPStatus:
        """Return the feed at an address, or a page about it.

        GONE if there is none any more, NOT_FOUND if there never was.
        """
        hashed = secrets.token_hash(token)
        await self._refresh(monotonic(), hashed)
        address = self._addresses.get(hashed)
        if address is None or suffix not in MEDIA_TYPES:
            return HTTPStatus.NOT_FOUND
        if not address.is_open:
            return HTTPStatus.GONE
        form = _PAGE if is_page else suffix
        edition = (address, form, self._newest_run, monotonic() // KEPT)
        if edition in self._copies:
            return self._copies[edition]
        async with self._building:
            copy = self._copies.get(edition)  # somebody else may have asked for it meanwhile
            if copy is None:
                copy = await run_in_threadpool(self._make_copy, address, form)
                if copy is None:
                    return HTTPStatus.GONE
                self._keep(edition, copy)
        return copy

    def _keep(self, edition: tuple[object, ...], copy: FeedCopy) -> None:
        held = sum(one.size for one in self._copies.values())
        if held > ROOM:
            self._copies.clear()  # those of earlier match runs, too
        self._copies[edition] = copy

    async def _refresh(self, came: float, hashed: str) -> None:
        """Ask the database what was matched last, and for its whole table if that may be needed.

        It is needed if the address may be new or invalid. One reading answers all who came before
        it began, or within `FRESH` of it.
        """
        if not self._is_open(hashed):
            await asyncio.sleep(self._read_at + _BETWEEN - monotonic())  # however many guess
        elif came - self._checked_at < FRESH and came - self._read_at < CHECK_AGAIN:
            return
        async with self._reading:
            began = monotonic()
            is_asked = not self._is_open(hashed) and self._read_at < came
            is_whole = is_asked or began - self._read_at >= CHECK_AGAIN
            if self._checked_at < came or is_whole:
                await run_in_threadpool(self._read, is_whole=is_whole)
                self._checked_at = began
                self._read_at = began if is_whole else self._read_at

    def _is_open(self, hashed: str) -> bool:
        return hashed in self._addresses and self._addresses[hashed].is_open

    def _read(self, *, is_whole: bool) -> None:
        with self._site.store.read() as conn:
            self._newest_run = queries.load_newest_match_run(conn)
            if is_whole:
                self._addresses = self._read_addresses(conn)

    def _read_addresses(self, conn: Connection) -> dict[str, _Address]:
        maker = make_links(conn, self._site.config)
        known = self._hashes
        self._hashes = {}
        table = {}
        for place in queries.load_subscription_feeds(conn):
            for generation in range(place.generation + 1):
                key = (place.name, generation)
                hashed = known.get(key) or secrets.token_hash(maker.feed_token(*key))
                self._hashes[key] = hashed
                table[hashed] = _Address(place, generation)
        return table

    def _make_copy(self, address: _Address, form: str) -> FeedCopy | None:
        site = self._site
        place = address.place
        with site.store.read() as conn:
            maker = make_links(conn, site.config)
            token = maker.feed_token(place.name, address.generation)
            found = subscriptions.load(conn, [place.key])
            if not found:
                return None
            feed = load_feed(conn, site, found[0], self_url=maker.write_feed_url(token, form))
        if form == _PAGE:
            atom = maker.write_feed_url(token, "atom") or f"{token}.atom"
            json = maker.write_feed_url(token, "json") or f"{token}.json"
            body = _write_page(site, feed, atom, json)
        else:
            body = site.renderer.render_feed(feed, form)
        return FeedCopy(
            etag=make_etag(body),
            updated=feed.updated,
            media_type=MEDIA_TYPES.get(form, "text/html; charset=utf-8"),
            body=body,
            packed=gzip.compress(body, mtime=0),
        )


def _write_page(site: Site, feed: Feed, atom: str, json: str) -> bytes:
    newest = feed.entries[:_PAGE_ENTRIES]
    papers = tuple(PaperView(one.entry, number) for number, one in enumerate(newest, 1))
    context = FeedContext(clean_text(feed.title), papers, atom, json, home=site.config.web.base_url)
    return site.renderer.render_web("feed.html", context).encode()
