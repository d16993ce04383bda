"""Limits how many connections are open at once, and ends heads without an end.

It lets searches take turns, too.

Without these limits clients stop the work. Their sockets take the descriptors that mails and posts
need, and a head without an end takes the memory. A proxy in front does the rest: it waits for slow
clients.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from digest.model.clock import monotonic
from digest.web.guards import name_network
from digest.web.shell import RETRY_AFTER, shell_of

HEAD_LIMIT = 32 * 1024
"""Bytes of a request that are no body: its head, the sizes of its chunks, and trailers.

What comes in a single piece may be longer by that piece.
"""

MOST = 1024
"""Connections at once, however many descriptors there are: each may hold a head and a body."""


def count_room() -> int:
    """Return how many connections may be open at once.

    Half of the descriptors are kept for the work.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if limit == resource.RLIM_INFINITY else min(MOST, limit // 2)


class Connection(H11Protocol):
    """A connection that gives way to others while it waits for its client."""

    def __init__(self, room: int, **settings: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**settings)
        self._room = room
        self.opened_at = monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no answer is under way; there is none before the first request."""
        return getattr(self.cycle, "response_complete", True)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place.

        If there are too many, close the oldest that waits for its client, or else this one.
        """
        super().connection_made(transport)
        if len(self.connections) > self._room:
            idle = (one for one in self.connections if isinstance(one, Connection) and one.is_idle)
            oldest = min(idle, key=lambda one: one.opened_at)
            self.connections.remove(oldest)
            oldest.transport.abort()


def as_search(endpoint: Callable[[Request], Response], field: str = "") -> Callable[[Request], Any]:
    """Let an endpoint's requests take turns with other searches.

    Those that leave a field empty need no turn.
    """

    async def answer(request: Request) -> Response:
        if field and not request.query_params.get(field, "").strip():
            return await run_in_threadpool(endpoint, request)
        shell = shell_of(request)
        network = name_network(request, shell.site.config)
        found = await shell.searches.run(endpoint, request, network)
        if found is not None:
            return found
        return shell.pages.fail(
            503,
            "Too many people search at the moment.",
            "Try again in a minute.",
            {"Retry-After": RETRY_AFTER},
        )

    return answer
