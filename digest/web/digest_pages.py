"""Renders each page of a digest once, and keeps its bytes while there is room."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Callable

ROOM = 64 * 1024 * 1024
"""Bytes of pages kept; those not asked for longest go first."""


class DigestPages:
    """Pages by the digest they show, which was frozen. Belongs to the web server's event loop.

    Who waits for a page holds no thread, so one that takes seconds keeps nobody else waiting.

    Args:
        render: makes the page of a digest.
        room: bytes kept; the page made last always is.
    """

    def __init__(self, render: Callable[[int], bytes], room: int = ROOM) -> None:
        self._render, self._room = render, room
        self._pages: OrderedDict[int, bytes] = OrderedDict()
        self._used = 0
        self._rendering = asyncio.Lock()

    async def find(self, digest_id: int) -> bytes:
        """Return the page of a digest.

        Raises:
            DigestError: it cannot be made.
        """
        if digest_id not in self._pages:
            async with self._rendering:
                if digest_id not in self._pages:  # somebody else may have asked for it meanwhile
                    self._keep(digest_id, await run_in_threadpool(self._render, digest_id))
        self._pages.move_to_end(digest_id)
        return self._pages[digest_id]

    def _keep(self, digest_id: int, page: bytes) -> None:
        self._pages[digest_id] = page
        self._used += len(page)
        while self._used > self._room and len(self._pages) > 1:
            _, oldest = self._pages.popitem(last=False)
            self._used -= len(oldest)
