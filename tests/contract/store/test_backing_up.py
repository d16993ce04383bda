from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from digest.model.errors import AnotherWorker, StoreError, UsageError
from digest.store import Store, backups, engine, lock_worker, open_store
from digest.store.backups import RestoreReport
from digest.store.schema import marks
from tests.contract.store.filled import all_rows, fill
from tests.contract.store.made import MORNING, make_paper, store_papers
from tests.later_release import LATER as LATER_REVISION
from tests.later_release import later_release

LATER = MORNING + timedelta(days=3)


def quiet(_what: str, _through: int) -> None:
    """Tell nobody."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database that holds something in every table."""
    path = tmp_path_factory.mktemp("filled") / "digest.db"
    store = open_store(f"sqlite:///{path}", create=True)
    fill(store)
    store.close()
    return path.read_bytes()


@pytest.fixture
def here(filled: bytes, tmp_path: Path) -> Path:
    """Where an installation's database is."""
    path = tmp_path / "digest.db"
    path.write_bytes(filled)
    return path


@pytest.fixture
def backup(here: Path) -> Path:
    store = open_store(f"sqlite:///{here}")
    path = here.parent / "backup.db"
    backups.back_up(store, path, quiet)
    store.close()
    return path


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(open_store(f"sqlite:///{path}")) as store, store.read() as conn:
        return all_rows(conn)


def restore(url: str, backup: Path) -> RestoreReport:
    return backups.restore(url, backup, LATER, quiet, settle=lambda _conn: None)


def sent_until(path: Path) -> datetime | None:
    with closing(open_store(f"sqlite:///{path}")) as store, store.read() as conn:
        return backups.load_sent_until(conn)


