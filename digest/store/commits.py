"""Whether anything was committed since one last looked, for who keeps in memory what the database says."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path

    from digest.store.engine import Store

_PATIENCE = 0.05
"""Seconds a look waits at most; who would have to wait longer asks the database itself."""


class CommitWatch:
    """Tells commits of any process apart, by a number that SQLite keeps for every connection.

    A look takes some microseconds and blocks nobody, so it may be taken at each request. PostgreSQL has no
    such number: there, who wants to know has to ask.

    Args:
        store: the database.
    """

    def __init__(self, store: Store) -> None:
        self._path = store.path
        self._connection: sqlite3.Connection | None = None

    def look(self) -> int | None:
        """Return a number that stays while nothing is committed; None where that cannot be told."""
        if self._path is None:
            return None
        try:
            if self._connection is None:
                self._connection = _open(self._path)
            # https://sqlite.org/pragma.html#pragma_data_version: of other connections alone, so this one
            # must never write, and its numbers mean nothing to another one.
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            self.close()
            return None
        return int(version)

    def close(self) -> None:
        """Close the connection; the next look opens another."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None


def _open(path: Path) -> sqlite3.Connection:
    """Open a database that is there; not as one that nobody changes, which would show no commit."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=_PATIENCE,
        check_same_thread=False,
    )
