"""One worker to one SQLite file: a lock that the kernel frees when its holder dies, however it dies."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from digest.errors import AnotherWorker
from digest.store.failures import explain_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from digest.store.engine import Store

_HOLDER = 32
"""Bytes of the lock's file, always."""


@contextmanager
def hold_worker(store: Store) -> Iterator[None]:
    """Be the one process that polls, plans and delivers on this database, for as long as the block lasts.

    On PostgreSQL any number of processes may work, and nothing is held.

    Raises:
        AnotherWorker: another process is the worker; its number is named.
        StoreError: the lock's file can't be written.
    """
    if store.path is None:
        yield
        return
    with hold_file(store.path):
        yield


@contextmanager
def hold_file(database: Path) -> Iterator[None]:
    """Hold a SQLite database as `hold_worker` does, also one that isn't there or can't be read.

    Raises:
        AnotherWorker: another process is the worker; its number is named.
        StoreError: the lock's file can't be written.
    """
    lock = database.with_name(database.name + ".lock")
    handle = _open_lock(lock)
    try:
        _take_lock(handle, lock)
        _write_holder(handle, lock)
        yield
    finally:
        os.close(handle)  # frees the lock; the file stays, since deleting it would let two in


def _write_holder(handle: int, lock: Path) -> None:
    """Say who holds it; written over in place, since a full disk has no room for more."""
    try:
        os.pwrite(handle, f"{os.getpid()}\n".ljust(_HOLDER).encode(), 0)
        os.ftruncate(handle, _HOLDER)
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error


def _open_lock(lock: Path) -> int:
    try:
        return os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error


def _take_lock(handle: int, lock: Path) -> None:
    import fcntl  # noqa: PLC0415 - POSIX only; reading and editing commands work without

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        raise AnotherWorker(
            f"process {holder} works on this database already (it holds {lock})",
            hint="Let it finish, or stop it; commands that read or edit work beside it.",
        ) from None
