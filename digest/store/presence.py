"""Whether some process works on a SQLite file right now: seen from outside, without touching its lock."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from digest.store.engine import Store

_LOCKS = Path("/proc/locks")
"""Every lock the kernel knows of (proc_locks(5)); only on Linux. Trying the lock instead could make a
worker that starts at that very moment believe that there is another."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process at work: its number, and since when (UTC)."""

    pid: int
    since: datetime


def find_worker(store: Store, locks: Path = _LOCKS) -> Worker | None:
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
            return Worker(int(words[words.index(place) - 1]), datetime.fromtimestamp(found.st_mtime, UTC))
    return None
