"""Backups: one state of the database in one SQLite file, proven before it gets its name, and marked as a copy.

On SQLite the copy is `VACUUM INTO`, under which writers go on; on PostgreSQL every row of one snapshot. A
backup is finished when its file has its name: what was left unfinished never has it.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import tempfile
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from digest.errors import StoreError
from digest.store import migrating, provenance
from digest.store.copying import copy_rows, refuse_violations
from digest.store.engine import connect, open_store
from digest.store.failures import explain_file
from digest.store.invariants import count_rows, find_violations
from digest.store.reading import connect_for_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from digest.store.engine import Store

FOLDER = "backups"
"""Beside a SQLite database; where nothing else is said."""

_ONE_NAME_ONLY = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What file systems answer that know no second names for a file."""

_UNFINISHED = ".digest-unfinished"
_LEFT_AFTER = 24 * 60 * 60
"""Seconds without a change after which an unfinished file is taken for one whose process has died."""

_NAMED = re.compile(r"digest-\d{8}T\d{6}Z\.db")


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made and proven.

    Attributes:
        path: its file.
        size: its bytes.
        rows: how many rows each table holds, by name.
        removed: older backups that were removed.
    """

    path: Path
    size: int
    rows: dict[str, int]
    removed: tuple[Path, ...] = ()


def default_backup(folder: Path, now: datetime) -> Path:
    """Return the file a backup goes into where none is named."""
    return folder / f"digest-{now:%Y%m%dT%H%M%SZ}.db"


def back_up(
    store: Store, path: Path, now: datetime, tell: Callable[[str, int], None], *, replace: bool = False
) -> BackupReport:
    """Write a backup, prove it, and only then give it its name.

    Args:
        store: what is backed up; others may go on writing.
        path: the file; it is readable by its owner only.
        now: the moment (UTC).
        tell: is told what is being done, and how far it has come.
        replace: write over a file that is there.

    Raises:
        SchemaMismatch: a newer release wrote what is backed up.
        StoreError: the file is there already or can't be written, or the copy is not sound.
    """
    if path.exists() and not replace:
        raise StoreError(f"{path} is there already", hint="Name another file, or say --force to write over it.")
    with unfinished(path) as copy:
        with store.read() as conn:
            migrating.refuse_other(conn, store.url_masked)
        (_vacuum if store.dialect == "sqlite" else _copy)(store, copy, tell)
        tell("check", 0)
        rows = _finish(copy, path, now)
        size = copy.stat().st_size
        give_name(copy, path, replace=replace)
    return BackupReport(path, size, rows)


def prune_backups(folder: Path, keep: int, made: Path | None = None) -> tuple[Path, ...]:
    """Remove all backups with a name by default but the newest ones; return what was removed.

    Args:
        folder: where they are.
        keep: how many stay, at least one.
        made: the one made just now, which stays whatever its name says: a clock may have been put back.
    """
    named = sorted(path for path in folder.iterdir() if _NAMED.fullmatch(path.name) and path != made)
    old = named[: max(len(named) - keep + (made is not None), 0)]
    for path in old:
        path.unlink()
    return tuple(old)


def prove_backup(path: Path, name: str = "") -> dict[str, int]:
    """Look all through a backup; return how many rows each table holds.

    Args:
        path: its file.
        name: what it is called in errors; "" for its path.

    Raises:
        SchemaMismatch: it was made by another release.
        StoreError: it is no database, damaged, or breaks an invariant.
    """
    store = connect(f"sqlite:///{path}")
    try:
        with store.read() as conn:
            migrating.refuse_other(conn, name or str(path))
            refuse_violations(find_violations(conn), name or str(path))
            return count_rows(conn)
    finally:
        store.close()


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Give an empty file beside the one that is meant, readable by its owner only; it is gone afterwards.

    What a process that was killed has left is gone with it, once it is a day old.

    Raises:
        StoreError: it can't be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(_UNFINISHED, f".{path.name}.", path.parent)
        os.close(handle)
    except OSError as error:
        raise explain_file(str(path), error) from error
    copy = Path(name)
    _remove_left(path.parent, copy.stat().st_mtime - _LEFT_AFTER)
    try:
        yield copy
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _remove_left(folder: Path, before: float) -> None:
    for left in folder.glob(f".*{_UNFINISHED}*"):
        with suppress(OSError):  # another process was at it first, or it is another account's
            if left.stat().st_mtime < before:
                left.unlink()


def make_lasting(path: Path) -> None:
    """Wait until a file and its name are on the disk."""
    for place in (path, path.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def settle_file(path: Path) -> None:
    """Bring a SQLite database that nobody uses into one file, without a write-ahead log beside it."""
    with opened_file(path) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


@contextmanager
def opened_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file that is there, outside of any transaction: what works on whole files needs that.

    Raises:
        StoreError: it can't be read or written, or has no room.
    """
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise _explain_copying(path, error) from error


def _explain_copying(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    hint = "See that the disk has room for the whole database, and that the folder may be written to."
    return StoreError(f"the file {path} can't be copied: {error}", hint=hint)


def _vacuum(store: Store, copy: Path, tell: Callable[[str, int], None]) -> None:
    assert store.path is not None  # noqa: S101 - asked by the caller
    tell("copy", 0)
    try:
        with closing(connect_for_reading(store.path)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
    except sqlite3.DatabaseError as error:
        raise _explain_copying(store.path, error) from error


def _copy(store: Store, copy: Path, tell: Callable[[str, int], None]) -> None:
    with suppress(FileNotFoundError):
        copy.unlink()  # the tables are made in a new file
    into = open_store(f"sqlite:///{copy}", create=True)
    try:
        with store.read() as out, into.begin() as conn:
            copy_rows(out, conn, tell)
    finally:
        into.close()


def _finish(copy: Path, path: Path, now: datetime) -> dict[str, int]:
    store = connect(f"sqlite:///{copy}")
    try:
        with store.begin() as conn:
            provenance.mark_copy(conn, now)
    finally:
        store.close()
    rows = prove_backup(copy, f"the copy for {path}")
    settle_file(copy)
    make_lasting(copy)
    return rows


def give_name(copy: Path, path: Path, *, replace: bool = False) -> None:
    """Give a finished file its name, for good; one that has that name already stays unless it is replaced.

    Raises:
        StoreError: there is one, or the name can't be given.
    """
    try:
        if replace:
            copy.replace(path)
        else:
            os.link(copy, path)  # where a file of that name has appeared meanwhile it stays
    except FileExistsError as error:
        raise StoreError(f"{path} is there already", hint="Name another file.") from error
    except OSError as error:
        if error.errno not in _ONE_NAME_ONLY:
            raise explain_file(str(path), error) from error
        copy.rename(path)
    make_lasting(path)
