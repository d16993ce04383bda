"""A backup in the place of the database: proven first, what was there kept beside it, and known to be a copy."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
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
from digest.store.worker import hold_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

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
            taken_at = provenance.load_copied_at(conn) or now
            provenance.mark_copy(conn, taken_at)
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
