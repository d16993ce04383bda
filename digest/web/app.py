"""The web shell: which address leads where."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from digest.errors import DigestError
from digest.web.digest_pages import DigestPages
from digest.web.feed_desk import FeedDesk
from digest.web.feeds import FeedDoor, serve_feed
from digest.web.guards import AccessLog, BodyLimit, SecurityHeaders, write_guards
from digest.web.health import show_liveness, show_readiness
from digest.web.leaving import ask_to_leave, leave
from digest.web.reading import render_digest, show_digest, show_home
from digest.web.referring import serve_reference
from digest.web.shell import Pages, Shell, answer_any_error, answer_digest_error, answer_http_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from digest.pipeline import Site
    from digest.scheduling import Pulse

THREADS = 8
"""Endpoints at work at once: fewer than the database has connections for us."""


def create_app(site: Site, pulse: Pulse | None = None) -> ASGIApp:
    """Make the web shell of an installation.

    A GET changes nothing, anywhere. Every endpoint is an ordinary function in a thread of its own but
    those of feeds and digests: what is at hand waits for nothing, and who waits for it to be made, on no thread.

    Args:
        site: the installation.
        pulse: signs of life of its jobs, for `/readyz`; None where no jobs run in this process.
    """
    pages, guards = Pages(site.renderer, site.config.web.base_url), write_guards(site.renderer.web_style_hash())
    desk = FeedDesk(site, guards)
    app = Starlette(
        routes=[
            Route("/", show_home),
            Route("/f/{name}", serve_feed),
            Route("/u/{token}", ask_to_leave, methods=["GET"]),
            Route("/u/{token}", leave, methods=["POST"]),
            Route("/d/{token}", show_digest),
            Route("/refs/{name:path}", serve_reference),
            Route("/livez", show_liveness),
            Route("/readyz", show_readiness),
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
    app.state.shell = Shell(site, desk, DigestPages(partial(render_digest, site)), pulse, pages)
    # Around the whole of it, so that answers to errors are guarded too.
    return FeedDoor(AccessLog(SecurityHeaders(BodyLimit(app, fail=pages.fail), guards)), desk)


@asynccontextmanager
async def _live(app: Starlette) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
    app.state.shell.feeds.close()
