from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text

from digest.model.errors import StoreBusy
from digest.model.messages import DeliveryState
from digest.store import MigrationReport, Store, engine, migrate, open_store
from digest.store.backups import load_violations
from digest.store.dialect import metadata
from digest.store.schema import deliveries
from tests.later_release import LATER, later_release
from tests.schema_before import REVISION, load_postgresql, load_sqlite
from tests.threads import do_together


def test_a_new_database_has_exactly_the_tables_the_code_knows(store: Store) -> None:
    with store.begin() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_what_the_release_before_left_gets_exactly_these_tables_and_stays_sound(
    make_empty: Callable[[], str],
) -> None:
    url = make_empty()
    load_postgresql(url) if url.startswith("postgresql") else load_sqlite(
        Path(url.removeprefix("sqlite:///"))
    )
    assert migrate(url) == MigrationReport(REVISION, engine.head_revision())
    opened = open_store(url)
    with opened.read() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert load_violations(conn) == []
        assert set(conn.execute(select(deliveries.c.state)).scalars()) == set(DeliveryState)
    opened.close()


def test_indexes_are_partial_in_the_database_where_the_code_says_so(store: Store) -> None:
    partial = set()
    for table in metadata.tables.values():
        partial |= {index.name for index in table.indexes if "where" in index.info}
    found = set()
    option = f"{store.dialect}_where"
    with store.read() as conn:
        for name in metadata.tables:
            for index in inspect(conn).get_indexes(name):
                if option in index.get("dialect_options", {}):
                    found.add(index["name"])
    assert partial == found != set()


def test_postgresql_keeps_messages_as_they_are(store: Store) -> None:
    if store.dialect != "postgresql":
        return
    kept = text(
        "SELECT attstorage FROM pg_attribute"
        " WHERE attrelid = 'deliveries'::regclass AND attname = 'body'"
    )
    with store.read() as conn:
        assert conn.execute(kept).scalar() in {"e", b"e"}, "external: not compressed"


def test_migrating_what_is_up_to_date_changes_nothing(url: str) -> None:
    head = engine.head_revision()
    assert migrate(url) == MigrationReport(head, head)


def test_two_first_starts_at_once_build_the_tables_once(make_empty: Callable[[], str]) -> None:
    url = make_empty()
    do_together(range(2), lambda _: open_store(url, create=True).close())
    open_store(url).close()


@pytest.mark.parametrize("database", ["postgresql"])
def test_a_migration_gives_way_to_who_works_meanwhile_and_changes_nothing(
    own_url: str, tmp_path: Path
) -> None:
    store = open_store(own_url)
    with later_release(tmp_path / "later"):
        with store.begin() as conn:
            conn.execute(text("LOCK TABLE deliveries IN ACCESS SHARE MODE"))
            with pytest.raises(StoreBusy):
                engine.upgrade(store)
            assert engine.current_revision(conn) != LATER
        assert engine.upgrade(store).after == LATER
    store.close()


def test_revisions_are_numbered_like_their_files_in_one_line() -> None:
    before = None
    for path in sorted((engine.MIGRATIONS / "versions").glob("0*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.revision == path.name[:4]
        assert module.down_revision == before
        before = module.revision
    assert before == engine.head_revision()
