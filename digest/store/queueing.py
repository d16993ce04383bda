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

    From a mail server's answer to its mark a death makes the mail come twice. So who has something else to write
    does not begin while an answer is awaited, or, since it may never come, holds back a moment.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_writing = False
        self._awaited = 0

    @contextmanager
    def awaiting_answer(self) -> Iterator[None]:
        """Say that an answer is awaited, and not written down yet."""
        with self._changed:
            self._awaited += 1
        try:
            yield
        finally:
            with self._changed:
                self._awaited -= 1
                self._changed.notify_all()

    @contextmanager
    def write(self, *, is_answer: bool, timeout: float) -> Iterator[bool]:
        """Be the only one who writes; give whether it could be had in time.

        Args:
            is_answer: it is what the others hold back for.
            timeout: seconds to wait for another who writes.
        """
        with self._changed:
            if not is_answer:
                self._changed.wait_for(lambda: not self._awaited, COURTESY)
            is_mine = self._changed.wait_for(lambda: not self._is_writing, timeout)
            self._is_writing = self._is_writing or is_mine
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._changed:
                    self._is_writing = False
                    self._changed.notify_all()
