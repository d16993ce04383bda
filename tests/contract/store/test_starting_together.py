"""Processes that start together on one database wait for each other, and find the work done."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from digest.store import Store, open_store, queries
from digest.store.queries import SyncReport

NOW = datetime(2026, 11, 19, 8, tzinfo=UTC)
FILE = {"perf": ("cat:cs.PF", "cat:cs.PF", "")}


def test_the_second_of_two_processes_waits_and_then_finds_nothing_left_to_do(store: Store) -> None:
    reports: list[SyncReport] = []

    def sync() -> None:
        with store.begin() as conn:
            reports.append(queries.sync(conn, FILE, "file", NOW))

    second = threading.Thread(target=sync)
    with store.begin() as conn:
        reports.append(queries.sync(conn, FILE, "file", NOW))
        second.start()
        time.sleep(0.3)  # long enough for the other to reach the lock
    second.join(20)
    assert reports == [SyncReport(added=("perf",)), SyncReport()]
    with store.read() as conn:
        assert [query.name for query in queries.load(conn)] == ["perf"]


def test_a_process_waits_for_another_that_is_at_work_on_a_file_not_yet_in_wal_mode(
    tmp_path: Path,
) -> None:
    path = tmp_path / "digest.db"
    failures: list[BaseException] = []

    def start() -> None:
        try:
            open_store(f"sqlite:///{path}", create=True).close()
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            failures.append(error)

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE made_up (number INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        starting = threading.Thread(target=start)
        starting.start()
        time.sleep(0.3)  # long enough for it to reach the lock
        other.execute("ROLLBACK")
        starting.join(20)
    assert failures == []
