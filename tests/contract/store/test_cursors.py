"""How far each saved query has been searched for: it begins once, and moves only forward."""

from __future__ import annotations

from datetime import datetime, timedelta

from digest.store import Store, runs
from digest.store.runs import Cursor
from tests.contract.store.made import DAY, NOW


def move(store: Store, at: datetime, run_id: int, *, begins: bool = False) -> Cursor:
    with store.begin() as conn:
        runs.move_cursor(
            conn, source="query", query_key="cat:a", run_id=run_id, started_at=at, begins=begins
        )
    with store.read() as conn:
        return runs.load_cursors(conn, "query")["cat:a"]


def test_a_query_begins_with_its_first_search_and_moves_on(store: Store) -> None:
    assert move(store, NOW, 7, begins=True) == Cursor("query", "cat:a", 7, NOW, bootstrapped_at=NOW)
    assert move(store, NOW + DAY, 8) == Cursor("query", "cat:a", 8, NOW + DAY, bootstrapped_at=NOW)


def test_one_that_had_a_cursor_long_ago_begins_anew(store: Store) -> None:
    move(store, NOW, 7, begins=True)
    assert move(store, NOW + DAY, 8, begins=True).bootstrapped_at == NOW + DAY


def test_no_query_moves_back(store: Store) -> None:
    moved = move(store, NOW, 8, begins=True)
    assert move(store, NOW - timedelta(hours=5), 7, begins=True) == moved
