"""What a database's own errors mean to us, and what the operator can do about them."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from digest.errors import StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OURS = (IntegrityError, ProgrammingError)
"""A broken constraint or statement is a mistake of the code, never of the database: it is not explained away."""

_BUSY = (
    "database is locked",
    "deadlock detected",
    "could not serialize",
    "lock timeout",
    "not obtain lock",
    "statement timeout",  # who wants a row may wait for several others, one after the other
)

_ROOM = 65_536
"""Bytes without which SQLite can't so much as open a database: what its connections share takes half of it."""

_MAKE_ROOM = (
    "nothing that was stored is lost. What runs by then goes on by itself; what has ended is to be started anew,"
    " by its service manager or by you."
)
_FULL = ("its disk is full", f"Make room on it; {_MAKE_ROOM}")
_LOCKED = (
    "its disk is mounted read-only",
    "See dmesg for the error behind it, and mount it for writing; nothing that was stored is lost.",
)
_DISK_SIGNS = ("is full", "disk i/o", "unable to open", "readonly")
"""What SQLite says where the disk may be to blame; which of them, it often does not know."""

_HINTS = {
    "is full": f"Make room on its disk; {_MAKE_ROOM}",
    "no space left": f"Make room on its disk; {_MAKE_ROOM}",
    "readonly": "Make the file and its folder writable for this account.",
    "read-only": "Connect to the primary, or end its read-only mode.",
    "unable to open": "Check that the folder is there and writable for this account.",
    "not a database": "The file holds something else; change url under [store] in digest.toml.",
    "malformed": "Restore the latest backup: the file is damaged.",
    "disk i/o": "Check the disk; if it is well, the file may be damaged: restore the latest backup.",
    "password": "Check the name and the password in url under [store].",
    "does not exist": "Create the database, or change url under [store].",
    "connection": "Check that the server is up and can be reached from here.",
}


@contextmanager
def explaining(where: str, path: Path | None = None) -> Iterator[None]:
    """Turn errors of the database, inside the block, into errors that say what to do.

    Args:
        where: the database's address without its password.
        path: its file; None on PostgreSQL.

    Raises:
        StoreBusy: somebody else holds what is needed; the same may pass later.
        StoreError: the database is away, full, read-only, or not what it should be.
    """
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy("every connection to the database is taken", hint="Use fewer workers.") from error
    except _OURS:
        raise
    except (OperationalError, InterfaceError, DatabaseError) as error:
        raise _explain(error, where, path) from error


def explain_file(what: str, error: OSError) -> StoreError:
    """Return the error that says what to do about a file which can't be written.

    Args:
        what: names it, with its path.
        error: what the system said.
    """
    hint = {errno.ENOSPC: _FULL[1], errno.EDQUOT: _FULL[1], errno.EROFS: _LOCKED[1]}.get(
        error.errno or 0, "Make its folder writable for this account."
    )
    return StoreError(f"{what} can't be written: {error.strerror}", hint=hint)


def is_busy(error: DBAPIError) -> bool:
    """Whether somebody else held what was needed: the same may pass later."""
    said = str(error.orig).lower()
    return any(sign in said for sign in _BUSY)


def _explain(error: DatabaseError | InterfaceError, where: str, path: Path | None) -> StoreError:
    said = " ".join(str(error.orig).split())
    lowered = said.lower()
    if is_busy(error):
        return StoreBusy(
            f"the database {where} is busy, or held by another process: {said}",
            hint="Try again; if it lasts, see which process holds it, or what slows it down.",
        )
    if path is not None and any(sign in lowered for sign in _DISK_SIGNS):
        state, hint = look_at_disk(path)
        if state:
            return StoreError(f"the database {where} can't be used, {state}: {said}", hint=hint)
    hint = next((hint for sign, hint in _HINTS.items() if sign in lowered), "")
    return StoreError(f"the database {where} can't be used: {said}", hint=hint)


def look_at_disk(path: Path) -> tuple[str, str]:
    """Say what ails the disk of a file, and what helps; "" for both where nothing is seen."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return "", ""
    if disk.f_flag & os.ST_RDONLY:
        return _LOCKED
    return _FULL if disk.f_bavail * disk.f_frsize < _ROOM else ("", "")
