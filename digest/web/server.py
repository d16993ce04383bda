"""Maps addresses, guards them, and runs uvicorn in a thread."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from digest.inspect.trial import TrialDesk
from digest.model.clock import monotonic
from digest.model.errors import ConfigurationError, DigestError
from digest.web import endpoints, start
from digest.web.connections import PATIENCE, Connections, count_room
from digest.web.endpoints import (
    Pages,
    Shell,
    answer_any_error,
    answer_digest_error,
    answer_http_error,
    render_digest,
)
from digest.web.feeds import FeedDesk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from digest.poll.installation import Site
    from digest.serve.telemetry import Pulse


THREADS = 8
"""Endpoints at work at once: fewer than the database has connections for us."""

PAGES = 64
"""Pages of digests kept; a digest is frozen."""


def create_app(site: Site, pulse: Pulse | None = None) -> ASGIApp:
    """Make the web shell of an installation.

    A GET changes nothing, anywhere. Every endpoint is an ordinary function in a thread of its own but
    that of feeds: who waits for one to be made waits on no thread.

    Args:
        site: the installation.
        pulse: signs of life of its jobs, for `/readyz`; None where no jobs run in this process.
    """
    pages, guards = Pages(site.renderer, site.config.web.base_url), write_guards(site.renderer.web_style_hash())
    app = Starlette(
        routes=[
            *endpoints.ROUTES,
            *start.ROUTES,
        ],
        exception_handlers={
            HTTPException: answer_http_error,
            DigestError: answer_digest_error,
            Exception: answer_any_error,
        },
        lifespan=_live,
    )
    # A redirect would turn a one-click POST into nothing: mail programs do not follow it (RFC 8058 §3.1).
    app.router.redirect_slashes = False
    render = lru_cache(PAGES)(partial(render_digest, site))
    app.state.shell = Shell(site, FeedDesk(site), TrialDesk(site), render, pulse, pages)
    # Around the whole of it, so that answers to errors are guarded too.
    return AccessLog(SecurityHeaders(BodyLimit(app, fail=pages.fail), guards))


@asynccontextmanager
async def _live(_app: Starlette) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield


_log = logging.getLogger("digest.web")

BODY_LIMIT = 64 * 1024
"""Bytes; a one-click POST has a hundred."""

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

BAD = 400
"""From this status on an answer is a refusal."""

_PREFIXES = ("f", "u", "d", "refs")
"""Below the first three the path is a secret; for papers it shows what somebody reads."""

_KNOWN = frozenset({"/", "/live", "/live.js", "/livez", "/readyz"})


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
            # Readers ask for feeds day and night.
            level = logging.DEBUG if name == "/f/…" and status < BAD else logging.INFO
            _log.log(level, "%s %s", scope["method"], name, extra={"fields": fields})


def name_path(path: str) -> str:
    """Return what may be logged of a path: which page it is, and never a token."""
    if path in _KNOWN:
        return path
    prefix, _, rest = path.removeprefix("/").partition("/")
    return f"/{prefix}/…" if prefix in _PREFIXES and rest else "(no such page)"


GOODBYE = 3
"""Seconds in which answers under way may end."""

_WAITING = 128
"""Connections that wait to be accepted: some event loops accept all of them before any can be closed."""


class WebServer:
    """Serves an application until it is stopped.

    Args:
        app: the application.
        host: an address of this machine, or a name for one.
        port: 0 for any free one.
        room: connections at once; as many as there are descriptors for where none is given.

    Raises:
        ConfigurationError: nothing can be served there.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, *, room: int | None = None) -> None:
        self._socket = _bind(host, port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=Connections(room or count_room()).make,  # type: ignore[arg-type]  # called like a class
                backlog=_WAITING,
                log_config=None,
                log_level="error",  # its warnings are of clients: each could write as many as it likes
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="on",
                ws="none",
                timeout_keep_alive=PATIENCE,
                timeout_graceful_shutdown=GOODBYE,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="web", daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to serve; requests that came since the socket was bound are answered first."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Take no more requests from now on, without waiting for those under way."""
        self._server.should_exit = True

    def stop(self) -> None:
        """Take no more requests, let those under way end, and close."""
        self.ask_to_stop()
        if self._thread.ident is not None:
            self._thread.join(GOODBYE + 1)
        self._socket.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except OSError as error:
        raise ConfigurationError(
            f"nothing can be served at {host}:{port}: {error.strerror or error}",
            hint="Free the port, or choose another under [web]. `digest serve --no-web` needs none.",
        ) from error