def test_a_backup_holds_every_row_and_is_its_owners_alone(here: Path, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{here}")
    path = tmp_path / "backups" / "backup.db"
    counted = backups.back_up(store, path, quiet)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [*path.parent.iterdir()] == [path], "one file, and nothing unfinished beside it"
    store.close()
    expected = rows(here)
    found = rows(path)
    assert counted == {name: len(kept) for name, kept in found.items()}
    assert found == expected


def test_a_backup_is_one_state_while_others_go_on_writing_and_none_of_them_fails(
    here: Path,
) -> None:
    store = open_store(f"sqlite:///{here}")
    stop = threading.Event()
    written: list[int] = []
    failures: list[BaseException] = []

    def write() -> None:
        try:
            while not stop.is_set():
                batch = [make_paper(100 + len(written) * 5 + number) for number in range(5)]
                store_papers(store, batch)
                written.append(len(batch))
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = []
        for number in range(3):
            before = len(written)
            counted = backups.back_up(store, here.parent / f"{number}.db", quiet)
            assert len(written) > before, "the writer went on"
            counts.append(counted["papers"])
            assert counted["papers"] % 5 == 2, "never half of what was written together"
    finally:
        stop.set()
        writer.join(20)
        store.close()
    assert failures == []
    assert counts == sorted(set(counts))


def test_a_file_that_is_there_is_written_over_on_demand_only(here: Path, backup: Path) -> None:
    store = open_store(f"sqlite:///{here}")
    before = backup.read_bytes()
    with pytest.raises(StoreError, match="exists already") as caught:
        backups.back_up(store, backup, quiet)
    assert "--force" in caught.value.hint
    assert backup.read_bytes() == before
    backups.back_up(store, backup, quiet, replace=True)
    store.close()
    assert rows(backup) == rows(here)


def test_what_is_not_sound_is_no_backup(here: Path) -> None:
    store = open_store(f"sqlite:///{here}")
    with store.begin() as conn:
        conn.execute(update(marks).where(marks.c.name == "matched").values(value=99))
    with pytest.raises(StoreError, match="is damaged: nothing is matched that is not stored"):
        backups.back_up(store, here.parent / "new" / "backup.db", quiet)
    store.close()
    assert not [*(here.parent / "new").iterdir()]


def test_only_the_newest_backups_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    made = [
        backups.default_backup(tmp_path, MORNING + timedelta(days=number)) for number in range(4)
    ]
    for path in (*made, tmp_path / "mine.db"):
        path.touch()
    assert backups.prune(tmp_path, 2) == tuple(made[:2])
    assert sorted(tmp_path.iterdir()) == [*made[2:], tmp_path / "mine.db"]
    assert backups.prune(tmp_path, 2) == ()


def test_a_backup_comes_into_the_place_of_the_database_which_is_kept_beside_it(
    here: Path, backup: Path
) -> None:
    store = open_store(f"sqlite:///{here}")
    store_papers(store, [make_paper(50)])
    with store.read() as conn:
        before = all_rows(conn)
    report = restore(f"sqlite:///{here}", backup)
    assert report.kept == here.with_name("digest.db.before-restore-20261123T080000Z")
    assert rows(report.kept) == before
    with pytest.raises(StoreError, match="replaced while it was in use"), store.read():
        pass
    store.close()
    assert rows(here) == rows(backup)
    assert report.rows == {name: len(kept) for name, kept in rows(here).items()}


def test_a_backup_comes_into_the_place_of_a_damaged_database_or_of_none(
    here: Path, backup: Path
) -> None:
    here.write_bytes(b"SQLite format 3\x00" + bytes(4080) + b"?" * 9000)
    here.with_name("digest.db-wal").write_bytes(b"left over")
    report = restore(f"sqlite:///{here}", backup)
    assert report.kept is not None
    assert report.kept.read_bytes().endswith(b"???")
    assert report.kept.with_name(report.kept.name + "-wal").read_bytes() == b"left over"
    assert rows(here) == rows(backup)
    for path in (here, report.kept):
        path.unlink()
    assert restore(f"sqlite:///{here}", backup).kept is None
    assert rows(here) == rows(backup)


def test_the_log_of_a_database_that_was_set_aside_is_set_aside_too_and_never_played_into_the_backup(
    here: Path, backup: Path
) -> None:
    store = open_store(f"sqlite:///{here}")
    store_papers(store, [make_paper(number) for number in range(50, 90)])
    log = here.with_name("digest.db-wal").read_bytes()
    store.close()
    here.rename(here.with_name("broken.db"))
    here.with_name("digest.db-wal").write_bytes(log)  # as a process that is killed leaves it
    here.with_name("digest.db-shm").write_bytes(b"of the same")
    restore(f"sqlite:///{here}", backup)
    assert rows(here) == rows(backup)
    assert here.with_name("digest.db.before-restore-20261123T080000Z-wal").read_bytes() == log


@pytest.mark.parametrize(
    ("file", "match"),
    [
        ("empty", "backup.db is not a backup: it has none of Digest's tables"),
        ("another", "backup.db is not a backup: it has none of Digest's tables"),
        ("letter", "backup.db can't be copied: file is not a database"),
        ("half", "backup.db can't be copied: "),
    ],
)
def test_a_file_that_is_no_whole_backup_is_refused_by_its_own_name(
    here: Path, backup: Path, file: str, match: str
) -> None:
    before = here.read_bytes()
    content = backup.read_bytes()
    backup.unlink()
    if file == "another":
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute("CREATE TABLE bookmarks (title TEXT)")
    else:
        contents = {"empty": b"", "letter": b"Dear readers,\n" * 99}
        backup.write_bytes(contents.get(file, content[: len(content) // 2]))
    with pytest.raises(StoreError, match=match) as caught:
        restore(f"sqlite:///{here}", backup)
    assert caught.value.hint
    assert here.read_bytes() == before
    assert not [*here.parent.glob(".*"), *here.parent.glob("*before*")]


def test_a_backup_of_an_older_release_is_brought_up_to_this_one(here: Path) -> None:
    backup = here.with_name("old.db")
    open_store(f"sqlite:///{backup}", create=True).close()
    with later_release(here.parent / "later"):
        restore(f"sqlite:///{here}", backup)
    for path, revision in ((here, LATER_REVISION), (backup, engine.head_revision())):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (
                revision,
            )


def test_what_was_sent_since_is_settled_before_the_backup_is_in_place(
    here: Path, backup: Path
) -> None:
    before = here.read_bytes()

    def settle(conn: Connection) -> None:
        backups.set_sent_until(conn, MORNING)
        assert here.read_bytes() == before

    backups.restore(f"sqlite:///{here}", backup, LATER, quiet, settle=settle)
    assert (sent_until(here), sent_until(backup)) == (MORNING, None)


def test_nothing_is_restored_while_a_process_works_nor_from_the_database_itself(
    here: Path, backup: Path
) -> None:
    store = open_store(f"sqlite:///{here}")
    with lock_worker(store), pytest.raises(AnotherWorker):
        restore(f"sqlite:///{here}", backup)
    store.close()
    with pytest.raises(StoreError, match="is the database itself"):
        restore(f"sqlite:///{here}", here)
    with pytest.raises(StoreError, match="there is no backup at"):
        restore(f"sqlite:///{here}", here.with_name("none.db"))


def test_postgresql_has_backups_of_its_own(
    emptied_postgresql: Callable[[], Store], backup: Path
) -> None:
    store = emptied_postgresql()
    with pytest.raises(UsageError, match="has its own backups") as caught:
        backups.back_up(store, backup.with_name("other.db"), quiet)
    assert "pg_dump --format=custom" in caught.value.hint
    assert "***" not in caught.value.hint, "pg_dump would take it for the password"
    with pytest.raises(UsageError, match="has its own backups") as caught:
        restore(store.engine.url.render_as_string(hide_password=False), backup)
    assert "pg_restore" in caught.value.hint


def test_what_can_not_be_written_says_so(here: Path) -> None:
    store = open_store(f"sqlite:///{here}")
    folder = here.parent / "file"
    folder.touch()
    with pytest.raises(StoreError, match="can't be written") as caught:
        backups.back_up(store, folder / "backup.db", quiet)
    assert "folder is writable" in caught.value.hint
    store.close()
