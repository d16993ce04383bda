"""One worker to one SQLite file: a lock that the kernel frees when its holder dies, however it dies."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.store.engine import Store


@contextmanager
def hold_worker(store: Store) -> Iterator[None]:
    """Be the one process that polls, plans and delivers on this database, for as long as the block lasts.

    On PostgreSQL any number of processes may work, and nothing is held.

    Raises:
        StoreBusy: another process is the worker; its number is named.
    """
    raise NotImplementedError
