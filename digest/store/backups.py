"""Backups: one state of the database in one SQLite file, proven before it gets its name, and marked as a copy.

On SQLite the copy is `VACUUM INTO`, under which writers go on; on PostgreSQL every row of one snapshot. A
backup is finished when its file has its name: what was left unfinished never has it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import func, insert, make_url, select, text

from digest.model.errors import AnotherWorker, StoreError
from digest.store import database, revision
from digest.store.database import count_rows, find_violations, numbered_tables
from digest.store.dialect import metadata
from digest.store.engine import connect, connect_for_reading, explain_file, open_store
from digest.store.postgresql import be_patient
from digest.store.schema import gate, installation, marks
from digest.store.workers import hold_file, hold_worker, list_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from sqlalchemy import Connection, Table

    from digest.store.database import Violation
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
            revision.refuse_other(conn, store.url_masked)
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
            revision.refuse_other(conn, name or str(path))
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
            database.mark_copy(conn, now)
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


_BATCH = 500
_BATCH_OF_PAGES = 8
"""A page of arXiv's may have megabytes."""

_SEEDED = (installation, marks, gate)
"""Tables that are never empty: what a new database holds is replaced."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied.

    Attributes:
        rows: how many rows of each table, by name; both sides hold as many.
    """

    rows: dict[str, int]

    @property
    def total(self) -> int:
        """How many rows there are altogether."""
        return sum(self.rows.values())


def copy_store(source: Store, url: str, tell: Callable[[str, int], None]) -> CopyReport:
    """Copy everything into an empty database; nothing may work on the source from then on.

    Both sides keep the installation's secret, so that links in messages sent long ago go on working.

    Args:
        source: where it works now.
        url: the new database; its tables are made.
        tell: is told a table's name and how many of its rows are through.

    Raises:
        AnotherWorker: a process works on one of the two.
        SchemaMismatch: a newer release wrote the source.
        StoreError: the target isn't empty or can't be written.
    """
    with ExitStack() as stack:
        stack.enter_context(hold_worker(source))
        target = open_store(url, create=True)
        stack.callback(target.close)
        if target.path is not None and source.path is not None and target.path.samefile(source.path):
            raise StoreError(f"{source.url_masked} can't be copied onto itself", hint="Name another database.")
        stack.enter_context(hold_worker(target))
        with target.begin() as into, source.begin() as out:
            refuse_filled(into, target.url_masked)
            revision.refuse_other(out, source.url_masked)
            _hold_still(out, source)
            return copy_rows(out, into, tell)


def copy_rows(out: Connection, into: Connection, tell: Callable[[str, int], None]) -> CopyReport:
    """Copy every row, in the caller's two transactions.

    Args:
        out: a transaction on the source that sees one state throughout.
        into: a writing transaction on the target, which is empty; see `refuse_filled`.
        tell: is told a table's name and how many of its rows are through.

    Raises:
        StoreError: the two sides differ afterwards, or one of them breaks an invariant: roll back.
    """
    for side in (out, into):
        if side.dialect.name == "postgresql":
            be_patient(side)
    for table in reversed(_SEEDED):
        into.execute(table.delete())
    for table in metadata.sorted_tables:
        tell(table.name, 0)
        through = 0
        for batch in _read_batches(out, table):
            into.execute(insert(table), batch)
            through += len(batch)
            tell(table.name, through)
    if into.dialect.name == "postgresql":
        _set_sequences(into)
    before, after = count_rows(out), count_rows(into)
    if before != after:
        differing = ", ".join(
            f"{name} {before[name]:,}/{after[name]:,}" for name in before if before[name] != after[name]
        )
        raise StoreError(f"the copy does not hold what was copied: {differing}", hint="Nothing was changed.")
    refuse_violations(find_violations(out), "the source")
    refuse_violations(find_violations(into), "the copy")
    return CopyReport(after)


