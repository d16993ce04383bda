"""Installations of a hundred thousand subscriptions, written in bulk as the product writes them one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from digest.announcements import Kind
from digest.comparing import Change
from digest.query.reverse_index import ReverseIndex
from digest.store import papers as paper_store
from digest.store import runs as run_store
from digest.store.schema import (
    consents,
    query_revisions,
    saved_queries,
    subscribers,
    subscription_destinations,
    subscription_queries,
    subscriptions,
)
from tests.querying import QueryWriter, read_queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Table

    from digest.papers import Paper
    from digest.query import Query
    from digest.store import Store

EVENING = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
"""22:47 US Eastern time: a mailing is out."""

DUE = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
"""When everybody's digest is due."""

_AT_ONCE = 5_000
_BEFORE = EVENING - timedelta(days=30)
CADENCE = "daily at 08:00 UTC"


def draw_queries(papers: Sequence[Paper], count: int, seed: int = 1) -> list[Query]:
    """Return so many readable queries as people save them, made of the words of some papers."""
    return list(islice(read_queries(QueryWriter(papers, seed).write_realistic), count))


def subscribe_crowd(store: Store, queries: Sequence[Query], *, due_at: datetime | None = DUE) -> None:
    """Write one subscriber with one subscription by mail for each query, each due at the same moment."""
    count = len(queries)
    ids = range(1, count + 1)
    _write(
        store,
        saved_queries,
        (
            {"id": n, "name": f"query-{n}", "origin": "store", "state": "active", "created_at": _BEFORE}
            for n in ids
        ),
    )
    _write(
        store,
        query_revisions,
        (
            {
                "id": n,
                "query_id": n,
                "number": 1,
                "text": query.text,
                "canonical": query.canonical,
                "problem": "",
                "active_from_change": 0,
                "created_at": _BEFORE,
            }
            for n, query in zip(ids, queries, strict=True)
        ),
    )
    _write(store, subscribers, (_subscriber(n) for n in ids))
    _write(
        store,
        consents,
        (
            {"subscriber_id": n, "subscription": f"reader-{n}", "event": "confirmed", "how": "link", "at": _BEFORE}
            for n in ids
        ),
    )
    _write(store, subscriptions, (_subscription(n, due_at) for n in ids))
    _write(
        store,
        subscription_queries,
        (
            {"subscription_id": n, "query_id": n, "position": 0, "first_look_run_id": 0, "added_at": _BEFORE}
            for n in ids
        ),
    )
    _write(
        store,
        subscription_destinations,
        (
            {
                "subscription_id": n,
                "destination": f"mailto:reader-{n}@example.org",
                "position": 0,
                "state": "active",
                "reason": "",
                "since": _BEFORE,
            }
            for n in ids
        ),
    )


def announce(store: Store, papers: Sequence[Paper], at: datetime = EVENING) -> None:
    """Store papers as the new ones of a mailing that one harvest brought completely."""
    with store.begin() as conn:
        run_id = run_store.start_run(conn, source="harvest", at=at)
        for start in range(0, len(papers), 1_000):
            changes = [Change(Kind.NEW, paper) for paper in papers[start : start + 1_000]]
            paper_store.save_changes(conn, changes, run_id=run_id, at=at)
        run_store.finish_run(
            conn, run_id, outcome="complete", at=at, pages=3, papers=len(papers), new=len(papers), changed=0
        )


def _subscriber(number: int) -> dict[str, Any]:
    address = f"reader-{number}@example.org"
    return {"id": number, "address": address, "state": "confirmed", "how": "link", "since": _BEFORE}


def _subscription(number: int, due_at: datetime | None) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"reader-{number}",
        "title": "",
        "origin": "store",
        "state": "active",
        "cadence": CADENCE,
        "kinds": "new cross-list",
        "quiet_days": "skip",
        "cap": 40,
        "first_look": 0,
        "next_due_at": due_at,
        "last_slot": "",
        "plan_after": 0,
        "feed_generation": 1,
        "subscriber_id": number,
        "created_at": _BEFORE,
    }


def _write(store: Store, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    coming = iter(rows)
    with store.begin() as conn:
        while batch := list(islice(coming, _AT_ONCE)):
            conn.execute(insert(table), batch)


def choose_narrow(queries: Sequence[Query], day: Sequence[Paper], *, most: int = 20) -> list[Query]:
    """Return the queries that meet at most so many of a day's papers, in order: what most readers have."""
    index: ReverseIndex[int] = ReverseIndex()
    for number, query in enumerate(queries):
        index.add(number, query)
    met = {number: len(found) for number, found in index.match(day).items()}
    return [query for number, query in enumerate(queries) if met.get(number, 0) <= most]
