"""A feed as it is sent: every answer that may be given with it, made once; its date; the shelf of such copies."""

from __future__ import annotations

import gzip
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.web.conditional import make_etag, write_http_date

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from starlette.types import Message, Receive, Scope, Send

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
