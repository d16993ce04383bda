"""Keeps feeds in memory, with tags and compressed copies (RFC 9110 §8.8, §12.5.3, §13).

Tags are weak: the same feed travels plain or compressed, and one tag stands for both.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from digest.deliver.feeds import load_farewell, load_feed, load_query_feed, write_feed
from digest.model import secrets
from digest.model.clock import monotonic
from digest.model.errors import StoreError
from digest.plan.feeds import FAREWELL_DAYS
from digest.plan.links import make_links
from digest.store import queries
from digest.store import subscriptions as subscription_store
from digest.store.engine import CommitWatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection
    from starlette.types import Message, Receive, Scope, Send

    from digest.model.messages import Feed
    from digest.plan.links import LinkMaker
    from digest.poll.installation import Site
    from digest.store.queries import FeedPlace


_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_CODING = re.compile(r"\s*([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q\s*=\s*([^,;\s]*)\s*)?", re.ASCII | re.IGNORECASE)
_WEIGHT = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?", re.ASCII)

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?:{'|'.join(_DAYS)}), (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT",
        rf"(?:{'|'.join(_LONG_DAYS)}), (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT",
        rf"(?:{'|'.join(_DAYS)}) {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
"""The date of today's senders, and the two obsolete ones that must be read (RFC 9110 §5.6.7)."""

_SHORT_YEARS, _TURN, _CENTURY = 100, 70, 2000


def make_etag(body: bytes) -> str:
    """Return the weak entity tag of a body: what it holds decides, nothing else."""
    return f'W/"sha256-{hashlib.sha256(body).hexdigest()}"'


def is_unmodified(
    etag: str, last_modified: datetime, *, if_none_match: str | None, if_modified_since: str | None
) -> bool:
    """Whether a GET or HEAD is answered with 304.

    Args:
        etag: of what would be sent.
        last_modified: when that last changed (UTC).
        if_none_match: the field's value, several joined by commas; None where it is missing. Where it is
            there, it alone counts.
        if_modified_since: the field's value; one that is no date is ignored.
    """
    if if_none_match is not None:
        if if_none_match == etag:  # as nearly all readers send it
            return True
        return if_none_match.strip() == "*" or _opaque(etag) in _read_tags(if_none_match)
    since = parse_http_date(if_modified_since) if if_modified_since is not None else None
    return since is not None and last_modified.replace(microsecond=0) <= since


