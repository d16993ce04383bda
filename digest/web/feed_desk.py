"""Every feed there is, ready to be handed out from memory.

Tokens of feeds are derived, not drawn, so the desk derives them all and keeps a table of their hashes:
making an address writes no row that could be forgotten, a stolen database opens no feed, the store alone
says whether an address works, and an unknown one costs a look into a dictionary.

A body is made when it is first asked for, and kept while it is what the database says: no request is
answered with what stood there before another match run was committed, by whichever process. On SQLite that
takes a look at the number of commits; the database itself is asked where that has changed, and always on
PostgreSQL, once for all requests that wait.

An address that is not in the table, or void there, may have been made since: it is refused by a table that was
read after it was asked for. Guessing costs a reading now and then, however many guess.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from digest import signing
from digest.clock import monotonic
from digest.errors import StoreError
from digest.pipeline.feeds import load_farewell, load_feed, load_query_feed, write_feed
from digest.pipeline.links import make_links
from digest.planning.feeds import FAREWELL_DAYS
from digest.store import feeds as feed_store
from digest.store import query_feeds as query_feed_store
from digest.store import subscriptions as subscription_store
from digest.store.commits import CommitWatch
from digest.web.conditional import make_etag
from digest.web.feed_copies import ROOM, ChangeDates, FeedCopy, Shelf, make_copy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Feed
    from digest.pipeline import LinkMaker, Site
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

_BETWEEN = 0.25
"""Seconds between two readings of the table at least, where unknown addresses are asked for: so long one waits."""


@dataclass(frozen=True, slots=True)
class _Address:
    """An address that works or did: `generation` is the one it was made for."""

    place: FeedPlace
    generation: int

    @property
    def is_open(self) -> bool:
        return self.place.is_open and self.generation == self.place.generation

    @property
    def void_since(self) -> datetime | None:
        """Since when it does not work (UTC); None where it does, or that is not known."""
        place = self.place
        return place.closed_at if self.generation == place.generation else place.rotated_at


@dataclass(frozen=True, slots=True)
class _Edition:
    """What a copy was made of: another one, another copy."""

    address: _Address
    newest_run: int


class FeedDesk:
    """Hands out feeds. Its methods belong to the web server's event loop.

    Args:
        site: the installation.
        guards: headers of every answer that does not say otherwise.
    """

    def __init__(self, site: Site, guards: Mapping[str, str]) -> None:
        self._site, self._guards = site, guards
        self._addresses: Mapping[str, _Address] = {}
        self._newest_run = 0
        self._commits = CommitWatch(site.store)
        self._seen: int | None = None
        self._table_seen: int | None = None
        self._has_looked = self._is_quiet = False
        self._begun = 0
        self._read_at, self._try_at = -STALE, -STALE
        self._reading, self._building, self._seeking = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._shelf, self._dates = Shelf(ROOM), ChangeDates()
        self._hashes: dict[tuple[str, str, int], str] = {}

    async def find_at_hand(self, token: str, suffix: str) -> FeedCopy | None:
        """Return the feed at an address if it was made and is still the same; None where it takes more."""
        if not self._is_current():
            try:
                await self._look_up()
            except StoreError:
                return None
        address = self._addresses.get(signing.token_hash(token))
        if address is None or not address.is_open:
            return None
        return self._shelf.take((token, suffix), _Edition(address, self._newest_run))

    async def find(self, token: str, suffix: str) -> FeedCopy | HTTPStatus:
        """Return the feed at an address, NOT_FOUND where there never was one, GONE where there was.

        An address that became void lately still says so, in a feed without papers.

        Raises:
            StoreError: the database has been away for so long that a revocation may have been missed.
        """
        came = monotonic()
        if not self._is_current():
            await self._look_up()
        if suffix not in MEDIA_TYPES:
            return HTTPStatus.NOT_FOUND
        address = await self._find_address(signing.token_hash(token), came)
        if address is None:
            return HTTPStatus.NOT_FOUND
        if not address.is_open and not self._says_farewell(address):
            return HTTPStatus.GONE
        edition = _Edition(address, self._newest_run)
        copy = self._shelf.take((token, suffix), edition)
        return copy or await self._renew(edition, token, suffix)

    def close(self) -> None:
        """Let go of the database; whoever asks after that is answered all the same."""
        self._commits.close()

    async def _find_address(self, hashed: str, came: float) -> _Address | None:
        """Return the address of a token; refuse none, and call none void, by a table older than the request."""
        address = self._addresses.get(hashed)
        if address is not None and address.is_open:
            return address
        seen = self._commits.look()
        if seen is None or seen != self._table_seen:
            try:
                await self._read_anew(came)
            except StoreError:
                if address is None:
                    raise  # whether it works is not known: "there is none" would have a reader give it up
        return self._addresses.get(hashed)

    async def _read_anew(self, came: float) -> None:
        """Read the table, unless it was read since a moment: one reading for all who wait.

        Raises:
            StoreError: the database does not answer.
        """
        async with self._seeking:  # not `_reading`: whoever asks for a known feed does not wait for guesses
            if self._read_at >= came:
                return
            await asyncio.sleep(self._read_at + _BETWEEN - monotonic())
            async with self._reading:
                if monotonic() < self._try_at:
                    raise StoreError("the database did not answer a moment ago")
                await self._ask(monotonic(), whole=True)

    def _says_farewell(self, address: _Address) -> bool:
        since = address.void_since
        return since is not None and self._site.clock.now() < since + timedelta(days=FAREWELL_DAYS)

    async def _renew(self, edition: _Edition, token: str, suffix: str) -> FeedCopy | HTTPStatus:
        async with self._building:
            copy = self._shelf.take((token, suffix), edition)  # somebody else may have asked for it meanwhile
            if copy is None:
                copy = await run_in_threadpool(self._make_copy, edition.address, suffix)
                if copy is None:
                    return HTTPStatus.GONE
                self._shelf.put((token, suffix), copy, edition)
        return copy

    def _is_current(self) -> bool:
        """Whether nothing was committed since the database was asked, and the table is not too old."""
        if not self._has_looked:
            seen = self._commits.look()
            self._is_quiet = seen is not None and seen == self._seen
            # Requests that are read from their sockets already need no look of their own.
            self._has_looked = True
            asyncio.get_running_loop().call_soon(self._forget_look)
        return self._is_quiet and monotonic() - self._read_at < LOOK_AGAIN

    def _forget_look(self) -> None:
        self._has_looked = False

    async def _look_up(self) -> None:
        """Ask the database, or wait for somebody who began to ask it after this request came."""
        begun_before = self._begun
        async with self._reading:
            began = monotonic()
            if self._begun == begun_before and began >= self._try_at:
                try:
                    await self._ask(began, whole=began - self._read_at >= LOOK_AGAIN)
                except StoreError:
                    if began - self._read_at >= STALE:
                        raise
        if monotonic() - self._read_at >= STALE:
            raise StoreError("the database has not answered for a while")

    async def _ask(self, began: float, *, whole: bool) -> None:
        """Ask the database; who calls holds `_reading`.

        Raises:
            StoreError: it does not answer, and is left alone for a while.
        """
        self._begun += 1
        # Before the reading: what is committed meanwhile shows at the next look.
        seen = self._commits.look()
        try:
            await run_in_threadpool(self._read, began, whole=whole)
        except StoreError:
            self._try_at = monotonic() + _PAUSE
            raise
        self._seen = seen
        self._table_seen = seen if whole else self._table_seen

    def _read(self, began: float, *, whole: bool) -> None:
        """Read the newest match run, and the table where it is wanted whole."""
        with self._site.store.read() as conn:
            newest_run = feed_store.newest_match_run(conn)
            addresses = self._read_addresses(conn) if whole else self._addresses
        self._addresses, self._newest_run = addresses, newest_run
        self._read_at = began if whole else self._read_at

    def _read_addresses(self, conn: Connection) -> dict[str, _Address]:
        maker = make_links(conn, self._site.config)
        places = [*feed_store.load_feed_places(conn), *query_feed_store.load_query_places(conn)]
        known, self._hashes = self._hashes, {}
        table = {}
        for place in places:
            for generation in range(place.generation + 1):
                key = (place.origin, place.name, generation)
                self._hashes[key] = known.get(key) or signing.token_hash(_derive_token(maker, *key))
                table[self._hashes[key]] = _Address(place, generation)
        return table

    def _make_copy(self, address: _Address, suffix: str) -> FeedCopy | None:
        site, place = self._site, address.place
        with site.store.read() as conn:
            maker = make_links(conn, site.config)
            token = _derive_token(maker, place.origin, place.name, address.generation)
            feed = self._load(conn, address, maker.write_feed_url(token, suffix))
        if feed is None:
            return None
        body = write_feed(site, feed, suffix)
        since = self._dates.settle((token, suffix), make_etag(body), feed.updated, site.clock.now())
        return make_copy(body, MEDIA_TYPES[suffix], since, self._guards)

    def _load(self, conn: Connection, address: _Address, url: str) -> Feed | None:
        place = address.place
        if not address.is_open:
            has_moved = place.is_open
            since = address.void_since or self._site.clock.now()
            return load_farewell(conn, self._site, place, since, has_moved=has_moved, self_url=url)
        if place.origin:
            return load_query_feed(conn, self._site, place, self_url=url)
        found = subscription_store.load_subscriptions(conn, [place.key])
        return load_feed(conn, self._site, found[0], self_url=url) if found else None


def _derive_token(maker: LinkMaker, origin: str, name: str, generation: int) -> str:
    """Return the token of a feed: a saved query's where `origin` says whose, else a subscription's."""
    if origin:
        return maker.query_feed_token(name, origin, generation)
    return maker.feed_token(name, generation)