def refuse_filled(conn: Connection, where: str) -> None:
    """Refuse to copy into a database that holds something.

    Raises:
        StoreError: it does.
    """
    seeded = {table.name for table in _SEEDED}
    filled = [name for name, count in count_rows(conn).items() if count and name not in seeded]
    has_counted = conn.execute(select(func.coalesce(func.max(marks.c.value), 0))).scalar_one() > 0
    if filled or has_counted:
        raise StoreError(
            f"the database {where} is not empty: it holds {', '.join(filled) or 'marks'}",
            hint="Name a database without tables, or one that `digest migrate` has just made.",
        )


def refuse_violations(violations: list[Violation], what: str) -> None:
    """Refuse a database that breaks an invariant.

    Raises:
        StoreError: it does; each one is named.
    """
    if violations:
        broken = "; ".join(f"{violation.name}: {violation.count:,} break this" for violation in violations)
        raise StoreError(f"{what} is not sound: {broken}", hint="`digest db check` shows what is wrong.")


def _hold_still(conn: Connection, store: Store) -> None:
    """Let nobody write until a transaction ends; whatever is being sent right now must have ended.

    On SQLite a transaction that writes is alone anyway.

    Raises:
        AnotherWorker: a process works on it.
        StoreError: a message is on its way.
    """
    if store.dialect == "postgresql":
        names = ", ".join(table.name for table in metadata.sorted_tables)
        conn.execute(text(f"LOCK TABLE {names} IN SHARE MODE"))
        living = [worker for worker in list_workers(conn) if not worker.is_gone]
        if living:
            names = ", ".join(f"process {worker.pid} on {worker.host}" for worker in living)
            raise AnotherWorker(
                f"{store.url_masked} is worked on: {names}",
                hint="Stop every `digest serve` that works on it; one that died is forgotten after a minute.",
            )
        alive = "lease_until > extract(epoch FROM clock_timestamp())"
        working = text(f"SELECT count(*) FROM deliveries WHERE state IN ('claimed', 'sending') AND {alive}")
        busy = conn.execute(working).scalar_one()
        if busy:
            raise StoreError(
                f"{busy:,} messages are being sent from {store.url_masked} right now",
                hint="Stop every `digest serve` and `digest run` that works on it, then call this again.",
            )


def _read_batches(out: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    size = _BATCH_OF_PAGES if table.name == "raw_pages" else _BATCH
    rows = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=size)
    for batch in out.execute(rows).mappings().partitions():
        yield [dict(row) for row in batch]


