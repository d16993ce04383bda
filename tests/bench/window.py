"""What the live page costs `digest serve`: an announcement taken in, its memory, and who waits.

    python -m tests.bench.window

A real process lives through ten announcements of 1,500 papers. After each one a query is tried, and
the processor time counts until the answer has the new day. Then it is started anew, and 20 clients
ask for the first page again and again while the papers of the last days are read. How long they
wait is held against one client and a process that does nothing else. Real papers are read where
`DIGEST_REAL_DATA` names a folder of them, made-up ones otherwise.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, sleep

import httpx

from tests.bench.installations import Verdict, say
from tests.bench.papers import load_papers
from tests.bench.serving import announce
from tests.fakes.archive import plan_announcement
from tests.harness.serving import Served, wait_until
from tests.integration.web.test_connections import measure
from tests.integration.web.world import World, live_in

ANNOUNCEMENTS = 10
PAPERS = 1_500
CLIENTS = 20
THINKING = 1.0
"""Seconds between an answer and the next question of a client, as a person who reloads a page."""

IDLE = 50
"""Answers to one client of a process that does nothing else."""

SECONDS = 2.0
MEGABYTES = 200.0
TIMES = 10.0
_TRIED = {"q": "gpu"}
_TICKS = os.sysconf("SC_CLK_TCK")


def read_processor_time(process: Served) -> float:
    """Return the seconds of processor time that a process had so far."""
    stat = Path(f"/proc/{process.process.pid}/stat").read_text(encoding="ascii")
    _, _, after_name = stat.rpartition(")")
    figures = after_name.split()
    ticks = int(figures[11]) + int(figures[12])
    return ticks / _TICKS


def live_through(world: World, process: Served, http: httpx.Client, verdict: Verdict) -> None:
    """Live through all announcements; tell what the last ones cost, and the memory after them."""
    made_of, papers = load_papers()
    say(f"{PAPERS:,} {made_of} an announcement")
    moment = world.clock.now()
    costs = []
    memory = 0.0
    for number in range(ANNOUNCEMENTS):
        moment = plan_announcement(moment + timedelta(hours=1))
        start = number * PAPERS % (len(papers) - PAPERS)
        first = 1 + number * PAPERS
        world.arxiv.add(*announce(moment, papers[start : start + PAPERS], first))
        until_shown = moment + timedelta(hours=3) - world.clock.now()
        world.clock.sleep(until_shown.total_seconds())
        sent = len(world.mail.mails)
        wait_until(lambda sent=sent: len(world.mail.mails) > sent, 300)
        newest = f"{moment:%y%m}.{first + PAPERS - 1:05d}"
        idle = measure(process.process.pid, "VmRSS") / 2**20
        before = read_processor_time(process)
        wait_until(lambda newest=newest: is_shown(http, newest), 300)
        costs.append(read_processor_time(process) - before)
        memory = measure(process.process.pid, "VmRSS") / 2**20
        say(f"  {number + 1}: {costs[-1]:.2f} s of processor time, {idle:.0f} then {memory:.0f} MB")
    verdict.tell("an announcement taken in, the dearest", max(costs), "s", SECONDS, at_most=True)
    verdict.tell("memory after the last one", memory, "MB", MEGABYTES, at_most=True)


def is_shown(http: httpx.Client, id_: str) -> bool:
    """Whether the live page finds a paper by its id."""
    return f"abs/{id_}" in http.get("/live", params={"q": f"id:{id_}"}).raise_for_status().text


def time_page(http: httpx.Client) -> float:
    """Return how many seconds the first page takes."""
    begun = monotonic()
    http.get("/").raise_for_status()
    return monotonic() - begun


def is_read(http: httpx.Client) -> bool:
    """Whether a query can be tried: the papers of the last days are read."""
    return "are being read" not in http.get("/live", params=_TRIED).raise_for_status().text


def visit(url: str, number: int, is_over: threading.Event) -> list[float]:
    """Ask for the first page until it is over; return the seconds that each answer took."""
    took = []
    network = {"X-Forwarded-For": f"192.0.2.{number}"}
    with httpx.Client(base_url=url, timeout=60, headers=network) as http:
        sleep(THINKING * number / CLIENTS)
        while not is_over.is_set():
            took.append(time_page(http))
            sleep(THINKING)
    return took


def time_visitors(process: Served, http: httpx.Client, *, until_read: bool) -> list[float]:
    """Return how long 20 clients wait for the first page while the papers are read, or are not."""
    is_over = threading.Event()
    with ThreadPoolExecutor(CLIENTS) as pool:
        visitors = [pool.submit(visit, process.url, n, is_over) for n in range(CLIENTS)]
        begun = monotonic()
        while not is_read(http) if until_read else monotonic() - begun < 5 * THINKING:
            sleep(0.2)
        is_over.set()
        took: list[float] = []
        for visitor in visitors:
            took += visitor.result()
    return took


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    verdict = Verdict()
    begun = datetime(2026, 11, 1, 12, tzinfo=UTC)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = stack.enter_context(live_in(folder, begun))
        file = folder / "digest.toml"
        text = file.read_text(encoding="utf-8").replace("cat:cs.PF", "cat:cs.LG")
        file.write_text(text.replace("daily at 02:00 UTC", "on announcement"), encoding="utf-8")
        headers = {"X-Forwarded-For": "192.0.2.255"}
        with world.serve(program="tests.bench.serving") as process:
            with httpx.Client(base_url=process.url, timeout=60, headers=headers) as http:
                live_through(world, process, http, verdict)
            process.stop()
        process = stack.enter_context(world.serve(program="tests.bench.serving"))
        http = stack.enter_context(httpx.Client(base_url=process.url, timeout=60, headers=headers))
        while_read = time_visitors(process, http, until_read=True)
        idle = median(time_page(http) for _ in range(IDLE))
        quiet = time_visitors(process, http, until_read=False)
        slowest, slowest_quiet = (quantiles(took, n=100)[-1] for took in (while_read, quiet))
        say(f"the first page, idle: {idle * 1e3:.1f} ms")
        say(
            f"  20 clients, nothing is read: p99 {slowest_quiet * 1e3:.0f} ms, {len(quiet)} answers"
        )
        say(f"  20 clients, papers are read: p99 {slowest * 1e3:.0f} ms, {len(while_read)} answers")
        verdict.tell(
            "the first page while papers are read, p99 of 20 clients against an idle one",
            slowest / idle,
            "×",
            TIMES,
            at_most=True,
        )
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
