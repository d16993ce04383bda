from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

from digest.model.subscriptions import Origin
from digest.store.engine import CommitWatch
from digest.store.queries import sync_queries
from tests.contract.store.made import NOW

if TYPE_CHECKING:
    from digest.store import Store


def commit(store: Store, name: str) -> None:
    with store.begin() as conn:
        sync_queries(conn, {name: ("ti:x", "ti:x", "")}, Origin.FILE, NOW)


def test_a_commit_shows_at_the_next_look_and_nothing_else_does(store: Store) -> None:
    watch = CommitWatch(store)
    first = watch.look()
    with store.read() as conn:
        conn.exec_driver_sql("SELECT 1")
    assert watch.look() == first
    commit(store, "one")
    second = watch.look()
    if store.path is None:
        assert (first, second) == (None, None)  # PostgreSQL has to be asked
    else:
        assert second != first
        assert watch.look() == second
    watch.close()


def test_a_commit_of_another_process_shows_too(store: Store) -> None:
    if store.path is None:
        return
    watch = CommitWatch(store)
    before = watch.look()
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()"
    change = "UPDATE marks SET value = value + 1"  # SQLite writes nothing where nothing becomes different
    subprocess.run([sys.executable, "-c", script, str(store.path), change], check=True)  # noqa: S603 - our own interpreter
    assert watch.look() != before
    watch.close()


def test_where_no_look_is_possible_nothing_is_claimed(store: Store) -> None:
    watch = CommitWatch(store)
    if store.path is None:
        return
    watch.look()
    assert isinstance(watch._connection, sqlite3.Connection)
    watch._connection.close()
    assert watch.look() is None
    assert watch.look() is not None
    watch.close()
