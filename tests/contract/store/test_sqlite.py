"""What goes to SQLite's driver directly is as safe as what goes through SQLAlchemy."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import bindparam, update

from digest.model.errors import StoreBusy, StoreError
from digest.store import engine, open_store
from digest.store.engine import set_modes
from digest.store.schema import marks

if TYPE_CHECKING:
    from pathlib import Path

    from digest.store import Store

on_sqlite = pytest.mark.parametrize("database", ["sqlite"])

MOVE = (
    update(marks).where(marks.c.name == bindparam("which")).values(value=bindparam("to")).returning(marks.c.value)
)
MOVE_ON = update(marks).where(marks.c.name == bindparam("which")).values(value=marks.c.value + 1)
BREAK = update(marks).where(marks.c.name == bindparam("which")).values(value=None)


def value(store: Store) -> int:
    with store.read() as conn:
        return int(conn.exec_driver_sql("SELECT value FROM marks WHERE name = 'matched'").scalar_one())


@on_sqlite
def test_its_changes_are_one_transaction(store: Store) -> None:
    assert store.write_answer((MOVE, MOVE_ON), {"which": "matched", "to": 40}, awaits_disk=False)
    assert value(store) == 41
    with pytest.raises(Exception, match="NOT NULL"):
        store.write_answer((MOVE, BREAK), {"which": "matched", "to": 50}, awaits_disk=False)
    assert value(store) == 41
    assert store.write_answer((MOVE,), {"which": "matched", "to": 60}, awaits_disk=True), "nothing is left locked"


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_takes_and_tells_nothing_more(
    tmp_path: Path, *, is_replaced: bool
) -> None:
    file, copy = tmp_path / "digest.db", tmp_path / "copy.db"
    with closing(open_store(f"sqlite:///{file}", create=True)) as opened:
        shutil.copy(file, copy)
        file.unlink()
        if is_replaced:
            copy.rename(file)
        with pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
            opened.write_answer((MOVE, MOVE_ON), {"which": "matched", "to": 40}, awaits_disk=False)
        with pytest.raises(StoreError, match="deleted or replaced"), opened.begin():
            pytest.fail("would be lost")
        with pytest.raises(StoreError, match="deleted or replaced"):
            value(opened)


@on_sqlite
def test_where_the_first_does_not_hold_nothing_is_changed(store: Store) -> None:
    before = value(store)
    assert not store.write_answer((MOVE, MOVE_ON), {"which": "nobody's", "to": 40}, awaits_disk=False)
    assert value(store) == before


@on_sqlite
def test_a_file_that_another_process_writes_to_is_busy_and_free_again(
    own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine._SQLITE_MODES, "busy_timeout", 50)
    store = engine.open_store(own_url)
    other = sqlite3.connect(store.path or "", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        store.write_answer((MOVE,), {"which": "matched", "to": 40}, awaits_disk=False)
    other.execute("ROLLBACK")
    other.close()
    assert store.write_answer((MOVE,), {"which": "matched", "to": 41}, awaits_disk=False)
    assert value(store) == 41
    store.close()


@on_sqlite
def test_where_no_connection_can_be_opened_the_database_is_away_for_now(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patch:
        patch.setattr(store.engine, "raw_connection", fail)
        with pytest.raises(StoreError):
            store.write_answer((MOVE,), {"which": "matched", "to": 40}, awaits_disk=False)
    assert store.write_answer((MOVE,), {"which": "matched", "to": 41}, awaits_disk=False)


def test_modes_are_said_again_after_they_were_not_taken() -> None:
    said: list[str] = []
    known: dict[str, object] = {"modes": (True, True)}

    def refuse(statement: str) -> None:
        if "synchronous" in statement:
            raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(sqlite3.OperationalError):
        set_modes(refuse, known, is_reading=False, awaits_disk=False)
    for _ in range(2):
        set_modes(said.append, known, is_reading=False, awaits_disk=False)
    assert said == ["PRAGMA query_only=0", "PRAGMA synchronous=1"]


@on_sqlite
def test_a_mode_that_is_not_taken_says_that_the_database_is_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FULL", "(")  # a statement that SQLite itself refuses
    store.engine.dispose()  # a new connection knows of no mode
    with pytest.raises(StoreError, match="syntax error"), store.begin():
        pass


@on_sqlite
def test_threads_that_mark_side_by_side_never_meet_a_locked_file(store: Store) -> None:
    def mark(number: int) -> None:
        for _ in range(20):
            store.write_answer((MOVE, MOVE_ON), {"which": "matched", "to": number}, awaits_disk=bool(number % 2))
            with store.begin() as conn:
                conn.execute(MOVE_ON, {"which": "matched"})

    failed: list[BaseException] = []

    def try_to_mark(number: int) -> None:
        try:
            mark(number)
        except Exception as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    threads = [threading.Thread(target=try_to_mark, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
