"""A SQLite file is written by one thread at a time, and by nobody once it is another."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from digest.model.errors import StoreBusy, StoreError
from digest.store import Store, engine, open_store
from digest.store.schema import marks
from tests.threads import do_together

on_sqlite = pytest.mark.parametrize("database", ["sqlite"])

MOVE_ON = update(marks).where(marks.c.name == "matched").values(value=marks.c.value + 1)


def move_on(store: Store) -> None:
    with store.begin() as conn:
        conn.execute(MOVE_ON)


def value(store: Store) -> int:
    with store.read() as conn:
        return int(
            conn.exec_driver_sql("SELECT value FROM marks WHERE name = 'matched'").scalar_one()
        )


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_takes_and_tells_nothing_more(
    tmp_path: Path, *, is_replaced: bool
) -> None:
    file = tmp_path / "digest.db"
    copy = tmp_path / "copy.db"
    with closing(open_store(f"sqlite:///{file}", create=True)) as opened:
        shutil.copy(file, copy)
        file.unlink()
        if is_replaced:
            copy.rename(file)
        with (
            pytest.raises(StoreError, match="was deleted or replaced while it was in use"),
            opened.begin(),
        ):
            pytest.fail("would be lost")
        with pytest.raises(StoreError, match="deleted or replaced"):
            value(opened)


@on_sqlite
def test_a_file_that_another_process_writes_to_is_busy_and_free_again(
    own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine._SQLITE_MODES, "busy_timeout", 50)
    store = engine.open_store(own_url)
    before = value(store)
    other = sqlite3.connect(store.path or "", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        move_on(store)
    other.execute("ROLLBACK")
    other.close()
    move_on(store)
    assert value(store) == before + 1
    store.close()


@on_sqlite
def test_a_thread_that_writes_for_too_long_makes_the_others_say_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_WRITE_LOCK", 0.05)
    refused: list[StoreBusy] = []

    def try_to_write() -> None:
        try:
            move_on(store)
        except StoreBusy as error:
            refused.append(error)

    with store.begin():
        beside = threading.Thread(target=try_to_write)
        beside.start()
        beside.join()
    assert len(refused) == 1
    move_on(store)


@on_sqlite
def test_threads_that_write_side_by_side_never_meet_a_locked_file(store: Store) -> None:
    before = value(store)

    def mark_often(_: int) -> None:
        for _ in range(20):
            move_on(store)

    do_together(range(4), mark_often)
    assert value(store) == before + 80
