"""The pace of requests to arXiv, kept as one row that every process of an installation obeys.

Before each request one UPDATE must change the row: its holder gets a lease longer than any request
lives, and the moment of the next request moves on. So requests never overlap and never come closer than
the spacing, however many processes ask and whoever of them dies or is paused. Time is the database's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.pace import LEASE, SPACING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from digest.clock import Clock
    from digest.pace import GateOutcome, Grant
    from digest.store.engine import Store


def _unchanged(seconds: float) -> float:
    return seconds


class Gate:
    """Implements `digest.pace.Gate` on the row `arxiv`.

    Args:
        store: where the row is.
        clock: waits; and tells the time where it is simulated.
        holder: a name no other process has.
        spacing: seconds from the end of one request to the start of the next.
        lease: seconds a grant holds the gate.
        patience: seconds to wait for a turn before giving up.
        jitter: spreads the breaker's back-off: seconds to seconds.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        holder: str,
        *,
        spacing: float = SPACING,
        lease: float = LEASE,
        patience: float = 600.0,
        jitter: Callable[[float], float] = _unchanged,
    ) -> None:
        raise NotImplementedError

    @property
    def token(self) -> int:
        """The token of the latest grant, 0 before the first."""
        raise NotImplementedError

    def acquire(self) -> Grant:
        """Wait until one request may be made; see `digest.pace.Gate`."""
        raise NotImplementedError

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Tell that the request has ended; see `digest.pace.Gate`."""
        raise NotImplementedError

    def leave(self) -> None:
        """Let another process ask, from the next spacing on: for the end of a walk through pages."""
        raise NotImplementedError


def is_current(conn: Connection, token: int) -> bool:
    """Whether no other process has taken over the gate since a grant; holds until the transaction ends."""
    raise NotImplementedError


def adopt_gate(conn: Connection) -> None:
    """Free the gate of a holder known to be dead: for a process that knows itself alone, at its start."""
    raise NotImplementedError


def create_standalone(path: Path) -> Store:
    """Open (or make) a file that holds nothing but a gate: the pace of commands that keep no database."""
    raise NotImplementedError
