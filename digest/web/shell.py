"""What every endpoint needs of the server, and the pages that say what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, PlainTextResponse, Response

from digest.model.errors import TemplateError
from digest.model.messages import Links
from digest.render.contexts import Context, ErrorContext
from digest.render.renderer import Renderer
from digest.serve.telemetry import Pulse
from digest.web.feeds import FeedCache
from digest.web.searches import Searches

if TYPE_CHECKING:
    from starlette.requests import Request

    from digest.inspect.trial import QueryTrials
    from digest.site import Site

_log = logging.getLogger("digest.web")

RETRY_AFTER = "30"
"""Seconds to wait before asking again, as a header has them.

A database that is away is most often back soon.
"""

_WORDS_OF_STATUS = {
    400: ("This request can't be understood.", ""),
    403: ("This is not allowed.", ""),
    404: (
        "There is nothing at this address.",
        (
            "Check that you copied the whole address. A link from a mail may also be used up, or"
            " too old."
        ),
    ),
    405: ("This page opens only from the form.", "Start on the first page."),
    408: ("The request took too long to arrive.", "Try again."),
    410: (
        "This feed is no longer published.",
        "Ask the operator of this service for its new address.",
    ),
    413: ("The request is too large.", ""),
    500: ("Something went wrong here.", "The error was recorded. Try again later."),
    503: ("The service can't answer just now.", "Nothing is lost. Try again in a minute."),
}
"""What is wrong and what to do, by the status of the answer."""


@dataclass(frozen=True, slots=True)
class Shell:
    """What every endpoint needs of the server: kept in `app.state`, returned by `shell_of`.

    Attributes:
        render_digest: takes `(number, links, is_own)`, and returns the page of the digest, cached.
            `is_own`: show titles of the reader's library, because nobody else reads the digest.
        pulse: signs of life of the jobs; None if this process has no jobs.
        load_secret: returns the secret that the installation's tokens are derived from.
        kept: pages that are the same for everybody, by path, with the period they were made in.
    """

    site: Site
    feeds: FeedCache
    trials: QueryTrials
    searches: Searches
    render_digest: Callable[[int, Links, bool], bytes]
    pulse: Pulse | None
    pages: Pages
    load_secret: Callable[[], str]
    kept: dict[str, tuple[int, bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pages:
    """Answers made from the templates of `web/`.

    `home`: the address of the first page; "" if there is no public address.
    """

    renderer: Renderer
    home: str = ""

    def show(self, name: str, context: Context, status: int = 200) -> Response:
        """Answer with a page."""
        return HTMLResponse(self.renderer.render_web(name, context), status)

    def fail(
        self,
        status: int,
        message: str = "",
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Answer with a small page that says what is wrong.

        Without a message, the page has the words of `_WORDS_OF_STATUS`.
        """
        if not message:
            message, hint = _WORDS_OF_STATUS.get(status, ("This is not possible.", ""))
        context = ErrorContext(status, message, hint, home=self.home)
        try:
            body = self.renderer.render_web("error.html", context)
        except TemplateError:
            _log.exception("the error page can't be rendered")
            return PlainTextResponse(context.message, status, headers)
        return HTMLResponse(body, status, headers)


def shell_of(request: Request) -> Shell:
    """Return what every endpoint needs of the server that got this request."""
    shell: Shell = request.app.state.shell
    return shell
