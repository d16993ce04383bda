"""A SQLite database read where nothing can be written, not even beside it: its disk is full, or read-only.

A reader of a write-ahead log shares memory with writers through a file beside the database (`-shm`), which
SQLite makes or enlarges when it opens the database; where it can't, the database can't be opened. Then it
is opened as one that nobody changes: without that file, without locks, and past the log, which therefore
has to be empty (https://sqlite.org/wal.html#read_only_databases).
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

from digest.store.failures import look_at_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PATIENCE = 30.0
"""Seconds a connection waits for a lock."""


def connect_for_reading(
    path: Path, prepare: Callable[[sqlite3.Connection], None] = lambda _: None
) -> sqlite3.Connection:
    """Open a database file that is there, outside of any transaction: as usual, or where that fails to read only.

    Args:
        path: the file.
        prepare: sets the modes of a usual connection.

    Raises:
        sqlite3.Error: it can be read neither way.
    """
    connection = _connect(path, "mode=rw")
    try:
        prepare(connection)
        _look_into(connection)
    except sqlite3.OperationalError:
        connection.close()
        is_disk_to_blame = bool(look_at_disk(path)[0])
        if not is_disk_to_blame or _has_log(path):
            raise
    else:
        return connection
    connection = _connect(path, "mode=ro&immutable=1")
    try:
        _look_into(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)


def _look_into(connection: sqlite3.Connection) -> None:
    """Read something: a file is not opened before."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _has_log(path: Path) -> bool:
    """Whether something of the database stands in its write-ahead log alone."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0
