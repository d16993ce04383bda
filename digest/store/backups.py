"""Backups of SQLite, restoring them, and the move to PostgreSQL, which has tools of its own for backups."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, Table, func, insert, make_url, select, text

from digest.model.errors import StoreError, UsageError
from digest.store.database import count_rows, load_violations
from digest.store.dialect import be_patient, metadata
from digest.store.engine import Store, connect, current_revision, explain_file, migrate, open_store
from digest.store.schema import gate, installation, marks
from digest.store.workers import hold_file

FOLDER = "backups"
"""Beside a SQLite database; where nothing else is said."""

_NAMED = re.compile(r"digest-\d{8}T\d{6}Z\.db")

_LOGS = ("-wal", "-journal", "-shm")
"""What SQLite keeps beside a database that is open. Whatever log it finds it plays into the file of that name."""


def default_backup(folder: Path, now: datetime) -> Path:
    """Return the file a backup goes into where none is named."""
    return folder / f"digest-{now:%Y%m%dT%H%M%SZ}.db"


def back_up(
    store: Store, path: Path, tell: Callable[[str, int], None], *, replace: bool = False
) -> dict[str, int]:
    """Write a backup, prove it, and only then give it its name; return how many rows each table holds.

    It is what `VACUUM INTO` makes while others go on writing.

    Args:
        path: the file; it is readable by its owner only.

    Raises:
        StoreError: the file exists already or can't be written, or the copy is not sound.
        UsageError: it is PostgreSQL.
    """
    if store.path is None:
        raise UsageError(
            f"{store.url_masked} is PostgreSQL, which has its own backups",
            hint=f"Run: pg_dump --format=custom --file=digest.dump '{store.url_masked.replace(':***@', '@')}'",
        )
    if path.exists() and not replace:
        raise StoreError(f"{path} exists already", hint="Name another file, or add --force to write over it.")
    with _unfinished(path) as copy:
        tell("copy", 0)
        _copy_file(store.path, copy)
        tell("check", 0)
        rows = _finish(copy, f"the copy for {path}")
        copy.replace(path)
    return rows


def prune_backups(folder: Path, keep: int) -> tuple[Path, ...]:
    """Remove all backups with a name by default but so many, the newest; return what was removed."""
    named = sorted(path for path in folder.iterdir() if _NAMED.fullmatch(path.name))
    for path in named[:-keep]:
        path.unlink()
    return tuple(named[:-keep])


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """Give an empty file beside the one that is meant, readable by its owner only; it is gone afterwards."""
    copy = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)  # a process that was killed may have left it
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise explain_file(str(path), error) from error
    try:
        yield copy
    finally:
        for suffix in ("", *_LOGS):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _copy_file(path: Path, copy: Path) -> None:
    """Copy a SQLite database as one state, which others may be writing to, into an empty file."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} can't be copied: {error}",
            hint="Check that it is a whole database, and that the disk has room for another of this size.",
        ) from error


def _finish(copy: Path, name: str, change: Callable[[Connection], None] | None = None) -> dict[str, int]:
    """Check all of a copy, change it, and wait until it is on the disk as one file.

    Args:
        change: changes what it holds, in one transaction; None for nothing.
    """
    with closing(open_store(f"sqlite:///{copy}")) as store, store.begin() as conn:
        _refuse_violations(conn, name)
        if change is not None:
            change(conn)
        rows = count_rows(conn)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    for place in (copy, copy.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return rows


_BATCH = 500

_SEEDED = (installation, marks, gate)
"""Tables that are never empty: what a new database holds is replaced."""


def copy_store(source: Store, url: str, tell: Callable[[str, int], None]) -> dict[str, int]:
    """Copy everything from SQLite into an empty PostgreSQL database; nothing may work on the source from then on.

    Both sides keep the installation's secret, so that links in messages sent long ago go on working.

    Args:
        tell: called with a table's name and how many of its rows are done.

    Raises:
        AnotherWorker: a process works on the source.
        UsageError: the two are not of these kinds.
        StoreError: the target isn't empty or can't be written, or what was copied breaks an invariant.
    """
    if source.path is None or make_url(url).get_backend_name() == "sqlite":
        raise UsageError(
            "only SQLite is copied, and only to PostgreSQL",
            hint="`digest db backup FILE` copies SQLite to SQLite, pg_dump and pg_restore copy PostgreSQL.",
        )
    with (
        hold_file(source.path),
        closing(open_store(url, create=True)) as target,
        target.begin() as into,
        source.begin() as out,  # nobody writes to SQLite meanwhile
    ):
        _refuse_filled(into, target.url_masked)
        be_patient(into)
        for table in reversed(_SEEDED):
            into.execute(table.delete())
        for table in metadata.sorted_tables:
            _copy_rows(out, into, table, tell)
        _set_sequences(into)
        before, after = count_rows(out), count_rows(into)
        if before != after:
            raise StoreError(f"the copy does not hold what was copied: {after}", hint="Nothing was changed.")
        _refuse_violations(into, "what was copied")
        return after


def _copy_rows(out: Connection, into: Connection, table: Table, tell: Callable[[str, int], None]) -> None:
    tell(table.name, 0)
    through = 0
    rows = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=_BATCH)
    for batch in out.execute(rows).mappings().partitions():
        into.execute(insert(table), [dict(row) for row in batch])
        through += len(batch)
        tell(table.name, through)