def _set_sequences(conn: Connection) -> None:
    for table in numbered_tables():
        sequence = conn.execute(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')")).scalar()
        if sequence is not None:
            highest = conn.execute(select(func.max(table.c.id))).scalar()
            conn.execute(text(f"SELECT setval('{sequence}', {highest or 1}, {str(highest is not None).lower()})"))


_ANOTHER = "Name another file that `digest db backup` has written. Nothing was changed."

_LOGS = ("-wal", "-journal", "-shm")
"""What SQLite keeps beside a database that is open. Whatever log it finds it plays into the file of that name."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A backup that was put in place.

    Attributes:
        place: the database, without a password.
        taken_at: when the backup was made, or else was put in place (UTC).
        kept: what was there before, with its log; None for nothing.
        rows: how many rows each table holds, by name.
    """

    place: str
    taken_at: datetime
    kept: Path | None
    rows: dict[str, int]


def restore_backup(url: str, backup: Path, now: datetime, tell: Callable[[str, int], None]) -> RestoreReport:
    """Put a backup in the place of the database at a URL; nothing of it is sent before it is resumed.

    Into PostgreSQL, which must be empty, the rows are copied.

    Args:
        url: the database.
        backup: a file that `back_up` made, or any SQLite database of an installation.
        now: the moment (UTC).
        tell: is told what is being done, and how far it has come.

    Raises:
        AnotherWorker: a process works on the database.
        SchemaMismatch: the backup was made by a newer release.
        StoreError: the backup is not sound, or the database can't be written.
    """
    if not backup.is_file():
        raise StoreError(f"there is no backup at {backup}", hint="Name one that `digest db backup` has written.")
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return _restore_rows(url, backup, now, tell)
    path = Path(parsed.database or "").resolve()
    if path.exists() and path.samefile(backup):
        raise StoreError(f"{backup} is the database itself", hint="Name one that `digest db backup` has written.")
    with hold_file(path), unfinished(path) as copy:
        taken_at, rows = _prepare(backup, copy, now, tell)
        tell("put in place", 0)
        try:
            kept = _put_in_place(copy, path, now)
        except OSError as error:
            raise explain_file(str(path), error) from error
        tell("check", 0)
        prove_backup(path)
    return RestoreReport(str(path), taken_at, kept, rows)


def _put_in_place(copy: Path, path: Path, now: datetime) -> Path | None:
    """Put a file where the database is; return where that is kept, None where there was none.

    A log that is left belongs to the file that was there alone, and goes aside with it.
    """
    kept = path.with_name(f"{path.name}.before-restore-{now:%Y%m%dT%H%M%SZ}")
    if kept.exists():
        raise StoreError(f"{kept} is there already", hint="Call this again in a second. Nothing was changed.")
    for suffix in ("", *_LOGS):
        old = path.with_name(path.name + suffix)
        if old.exists():
            old.rename(kept.with_name(kept.name + suffix))
    give_name(copy, path)
    return kept if kept.exists() else None


def _restore_rows(url: str, backup: Path, now: datetime, tell: Callable[[str, int], None]) -> RestoreReport:
    target = open_store(url, create=True)
    try:
        with unfinished(backup) as copy:
            taken_at, rows = _prepare(backup, copy, now, tell)
            source = open_store(f"sqlite:///{copy}")
            try:
                with target.begin() as into, source.read() as out:
                    refuse_filled(into, target.url_masked)
                    copy_rows(out, into, tell)
            finally:
                source.close()
        return RestoreReport(target.url_masked, taken_at, None, rows)
    finally:
        target.close()


def _prepare(
    backup: Path, copy: Path, now: datetime, tell: Callable[[str, int], None]
) -> tuple[datetime, dict[str, int]]:
    """Make a sound copy of a backup, of this release and marked as what it is."""
    tell("copy", 0)
    try:
        if backup.with_name(backup.name + "-wal").exists():
            with opened_file(backup) as source, opened_file(copy) as place:
                source.backup(place)
        else:
            shutil.copyfile(backup, copy)
    except OSError as error:
        raise StoreError(
            f"{backup} can't be copied: {error.strerror}", hint="See that the disk has room."
        ) from error
    _refuse_other_files(copy, backup)
    store = open_store(f"sqlite:///{copy}", upgrade=True)
    try:
        with store.begin() as conn:
            taken_at = database.load_copied_at(conn) or now
            database.mark_copy(conn, taken_at)
    finally:
        store.close()
    tell("check", 0)
    rows = prove_backup(copy, str(backup))
    settle_file(copy)
    make_lasting(copy)
    return taken_at, rows


def _refuse_other_files(copy: Path, backup: Path) -> None:
    """Refuse the copy of a file that is no whole database of an installation, before anything is made of it.

    Raises:
        StoreError: it is none; the file that was named is named again.
    """
    try:
        with opened_file(copy) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            (whole,) = connection.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()
    except StoreError as error:
        raise StoreError(f"{backup} is no backup, or is damaged: {error.__cause__}", hint=_ANOTHER) from error
    size = copy.stat().st_size
    if size < whole:
        raise StoreError(f"{backup} is cut short: {size:,} of {whole:,} bytes", hint=_ANOTHER)
    if not {"alembic_version", "installation"} <= tables:
        raise StoreError(f"{backup} is no backup: it holds none of Digest's tables", hint=_ANOTHER)
