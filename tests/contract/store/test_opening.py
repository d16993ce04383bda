from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError

from digest.model.errors import AnotherWorker, ConfigurationError, SchemaMismatch, StoreError
from digest.store import Store, engine, lock_worker, migrate, open_store
from digest.store.schema import installation, marks
from tests.later_release import LATER, later_release


def test_the_first_start_builds_every_table(make_empty: Callable[[], str]) -> None:
    opened = open_store(make_empty(), create=True)
    with opened.read() as conn:
        assert conn.execute(select(marks)).all() == [
            ("changes", 0),
            ("matched", 0),
            ("forgotten", 0),
        ]
        assert engine.current_revision(conn) == engine.head_revision()
    opened.close()


def test_every_installation_gets_a_secret_of_its_own(make_empty: Callable[[], str]) -> None:
    secrets = set()
    for _ in range(2):
        opened = open_store(make_empty(), create=True)
        with opened.read() as conn:
            secrets.add(conn.execute(select(installation.c.secret)).scalar_one())
        opened.close()
    assert len(secrets) == 2
    assert min(map(len, secrets)) >= 32


def test_opening_without_tables_names_the_command_that_makes_them(
    make_empty: Callable[[], str],
) -> None:
    url = make_empty()
    if url.startswith("sqlite"):
        engine.connect(url, create=True).close()
    with pytest.raises(SchemaMismatch) as caught:
        open_store(url)
    assert "`digest run`" in caught.value.hint


def test_an_older_schema_is_refused_and_upgraded_on_demand_only(
    own_url: str, tmp_path: Path
) -> None:
    with later_release(tmp_path / "later"):
        with pytest.raises(
            SchemaMismatch, match=rf"at revision \d+, this release needs {LATER}"
        ) as caught:
            open_store(own_url, create=True)
        assert "digest db migrate" in caught.value.hint
        migrate(own_url)
        reopened = open_store(own_url)
        with reopened.read() as conn:
            assert engine.current_revision(conn) == LATER
        reopened.close()


def test_a_schema_too_new_is_refused_naming_both_revisions(own_url: str) -> None:
    opened = open_store(own_url)
    with opened.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    opened.close()
    for call in (lambda: open_store(own_url, create=True), lambda: migrate(own_url)):
        with pytest.raises(
            SchemaMismatch, match=f"9999.*newer.*{engine.head_revision()}"
        ) as caught:
            call()
        assert "later" in caught.value.hint


def test_what_a_transaction_wrote_is_gone_when_it_raises(store: Store) -> None:
    with suppress(RuntimeError), store.begin() as conn:
        conn.execute(update(marks).values(value=7))
        raise RuntimeError
    with store.read() as conn:
        assert conn.execute(select(marks.c.value)).scalars().all() == [0, 0, 0]


def test_a_reading_transaction_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError, match=r"readonly|read-only"), store.read() as conn:
        conn.execute(update(marks).values(value=7))
    with store.begin() as conn:
        conn.execute(update(marks).values(value=8))


def test_a_reading_transaction_sees_one_state_throughout(store: Store) -> None:
    with store.read() as conn:
        assert conn.execute(select(marks.c.value)).scalars().all() == [0, 0, 0]
        with store.begin() as other:
            other.execute(update(marks).values(value=7))
        assert conn.execute(select(marks.c.value)).scalars().all() == [0, 0, 0]


def test_a_broken_constraint_is_not_explained_away(store: Store) -> None:
    with pytest.raises(IntegrityError), store.begin() as conn:
        conn.execute(insert(marks).values(name="changes", value=0))


def test_the_password_never_shows() -> None:
    opened = engine.connect("postgresql://digest:hush@127.0.0.1:9/none")
    assert "hush" not in opened.url_masked
    with pytest.raises(StoreError) as caught, opened.read():
        pass
    assert "hush" not in caught.value.message
    assert caught.value.hint
    opened.close()


def test_sqlite_runs_in_the_modes_that_durability_rests_on(tmp_path: Path) -> None:
    opened = open_store(f"sqlite:///{tmp_path / 'digest.db'}", create=True)
    with opened.begin() as conn:
        modes = {
            name: conn.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert modes == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }
    opened.close()


def test_a_new_sqlite_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "digest.db"
    open_store(f"sqlite:///{path}", create=True).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://", "kept in a file"),
        ("sqlite:///:memory:", "kept in a file"),
        ("mysql://localhost/digest", "mysql"),
        ("no url at all", "can't be understood"),
    ],
)
def test_a_url_that_names_no_usable_database_is_refused_with_examples(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        open_store(url, create=True)
    assert "sqlite:///" in caught.value.hint
    assert "postgresql://" in caught.value.hint


def test_a_missing_driver_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match="psycopg") as caught:
        open_store("postgresql://localhost/digest")
    assert "preprint-digest[postgres]" in caught.value.hint


def test_a_missing_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="folder of the database does not exist"):
        open_store(f"sqlite:///{tmp_path / 'nowhere' / 'digest.db'}", create=True)
    with pytest.raises(StoreError, match="nothing has run yet: there is no database at") as caught:
        open_store(f"sqlite:///{tmp_path / 'digest.db'}")
    assert "digest run" in caught.value.hint
    assert not (tmp_path / "digest.db").exists()


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear Sir or Madam, this is a letter. " * 100)
    with pytest.raises(StoreError, match="not a database") as caught:
        open_store(f"sqlite:///{path}", create=True)
    assert caught.value.hint
    assert path.read_bytes().startswith(b"Dear Sir")


def test_tables_of_somebody_else_are_not_touched(make_empty: Callable[[], str]) -> None:
    url = make_empty()
    other = engine.connect(url, create=True)
    with other.begin() as conn:
        conn.execute(text("CREATE TABLE digests (their_own TEXT)"))
    with pytest.raises(StoreError, match="can't be updated") as caught:
        open_store(url, create=True)
    assert "same names" in caught.value.hint
    with other.read() as conn:
        assert engine.current_revision(conn) == ""
        assert conn.execute(text("SELECT their_own FROM digests")).all() == []
    other.close()


def test_whoever_comes_by_another_name_of_the_file_meets_the_same_worker(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "digest.db")
    store = open_store(f"sqlite:///{tmp_path / 'digest.db'}", create=True)
    linked = open_store(f"sqlite:///{tmp_path / 'link.db'}")
    with lock_worker(store), pytest.raises(AnotherWorker), lock_worker(linked):
        pass
    store.close()
    linked.close()


def test_one_worker_to_one_sqlite_file_and_the_second_is_told_its_number(tmp_path: Path) -> None:
    opened = open_store(f"sqlite:///{tmp_path / 'digest.db'}", create=True)
    with lock_worker(opened):
        with (
            pytest.raises(
                AnotherWorker, match=f"process {os.getpid()} already works on this database"
            ),
            lock_worker(opened),
        ):
            pass
        with opened.begin() as conn:
            conn.execute(update(marks).values(value=1))
    with lock_worker(opened):
        pass
    opened.close()


@pytest.mark.parametrize("database", ["postgresql"])
def test_any_number_of_workers_share_a_postgresql(store: Store) -> None:
    with lock_worker(store), lock_worker(store):
        pass
