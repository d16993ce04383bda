"""What every endpoint works with, and the small pages it answers with."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from digest.model.errors import DigestError, StoreError, TemplateError
from digest.render.contexts import ErrorContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import DataclassInstance
    from starlette.requests import Request

    from digest.config import Config
    from digest.poll.installation import Site
    from digest.render import Renderer
    from digest.serve.telemetry import Pulse
    from digest.web.feeds import FeedDesk

_log = logging.getLogger("digest.web")

RETRY_AFTER = "30"
"""Seconds: the database is away, and most often back soon."""

_WORDS = {
    400: ("This request can't be understood.", ""),
    404: ("There is nothing at this address.", "Check that the whole of it was copied."),
    405: ("This address does not take such requests.", ""),
    408: ("The request took too long to arrive.", "Try again."),
    410: ("This feed is no longer published.", "Ask whoever runs this service for its present address."),
    413: ("The request is too large.", ""),
    500: ("Something went wrong here.", "It was noted. Try again later."),
    503: ("The service can't answer just now.", "Nothing is lost. Try again in a minute."),
}


@dataclass(frozen=True, slots=True)
class Shell:
    """What endpoints share.

    Attributes:
        site: the installation.
        feeds: every feed there is, in memory.
        render_digest: returns the page of a digest, by its number; the last ones are kept.
        pulse: signs of life of the jobs; None where this process has none.
        pages: answers with pages.
    """

    site: Site
    feeds: FeedDesk
    render_digest: Callable[[int], bytes]
    pulse: Pulse | None
    pages: Pages


class Pages:
    """Answers made from the templates of `web/`.

    Args:
        renderer: what makes them.
        home: the front page's public address, "" where there is none.
    """

    def __init__(self, renderer: Renderer, home: str = "") -> None:
        self._renderer = renderer
        self._home = home

    def show(self, name: str, context: DataclassInstance) -> Response:
        """Answer with a page."""
        return HTMLResponse(self._renderer.render_web(name, context))

    def fail(
        self, status: int, message: str = "", hint: str = "", headers: Mapping[str, str] | None = None
    ) -> Response:
        """Answer with a small page that says what is wrong; the words for the status where none are given."""
        usual, usual_hint = _WORDS.get(status, ("This can't be done.", ""))
        context = ErrorContext(status, message or usual, hint if message else usual_hint, self._home)
        try:
            body = self._renderer.render_web("error.html", context)
        except TemplateError:
            _log.exception("the error page can't be rendered")
            return PlainTextResponse(context.message, status, headers)
        return HTMLResponse(body, status, headers)


def shell_of(request: Request) -> Shell:
    """Return what this application's endpoints share."""
    shell: Shell = request.app.state.shell
    return shell


def find_contact(config: Config) -> str:
    """Return the operator's mail address, as arXiv is given it; "" where that is a web page, or none."""
    contact = config.arxiv.contact
    return contact if "@" in contact and ":" not in contact else ""


def answer_http_error(request: Request, error: Exception) -> Response:
    """Answer where no endpoint takes the request."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    return shell_of(request).pages.fail(error.status_code, headers=error.headers)


def answer_digest_error(request: Request, error: Exception) -> Response:
    """Answer where something of ours says no: the reason to who asked wrongly, to nobody else."""
    assert isinstance(error, DigestError)  # noqa: S101 - registered for nothing else
    pages = shell_of(request).pages
    if isinstance(error, StoreError):
        _log.error("the database did not answer a request: %s %s", error.message, error.hint)
        return pages.fail(503, headers={"Retry-After": RETRY_AFTER})
    if error.http_status >= 500:  # noqa: PLR2004 - HTTP's own boundary: our fault from here on
        _log.error("a request failed", exc_info=error)
        return pages.fail(500)
    return pages.fail(error.http_status, error.message, error.hint)


def answer_any_error(request: Request, _error: Exception) -> Response:
    """Answer where nothing else did; the server logs the error itself."""
    return shell_of(request).pages.fail(500)
