"""Lets searches through papers take turns, so that no other page waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

SEARCHES = 3
"""Searches at work at once."""

OF_NETWORK = 2
"""Those at work for one network."""

QUEUE = 100
"""All that may be at work or wait."""

HANGING_UP = 0.05
"""Seconds that each search waits at least: by then a client that asked and hung up has gone."""


class Searches:
    """Searches through papers, at work or waiting. They belong to the server's event loop.

    They have threads of their own, so that no other page waits for them. Those that wait have no
    thread.
    """

    def __init__(self) -> None:
        self._count = 0
        self._threads = CapacityLimiter(SEARCHES)
        self._turns = asyncio.Semaphore(SEARCHES)
        self._networks: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(
        self, endpoint: Callable[[Request], Response], request: Request, network: str
    ) -> Response | None:
        """Call an endpoint when it is its turn, but never for a client that has hung up.

        `network`: from where the request comes. Return the answer; None if too many wait.
        """
        await asyncio.sleep(HANGING_UP)
        if self._count >= QUEUE:
            return None
        of_network = self._networks.setdefault(network, asyncio.Semaphore(OF_NETWORK))
        self._count += 1
        try:
            async with of_network, self._turns:
                if await _has_hung_up(request):
                    return Response(status_code=204)  # which nobody reads
                return await to_thread.run_sync(endpoint, request, limiter=self._threads)
        finally:
            self._count -= 1


async def _has_hung_up(request: Request) -> bool:
    """Whether the client has gone; the first question may meet the request's body."""
    looks = [await request.is_disconnected() for _ in range(2)]
    return any(looks)
