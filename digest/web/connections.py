"""Limits how many connections are open and how many searches run at once, and ends heads without an end.

Without these limits clients stop the work. Their sockets take the descriptors that mails and posts
need, and a head without an end takes the memory. A proxy in front does the rest: it waits for slow
clients.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from digest.model.clock import monotonic
from digest.web.endpoints import RETRY_AFTER, shell_of
from digest.web.guards import name_network

HEAD_LIMIT = 32 * 1024
"""Bytes of a request that are no body: its head, the sizes of its chunks, and trailers.
What comes in a single piece may be longer by that piece."""

MOST = 1024
"""Connections at once, however many descriptors there are: each may hold a head and a body."""

SEARCHES, OF_NETWORK, QUEUE = 3, 2, 100
"""Searches at work at once, those for one network, and all that may be at work or wait."""

HANGING_UP = 0.05
"""Seconds that each search waits at least: by then a client has gone that asked and hung up at once."""


def count_room() -> int:
    """Return how many connections may be open at once: half of the descriptors are kept for the work."""
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
        """Whether no answer is under way."""
        return getattr(
            self.cycle, "response_complete", True
        )  # there is none before the first request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Take a place. If there are too many, close the oldest that waits for its client, or else this one."""
        super().connection_made(transport)
        if len(self.connections) > self._room:
            idle = (one for one in self.connections if isinstance(one, Connection) and one.is_idle)
            oldest = min(idle, key=lambda one: one.opened_at)
            self.connections.remove(oldest)
            oldest.transport.abort()


class Searches:
    """Searches through papers, at work or waiting. They belong to the server's event loop.

    They have threads of their own, so that no other page waits for them. Those that wait have no
    thread.
    """

    def __init__(self) -> None:
        self._count, self._threads, self._turns = (
            0,
            CapacityLimiter(SEARCHES),
            asyncio.Semaphore(SEARCHES),
        )
        self._networks: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, endpoint: Callable[[Request], Response], request: Request) -> Response:
        """Call an endpoint when it is its turn, but never for a client that has hung up; return its answer."""
        await asyncio.sleep(HANGING_UP)
        shell = shell_of(request)
        if self._count >= QUEUE:
            return shell.pages.fail(
                503,
                "Too many people search at the moment.",
                "Try again in a minute.",
                {"Retry-After": RETRY_AFTER},
            )
        network = name_network(request, shell.site.config)
        of_network = self._networks.setdefault(network, asyncio.Semaphore(OF_NETWORK))
        self._count += 1
        try:
            async with of_network, self._turns:
                if any(
                    [await request.is_disconnected() for _ in range(2)]
                ):  # the first look may meet the body
                    return Response(status_code=204)  # which nobody reads
                return await to_thread.run_sync(endpoint, request, limiter=self._threads)
        finally:
            self._count -= 1


def as_search(endpoint: Callable[[Request], Response], field: str = "") -> Callable[[Request], Any]:
    """Let an endpoint's requests take turns with other searches, but those that leave a field empty."""

    async def answer(request: Request) -> Response:
        if field and not request.query_params.get(field, "").strip():
            return await run_in_threadpool(endpoint, request)
        return await shell_of(request).searches.run(endpoint, request)

    return answer
