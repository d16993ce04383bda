"""Who of a process writes next to a SQLite file, which takes one writer at a time: an answer goes first."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

COURTESY: Final = 0.05
"""Seconds others hold back for an answer that is about to come: longer than a mail server nearby takes, and too
short to slow anybody down where one is far away or hangs."""


class WriterQueue:
    """Threads that want to write to one file: SQLite lets who waits look again only now and then, these need not.

    From a mail server's answer to its mark a death makes the mail come twice. So a mail goes out while nobody
    writes or has waited to, and who has something else to write then holds back until its answer is written
    down, or, since that may never come, a moment.

    Args:
        timeout: seconds to wait for another who writes.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._changed = threading.Condition()
        self._is_writing = False
        self._waiting = self._awaited = 0

    @contextmanager
    def awaiting_answer(self) -> Iterator[None]:
        """Say that an answer is awaited, and not written down yet; first let others write who wait already."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._is_writing), COURTESY)
            self._awaited += 1
        try:
            with self._changed:
                # Where somebody still writes, the answer would have to wait for that: rather the mail does.
                self._await_turn()
            yield
        finally:
            with self._changed:
                self._awaited -= 1
                self._changed.notify_all()

    @contextmanager
    def write(self, *, is_answer: bool) -> Iterator[bool]:
        """Be the only one who writes; give whether it could be had in time.

        Args:
            is_answer: it is what the others hold back for.
        """
        with self._changed:
            is_mine = self._await_turn() if is_answer else self._hold_back()
            self._is_writing = self._is_writing or is_mine
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._changed:
                    self._is_writing = False
                    self._changed.notify_all()

    def _hold_back(self) -> bool:
        self._waiting += 1
        try:
            self._changed.wait_for(lambda: not self._awaited, COURTESY)
            return self._await_turn()
        finally:
            self._waiting -= 1
            self._changed.notify_all()

    def _await_turn(self) -> bool:
        return self._changed.wait_for(lambda: not self._is_writing, self._timeout)
