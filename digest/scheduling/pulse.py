"""Signs of life of a schedule, for health checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from digest.clock import monotonic
from digest.scheduling.board import Board

TICK = timedelta(seconds=30)
"""How often there must be a sign of life at least."""

STORE_DOUBT = 60.0
"""Seconds without a transaction that could write after which the database counts as away."""


@dataclass
class Pulse:
    """Signs of life of a schedule, read by health checks from other threads; ages are in seconds.

    Attributes:
        troubles: the error that ended a job's last turn, by job; those that went well are missing.
        remarks: what could not be done in a job's last turn that went to its end, by job.
        board: how the jobs stand.
        refused: why the edited digest.toml was not taken over; "" where the latest was.
    """

    troubles: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    board: Board = field(default_factory=Board)
    refused: str = ""
    _beat_at: float | None = None
    _wrote_at: float | None = None

    @property
    def age(self) -> float | None:
        """How long ago the scheduler last ran anything; None before the first time."""
        return None if self._beat_at is None else monotonic() - self._beat_at

    @property
    def is_store_writable(self) -> bool:
        """Whether a transaction that could write went through lately."""
        return self._wrote_at is not None and monotonic() - self._wrote_at < STORE_DOUBT

    def beat(self) -> None:
        """Note that the scheduler runs jobs."""
        self._beat_at = monotonic()

    def note_write(self) -> None:
        """Note that the database took a transaction that could write."""
        self._wrote_at = monotonic()
