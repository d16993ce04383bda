"""Who works on a database right now: by its signs of life, and on SQLite by its lock, seen without touching it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from digest.store.workers import Worker, list_workers

if TYPE_CHECKING:
    from digest.store.engine import Store

_LOCKS = Path("/proc/locks")
"""Every lock the kernel knows of (proc_locks(5)); only on Linux. Trying the lock instead could make a
worker that starts at that very moment believe that there is another."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a database: its number, and since when (UTC)."""

    pid: int
    since: datetime


def list_present(store: Store, locks: Path = _LOCKS) -> list[Worker]:
    """Return the workers that are about, those that fell silent lately among them, the longest at work first.

    On SQLite the lock decides, where the kernel tells of it: whoever holds it is at work, and nobody else.
    """
    with store.read() as conn:
        signed = list_workers(conn)
    if store.path is None or not locks.exists():
        return signed
    holder = find_holder(store, locks)
    if holder is None:
        return []
    known = [worker for worker in signed if worker.pid == holder.pid]
    return known or [Worker("", "", "", holder.pid, holder.since)]


def find_holder(store: Store, locks: Path = _LOCKS) -> Holder | None:
    """Return the process that holds a database as its worker (see `hold_worker`); None where none is seen.

    Args:
        store: the database; on PostgreSQL nobody holds it.
        locks: the kernel's list of locks.
    """
    if store.path is None:
        return None
    lock = store.path.with_name(store.path.name + ".lock")
    try:
        found = lock.stat()
        held = locks.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in held:
        words = line.split()
        if "FLOCK" in words and "->" not in words and place in words:
            return Holder(int(words[words.index(place) - 1]), datetime.fromtimestamp(found.st_mtime, UTC))
    return None
