"""How fast feeds are served, next to a bare ASGI application on the same server, and to feeds made per request.

    python -m tests.bench.feeding

Each contestant is a process of its own with the same uvicorn (uvloop, httptools), is asked over real HTTP on
127.0.0.1 by 32 connections that are kept, and answers with the same bytes under the same headers: an Atom feed
of 50 papers with abstracts. They take turns, a round each; what counts is the median over the rounds of the
server's processor time for a request, which the server tells itself, so that neither the client nor others
at work on the machine are measured.

1. bare: an application of four lines that sends bytes it holds.
2. ours: the whole web shell over an installation on SQLite, with every header, guard and look at the database,
   while nothing happens, and while another process commits to the database all the time, as delivering does.
3. feedgen: the same entries given to feedgen 1.0 at each request, and its Atom sent.

Goals: 60 % of bare for a whole feed, 60 times feedgen.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from urllib.request import Request, urlopen

from tests.bench.feed_servers import CLOCK, PAPERS, make_installation, served
from tests.bench.installations import Verdict, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


CONNECTIONS: Final = 32
ROUNDS: Final = 7
SECONDS: Final = 1.5
OF_BARE, OF_FEEDGEN = 0.6, 60.0
COMMITS_A_SECOND: Final = 50


@dataclass(frozen=True)
class Wish:
    """What is asked for: its name, and the header fields of the request."""

    name: str
    fields: tuple[tuple[str, str], ...] = ()

    def write(self, path: str) -> bytes:
        """Return the request."""
        fields = "".join(f"{name}: {value}\r\n" for name, value in (("Host", "127.0.0.1"), *self.fields))
        return f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode()


@dataclass(frozen=True)
class Pace:
    """Requests answered a second, and microseconds of the server's processor time for each."""

    rate: float
    work: float


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder, ExitStack() as stack:
        path = make_installation(Path(folder))
        ours = stack.enter_context(served("ours", folder))
        answers = _record_answers(ours, path, Path(folder))
        bare = stack.enter_context(served("bare", folder))
        feedgen = stack.enter_context(served("feedgen", folder))
        size = len(answers["whole"]["body"]) // 2
        say(f"an Atom feed of {PAPERS} papers, {size:,} bytes, over {CONNECTIONS} connections, {ROUNDS} rounds")
        for wish in _list_wishes(answers):
            contestants: dict[str, Callable[[], Pace]] = {
                "bare": lambda wish=wish: _measure(bare, path, wish),  # type: ignore[misc]  # mypy loses the default
                "ours": lambda wish=wish: _measure(ours, path, wish),  # type: ignore[misc]  # as above
            }
            with_feedgen = wish.name == "whole"
            if with_feedgen:
                contestants["feedgen"] = lambda wish=wish: _measure(feedgen, path, wish)  # type: ignore[misc]  # as above
                contestants["ours while others commit"] = lambda wish=wish: _measure_beside_commits(  # type: ignore[misc]  # as above
                    ours, path, wish, Path(folder) / "digest.db"
                )
            _compare(wish, contestants, verdict)
    return 0 if verdict.is_met else 1


def _list_wishes(answers: Mapping[str, Mapping[str, Any]]) -> list[Wish]:
    tag = dict(answers["whole"]["headers"])["etag"]
    return [
        Wish("whole"),
        Wish("compressed", (("Accept-Encoding", "gzip"),)),
        Wish("unchanged", (("If-None-Match", tag),)),
    ]


