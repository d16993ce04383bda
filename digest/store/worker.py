"""One worker to one SQLite file: a lock that the kernel frees when its holder dies, however it dies.

It is on a file beside the database. The database's own will not do: SQLite loses its locks when anybody in the
process closes that, and on NFS one kind of lock is the other. A file beside it can be removed. So whoever finds
one that was never held looks for signs of life first, and whoever works looks whether its own is still there.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import NullPool, create_engine

from digest.errors import AnotherWorker, StoreBusy, StoreError
from digest.store.failures import explain_file, explaining
from digest.store.workers import GONE_AFTER, list_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from digest.store.engine import Store
    from digest.store.workers import Worker

_log = logging.getLogger("digest.worker")

_HOLDER = 32
"""Bytes of the lock's file, always."""


class Hold:
    """The lock, for as long as it is held.

    Args:
        lock: its file; None where nothing has to be held.
    """

    def __init__(self, lock: Path | None = None) -> None:
        self._lock = lock
        self._handles: list[int] = []
        self._has_complained = False

    def take(self, refuse_living: Callable[[], None]) -> None:
        """Take the lock.

        Args:
            refuse_living: asked where its file was never held: somebody may have removed the one that is.

        Raises:
            AnotherWorker: another process is the worker.
            StoreError: the lock's file can't be written.
        """
        if self._lock is None:
            return
        handle = _open_lock(self._lock)
        self._handles.append(handle)
        _take_lock(handle, self._lock)
        if not os.fstat(handle).st_size:
            refuse_living()
        _write_holder(handle, self._lock)

    def keep(self) -> None:
        """Take the lock anew where somebody removed or replaced its file.

        A full disk ends nobody's work: meanwhile signs of life keep others out, and it is tried again.

        Raises:
            AnotherWorker: another process was quicker.
        """
        if self._lock is None or self._is_in_place(self._lock):
            return
        try:
            self._take_anew(self._lock)
        except AnotherWorker:
            raise
        except StoreError as error:
            if not self._has_complained:  # once: this is asked every second
                self._has_complained = True
                _log.warning("the lock had been removed and can't be taken anew yet: %s", error.message)

    def _take_anew(self, lock: Path) -> None:
        handle = _open_lock(lock)
        try:
            _take_lock(handle, lock)
        except AnotherWorker:
            holder = _read_holder(handle)
            os.close(handle)
            # Nobody yet: who looks around for us will be refused. Ourselves: some file systems number files anew.
            if holder not in {"", _name_process(os.getpid())}:
                raise
            return
        self._handles.append(handle)  # beside the one from before: what holds both lets nobody in by either
        _write_holder(handle, lock)
        _log.warning("the lock %s had been removed: it is taken anew. Deleting it lets nobody in.", lock)

    def free(self) -> None:
        """Free the lock. Its file stays, since deleting it would let two in."""
        for handle in self._handles:
            os.close(handle)

    def _is_in_place(self, lock: Path) -> bool:
        try:
            there = lock.stat()
        except FileNotFoundError:
            return False
        except OSError:
            return True  # nobody can tell for now, so nobody else can take it either
        return any(os.path.samestat(there, os.fstat(handle)) for handle in self._handles)


@contextmanager
def hold_worker(store: Store) -> Iterator[Hold]:
    """Be the one process that polls, plans and delivers on this database, for as long as the block lasts.

    On PostgreSQL any number of processes may work, and nothing is held.

    Raises:
        AnotherWorker: another process is the worker; its number is named.
        StoreError: the lock's file can't be written.
    """
    if store.path is None:
        yield Hold()
        return

    def refuse_living() -> None:
        with store.read() as conn:
            _refuse_living(list_workers(conn))

    with _held(store.path, refuse_living) as hold:
        yield hold


@contextmanager
def hold_file(database: Path) -> Iterator[None]:
    """Hold a SQLite database as `hold_worker` does, also one that isn't there or can't be read.

    Raises:
        AnotherWorker: another process is the worker; its number is named.
        StoreError: the lock's file can't be written.
    """
    with _held(database, lambda: _refuse_living(_find_workers(database))):
        yield


@contextmanager
def _held(database: Path, refuse_living: Callable[[], None]) -> Iterator[Hold]:
    hold = Hold(database.with_name(database.name + ".lock"))
    try:
        hold.take(refuse_living)
        yield hold
    finally:
        hold.free()


def _find_workers(database: Path) -> list[Worker]:
    """Return who gave signs of life in a file that may be none of ours, or damaged: then nobody can work on it.

    It is opened to read only: SQLite removes the log of a file that it can't use.

    Raises:
        StoreBusy: somebody holds it.
    """
    if not database.is_file():
        return []
    uri = f"file:{quote(str(database.absolute()))}?mode=ro"
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True), poolclass=NullPool)
    try:
        with explaining(str(database), database), engine.connect() as conn:
            return list_workers(conn)
    except StoreBusy:
        raise
    except StoreError as error:
        _log.debug("%s tells nothing of workers: %s", database, error.message)
        return []


def _refuse_living(workers: list[Worker]) -> None:
    """Let nobody in beside a worker whose lock was removed: its signs of life tell of it.

    A file that was never held is a new database's, or a copy's, whose workers fell silent as a rule long ago.

    Raises:
        AnotherWorker: there is such a worker.
    """
    living = [worker for worker in workers if not worker.is_gone]
    if living:
        raise AnotherWorker(
            f"process {living[0].pid} works on this database, as it said {living[0].silent_for:.0f} s ago;"
            " its lock was removed, or this is a copy made just now",
            hint="Let it finish, or stop it: deleting its lock lets nobody in. "
            f"If it died, wait {GONE_AFTER:.0f} seconds.",
        )


@cache
def _name_process(pid: int) -> str:
    """Return what tells this process from all others: in containers their numbers may be the same."""
    return f"{pid} {secrets.token_hex(8)}"


def _write_holder(handle: int, lock: Path) -> None:
    """Say who holds it; written over in place, since a full disk has no room for more."""
    try:
        os.pwrite(handle, f"{_name_process(os.getpid())}\n".ljust(_HOLDER).encode(), 0)
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
        pid = _read_holder(handle).partition(" ")[0]
        raise AnotherWorker(
            f"process {pid or 'unknown'} works on this database already (it holds {lock})",
            hint="Let it finish, or stop it: deleting that file lets nobody in. Commands that read or edit work"
            " beside it.",
        ) from None


def _read_holder(handle: int) -> str:
    return os.pread(handle, _HOLDER, 0).decode("ascii", "replace").strip()
