from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text, update

from digest.model.errors import AnotherWorker, StoreError, UsageError
from digest.store import Store, backups, lock_worker, open_store, runs
from digest.store.schema import marks
from tests.contract.store.filled import all_rows, fill
from tests.contract.store.made import MORNING, make_paper, store_papers
from tests.later_release import later_release


def quiet(_what: str, _through: int) -> None:
    """Tell nobody."""


@pytest.fixture
def filled(emptied_sqlite: Callable[[], Store]) -> Store:
    store = emptied_sqlite()
    fill(store)
    return store


@pytest.fixture
def target_url(emptied_postgresql: Callable[[], Store]) -> str:
    return (
        emptied_postgresql()
        .engine.url.set(drivername="postgresql")
        .render_as_string(hide_password=False)
    )


def test_every_row_of_every_table_comes_to_postgresql(filled: Store, target_url: str) -> None:
    with filled.read() as conn:
        before = all_rows(conn)
    assert min(map(len, before.values())) > 0, "every table takes part"
    copied = backups.copy_store(filled, target_url, quiet)
    assert copied == {name: len(rows) for name, rows in before.items()}
    target = open_store(target_url)
    with target.read() as conn:
        after = all_rows(conn)
        assert after == before, "the secret among them"
        assert backups.load_violations(conn) == []
    target.close()


def test_the_new_database_numbers_its_rows_on_from_the_old_ones(
    filled: Store, target_url: str
) -> None:
    backups.copy_store(filled, target_url, quiet)
    target = open_store(target_url)
    store_papers(target, [make_paper(77)])
    with target.begin() as conn:
        run = runs.start(conn, source="harvest", at=MORNING)
    target.close()
    assert run == 2


def test_a_database_that_holds_anything_is_refused_and_nothing_has_changed(
    filled: Store, target_url: str
) -> None:
    target = open_store(target_url, create=True)
    store_papers(target, [make_paper(1)])
    with filled.read() as source, target.read() as conn:
        before = all_rows(source), all_rows(conn)
    with pytest.raises(StoreError, match="not empty: it holds papers, versions, changes"):
        backups.copy_store(filled, target_url, quiet)
    with filled.read() as source, target.read() as conn:
        assert (all_rows(source), all_rows(conn)) == before
    target.close()


def test_a_source_that_is_not_sound_is_refused_and_works_on(filled: Store, target_url: str) -> None:
    with filled.begin() as conn:
        conn.execute(update(marks).where(marks.c.name == "matched").values(value=99))
        before = all_rows(conn)
    with pytest.raises(
        StoreError,
        match="what was copied is damaged: nothing is matched that is not stored: broken 1×",
    ):
        backups.copy_store(filled, target_url, quiet)
    with filled.read() as conn:
        assert all_rows(conn) == before
    target = open_store(target_url)
    with target.read() as conn:
        assert all_rows(conn)["papers"] == []
    target.close()


_FAIL_AT_COMMIT = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END';
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON installation DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail();"""


def test_where_the_new_database_fails_at_the_very_end_the_old_one_works_on(
    emptied_sqlite: Callable[[], Store], emptied_postgresql: Callable[[], Store]
) -> None:
    source = emptied_sqlite()
    target = emptied_postgresql()
    fill(source)
    with source.read() as conn:
        before = all_rows(conn)
    with target.begin() as conn:
        conn.execute(text(_FAIL_AT_COMMIT))
    url = target.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        with pytest.raises(Exception, match="no room"):
            backups.copy_store(source, url, quiet)
    finally:
        with target.begin() as conn:
            conn.execute(text("DROP FUNCTION fail CASCADE"))
    with source.read() as conn:
        assert all_rows(conn) == before
    with target.read() as conn:
        assert all_rows(conn)["papers"] == []


def test_a_database_is_not_copied_while_a_process_works_on_it(
    filled: Store, target_url: str
) -> None:
    with lock_worker(filled), pytest.raises(AnotherWorker):
        backups.copy_store(filled, target_url, quiet)


def test_only_sqlite_is_copied_and_only_to_postgresql(
    emptied_postgresql: Callable[[], Store], filled: Store, target_url: str, tmp_path: Path
) -> None:
    for source, url in (
        (emptied_postgresql(), target_url),
        (filled, f"sqlite:///{tmp_path / 'other.db'}"),
    ):
        with pytest.raises(
            UsageError, match="only SQLite is copied, and only to PostgreSQL"
        ) as caught:
            backups.copy_store(source, url, quiet)
        assert "pg_dump" in caught.value.hint


def test_a_database_of_another_release_is_no_target(
    filled: Store, target_url: str, tmp_path: Path
) -> None:
    with later_release(tmp_path / "later"), pytest.raises(StoreError, match="this release needs"):
        backups.copy_store(filled, target_url, quiet)
