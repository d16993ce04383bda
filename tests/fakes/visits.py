"""Who asked the fake arXiv what, and whether they kept the pace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from digest.model.clock import Clock, monotonic
from tests.fakes.loopback import Answer, Request

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Visit:
    """One request as it arrived.

    `gap` is the seconds since the answer before it, by the clock; `status` is 0 where the
    connection broke.
    """

    at: datetime
    method: str
    path: str
    params: tuple[tuple[str, str], ...]
    user_agent: str
    gap: float | None
    violation: str
    fault: str
    status: int
    port: int

    def param(self, name: str) -> str:
        """Return a parameter's last value, "" where it was not given."""
        return dict(self.params).get(name, "")


class Visits:
    """The requests that came, judged by a pace: seconds from the end of one to the next."""

    def __init__(self, clock: Clock, pace: float) -> None:
        self._clock = clock
        self._pace = pace
        self._answered: float | None = None
        self._visits: list[Visit] = []
        self._lock = threading.Lock()

    def receive(self, request: Request, decide: Callable[[str], tuple[Answer, str]]) -> Answer:
        """Note a request and return its answer.

        `decide` takes the violation, and returns the answer with the fault's name.
        """
        with self._lock:
            at = self._clock.now()
            gap = self._measure_gap()
            violation = "pace" if gap is not None and gap < self._pace - _TOLERANCE else ""
            answer, fault = decide(violation)
            self._visits.append(
                Visit(
                    at=at,
                    method=request.method,
                    path=request.path,
                    params=request.params,
                    user_agent=request.headers.get("user-agent", ""),
                    gap=gap,
                    violation=violation,
                    fault=fault,
                    status=answer.status,
                    port=request.port,
                )
            )
            # Before the answer is on the wire: a simulated client may move the clock as soon as it
            # is.
            self._answered = self._tell_time()
        return answer

    def list_visits(self) -> tuple[Visit, ...]:
        """Return every visit so far, oldest first."""
        with self._lock:
            return tuple(self._visits)

    def _measure_gap(self) -> float | None:
        return None if self._answered is None else self._tell_time() - self._answered

    def _tell_time(self) -> float:
        return self._clock.now().timestamp() if self._clock.is_simulated else monotonic()
