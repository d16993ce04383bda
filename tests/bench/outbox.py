"""What the outbox, planning and storing take, on both databases, and what a small installation does.

    python -m tests.bench.outbox                    everything, with goals
    python -m tests.bench.outbox --part claiming    one part of it

1. claiming: deliveries claimed, begun and marked by one thread, each on disk before the next. Goal: 50 a second
   on each database.
2. ticking: what planning and delivering ask the database when nothing is due, among a million subscriptions.
   Goal: 1 ms for both together.
3. planning: a hundred thousand subscriptions due at one moment, most of them with few papers: 10 s.
4. storing: a day's papers among ten times as many stored ones. Goal: 1.3 times as long.
5. small: `digest run` with twenty saved queries and nothing new. Goal: 1 s of processor time, 120 MB.
6. whole: a hundred thousand saved queries are told of a mailing that a stand-in for arXiv serves over HTTP, from
   the harvest until the outbox is full, in a process that has matched before. Goal: 10 s after the harvest. Wants
   `DIGEST_REAL_DATA`.

The best of several rounds counts. PostgreSQL is the one from the wheel, with fsync on.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from sqlalchemy import Text, cast

from digest.deliver.dispatch import deliver
from digest.match.step import match
from digest.model.messages import DeliveryState, Message, Receipt
from digest.plan.step import plan
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store.schema import deliveries, digests
from tests.bench.crowds import (
    DUE,
    EVENING,
    announce,
    choose_narrow,
    draw_queries,
    fill,
    numbers,
    settle,
    subscribe_crowd,
)
from tests.bench.installations import Verdict, databases, opened, say
from tests.bench.papers import load_day
from tests.bench.small import QUERIES, measure_idle_run
from tests.bench.storing import measure_growth
from tests.bench.whole import measure_way

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.poll.installation import Site

_PARTS: Final = ("claiming", "ticking", "planning", "storing", "small", "whole")
CLAIMED: Final = 2_000
ROWS: Final = 1_000_000
GROWTH, SECONDS, MEGABYTES = 1.3, 1.0, 120.0
"""Goals: times as long; processor time and memory of an idle run."""

CROWD: Final = 100_000
MULTITUDE: Final = 1_000_000
RATE, TICK, PLANNED = 50.0, 1.0, 10.0
"""Goals: deliveries a second; milliseconds of an idle tick; seconds for everybody's digests."""

_ROUNDS, _SINGLES, _TICKS = 3, 300, 300
_CLAIMED_AT_ONCE = 16


def measure_claiming(site: Site, count: int) -> float:
    """Return how many deliveries a second are claimed, begun and marked, each in transactions of its own."""
    body = Message("message/rfc822", b"From: digest@example.org\r\n\r\nHello", "key", "digest.eml")
    begun, done, now = perf_counter(), 0, site.clock.now()
    while done < count:
        with site.store.begin() as conn:
            taken = outbox_module.claim(conn, owner="bench", limit=_CLAIMED_AT_ONCE, now=now)
        for delivery in taken:
            with site.store.begin() as conn:
                outcome = outbox.begin_sending(conn, delivery, body, now)
            with site.store.begin() as conn:
                is_marked = outbox.mark_sent(conn, delivery, Receipt("1", "250 OK"), now)
            if not is_marked or outcome is not DeliveryState.SENDING:
                raise SystemExit("what was claimed was not sent: nothing was measured")
        done += len(taken)
    return done / (perf_counter() - begun)


def _fill_outbox(site: Site, count: int) -> None:
    subscribe_crowd(site.store, draw_queries(load_day()[2], 10), count=count)
    n = numbers(count)
    key = cast(n, Text)
    told = {"occasion": "scheduled", "planned_at": EVENING, "zone": "UTC", "title": "", "content": "{}"}
    digest = {"id": n, "subscription_id": n, "slot": "2026-11-20", **told, "papers": 1, "shown": 1}
    fill(site.store, digests, n, digest)
    ready = {
        "digest_id": n,
        "destination": "mailto:reader-" + key + "@example.org",
        "part": 0,
        "parts": 1,
        "state": DeliveryState.READY,
        "not_before": EVENING,
        "attempts": 0,
        "token": 0,
        "idempotency_key": "key-" + key,
        "created_at": EVENING,
    }
    said = dict.fromkeys(("owner", "name", "remote_address", "remote_id", "last_error"), "")
    fill(site.store, deliveries, n, ready | said)
    settle(site.store)


def measure_tick(site: Site) -> float:
    """Return milliseconds of planning and delivering that find nothing due."""
    subscribe_crowd(site.store, draw_queries(load_day()[2], 1_000), count=MULTITUDE)
    taken = []
    for _ in range(_TICKS):
        begun = perf_counter()
        plan(site)
        deliver(site)
        taken.append((perf_counter() - begun) * 1e3)
    return min(taken)


