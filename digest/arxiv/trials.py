"""Requests as they went: what an operator can look up about each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.pace import GateOutcome, Outcome

if TYPE_CHECKING:
    from datetime import datetime

    from digest.arxiv.exchange import Answer, Asked


@dataclass(frozen=True, slots=True)
class RequestLog:
    """One request as it went, for the operator.

    Attributes:
        at: when it was made (UTC).
        method: `GET` or `POST`.
        url: the whole of it, a form's fields included.
        status: HTTP status, None where no whole answer came.
        milliseconds: from the request to the end of the answer.
        size: bytes of the body, unpacked.
        sha256: of the body, hex; "" where there is none.
        outcome: what the gate was told.
        detail: what was wrong; "" for a good page.
    """

    at: datetime
    method: str
    url: str
    status: int | None
    milliseconds: int
    size: int
    sha256: str
    outcome: Outcome
    detail: str


class Trial:
    """One request under way, and what is known of it so far. `outcome` is what to tell the gate."""

    def __init__(self, asked: Asked, at: datetime, begun: float) -> None:
        self.outcome = GateOutcome(Outcome.FAILED)
        self._asked = asked
        self._at = at
        self._begun = begun
        self._milliseconds: int | None = None
        self._answer: Answer | None = None
        self._detail = ""

    def note(self, answer: Answer) -> None:
        """Note that the whole answer has come."""
        self._answer = answer
        self._milliseconds = self._measure()

    def end(self, outcome: GateOutcome, detail: str) -> None:
        """Note how it ended, and what was wrong."""
        self.outcome = outcome
        self._detail = detail
        if self._milliseconds is None:
            self._milliseconds = self._measure()

    def log(self) -> RequestLog:
        """Return it as it went."""
        body = self._answer.body if self._answer else b""
        return RequestLog(
            at=self._at,
            method=self._asked.method,
            url=self._asked.url,
            status=self._answer.status if self._answer else None,
            milliseconds=self._milliseconds or 0,
            size=len(body),
            sha256=hashlib.sha256(body).hexdigest() if body else "",
            outcome=self.outcome.outcome,
            detail=self._detail,
        )

    def _measure(self) -> int:
        return round((monotonic() - self._begun) * 1000)
