"""How the jobs of a process stand: kept in memory while they run, and written down with each sign of life."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.store.job_turns import JobTurn
from digest.telemetry.health import is_stuck

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class Board:
    """The jobs' latest turns. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, JobTurn] = {}
        self._begun: dict[str, float] = {}

    def begin(self, job: str, at: datetime) -> None:
        """Note that a turn begins."""
        with self._lock:
            self._begun[job] = monotonic()
            self._turns[job] = replace(self._find(job), began_at=at)

    def end(self, job: str, at: datetime, trouble: str = "") -> None:
        """Note that a turn has ended, and the error that ended it, or what could not be done in it."""
        with self._lock:
            self._begun.pop(job, None)
            turn = self._find(job)
            self._turns[job] = replace(
                turn,
                turns=turn.turns + 1,
                failures=turn.failures + bool(trouble),
                ended_at=max(at, turn.began_at or at),
                trouble=trouble,
            )

    def overrun(self, job: str) -> None:
        """Note that a job's time has come while it is at the turn before; waiting for others is none."""
        with self._lock:
            if job in self._begun:
                turn = self._find(job)
                self._turns[job] = replace(turn, overruns=turn.overruns + 1)

    def list_turns(self, next_at: Mapping[str, datetime | None]) -> list[JobTurn]:
        """Return how each job stands that is known or comes next."""
        with self._lock:
            names = sorted({*self._turns, *next_at})
            return [replace(self._find(name), next_at=next_at.get(name)) for name in names]

    @property
    def stuck(self) -> dict[str, float]:
        """The jobs whose turn takes longer than any should, and for how many seconds they have been at it."""
        with self._lock:
            ages = {job: monotonic() - begun for job, begun in self._begun.items()}
        return {job: age for job, age in ages.items() if is_stuck(job, age)}

    def _find(self, job: str) -> JobTurn:
        return self._turns.get(job) or JobTurn(job)