def parse_http_date(text: str) -> datetime | None:
    """Read a date in one of the three forms of RFC 9110 §5.6.7; None for anything else."""
    for form in _DATES:
        if (found := form.fullmatch(text.strip())) is not None:
            year = int(found["year"])
            if year < _SHORT_YEARS:
                year += _CENTURY - (_SHORT_YEARS if year >= _TURN else 0)
            day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
            try:
                return datetime(year, _MONTHS.index(found["month"]) + 1, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return None  # a 31st of February
    return None


def write_http_date(moment: datetime) -> str:
    """Write a moment as `Fri, 20 Nov 2026 03:50:00 GMT`."""
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an answer may be compressed, and its plain form is not preferred."""
    weights = dict(_read_codings(accept_encoding))
    anything = weights.get("*", 0.0)
    packed = max(weights.get("gzip", anything), weights.get("x-gzip", 0.0))
    return packed > 0 and packed >= weights.get("identity", 0.0)


def _opaque(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _read_tags(field: str) -> set[str]:
    return {found[1] for found in _TAG.finditer(field)}


def _read_codings(field: str) -> Iterator[tuple[str, float]]:
    for part in field.split(","):
        found = _CODING.fullmatch(part)
        if found is not None:
            weight = "1" if found[2] is None else found[2]
            yield found[1].lower(), float(weight) if _WEIGHT.fullmatch(weight) else 0.0


CACHE_CONTROL = "private, max-age=900"
"""A mailing comes once a day; readers that ask four times an hour miss nothing."""

KEPT = 900.0
"""Seconds a body is kept at most, though no match run came: what saved queries are called may have changed."""

DATES = 50_000
"""Feeds whose dates are kept; one that is forgotten is dated anew, and sent whole once more."""

ROOM = 64 * 1024 * 1024
"""Bytes of bodies kept; those not asked for longest go first."""


class Answer:
    """A whole answer, made once and sent many times.

    Args:
        status: its status.
        headers: its headers; the length is added where there is a body.
        body: None where the answer has none.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes | None) -> None:
        self.status = status
        self.size = len(body or b"")
        fields = dict(headers) | ({} if body is None else {"Content-Length": str(len(body))})
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        self._head: Message = {"type": "http.response.start", "status": status, "headers": encoded}
        self._body: Message = {"type": "http.response.body", "body": body or b""}

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it; the server leaves the body out where only the head was asked for."""
        await send(self._head)
        await send(self._body)


@dataclass(frozen=True, slots=True)
class FeedCopy:
    """A feed as it is sent.

    Attributes:
        etag: one for all forms; the same as long as nothing changed.
        last_modified: since when it reads so, see `ChangeDates` (UTC).
        plain: the answer with the whole of it.
        packed: the same, compressed.
        unchanged: the answer to who has it.
    """

    etag: str
    last_modified: datetime
    plain: Answer = field(repr=False)
    packed: Answer = field(repr=False)
    unchanged: Answer = field(repr=False)


def make_copy(body: bytes, media_type: str, last_modified: datetime, guards: Mapping[str, str]) -> FeedCopy:
    """Make every answer a feed may be given with.

    Args:
        body: the feed.
        media_type: with its charset.
        last_modified: since when it reads so (UTC).
        guards: headers of every answer that does not say otherwise.
    """
    headers = {
        **guards,
        "ETag": make_etag(body),
        "Last-Modified": write_http_date(last_modified),
        "Cache-Control": CACHE_CONTROL,
        "Vary": "Accept-Encoding",
    }
    whole = headers | {"Content-Type": media_type}
    return FeedCopy(
        etag=headers["ETag"],
        last_modified=last_modified,
        plain=Answer(HTTPStatus.OK, whole, body),
        packed=Answer(HTTPStatus.OK, whole | {"Content-Encoding": "gzip"}, gzip.compress(body, mtime=0)),
        unchanged=Answer(HTTPStatus.NOT_MODIFIED, headers, None),
    )


class ChangeDates:
    """Since when each feed reads as it does, for readers that ask by date alone.

    Its newest entry does not tell: a title, a template, or a paper that is excluded change a feed and no date in
    it. So a process dates what it meets for the first time by the moment it does, since another may have handed
    out something else until then. What a match run changes has the run's date, and all processes agree on that.

    Args:
        room: how many feeds are kept.
    """

    def __init__(self, room: int = DATES) -> None:
        self._room = room
        self._known: OrderedDict[tuple[str, str], tuple[str, datetime]] = OrderedDict()

    def settle(self, key: tuple[str, str], etag: str, updated: datetime, now: datetime) -> datetime:
        """Return since when a feed reads as it does (UTC, in whole seconds), later than what it said before.

        Args:
            key: which feed, in which format.
            etag: what it holds.
            updated: when its newest entry came or changed (UTC).
            now: the moment (UTC).
        """
        known, since = self._known.pop(key, ("", None))
        moment = now.replace(microsecond=0)
        if since is not None and known == etag:
            moment = since
        elif since is not None:
            came = updated.replace(microsecond=0)
            moment = came if since < came <= moment else max(moment, since + timedelta(seconds=1))
        self._known[key] = (etag, moment)
        if len(self._known) > self._room:
            self._known.popitem(last=False)
        return moment


class Shelf:
    """Bodies by address, as many as there is room for."""

    def __init__(self, room: int) -> None:
        self._room, self._used = room, 0
        self._copies: OrderedDict[tuple[str, str], tuple[FeedCopy, object, float]] = OrderedDict()

    def take(self, key: tuple[str, str], edition: object) -> FeedCopy | None:
        """Return the copy made of an edition, None where there is none any more."""
        copy, made_of, made_at = self._copies.get(key, (None, None, 0.0))
        if copy is None or made_of != edition or monotonic() - made_at >= KEPT:
            return None
        self._copies.move_to_end(key)
        return copy

    def put(self, key: tuple[str, str], copy: FeedCopy, edition: object) -> None:
        """Keep a copy, and let go of those not taken for longest where there is no room."""
        before = self._copies.pop(key, None)
        self._used -= _weigh(before[0]) if before else 0
        self._copies[key] = (copy, edition, monotonic())
        self._used += _weigh(copy)
        while self._used > self._room and len(self._copies) > 1:
            _, (oldest, _, _) = self._copies.popitem(last=False)
            self._used -= _weigh(oldest)


def _weigh(copy: FeedCopy) -> int:
    return copy.plain.size + copy.packed.size


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
        address = self._addresses.get(secrets.token_hash(token))
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
        address = await self._find_address(secrets.token_hash(token), came)
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
            newest_run = queries.newest_match_run(conn)
            addresses = self._read_addresses(conn) if whole else self._addresses
        self._addresses, self._newest_run = addresses, newest_run
        self._read_at = began if whole else self._read_at

    def _read_addresses(self, conn: Connection) -> dict[str, _Address]:
        maker = make_links(conn, self._site.config)
        places = [*queries.load_feed_places(conn), *queries.load_query_places(conn)]
        known, self._hashes = self._hashes, {}
        table = {}
        for place in places:
            for generation in range(place.generation + 1):
                key = (place.origin, place.name, generation)
                self._hashes[key] = known.get(key) or secrets.token_hash(_derive_token(maker, *key))
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
