"""Every feed there is, ready to be handed out from memory.

Tokens of feeds are derived, not drawn, so the desk derives them all and keeps a table of their hashes:
making an address writes no row that could be forgotten, a stolen database opens no feed, the store's
subscriptions alone say whether an address works, and an unknown one costs a look into a dictionary. A
body is made when it is first asked for and kept until a match run could have changed it.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import OrderedDict
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from digest import signing
from digest.clock import monotonic
from digest.errors import StoreError
from digest.pipeline import load_feed
from digest.pipeline.links import make_links
from digest.store import feeds as feed_store
from digest.store import subscriptions as subscription_store
from digest.web.conditional import make_etag

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from digest.pipeline import Site
    from digest.store.feeds import FeedPlace

MEDIA_TYPES = {
    "atom": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json; charset=utf-8",
}

LOOK_AGAIN = 10.0
"""Seconds for which the table counts as it was read: how long a revoked address may go on working."""

STALE = 30.0
"""Seconds for which it counts where the database does not answer; after that, nothing is handed out."""

_PAUSE = 2.0
"""Seconds between two tries to read it then."""

KEPT = 900.0
"""Seconds a body is kept at most, though no match run came: a title may have been edited."""

ROOM = 64 * 1024 * 1024
"""Bytes of bodies kept; those not asked for longest go first."""


@dataclass(frozen=True, slots=True)
class FeedCopy:
    """A feed as it is sent.

    Attributes:
        media_type: with its charset.
        body: the plain bytes; the same as long as nothing changed.
        packed: the same, compressed.
        etag: one for both.
        last_modified: when its newest entry came or changed (UTC).
    """

    media_type: str
    body: bytes = field(repr=False)
    packed: bytes = field(repr=False)
    etag: str
    last_modified: datetime


@dataclass(frozen=True, slots=True)
class _Directory:
    """The table of addresses at one moment: `generation` of each is the one it was made for."""

    places: Mapping[str, tuple[FeedPlace, int]]
    newest_run: int


class FeedDesk:
    """Hands out feeds. Its methods belong to the web server's event loop.

    Args:
        site: the installation.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._directory = _Directory({}, 0)
        self._read_at, self._try_at = -STALE, -STALE
        self._reading, self._building = asyncio.Lock(), asyncio.Lock()
        self._shelf = _Shelf(ROOM)
        self._hashes: dict[tuple[str, int], str] = {}

    async def find(self, token: str, suffix: str) -> FeedCopy | HTTPStatus:
        """Return the feed at an address, NOT_FOUND where there never was one, GONE where there was.

        Raises:
            StoreError: the database has been away for so long that a revocation may have been missed.
        """
        directory = await self._look_up()
        place, generation = directory.places.get(signing.token_hash(token), (None, 0))
        if place is None or suffix not in MEDIA_TYPES:
            return HTTPStatus.NOT_FOUND
        if not place.is_open or generation != place.generation:
            return HTTPStatus.GONE
        copy = self._shelf.take((token, suffix), directory.newest_run)
        return copy or await self._renew(place, token, suffix, directory.newest_run)

    async def _renew(self, place: FeedPlace, token: str, suffix: str, run: int) -> FeedCopy | HTTPStatus:
        async with self._building:
            copy = self._shelf.take((token, suffix), run)  # somebody else may have asked for it meanwhile
            if copy is None:
                copy = await run_in_threadpool(self._make_copy, place, suffix)
                if copy is None:
                    return HTTPStatus.GONE
                self._shelf.put((token, suffix), copy, run)
        return copy

    async def _look_up(self) -> _Directory:
        if monotonic() - self._read_at < LOOK_AGAIN:
            return self._directory
        async with self._reading:
            began = monotonic()
            if began - self._read_at >= LOOK_AGAIN and began >= self._try_at:
                try:
                    self._directory = await run_in_threadpool(self._read_directory)
                    self._read_at = began
                except StoreError:
                    self._try_at = monotonic() + _PAUSE
                    if began - self._read_at >= STALE:
                        raise
        if monotonic() - self._read_at >= STALE:
            raise StoreError("the database has not answered for a while")
        return self._directory

    def _read_directory(self) -> _Directory:
        with self._site.store.read() as conn:
            maker = make_links(conn, self._site.config)
            places = feed_store.load_feed_places(conn)
            newest_run = feed_store.newest_match_run(conn)
        known, self._hashes = self._hashes, {}
        table = {}
        for name, place in self._name_places(places):
            for generation in range(place.generation + 1):
                key = (name, generation)
                self._hashes[key] = known.get(key) or signing.token_hash(maker.feed_token(*key))
                table[self._hashes[key]] = (place, generation)
        return _Directory(table, newest_run)

    def _name_places(self, places: list[FeedPlace]) -> list[tuple[str, FeedPlace]]:
        """Return feeds by the names they have or had: an address goes on working while the file says `was`."""
        former = {subscription.name: subscription.was for subscription in self._site.config.subscriptions}
        renamed = [(was, place) for place in places if (was := former.get(place.name, ""))]
        return [*renamed, *((place.name, place) for place in places)]

    def _make_copy(self, place: FeedPlace, suffix: str) -> FeedCopy | None:
        site = self._site
        with site.store.read() as conn:
            found = subscription_store.load_subscriptions(conn, [place.subscription_id])
            if not found:
                return None
            url = make_links(conn, site.config).feed_url(place.name, place.generation, suffix)
            feed = load_feed(conn, site, found[0], self_url=url)
        body = site.renderer.render_atom(feed) if suffix == "atom" else site.renderer.render_json_feed(feed)
        return FeedCopy(
            media_type=MEDIA_TYPES[suffix],
            body=body,
            packed=gzip.compress(body, mtime=0),
            etag=make_etag(body),
            last_modified=feed.updated,
        )


class _Shelf:
    """Bodies by address, as many as there is room for."""

    def __init__(self, room: int) -> None:
        self._room, self._used = room, 0
        self._copies: OrderedDict[tuple[str, str], tuple[FeedCopy, int, float]] = OrderedDict()

    def take(self, key: tuple[str, str], run: int) -> FeedCopy | None:
        """Return the copy made after a match run, None where there is none any more."""
        copy, made_after, made_at = self._copies.get(key, (None, 0, 0.0))
        if copy is None or made_after != run or monotonic() - made_at >= KEPT:
            return None
        self._copies.move_to_end(key)
        return copy

    def put(self, key: tuple[str, str], copy: FeedCopy, run: int) -> None:
        """Keep a copy, and let go of those not taken for longest where there is no room."""
        before = self._copies.pop(key, None)
        self._used -= _weigh(before[0]) if before else 0
        self._copies[key] = (copy, run, monotonic())
        self._used += _weigh(copy)
        while self._used > self._room and len(self._copies) > 1:
            _, (oldest, _, _) = self._copies.popitem(last=False)
            self._used -= _weigh(oldest)


def _weigh(copy: FeedCopy) -> int:
    return len(copy.body) + len(copy.packed)
