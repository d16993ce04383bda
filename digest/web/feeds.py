"""`/f/<token>.atom` and `.json`: a subscription's feed, answered from memory."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

from digest.web.conditional import accepts_gzip, is_unmodified, write_http_date
from digest.web.shell import shell_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from digest.web.feed_desk import FeedCopy

CACHE_CONTROL = "private, max-age=900"
"""A mailing comes once a day; readers that ask four times an hour miss nothing."""


async def serve_feed(request: Request) -> Response:
    """Answer with a feed, with 304 where the reader has it, 410 where it was, 404 where it never was."""
    shell = shell_of(request)
    token, _, suffix = request.path_params["name"].rpartition(".")
    found = await shell.feeds.find(token, suffix)
    if isinstance(found, HTTPStatus):
        return shell.pages.fail(found)
    headers = {
        "ETag": found.etag,
        "Last-Modified": write_http_date(found.last_modified),
        "Cache-Control": CACHE_CONTROL,
        "Vary": "Accept-Encoding",
        "X-Robots-Tag": "noindex",
    }
    if _has_it(request, found):
        return Response(status_code=304, headers=headers)
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        return Response(found.packed, headers=headers, media_type=found.media_type)
    return Response(found.body, headers=headers, media_type=found.media_type)


def _has_it(request: Request, copy: FeedCopy) -> bool:
    tags = request.headers.getlist("if-none-match")
    return is_unmodified(
        copy.etag,
        copy.last_modified,
        if_none_match=", ".join(tags) if tags else None,
        if_modified_since=request.headers.get("if-modified-since"),
    )
