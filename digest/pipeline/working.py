"""Being one of the processes at work: signs of life while it lasts, and what one of them does at a time."""

from __future__ import annotations

import logging
import os
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from digest import __version__
from digest.clock import SystemClock
from digest.errors import StoreError
from digest.store import job_turns, workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from digest.pipeline.site import Site
    from digest.store.job_turns import JobTurn

_log = logging.getLogger("digest.worker")

POLLING = "poll"
"""The job that one worker is at: asking arXiv, over all its interfaces."""


class SignsOfLife:
    """What one process lets the others know of itself. Sign, again and again, and sign off at the end."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._worker = workers.Worker(site.owner, __version__, socket.gethostname(), os.getpid(), site.clock.now())
        self._lock = threading.Lock()
        self._is_over = False

    def sign(self, turns: Iterable[JobTurn] = ()) -> None:
        """Give a sign, and say how the jobs stand.

        Raises:
            StoreError: the database does not take it.
        """
        with self._lock:
            if self._is_over:
                return
            with self._site.store.begin() as conn:
                workers.sign(conn, self._worker)
                job_turns.save_turns(conn, self._site.owner, turns)

    def sign_off(self) -> None:
        """Give no more signs; where the database can't be told, the silence tells."""
        with self._lock:
            self._is_over = True
            try:
                with self._site.store.begin() as conn:
                    workers.sign_off(conn, self._site.owner)
            except StoreError as error:
                _log.warning("the database could not be told that this process ends: %s", error.message)


@contextmanager
def at_work(site: Site, *, beat: float = workers.BEAT) -> Iterator[None]:
    """Give signs of life from a thread of its own for as long as the block lasts.

    Raises:
        StoreError: the database does not take the first one.
    """
    signs, pause, is_over = SignsOfLife(site), SystemClock(), threading.Event()
    signs.sign()

    def live() -> None:
        while True:
            pause.sleep(beat)
            if is_over.is_set():
                return
            try:
                signs.sign()
            except StoreError as error:
                _log.warning("the database takes no sign of life: %s", error.message)

    thread = threading.Thread(target=live, name="signs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        pause.wake()
        thread.join()
        signs.sign_off()


def has_successor(site: Site) -> bool:
    """Whether a process that started later is at work beside this one: it may have been configured since.

    What is configured is read at the start, so the one that started last knows best what can't be sent.
    """
    if site.store.path is not None:  # the file's lock lets one work at a time
        return False
    with site.store.read() as conn:
        at_work = {worker.owner: worker for worker in workers.list_workers(conn) if not worker.is_gone}
    mine = at_work.pop(site.owner, None)
    return any(mine is None or other.started_at > mine.started_at for other in at_work.values())


@contextmanager
def polling_alone(site: Site) -> Iterator[str]:
    """Be the one worker that asks arXiv, which has no use for the same questions from each of several.

    Nothing but politeness rests on it: two that ask all the same keep the pace together, and store each paper
    once.

    Yields:
        The worker that is at it already, so that the caller may not; "" where the caller may.
    """
    if site.store.path is not None:  # the file's lock has seen to it
        yield ""
        return
    with site.store.begin() as conn:
        other = job_turns.begin_alone(conn, site.owner, POLLING, SystemClock().now())
    try:
        yield other
    finally:
        if not other:
            _end_polling(site)


def _end_polling(site: Site) -> None:
    try:
        with site.store.begin() as conn:
            job_turns.end_alone(conn, site.owner, POLLING, SystemClock().now())
    except StoreError as error:
        _log.warning("other workers leave arXiv alone until this one looks again: %s", error.message)
