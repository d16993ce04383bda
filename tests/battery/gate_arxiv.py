"""An arXiv that notes when each request came and when it was done with.

What the gate is judged by.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from dataclasses import dataclass

from tests.fakes.loopback import Answer, LoopbackServer, Request
from tests.fakes.pages import atom_entry, atom_feed

_PAGE = atom_feed(atom_entry())
_USUAL = (0.005, 0.06)
_SLOW = (0.2, 0.5)


@dataclass(frozen=True)
class Served:
    """A request: who asked, and by `monotonic` when it came and when its answer was to leave."""

    began: float
    ended: float
    who: str


@dataclass(frozen=True)
class Breach:
    """Two requests that came too close: seconds between them, below zero where they overlap."""

    gap: float
    before: Served
    after: Served


class NotingArxiv(LoopbackServer):
    """Answers every search with one paper, after a while.

    Args:
        seed: of how long it takes.
        slow: how often it takes long.
    """

    def __init__(self, seed: int, slow: float = 0.1) -> None:
        super().__init__(self._serve)
        self._draw = random.Random(seed)  # noqa: S311 - the same delays for the same seed
        self._slow = slow
        self._served: list[Served] = []
        self._lock = threading.Lock()

    @property
    def served(self) -> list[Served]:
        """What was asked so far, in the order it came."""
        with self._lock:
            return sorted(self._served, key=lambda one: one.began)

    def _serve(self, request: Request) -> Answer:
        began = time.monotonic()
        with self._lock:
            usual = self._draw.random() >= self._slow
            seconds = self._draw.uniform(*(_USUAL if usual else _SLOW))
        time.sleep(seconds)
        # It is done with before the answer leaves: what a loaded machine adds is never taken for
        # haste.
        with self._lock:
            who = request.headers.get("user-agent", "?").partition(" ")[0]
            self._served.append(Served(began, time.monotonic(), who))
        return Answer(_PAGE, media_type="application/atom+xml")


def find_breaches(served: list[Served], spacing: float) -> list[Breach]:
    """Return the requests that began sooner than the spacing after all before them had ended."""
    breaches: list[Breach] = []
    last: Served | None = None
    for one in served:
        if last is not None and one.began - last.ended < spacing:
            breaches.append(Breach(one.began - last.ended, last, one))
        if last is None or one.ended > last.ended:
            last = one
    return breaches


def longest_silence(served: list[Served]) -> float:
    """Return the longest time between two requests, in seconds."""
    return max(
        (after.began - before.ended for before, after in itertools.pairwise(served)), default=0.0
    )
