"""An arXiv that notes when each request came and when it was done with: what the gate is judged by."""

from __future__ import annotations

import itertools
import random
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.unit.arxiv.pages import atom_entry, atom_feed

_PAGE = atom_feed(atom_entry())
_USUAL, _SLOW = (0.005, 0.06), (0.2, 0.5)


@dataclass(frozen=True)
class Served:
    """A request: when it had come, when its answer was about to leave, by `monotonic`, and who asked."""

    began: float
    ended: float
    who: str


@dataclass(frozen=True)
class Breach:
    """Two requests that came too close: seconds between them, below zero where they overlap."""

    gap: float
    before: Served
    after: Served


class NotingArxiv:
    """Answers every search with one paper, after a while.

    Args:
        seed: of how long it takes.
        slow: how often it takes long.
    """

    def __init__(self, seed: int, slow: float = 0.1) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - the same delays for the same seed
        self._slow = slow
        self._served: list[Served] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where to search."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/api/query"

    @property
    def served(self) -> list[Served]:
        """What was asked so far, in the order it came."""
        with self._lock:
            return sorted(self._served, key=lambda one: one.began)

    def serve(self, who: str) -> None:
        """Take as long as this request takes."""
        began = time.monotonic()
        with self._lock:
            usual = self._draw.random() >= self._slow
            seconds = self._draw.uniform(*(_USUAL if usual else _SLOW))
        time.sleep(seconds)
        with self._lock:
            self._served.append(Served(began, time.monotonic(), who))

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        arxiv = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                # It is done with before the answer leaves: what a loaded machine adds is never taken for haste.
                arxiv.serve(self.headers.get("User-Agent", "?").partition(" ")[0])
                self.send_response(200)
                self.send_header("Content-Type", "application/atom+xml")
                self.send_header("Content-Length", str(len(_PAGE)))
                self.end_headers()
                self.wfile.write(_PAGE)

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:
                    self.close_connection = True  # who asked was killed, or cut off

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
                """Say nothing."""

        return Handler


def find_breaches(served: list[Served], spacing: float) -> list[Breach]:
    """Return the requests that began before the spacing since the end of all before them was over."""
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
    return max((after.began - before.ended for before, after in itertools.pairwise(served)), default=0.0)