def _refuse_filled(conn: Connection, where: str) -> None:
    """Refuse to copy into a database that holds something."""
    seeded = {table.name for table in _SEEDED}
    filled = [name for name, count in count_rows(conn).items() if count and name not in seeded]
    has_counted = conn.execute(select(func.coalesce(func.max(marks.c.value), 0))).scalar_one() > 0
    if filled or has_counted:
        raise StoreError(
            f"the database {where} is not empty: it holds {', '.join(filled) or 'marks'}",
            hint="Name a database without tables, or one that `digest db migrate` has just made.",
        )


def _refuse_violations(conn: Connection, what: str) -> None:
    """Refuse a database that breaks an invariant."""
    if violations := load_violations(conn):
        broken = "; ".join(f"{violation.name}: broken {violation.count:,}×" for violation in violations)
        raise StoreError(f"{what} is damaged: {broken}", hint="`digest db check` shows what is wrong.")


def _set_sequences(conn: Connection) -> None:
    for table in (table for table in metadata.sorted_tables if "id" in table.columns):
        sequence = conn.execute(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')")).scalar()
        if sequence is not None:
            highest = conn.execute(select(func.max(table.c.id))).scalar()
            conn.execute(text(f"SELECT setval('{sequence}', {highest or 1}, {str(highest is not None).lower()})"))


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A backup that was put in place.

    Attributes:
        kept: what was there before, with its log; None for nothing.
    """

    place: Path
    kept: Path | None
    rows: dict[str, int]


def restore_backup(
    url: str,
    backup: Path,
    now: datetime,
    tell: Callable[[str, int], None],
    *,
    settle: Callable[[Connection], None],
) -> RestoreReport:
    """Put a backup in the place of the SQLite database at a URL.

    Args:
        settle: settles in the backup what was sent since, in one transaction, before it is put in place.

    Raises:
        AnotherWorker: a process works on the database.
        SchemaMismatch: the backup was made by a newer release.
        StoreError: the backup is not sound, or the database can't be written.
        UsageError: the database is PostgreSQL.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise UsageError(
            "the database is PostgreSQL, which has its own backups",
            hint="Restore with pg_restore, then run `digest db restored`. `digest help backups` says how.",
        )
    if not backup.is_file():
        raise StoreError(f"there is no backup at {backup}", hint="Name one that `digest db backup` has written.")
    path = Path(parsed.database or "").resolve()
    if path.exists() and path.samefile(backup):
        raise StoreError(f"{backup} is the database itself", hint="Name one that `digest db backup` has written.")
    with hold_file(path), _unfinished(path) as copy:
        tell("copy", 0)
        _copy_file(backup, copy)
        _bring_up(copy, backup)
        tell("check", 0)
        rows = _finish(copy, str(backup), settle)
        tell("put in place", 0)
        try:
            kept = _put_in_place(copy, path, now)
        except OSError as error:
            raise explain_file(str(path), error) from error
    return RestoreReport(path, kept, rows)


def _put_in_place(copy: Path, path: Path, now: datetime) -> Path | None:
    """Put a file where the database is; return where that is kept, None where there was none.

    A log that is left belongs to the file that was there alone, and goes aside with it.
    """
    kept = path.with_name(f"{path.name}.before-restore-{now:%Y%m%dT%H%M%SZ}")
    if kept.exists():
        raise StoreError(f"{kept} exists already", hint="Nothing was changed. Run the command again in a second.")
    for suffix in ("", *_LOGS):
        old = path.with_name(path.name + suffix)
        if old.exists():
            old.rename(kept.with_name(kept.name + suffix))
    copy.rename(path)
    return kept if kept.exists() else None


def _bring_up(copy: Path, backup: Path) -> None:
    """Bring a copy of a backup up to this release's tables."""
    with closing(connect(f"sqlite:///{copy}")) as store, store.read() as conn:
        revision = current_revision(conn)
    if not revision:
        raise StoreError(
            f"{backup} is not a backup: it has none of Digest's tables",
            hint="Name another file that `digest db backup` has written. Nothing was changed.",
        )
    migrate(f"sqlite:///{copy}")
