"""The pace of requests to arXiv: what a gate grants, and what it is told afterwards.

arXiv's terms allow one request every three seconds and one connection, over all its interfaces and
all machines of an operator together (https://info.arxiv.org/help/api/tou.html).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

SPACING = 3.0
"""Seconds from the end of one request to the start of the next."""

REQUEST_DEADLINE = 240.0
"""Seconds one request may take in all, answer included."""

LEASE = 270.0
"""Seconds a grant holds the gate: longer than any request lives."""


class Outcome(StrEnum):
    """How a request ended, as far as the pace cares."""

    OK = "ok"
    FAILED = "failed"
    THROTTLED = "throttled"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to make exactly one request.

    Attributes:
        token: fences everything stored because of it.
        good_until: the moment, by `digest.clock.monotonic`, from which on the request must not be begun any
            more: it could outlive the lease.
    """

    token: int
    good_until: float = math.inf


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What the gate is told after a request; `retry_after` is what arXiv asked for, in seconds."""

    outcome: Outcome
    retry_after: float | None = None


class Gate(Protocol):
    """Lets one request through at a time, never sooner than the spacing allows."""

    def acquire(self) -> Grant:
        """Wait until one request may be made.

        Raises:
            ArxivThrottled: the circuit breaker is open for longer than the caller is willing to wait.
            StoreBusy: another process holds the gate and did not let go in time.
        """
        ...

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Tell the gate that the request of this grant has ended; spacing counts from now."""
        ...
