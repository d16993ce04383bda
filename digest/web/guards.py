"""What stands around every endpoint: headers that protect readers, a limit for bodies, a log without secrets."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from digest.clock import monotonic
from digest.web.connections import HAS_LEFT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("digest.web")

BODY_LIMIT = 64 * 1024
"""Bytes; a one-click POST has a hundred."""

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

_PREFIXES = ("f", "u", "d", "refs")
"""Of the pages below the first three the rest of the path is a secret; of papers it tells what somebody reads."""

_KNOWN = frozenset({"/", "/livez", "/readyz"})


def write_guards(style: str) -> dict[str, str]:
    """Return the headers of every answer that does not say otherwise.

    Args:
        style: source expression that allows the pages' own style.
    """
    policy = f"default-src 'none'; style-src {style}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
        "Cache-Control": "no-store",
    }


class SecurityHeaders:
    """Adds headers to every answer that does not say otherwise.

    Args:
        app: what is guarded.
        headers: as `write_guards` returns them.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back with the headers."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_guarded)


class BodyLimit:
    """Reads bodies before anything else does, up to a limit in bytes and seconds.

    Args:
        app: what is guarded.
        fail: makes the answer for a status.
    """

    def __init__(self, app: ASGIApp, *, fail: Callable[[int], Response]) -> None:
        self._app, self._fail = app, fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body, or refuse it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(scope, receive)
        except TimeoutError:
            await self._refuse(408, scope, receive, send)
            return
        if body is None:
            await self._refuse(413, scope, receive, send)
            return
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_read() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, receive_read, send)

    async def _refuse(self, status: int, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._fail(status)
        answer.headers["Connection"] = "close"
        await answer(scope, receive, send)


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the body; None where it is too long, by its own word or by its bytes, or its sender has gone."""
    announced = Headers(scope=scope).get("content-length", "0")
    if announced.isdecimal() and int(announced) > BODY_LIMIT:
        return None
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body", False):
            return bytes(body)


class AccessLog:
    """Logs every request by what was asked for, never by its secret.

    Args:
        app: what is guarded.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = monotonic(), 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            milliseconds = round((monotonic() - began) * 1000)
            fields = {"status": status, "milliseconds": milliseconds}
            name = name_path(scope["path"])
            if scope.get("state", {}).get(HAS_LEFT):
                _log.debug("%s %s: the client left early", scope["method"], name)
            else:
                _log.info("%s %s", scope["method"], name, extra={"fields": fields})


def name_path(path: str) -> str:
    """Return what may be logged of a path: which page it is, and never a token."""
    if path in _KNOWN:
        return path
    prefix, _, rest = path.removeprefix("/").partition("/")
    return f"/{prefix}/…" if prefix in _PREFIXES and rest else "(no such page)"
