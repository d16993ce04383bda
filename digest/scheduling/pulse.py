"""Signs of life of a schedule, for health checks."""

from __future__ import annotations

from dataclasses import dataclass, field

from digest.clock import monotonic
from digest.scheduling.board import Board

LONGEST_SILENCE = 60.0
"""Seconds without a sign of life after which the scheduler counts as stuck."""

STORE_DOUBT = 60.0
"""Seconds without a transaction that could write after which the database counts as away."""


@dataclass
class Pulse:
    """Signs of life of a schedule, read by health checks from other threads; ages are in seconds.

    Attributes:
        troubles: the error that ended a job's last turn, by job; those that went well are missing.
        remarks: what could not be done in a job's last turn that went to its end, by job.
        board: how the jobs stand.
    """

    troubles: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    board: Board = field(default_factory=Board)
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

    @property
    def failures(self) -> list[str]:
        """Why the process does not do its work, in sentences; [] where it does."""
        found = [f"the job {name} failed last time ({error})" for name, error in sorted(self.troubles.items())]
        for name, seconds in sorted(self.board.stuck.items()):
            found.append(f"the job {name} has been at the same turn for {seconds / 60:.0f} min")
        if self.age is None:
            return ["the scheduler has not ticked yet", *found]
        if self.age > LONGEST_SILENCE:
            found.append(f"the scheduler last ticked {self.age:.0f} s ago")
        if not self.is_store_writable:
            found.append("the database can't be written")
        return found

    def beat(self) -> None:
        """Note that the scheduler runs jobs."""
        self._beat_at = monotonic()

    def note_write(self) -> None:
        """Note that the database took a transaction that could write."""
        self._wrote_at = monotonic()
