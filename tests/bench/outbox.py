"""What the outbox takes, on both databases, and what a small installation does.

    python -m tests.bench.outbox

1. Deliveries are claimed, begun and marked by one thread, each on disk before the next. Goal: 50 a second on each
   database.
2. `digest run` has twenty saved queries and nothing new. Goal: 1 s of processor time, 120 MB.

The best of several rounds counts. PostgreSQL is the one from the wheel, with fsync on.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any, Final

from sqlalchemy import Connection, Table, insert

from digest.model.messages import DeliveryState, Message, Receipt
from digest.poll.installation import Site
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store.schema import deliveries, digests, subscribers, subscription_destinations, subscriptions
from tests.bench.installations import EVENING, Verdict, databases, opened
from tests.bench.small import QUERIES, measure_idle_run

CLAIMED: Final = 2_000
SECONDS, MEGABYTES = 1.0, 120.0
"""Goals: processor time and memory of an idle run."""

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


def _fill_outbox(conn: Connection) -> None:
    for n in range(1, CLAIMED + 1):
        address = f"reader-{n}@example.org"
        kept = {"name": f"reader-{n}", "origin": "file", "state": "active", "created_at": EVENING}
        place = {"destination": f"mailto:{address}", "state": "active", "since": EVENING}
        told = {"occasion": "scheduled", "planned_at": EVENING, "zone": "UTC", "content": "{}"}
        ready = {"parts": 1, "state": DeliveryState.READY, "not_before": EVENING, "created_at": EVENING}
        goes = {"destination": place["destination"], "idempotency_key": f"key-{n}"}
        _fill(conn, subscribers, {"id": n, "address": address, "state": "confirmed", "since": EVENING})
        _fill(conn, subscriptions, {"id": n, **kept})
        _fill(conn, subscription_destinations, {"subscription_id": n, **place})
        _fill(conn, digests, {"id": n, "subscription_id": n, "slot": "2026-11-20", **told})
        _fill(conn, deliveries, {"digest_id": n, **ready, **goes})


def _fill(conn: Connection, table: Table, row: dict[str, Any]) -> None:
    """Write a row; what it leaves out is empty or nought."""
    needed = [column for column in table.c if not column.nullable and column.name not in {"id", *row}]
    rest = {column.name: "" if column.type.python_type is str else 0 for column in needed}
    conn.execute(insert(table).values(rest | row))


def _judge_claiming(verdict: Verdict, name: str, site: Site) -> None:
    with site.store.begin() as conn:
        _fill_outbox(conn)
    rate = max(measure_claiming(site, _SINGLES) for _ in range(_ROUNDS))
    verdict.tell(f"{name}: claimed, begun and marked", rate, "a second", RATE, at_most=False)


def _judge_small(verdict: Verdict) -> None:
    for asks in (False, True):
        cost = measure_idle_run(asks=asks)
        what = f"an idle run with {QUERIES} saved queries, {'asking arXiv' if asks else 'the last look fresh'}"
        verdict.tell(f"{what}: processor time", cost.seconds, "s", SECONDS, at_most=True)
        verdict.tell(f"{what}: memory", cost.megabytes, "MB", MEGABYTES, at_most=True)


def main() -> int:
    """Measure everything; return 1 if a goal was missed."""
    verdict = Verdict()
    with databases() as urls:
        for kind, url in urls.items():
            with opened(url) as site:
                _judge_claiming(verdict, kind, site)
    _judge_small(verdict)
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