class Planned(NamedTuple):
    """What planning a crowd took.

    Attributes:
        matching, planning: seconds.
        worked: seconds of processor time that planning took here; a PostgreSQL's own are not among them.
        digests: how many came of it.
        papers: how many they hold.
    """

    matching: float
    planning: float
    worked: float
    digests: int
    papers: int


def measure_planning(site: Site, crowd: int = CROWD) -> Planned:
    """Match a mailing with a crowd's saved queries, and plan everybody's digests."""
    _, day, others = load_day()
    queries = choose_narrow(draw_queries(others, crowd * 13 // 10), day)[:crowd]
    subscribe_crowd(site.store, queries)
    announce(site.store, day)
    begun = perf_counter()
    match(site)
    matched = perf_counter()
    site.clock.sleep((DUE - EVENING + timedelta(seconds=1)).total_seconds())
    worked = process_time()
    report = plan(site)
    worked, planned = process_time() - worked, perf_counter()
    papers = sum(len(digest.entries) for digest in report.digests)
    return Planned(matched - begun, planned - matched, worked, len(report.digests), papers)


def _judge_claiming(verdict: Verdict, name: str, site: Site) -> None:
    _fill_outbox(site, CLAIMED)
    rate = max(measure_claiming(site, _SINGLES) for _ in range(_ROUNDS))
    verdict.tell(f"{name}: claimed, begun and marked", rate, "a second", RATE, at_most=False)


def _judge_ticking(verdict: Verdict, name: str, site: Site) -> None:
    what = f"{name}: an idle tick among {MULTITUDE:,} subscriptions"
    verdict.tell(what, measure_tick(site), "ms", TICK, at_most=True)


def _judge_planning(verdict: Verdict, name: str, site: Site, crowd: int) -> None:
    took = measure_planning(site, crowd)
    say(f"{name}: {took.digests:,} digests of {took.papers:,} papers for {crowd:,} subscriptions")
    what = f"{name}: planned at once ({took.worked:.1f} s of processor time)"
    verdict.tell(what, took.planning, "s", PLANNED, at_most=True)
    say(f"{name}: every query read and matched before it in {took.matching:.1f} s")


def _judge_whole(verdict: Verdict, name: str, url: str, crowd: int) -> None:
    way = measure_way(url, crowd)
    say(f"{name}: {crowd:,} saved queries read, and a first look matched, in {way.warming:.1f} s, once a process")
    say(f"{name}: {way.records:,} records harvested over HTTP, {way.papers:,} of them new, in {way.harvest:.1f} s")
    say(f"{name}: {way.digests:,} digests, {way.waiting:,} deliveries wait in the outbox")
    what = f"{name}: after the harvest (matching {way.matching:.1f} s, planning {way.planning:.1f} s)"
    verdict.tell(what, way.matching + way.planning, "s", PLANNED, at_most=True)


def _judge_storing(verdict: Verdict, name: str, site: Site, rows: int) -> None:
    few, many = measure_growth(site.store, rows)
    say(f"{name}: a day stored among {rows:,} in {few * 1e3:.0f} ms, among {10 * rows:,} in {many * 1e3:.0f} ms")
    verdict.tell(f"{name}: storing among ten times as many papers", many / few, "×", GROWTH, at_most=True)


def _judge_small(verdict: Verdict) -> None:
    for asks in (False, True):
        cost = measure_idle_run(asks=asks)
        what = f"an idle run with {QUERIES} saved queries, {'asking arXiv' if asks else 'the last look fresh'}"
        verdict.tell(f"{what}: processor time", cost.seconds, "s", SECONDS, at_most=True)
        verdict.tell(f"{what}: memory", cost.megabytes, "MB", MEGABYTES, at_most=True)


@click.command()
@click.option("--part", type=click.Choice((*_PARTS, "all")), default="all")
@click.option("--crowd", default=CROWD, show_default=True, help="how many subscriptions are planned at once")
@click.option("--rows", default=ROWS, show_default=True, help="papers stored, and then ten times as many")
def main(part: str, crowd: int, rows: int) -> None:
    """Measure everything."""
    verdict = Verdict()
    judges: dict[str, Callable[[Verdict, str, Site], None]] = {
        "claiming": _judge_claiming,
        "ticking": _judge_ticking,
        "planning": partial(_judge_planning, crowd=crowd),
        "storing": partial(_judge_storing, rows=rows),
    }
    for name, judge in judges.items():
        if part in (name, "all"):
            with databases() as urls:
                for kind, url in urls.items():
                    with opened(url) as site:
                        judge(verdict, kind, site)
    if part in ("small", "all"):
        _judge_small(verdict)
    if part in ("whole", "all"):
        with databases() as urls:
            for kind, url in urls.items():
                _judge_whole(verdict, kind, url, crowd)
    raise SystemExit(0 if verdict.is_met else 1)


if __name__ == "__main__":
    main()
