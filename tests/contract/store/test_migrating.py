from __future__ import annotations

import importlib.util
import threading
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from digest.announcements import Kind
from digest.comparing import Change
from digest.pipeline.feeds import load_matched
from digest.store import mailings, migrate, migrating, open_store, papers, runs
from digest.store.schema import metadata
from digest.store.subscriptions import load_subscriptions
from tests.contract.store.made import (
    DAY,
    FEED,
    NOW,
    make_paper,
    make_subscription,
    store_match,
    store_papers,
    subscribe,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.store import Store


def test_migrations_build_exactly_the_tables_the_code_knows(store: Store) -> None:
    with store.begin() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_indexes_are_partial_in_the_database_where_the_code_says_so(store: Store) -> None:
    partial = {
        index.name for table in metadata.tables.values() for index in table.indexes if "where" in index.info
    }
    with store.read() as conn:
        found = {
            index["name"]
            for name in metadata.tables
            for index in inspect(conn).get_indexes(name)
            if f"{store.dialect}_where" in index.get("dialect_options", {})
        }
    assert partial == found != set()


def test_postgresql_keeps_messages_as_they_are(store: Store) -> None:
    if store.dialect != "postgresql":
        return
    kept = text("SELECT attstorage FROM pg_attribute WHERE attrelid = 'deliveries'::regclass AND attname = 'body'")
    with store.read() as conn:
        assert conn.execute(kept).scalar() in {"e", b"e"}, "external: not compressed"


def test_every_revision_goes_down_and_up_again(own_url: str) -> None:
    store = open_store(own_url)
    for revision in (*reversed(migrating.known_revisions()[:-1]), "base"):
        migrating.downgrade(store, revision)
        with store.read() as conn:
            assert migrating.current_revision(conn) == revision.replace("base", "")
    with store.read() as conn:
        assert set(inspect(conn).get_table_names()) == {"alembic_version"}
    assert migrating.upgrade(store) == migrating.MigrationReport("", migrating.head_revision())
    store.close()


def test_what_an_earlier_release_found_is_not_counted_to_the_next_mailing(own_url: str) -> None:
    store = open_store(own_url)
    with store.begin() as conn:
        for number, kind in ((1, Kind.KNOWN), (2, Kind.NEW)):
            at = NOW + number * DAY
            run_id = runs.start_run(conn, source="harvest", at=at)
            papers.save_changes(conn, [Change(kind, make_paper(number))], run_id=run_id, at=at)
            runs.finish_run(conn, run_id, outcome="complete", at=at, pages=1, papers=1, new=0, changed=0)
    migrating.downgrade(store, "0002")
    migrating.upgrade(store)
    with store.read() as conn:
        assert mailings.find_unassigned(conn) == []
        assert mailings.count_announced(conn, NOW.date(), NOW.date() + 3 * DAY) == {date(2026, 11, 19): 1}
        assert [run.highest_id for run in runs.last_runs(conn, "harvest")] == ["2611.00002", "2611.00001"]
    store.close()


def test_the_papers_of_feeds_stay_dated_as_an_earlier_release_dated_them(own_url: str) -> None:
    store = open_store(own_url)
    key = subscribe(store, make_subscription(destinations=(FEED,)))["team"]
    changes = store_papers(store, [make_paper(number) for number in range(1, 7)])
    store_match(store, {key: tuple(change.id for change in changes[:3])})
    migrating.downgrade(store, "0005")
    migrating.upgrade(store)
    store_match(store, {key: tuple(change.id for change in changes[3:])}, at=NOW + DAY)
    with store.read() as conn:
        (due,) = load_subscriptions(conn)
        told = {one.change.id: one.told_at for one in load_matched(conn, due)}
    assert [told[change.id] for change in changes[:3]] == [NOW] * 3
    assert [NOW + DAY - told[change.id] for change in changes[3:]] == [timedelta(seconds=n) for n in (2, 1, 0)]
    store.close()


def test_migrating_what_is_up_to_date_changes_nothing(url: str) -> None:
    head = migrating.head_revision()
    assert migrate(url) == migrating.MigrationReport(head, head)


def test_two_first_starts_at_once_build_the_tables_once(make_empty: Callable[[], str]) -> None:
    url = make_empty()
    failures: list[BaseException] = []

    def start() -> None:
        try:
            open_store(url, create=True).close()
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    open_store(url).close()


@pytest.mark.parametrize("database", ["postgresql"])
def test_a_migration_gives_way_to_who_works_meanwhile_and_is_made_once_that_has_ended(own_url: str) -> None:
    store = open_store(own_url)
    migrating.downgrade(store, "0004")
    upgrading = threading.Thread(target=migrating.upgrade, args=[store])
    with store.begin() as conn:
        conn.execute(text("LOCK TABLE installation IN ACCESS SHARE MODE"))
        upgrading.start()  # it takes other tables first, and wants this one last
        time.sleep(0.6)
        conn.execute(text("LOCK TABLE subscriptions IN ACCESS SHARE MODE"))
    upgrading.join(60)
    with store.read() as conn:
        assert migrating.current_revision(conn) == migrating.head_revision()
    store.close()


def test_revisions_are_numbered_like_their_files_in_one_line() -> None:
    before = None
    for path in sorted((migrating.MIGRATIONS / "versions").glob("0*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.revision == path.name[:4]
        assert module.down_revision == before
        before = module.revision
    assert before == migrating.head_revision()
