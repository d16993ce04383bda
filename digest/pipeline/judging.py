"""What past looks judged news by, read back for their pages to be judged once more."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from digest.errors import QueryError
from digest.pipeline.horizons import read_judge
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from digest.comparing import Horizon
    from digest.papers import Paper
    from digest.planning.replays import LedgerRun

Given = TypeVar("Given")
Read = TypeVar("Read")

_KEPT = 8
"""Judges kept at hand: each may hold ten thousand saved queries, and many runs judged by the same."""


class Unjudged(ValueError):
    """What a run judged news by can't be read."""


class Judges:
    """What each run judged news by; many runs judged by the same."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._read = lru_cache(maxsize=_KEPT)(read_judge)

    def load(self, run: LedgerRun) -> Callable[[Paper], Horizon]:
        """Return the horizon of each paper, as a run judged it.

        Raises:
            Unjudged: what it judged by was damaged, or written by a release that wrote it otherwise. The
                function returned raises it, too: saved queries are read when the first paper needs them.
        """
        text = run_store.load_horizon(self._conn, run.id)
        judge = _explain(self._read)(text)
        return _explain(judge)

    def is_readable(self, run: LedgerRun) -> bool:
        """Whether `load` can read it."""
        try:
            self.load(run)
        except Unjudged:
            return False
        return True


def _explain(read: Callable[[Given], Read]) -> Callable[[Given], Read]:
    def explaining(given: Given) -> Read:
        try:
            return read(given)
        except (QueryError, ValueError, LookupError, TypeError, zlib.error) as error:
            raise Unjudged(f"what it judged news by can't be read: {error}") from error

    return explaining
