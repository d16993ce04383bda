"""A few connections to one mail server, each used by one thread at a time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.transports.smtp_connection import GOODBYE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from digest.transports.smtp_connection import SmtpConnection


class SmtpPool:
    """Lends connections; the one that rested least goes first, so that those nobody needs grow old and are closed.

    Args:
        make: makes a connection, without opening it.
        most: how many there are at once, at most.
    """

    def __init__(self, make: Callable[[], SmtpConnection], most: int) -> None:
        self._make = make
        self._free = threading.Semaphore(most)
        self._lock = threading.Lock()
        self._resting: list[SmtpConnection] = []
        self._lent: set[SmtpConnection] = set()

    @contextmanager
    def borrow(self) -> Iterator[SmtpConnection]:
        """Lend a connection for the length of the block, waiting until one is free."""
        with self._free:
            with self._lock:
                connection = self._resting.pop() if self._resting else self._make()
                self._lent.add(connection)
            try:
                yield connection
            finally:
                with self._lock:
                    self._lent.remove(connection)
                    self._resting.append(connection)
                    old = [one for one in self._resting if one.is_old]
                    self._resting = [one for one in self._resting if one not in old]
                for one in old:
                    one.quit()

    def close(self) -> None:
        """Say goodbye over those that rest, and break off what others wait for."""
        with self._lock:
            resting, self._resting = self._resting, []
            for connection in self._lent:
                connection.interrupt()
        for connection in resting:
            connection.begin_goodbye()
        until = monotonic() + GOODBYE
        for connection in resting:
            connection.end_goodbye(until)
