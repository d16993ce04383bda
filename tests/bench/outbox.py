"""What the outbox and storing take, on both databases, and what a small installation does.

    python -m tests.bench.outbox                    everything, with goals
    python -m tests.bench.outbox --part claiming    one part of it

1. claiming: deliveries claimed, begun and marked by one thread, each on disk before the next. Goal: 50 a second
   on each database.
2. storing: a day's papers among ten times as many stored ones. Goal: 1.3 times as long.
3. small: `digest run` with twenty saved queries and nothing new. Goal: 1 s of processor time, 120 MB.

The best of several rounds counts. PostgreSQL is the one from the wheel, with fsync on.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click
from sqlalchemy import Text, cast

from digest.model.messages import DeliveryState, Message, Receipt
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store.schema import deliveries, digests, subscribers, subscription_destinations, subscriptions
from tests.bench.bulk import fill, numbers, settle
from tests.bench.installations import EVENING, Verdict, databases, opened, say
from tests.bench.small import QUERIES, measure_idle_run
from tests.bench.storing import measure_growth

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.poll.installation import Site

_PARTS: Final = ("claiming", "storing", "small")
CLAIMED: Final = 2_000
ROWS: Final = 1_000_000
GROWTH, SECONDS, MEGABYTES = 1.3, 1.0, 120.0
"""Goals: times as long; processor time and memory of an idle run."""

RATE = 50.0
"""The goal: deliveries a second."""

_ROUNDS, _SINGLES = 3, 300
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
    n = numbers(count)
    key = cast(n, Text)
    address = "reader-" + key + "@example.org"
    mail = "mailto:" + address
    fill(site.store, subscribers, n, {"id": n, "address": address, "state": "confirmed", "since": EVENING})
    kept = {"id": n, "name": "reader-" + key, "origin": "file", "state": "active", "created_at": EVENING}
    fill(site.store, subscriptions, n, kept)
    place = {"subscription_id": n, "destination": mail, "state": "active", "since": EVENING}
    fill(site.store, subscription_destinations, n, place)
    told = {"occasion": "scheduled", "planned_at": EVENING, "zone": "UTC", "content": "{}"}
    fill(site.store, digests, n, {"id": n, "subscription_id": n, "slot": "2026-11-20", **told})
    ready = {
        "digest_id": n,
        "destination": mail,
        "parts": 1,
        "state": DeliveryState.READY,
        "not_before": EVENING,
        "idempotency_key": "key-" + key,
        "created_at": EVENING,
    }
    fill(site.store, deliveries, n, ready)
    settle(site.store)


def _judge_claiming(verdict: Verdict, name: str, site: Site) -> None:
    _fill_outbox(site, CLAIMED)
    rate = max(measure_claiming(site, _SINGLES) for _ in range(_ROUNDS))
    verdict.tell(f"{name}: claimed, begun and marked", rate, "a second", RATE, at_most=False)


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
@click.option("--rows", default=ROWS, show_default=True, help="papers stored, and then ten times as many")
def main(part: str, rows: int) -> None:
    """Measure everything."""
    verdict = Verdict()
    judges: dict[str, Callable[[Verdict, str, Site], None]] = {
        "claiming": _judge_claiming,
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
    raise SystemExit(0 if verdict.is_met else 1)


if __name__ == "__main__":
    main()
