"""An empty store for each test, on SQLite and on a real PostgreSQL.

One database of each kind lasts the session and is emptied before each test; tests that change the
schema ask for `own_url`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select

from digest.store import Store, open_store
from digest.store.dialect import metadata
from tests.postgres_servers import create_database

DATABASES = ("sqlite", "postgresql")
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def emptied_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Store]]:
    """Call it for the session's SQLite store with nothing in it."""
    with _emptied(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'digest.db'}") as empty:
        yield empty


@pytest.fixture(scope="session")
def emptied_postgresql(postgresql_server: Engine) -> Iterator[Callable[[], Store]]:
    """Call it for the session's PostgreSQL store with nothing in it."""
    with _emptied(create_database(postgresql_server, "made")) as empty:
        yield empty


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(database: str, request: pytest.FixtureRequest) -> Store:
    empty: Callable[[], Store] = request.getfixturevalue(f"emptied_{database}")
    return empty()


@pytest.fixture
def url(store: Store) -> str:
    return _plain_url(store.engine)


@pytest.fixture
def make_empty(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a function that makes a database without tables and tells its URL."""

    def make() -> str:
        name = f"empty_{next(_numbers)}"
        if database == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        return create_database(request.getfixturevalue("postgresql_server"), name)

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
    always: dict[Any, Any] = {}
    with store.read() as conn:
        for table in tables:
            rows = conn.execute(select(table)).mappings()
            always[table] = [dict(row) for row in rows]

    wiping = [f"DELETE FROM {table.name}" for table in reversed(tables)]
    if store.dialect == "postgresql":  # SQLite counts anew by itself
        wiping += ["SELECT setval(quote_ident(sequencename), 1, false) FROM pg_sequences"]
        wiping = ["; ".join(wiping)]  # in one message

    def empty() -> Store:
        with store.begin() as conn:
            for statement in wiping:
                conn.exec_driver_sql(statement)
            for table, rows in always.items():
                if rows:
                    conn.execute(insert(table), rows)
        return store

    yield empty
    store.close()


def _plain_url(engine: Engine) -> str:
    plain = engine.url.set(drivername=engine.dialect.name)
    return plain.render_as_string(hide_password=False)
