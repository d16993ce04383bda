"""A backup in the place of the database: proven first, what was there kept beside it, and known to be a copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import make_url

from digest.errors import StoreError
from digest.store import provenance
from digest.store.backing_up import (
    give_name,
    make_lasting,
    opened_file,
    prove_backup,
    settle_file,
    unfinished,
)
from digest.store.copying import copy_rows, refuse_filled
from digest.store.engine import open_store
from digest.store.failures import explain_file
from digest.store.moving import open_target
from digest.store.worker import hold_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_WRITING = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE})

_ANOTHER = "Name another file that `digest backup` has written. Nothing was changed."

_LOGS = ("-wal", "-journal")
_SIDES = (*_LOGS, "-shm")
"""What SQLite keeps beside a database that is open. Whatever log it finds it plays into the file of that name."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A backup that was put in place.

    Attributes:
        place: the database, without a password.
        taken_at: when the backup was made, or else was put in place (UTC).
        kept: what was there before, or the log alone of a database that was set aside by hand; None for nothing.
        rows: how many rows each table holds, by name.
    """

    place: str
    taken_at: datetime
    kept: Path | None
    rows: dict[str, int]


def restore_backup(url: str, backup: Path, now: datetime, tell: Callable[[str, int], None]) -> RestoreReport:
    """Put a backup in the place of the database at a URL; the next worker begins in quarantine.

    A SQLite database is written over as one transaction of its own, so that whoever reads it meanwhile sees
    the old or the new one. Into PostgreSQL, which must be empty, the rows are copied.

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
        raise StoreError(f"there is no backup at {backup}", hint="Name a file that `digest backup` has written.")
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return _restore_rows(url, backup, now, tell)
    path = Path(parsed.database or "").resolve()
    if path.exists() and path.samefile(backup):
        raise StoreError(f"{backup} is the database itself", hint="Name a file that `digest backup` has written.")
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
    """Put a file where the database is; return where that is kept, None where there was none."""
    kept = _choose_kept(path, now)
    if not path.exists():
        log = _keep_log(path, kept)
        give_name(copy, path)
        return log
    if _keep_whole(path, kept):
        with opened_file(copy) as source, opened_file(path) as place:
            source.backup(place)
        make_lasting(path)
    else:
        _keep_damaged(path, kept)
        give_name(copy, path, replace=True)
    return kept


def _choose_kept(path: Path, now: datetime) -> Path:
    """Return a file beside the database that is not there yet."""
    name = f"{path.name}.before-restore-{now:%Y%m%dT%H%M%SZ}"
    beside = (path.with_name(f"{name}-{number}" if number else name) for number in count())
    taken = ("", *_LOGS)
    return next(place for place in beside if not any(place.with_name(place.name + log).exists() for log in taken))


def _restore_rows(url: str, backup: Path, now: datetime, tell: Callable[[str, int], None]) -> RestoreReport:
    target = open_target(url)
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
    store = open_store(f"sqlite:///{copy}", upgrade=True, moved_too=True)
    try:
        with store.begin() as conn:
            provenance.unmark_moved(conn)
            if not provenance.load_provenance(conn).is_unmet:
                provenance.mark_copy(conn, now)
            taken_at = provenance.load_provenance(conn).quarantined_at or now
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


def _keep_whole(path: Path, kept: Path) -> bool:
    """Copy a database aside; False where it is too damaged to be read, and its log is aside already."""
    log = kept.with_name(kept.name + "-wal")
    with unfinished(kept) as aside:
        if path.with_name(path.name + "-wal").exists():
            shutil.copyfile(path.with_name(path.name + "-wal"), log)  # SQLite removes one that it can't use
        try:
            with opened_file(path) as source, opened_file(aside) as place:
                source.execute("SELECT count(*) FROM installation").fetchone()
                source.backup(place)
            settle_file(aside)
        except StoreError as error:
            if _is_unharmed(error):
                log.unlink(missing_ok=True)
                raise
            return False
        make_lasting(aside)
        give_name(aside, kept)
    log.unlink(missing_ok=True)
    return True


def _is_unharmed(error: StoreError) -> bool:
    """Whether a database could not be copied for a reason that is none of its own: no room, or somebody at it."""
    code = getattr(error.__cause__, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code in _WRITING or code & 0xFF in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _keep_log(path: Path, kept: Path) -> Path | None:
    """Set aside what a process that was killed left beside a database that is gone; return it, None for nothing.

    It belongs to that file alone: SQLite would play it into the one that gets the name.
    """
    logs = []
    for suffix in _LOGS:
        log, aside = (place.with_name(place.name + suffix) for place in (path, kept))
        if log.exists() and log.stat().st_size:
            log.rename(aside)
            logs.append(aside)
    for suffix in _SIDES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for aside in logs:
        make_lasting(aside)
    return logs[0] if logs else None


def _keep_damaged(path: Path, kept: Path) -> None:
    """Set a damaged database aside as it is; it keeps its own name until it is replaced."""
    for suffix in _SIDES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    try:
        os.link(path, kept)
    except OSError:
        shutil.copyfile(path, kept)
