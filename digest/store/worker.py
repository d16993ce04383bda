"""One worker to one SQLite file: a lock that the kernel frees when its holder dies, however it dies.

It is on a file beside the database. The database's own will not do: SQLite loses its locks when anybody in the
process closes that, and on NFS one kind of lock is the other. Whoever deletes that file lets a second one in.
"""

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
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error
    try:
        _take_lock(handle, lock)
        yield
    finally:
        os.close(handle)  # the file stays: deleting it would let two in


def _take_lock(handle: int, lock: Path) -> None:
    import fcntl  # noqa: PLC0415 - POSIX only; reading and editing commands work without

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(handle, f"{os.getpid():<20}".encode(), 0)  # in place: a full disk has no room for more
    except BlockingIOError:
        pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise AnotherWorker(
            f"process {pid} works on this database already (it holds {lock})",
            hint="Let it finish, or stop it. Commands that read or edit work beside it.",
        ) from None
    except OSError as error:
        raise explain_file(f"the lock {lock}", error) from error
