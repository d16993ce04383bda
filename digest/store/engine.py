"""The open database: how it is reached, in which mode, and that its schema is the one this code knows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine


class Store:
    """An open database. Close it when done.

    Attributes:
        engine: SQLAlchemy's engine.
        dialect: "sqlite" or "postgresql".
        url_masked: its address without the password, for messages.
    """

    engine: Engine
    dialect: str
    url_masked: str

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open a transaction that writes: committed at the end, rolled back where anything is raised.

        Raises:
            StoreBusy: another process writes for too long.
            StoreError: the database is away, full, or can't be written.
        """
        raise NotImplementedError

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database, and cannot change it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every connection; harmless when done twice."""


def open_store(url: str, *, create: bool = False, upgrade: bool = False) -> Store:
    """Open the database at a URL.

    Args:
        url: `sqlite:///path` or `postgresql://user@host/name`.
        create: build the tables where there are none (a SQLite file is made readable by its owner only).
        upgrade: bring an older schema up to date.

    Raises:
        ConfigurationError: the URL names no database we know, or its driver is not installed.
        SchemaMismatch: the tables are older than this release (and `upgrade` is false), or newer.
        StoreError: it isn't there, can't be reached or written, or is no database.
    """
    raise NotImplementedError
