"""What a connection may take of this process: time and room for a request's head, and one place of many.

Without these limits clients stop the work. Their sockets take the descriptors that mails and posts need, and
a head without an end takes the memory. A proxy would see to it, too, but nobody has to put one in front.
"""

from __future__ import annotations

import logging
import resource
from collections import deque
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_log = logging.getLogger("digest.web")

PATIENCE = 10
"""Seconds until a connection is closed that brings no whole request head, or takes no byte of its answer."""

HEAD_LIMIT = 32 * 1024
"""Bytes of a request head, and again of what is neither head nor body: the sizes of its chunks, and trailers.
What comes in a single piece may be longer by that piece."""

QUEUE = 8
"""Requests of one connection that may wait for an answer; browsers and feed readers send one at a time."""

MOST = 1024
"""Connections at once, however many descriptors there are: each may hold a head and a body."""

_PIECE = 4096


def count_room() -> int:
    """Return how many connections may be open at once: half of the descriptors are kept for the work."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if limit == resource.RLIM_INFINITY else min(MOST, limit // 2)


class Connections:
    """The open connections of a server. Its methods belong to the server's event loop.

    Args:
        room: how many there may be.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._open = 0
        self._idle: dict[Connection, None] = {}

    def make(self, **settings: Any) -> Connection:  # noqa: ANN401 - uvicorn's own
        """Make what speaks on a new connection."""
        return Connection(self, **settings)

    def add(self) -> None:
        """Count one more; where there are too many, close the one that has waited longest for its client."""
        self._open += 1
        if self._open > self._room and self._idle:
            next(iter(self._idle)).drop("there are too many connections")

    def remove(self, connection: Connection) -> None:
        """Count one less."""
        self._open -= 1
        self.mark_busy(connection)

    def mark_idle(self, connection: Connection) -> None:
        """Note that a connection waits for its client."""
        self._idle.setdefault(connection)

    def mark_busy(self, connection: Connection) -> None:
        """Note that a connection waits for its client no more."""
        self._idle.pop(connection, None)


class Connection(HttpToolsProtocol):
    """A connection that waits for its client only so long, and gives way to others meanwhile.

    Args:
        connections: all of the server's.
        settings: uvicorn's own.
    """

    def __init__(self, connections: Connections, **settings: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**settings)
        self._all = connections
        self._since: float | None = None
        """Since when it waits for its client, on the loop's clock; None while it does not."""
        self._head = 0
        self._unsent = 0
        self._timer: asyncio.TimerHandle
        self._unanswered: deque[RequestResponseCycle] = deque()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for a request head."""
        super().connection_made(transport)
        self._wait()
        self._look(PATIENCE)
        self._all.add()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place to others; no answer under way is written any more."""
        for cycle in self._unanswered:  # uvicorn itself sees to the latest alone
            cycle.disconnected = True
        self._timer.cancel()
        self._all.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, in pieces, as long as what is no body does not grow too long."""
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            piece = data[start : start + _PIECE]
            super().data_received(piece)
            self._head += len(piece)
            if self._head > HEAD_LIMIT:
                self.drop("its request head or what stands around its body is too long")
            elif len(self._unanswered) > QUEUE:
                self.drop("too many of its requests wait for an answer")

    def on_message_begin(self) -> None:
        """Begin to count the head."""
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop waiting: what there is of a body has a time of its own."""
        self._head, self._since = 0, None
        super().on_headers_complete()
        self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Count no body: that has a limit of its own."""
        self._head -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Keep the place until it is answered; a body that came after the answer earns none."""
        if self._unanswered:
            self._all.mark_busy(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request head, unless it is here."""
        self._unanswered.popleft()
        super().on_response_complete()
        if not self._unanswered:
            self._wait()

    def pause_writing(self) -> None:
        """Wait for a client that takes its answer more slowly than it is made."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self._unanswered:
            self._since = None
            self._all.mark_busy(self)

    def drop(self, why: str) -> None:
        """Close it at once."""
        _log.debug("a connection was closed: %s", why)
        self._timer.cancel()
        self._all.mark_busy(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._since, self._unsent = self.loop.time(), 0
        self._all.mark_idle(self)

    def _look(self, seconds: float) -> None:
        """Check again after so long. One timer, checked now and then, costs less than one for each request."""
        self._timer = self.loop.call_later(seconds, self._lose_patience)

    def _lose_patience(self) -> None:
        left = PATIENCE if self._since is None else self._since + PATIENCE - self.loop.time()
        unsent = self.transport.get_write_buffer_size()
        if left > 0:
            self._look(left)
        elif unsent in (0, self._unsent):
            self.drop("its client took too long")
        else:
            self._unsent = unsent
            self._look(PATIENCE)
