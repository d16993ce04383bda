"""`/f/<token>.atom` and `.json`: feeds, answered from memory."""

from __future__ import annotations

import logging
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from digest.web.conditional import accepts_gzip, is_unmodified
from digest.web.shell import shell_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from digest.web.feed_copies import Answer, FeedCopy
    from digest.web.feed_desk import FeedDesk

_log = logging.getLogger("digest.web")

FOLDER = "/f/"
"""Below it are the feeds."""

_METHODS = frozenset({"GET", "HEAD"})
_PATIENT_LENGTH = 200
"""Longer lists of codings are read anew each time, not remembered."""

_remember_gzip = lru_cache(maxsize=128)(accepts_gzip)


class FeedDoor:
    """Answers where a feed is at hand, and passes everything else on.

    Readers ask for feeds day and night, mostly for what they have, and this is all that happens then. Nobody
    is told of such a request but the log, at its lowest level.

    Args:
        app: what answers everything else: other pages, and feeds that have to be made, are void or never were.
        desk: the feeds.
    """

    def __init__(self, app: ASGIApp, desk: FeedDesk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        copy = None
        if scope["type"] == "http" and scope["path"].startswith(FOLDER) and scope["method"] in _METHODS:
            copy = await self._desk.find_at_hand(*_split(scope["path"].removeprefix(FOLDER)))
        if copy is None:
            await self._app(scope, receive, send)
            return
        answer = choose_answer(copy, scope["headers"])
        await answer(scope, receive, send)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s /f/…", scope["method"], extra={"fields": {"status": answer.status}})


async def serve_feed(request: Request) -> Response | Answer:
    """Answer with a feed, with 304 where the reader has it, 410 where it was, 404 where it never was."""
    shell = shell_of(request)
    found = await shell.feeds.find(*_split(request.path_params["name"]))
    if isinstance(found, HTTPStatus):
        return shell.pages.fail(found)
    return choose_answer(found, request.scope["headers"])


def choose_answer(copy: FeedCopy, fields: Iterable[tuple[bytes, bytes]]) -> Answer:
    """Return what a request is answered with: the feed, the feed compressed, or that nothing changed.

    Args:
        copy: the feed.
        fields: the request's header fields, names in small letters.
    """
    tags: bytes | None = None
    since: bytes | None = None
    codings = b""
    for name, value in fields:
        if name == b"if-none-match":
            tags = value if tags is None else tags + b", " + value
        elif name == b"if-modified-since":
            since = value
        elif name == b"accept-encoding":
            codings = codings + b", " + value if codings else value
    if (tags is not None or since is not None) and is_unmodified(
        copy.etag,
        copy.last_modified,
        if_none_match=None if tags is None else tags.decode("latin-1"),
        if_modified_since=None if since is None else since.decode("latin-1"),
    ):
        return copy.unchanged
    read = accepts_gzip if len(codings) > _PATIENT_LENGTH else _remember_gzip
    return copy.packed if codings and read(codings.decode("latin-1")) else copy.plain


def _split(name: str) -> tuple[str, str]:
    token, _, suffix = name.rpartition(".")
    return token, suffix
