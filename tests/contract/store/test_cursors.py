"""How far many queries have been looked through by one look: they move together, and only forward."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from digest.store import runs
from digest.store.runs import Cursor, Together
from tests.contract.store.made import DAY, NOW

if TYPE_CHECKING:
    from datetime import datetime

    from digest.store import Store

MARK = (202611, 15_012)


def move(store: Store, together: Together, at: datetime, run_id: int = 7, mark: tuple[int, int] = MARK) -> None:
    with store.begin() as conn:
        runs.move_together(conn, source="query", run_id=run_id, started_at=at, together=together, mark=mark)


def load(store: Store) -> dict[str, Cursor]:
    with store.read() as conn:
        return runs.load_cursors(conn, "query")


def test_newcomers_begin_with_the_look_that_was_made_for_all(store: Store) -> None:
    move(store, Together((), ("cat:a", "cat:b")), NOW)
    expected = Cursor("query", "cat:a", 7, NOW, *MARK, bootstrapped_at=NOW)
    assert load(store)["cat:a"] == expected
    assert load(store).keys() == {"cat:a", "cat:b"}


def test_those_known_keep_their_marks_and_move_on(store: Store) -> None:
    move(store, Together((), ("cat:a",)), NOW)
    move(store, Together(("cat:a",), ("cat:b",)), NOW + DAY, 8, (202611, 20_000))
    moved = load(store)["cat:a"]
    assert (moved.mark_number, moved.bootstrapped_at) == (15_012, NOW)
    assert (moved.last_complete_at, moved.last_complete_run_id) == (NOW + DAY, 8)


def test_a_newcomer_that_had_a_cursor_long_ago_begins_anew(store: Store) -> None:
    move(store, Together((), ("cat:a",)), NOW)
    move(store, Together((), ("cat:a",)), NOW + DAY, 8, (202611, 20_000))
    begun = load(store)["cat:a"]
    assert (begun.mark_number, begun.bootstrapped_at) == (20_000, NOW + DAY)


def test_no_query_moves_back(store: Store) -> None:
    move(store, Together((), ("cat:a",)), NOW, 8)
    move(store, Together(("cat:a",), ()), NOW - timedelta(hours=5))
    assert load(store)["cat:a"].last_complete_at == NOW


def test_ten_thousand_queries_move_at_once(store: Store) -> None:
    texts = tuple(f"all:w{number}" for number in range(10_000))
    move(store, Together((), texts), NOW)
    move(store, Together(texts, ()), NOW + DAY)
    assert {cursor.last_complete_at for cursor in load(store).values()} == {NOW + DAY}
    assert len(load(store)) == 10_000
