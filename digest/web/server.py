"""Maps addresses, and runs uvicorn in a thread."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, lru_cache, partial

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp

from digest.inspect.trial import QueryTrials
from digest.model.errors import ConfigurationError, DigestError
from digest.serve.telemetry import Pulse
from digest.site import Site
from digest.store import tokens
from digest.web import archive, endpoints, preferences, private, signup
from digest.web.connections import HEAD_LIMIT, Connection, count_room
from digest.web.feeds import FeedCache
from digest.web.guards import BodyLimit, EveryAnswer, KnownHosts, find_hosts, write_headers
from digest.web.searches import Searches
from digest.web.shell import Pages, Shell

THREADS = 8
"""Endpoints at work at once: fewer than the database has connections for us."""

PAGES = 16
"""Pages of digests kept; a digest is frozen."""

_GIVES_WAY_AFTER = 0.0005
"""Seconds after which a thread at work lets others go on: a page waits for it many times."""

GOODBYE = 3
"""Seconds in which answers under way may end."""

_KEPT_ALIVE = 10
"""Seconds that a connection may wait for its next request."""

_WAITING = 128
"""Connections that wait to be accepted.

Some event loops accept all of them before any can be closed.
"""


def create_app(site: Site, pulse: Pulse | None = None) -> ASGIApp:
    """Make the web shell of an installation.

    A GET changes nothing, anywhere. Every endpoint is an ordinary function in a thread of its own.
    Only requests that wait for a feed, or for the turn of a search, wait without a thread.
    """
    web = site.config.web
    pages = Pages(site.renderer, web.base_url)
    headers = write_headers(site.renderer.web_style_hash())
    routes: list[Route] = []
    for family in (endpoints, preferences, private, signup, archive):
        routes += family.ROUTES
    app = Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: endpoints.answer_http_error,
            DigestError: endpoints.answer_digest_error,
            Exception: endpoints.answer_any_error,
        },
        lifespan=_live,
    )
    # A redirect would turn a one-click POST into nothing: mail programs do not follow it (RFC 8058
    # §3.1).
    app.router.redirect_slashes = False
    app.state.shell = Shell(
        site=site,
        feeds=FeedCache(site),
        trials=QueryTrials(site),
        searches=Searches(),
        render_digest=lru_cache(PAGES)(partial(archive.render_digest, site)),
        pulse=pulse,
        pages=pages,
        load_secret=cache(partial(_load_secret, site)),
    )
    # Around the whole of it, so that answers to errors are guarded too.
    limited = BodyLimit(app, fail=pages.fail)
    known = KnownHosts(limited, find_hosts(web), fail=pages.fail)
    return EveryAnswer(known, headers)


def _load_secret(site: Site) -> str:
    with site.store.read() as conn:
        return tokens.load_secret(conn)


@asynccontextmanager
async def _live(_app: Starlette) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield


class WebServer:
    """Serves an application until it is stopped.

    Port 0 is any free one; `room` is how many connections there may be at once.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, *, room: int | None = None) -> None:
        self._socket = _bind(host, port)
        connect = partial(Connection, room or count_room())
        config = uvicorn.Config(
            app,
            http=connect,  # type: ignore[arg-type]  # called like a class
            h11_max_incomplete_event_size=HEAD_LIMIT,
            backlog=_WAITING,
            log_config=None,
            log_level="error",  # its warnings are of clients, who could write any number
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=_KEPT_ALIVE,
            timeout_graceful_shutdown=GOODBYE,
        )
        self._server = uvicorn.Server(config)
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
        sys.setswitchinterval(_GIVES_WAY_AFTER)
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
            hint="Free the port, or choose another under [web]."
            " `digest serve --no-web` needs none.",
        ) from error