def _compare(wish: Wish, contestants: Mapping[str, Callable[[], Pace]], verdict: Verdict) -> None:
    rounds: dict[str, list[Pace]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, run in contestants.items():
            rounds[name].append(run())
    work = {name: median(pace.work for pace in paces) for name, paces in rounds.items()}
    rate = {name: median(pace.rate for pace in paces) for name, paces in rounds.items()}
    say(f"{wish.name}:")
    for name in contestants:
        say(f"  {name}: {work[name]:,.0f} µs of processor time a request, {rate[name]:,.0f} a second")
    verdict.tell("  of bare", work["bare"] / work["ours"], "", OF_BARE, at_most=False)
    if "feedgen" in work:
        busy = work["ours while others commit"]
        say(f"  of bare while others commit {COMMITS_A_SECOND} times a second: {work['bare'] / busy:,.2f}")
        verdict.tell("  against feedgen", work["feedgen"] / work["ours"], "×", OF_FEEDGEN, at_most=False)


def _measure(url: str, path: str, wish: Wish) -> Pace:
    """Ask for a while; return how it went."""
    port = int(url.rpartition(":")[2])
    before = _read_clock(url)
    began = perf_counter()
    count = asyncio.run(_ask_for_a_while(port, wish.write(path)))
    took = perf_counter() - began
    return Pace(count / took, (_read_clock(url) - before) / count * 1e6)


def _measure_beside_commits(url: str, path: str, wish: Wish, database: Path) -> Pace:
    """Do the same while somebody commits to the database that the server reads."""
    stop = threading.Event()
    thread = threading.Thread(target=_commit, args=(database, stop))
    thread.start()
    try:
        return _measure(url, path, wish)
    finally:
        stop.set()
        thread.join()


def _commit(database: Path, stop: threading.Event) -> None:
    connection = sqlite3.connect(database, isolation_level=None, timeout=10)
    while not stop.wait(1 / COMMITS_A_SECOND):
        # As a worker's sign of life: nothing that a feed is made of.
        connection.execute("UPDATE gate SET next_at = next_at + 0.001").close()
    connection.close()


def _read_clock(url: str) -> float:
    with urlopen(f"{url}{CLOCK}") as answer:  # noqa: S310 - our own server on 127.0.0.1
        return float(answer.read())


async def _ask_for_a_while(port: int, request: bytes) -> int:
    """Ask over all connections until the time is over; return how many answers came."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SECONDS
    askers = [
        (await loop.create_connection(lambda: _Asker(request, until), "127.0.0.1", port))[1]
        for _ in range(CONNECTIONS)
    ]
    await asyncio.gather(*(asker.over for asker in askers))
    return sum(asker.count for asker in askers)


class _Asker(asyncio.Protocol):
    """One connection: asks again as soon as the answer is complete, which is as long as the first one."""

    def __init__(self, request: bytes, until: float) -> None:
        self.request, self.until, self.count = request, until, 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head, self._length, self._come = b"", 0, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Count bytes, and ask again where the answer is whole."""
        self._come += len(data)
        if not self._length:
            self._head += data
            head, end, _ = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 304 ")):
                raise SystemExit(f"no feed came, so nothing was measured: {head.decode()}")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            self._length = len(head) + len(end) + (int(lengths[0].partition(b":")[2]) if lengths else 0)
        if self._come < self._length:
            return
        assert self._come == self._length
        self._come = 0
        self.count += 1
        if asyncio.get_running_loop().time() < self.until:
            self._transport.write(self.request)
        else:
            self._transport.close()
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Say so where it was not over."""
        if not self.over.done():
            self.over.set_exception(exc or ConnectionError("the server closed the connection"))


def _record_answers(url: str, path: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Ask ours once for everything, so that the bare application can answer the same."""
    answers = {"whole": _fetch(f"{url}{path}", {})}
    tag = dict(answers["whole"]["headers"])["etag"]
    answers["compressed"] = _fetch(f"{url}{path}", {"Accept-Encoding": "gzip"})
    headers = [pair for pair in answers["whole"]["headers"] if pair[0] not in ("content-length", "content-type")]
    answers["unchanged"] = {"status": 304, "headers": headers, "body": ""}
    answers["tag"] = {"status": 0, "headers": [], "body": tag.encode().hex()}
    (folder / "answers.json").write_text(json.dumps(answers))
    return answers


def _fetch(url: str, headers: dict[str, str]) -> dict[str, Any]:
    with urlopen(Request(url, headers=headers)) as answer:  # noqa: S310 - our own server on 127.0.0.1
        # The server adds these two itself.
        fields = ((name.lower(), value) for name, value in answer.headers.items())
        told = [(name, value) for name, value in fields if name not in ("date", "connection")]
        return {"status": answer.status, "headers": told, "body": answer.read().hex()}


if __name__ == "__main__":
    sys.exit(main())
