"""Installations of a hundred thousand subscriptions, written in bulk as the product writes them one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Integer, Text, cast, insert, literal, select, text

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.query.index.reverse_index import ReverseIndex
from digest.store import papers as paper_store
from digest.store import runs as run_store
from digest.store.dialect import be_patient
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
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Table

    from digest.model.papers import Paper
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


def subscribe_crowd(
    store: Store,
    queries: Sequence[Query],
    *,
    due_at: datetime | None = DUE,
    count: int = 0,
    before: datetime = _BEFORE,
) -> None:
    """Write subscribers with one subscription by mail each, all due at the same moment.

    Args:
        store: an empty one.
        queries: what they ask for, each its own; the same again in turn where `count` is more.
        due_at: when (UTC).
        count: how many; as many as there are queries where it is not said.
        before: since when they are there (UTC).
    """
    count = count or len(queries)
    n = numbers(count)
    name, address = "reader-" + cast(n, Text), "reader-" + cast(n, Text) + "@example.org"
    kept = {"origin": "store", "state": "active", "created_at": before}
    fill(store, saved_queries, n, {"id": n, "name": "query-" + cast(n, Text), **kept})
    _write_revisions(store, queries, count, before)
    since = {"how": "link", "since": before}
    fill(store, subscribers, n, {"id": n, "address": address, "state": "confirmed", **since})
    consent = {"subscriber_id": n, "subscription": name, "event": "confirmed", "how": "link", "at": before}
    fill(store, consents, n, consent)
    wish = {"cadence": CADENCE, "kinds": "new cross-listed", "when_empty": "skip", "show": 40, "look_back": 0}
    wish |= {"exclude_queries": "", "exclude_papers": "", "quiet_hours": "", "group_by": "kind"}
    wish |= {"abstracts": "short", "weekly": "summary"}
    turn = {"next_due_at": due_at, "last_slot": "", "plan_after": 0, "feed_generation": 1, "subscriber_id": n}
    fill(store, subscriptions, n, {"id": n, "name": name, "title": "", **kept, **wish, **turn})
    asked = {"subscription_id": n, "query_id": n, "position": 0, "first_digest_run_id": 0, "added_at": before}
    fill(store, subscription_queries, n, asked)
    place = {"destination": "mailto:" + address, "position": 0, "state": "active", "reason": "", "since": before}
    place["is_joined"] = False
    fill(store, subscription_destinations, n, {"subscription_id": n, **place})
    settle(store)


def numbers(count: int, start: int = 1) -> ColumnElement[int]:
    """Return the column of so many numbers in a row."""
    first = select(literal(start, Integer).label("n")).cte("numbers", recursive=True)
    return first.union_all(select(first.c.n + 1).where(first.c.n < start + count - 1)).c.n


def fill(store: Store, table: Table, n: ColumnElement[int], row: Mapping[str, object]) -> None:
    """Write a row for each number, made by the database itself.

    Args:
        store: where to.
        table: the table.
        n: `numbers`.
        row: its columns, each a value or an expression of the number.
    """
    said = [
        value if isinstance(value, ColumnElement) else literal(value, table.c[name].type)
        for name, value in row.items()
    ]
    with store.begin() as conn:
        if store.dialect == "postgresql":
            be_patient(conn)
        conn.execute(insert(table).from_select(list(row), select(*said).select_from(n.table)))


def settle(store: Store) -> None:
    """Let PostgreSQL look at what was written in bulk, as its autovacuum does within a minute."""
    if store.dialect == "postgresql":
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("SET statement_timeout = 0"))
            conn.execute(text("VACUUM ANALYZE"))


def _write_revisions(store: Store, queries: Sequence[Query], count: int, before: datetime) -> None:
    rows = (
        {
            "id": n,
            "query_id": n,
            "number": 1,
            "text": query.text,
            "canonical": query.canonical,
            "problem": "",
            "active_from_change": 0,
            "created_at": before,
        }
        for n, query in enumerate(queries, 1)
    )
    with store.begin() as conn:
        while batch := list(islice(rows, _AT_ONCE)):
            conn.execute(insert(query_revisions), batch)
    more = count - len(queries)
    if more <= 0:
        return
    n = numbers(more, len(queries) + 1)
    like = query_revisions.alias("like")
    same = like.c.id == (n - 1) % len(queries) + 1
    row = {
        column: select(like.c[column]).where(same).scalar_subquery()
        for column in ("number", "text", "canonical", "problem", "active_from_change", "created_at")
    }
    fill(store, query_revisions, n, {"id": n, "query_id": n, **row})


def announce(store: Store, papers: Sequence[Paper], at: datetime = EVENING) -> None:
    """Store papers as the new ones of a mailing that one harvest brought completely."""
    with store.begin() as conn:
        run_id = run_store.start_run(conn, source="harvest", at=at)
        for start in range(0, len(papers), 1_000):
            changes = [Change(Kind.NEW, paper) for paper in papers[start : start + 1_000]]
            paper_store.save_changes(conn, changes, content_hash, run_id=run_id, at=at)
        run_store.finish_run(
            conn, run_id, outcome="complete", at=at, pages=3, papers=len(papers), new=len(papers), changed=0
        )


def choose_narrow(queries: Sequence[Query], day: Sequence[Paper], *, most: int = 20) -> list[Query]:
    """Return the queries that meet at most so many of a day's papers, in order: what most readers have."""
    index: ReverseIndex[int] = ReverseIndex()
    for number, query in enumerate(queries):
        index.add(number, query)
    met = {number: len(found) for number, found in index.match(day).items()}
    return [query for number, query in enumerate(queries) if met.get(number, 0) <= most]
