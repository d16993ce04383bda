"""Faults on order: what should go wrong, with which request, and how often."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(slots=True)
class Fault:
    """One thing to go wrong.

    Attributes:
        kind: what; each server names the kinds it knows.
        times: how many requests it still spoils.
        skip: how many requests it still lets pass first.
        path: text the request's path must contain.
        retry_after: the `Retry-After` header as written, "" for none.
        seconds: how long a silence or a delay lasts, in real time.
        keep: the part that is left of a shortened body or page, 0 to 1.
    """

    kind: str
    times: int = 1
    skip: int = 0
    path: str = ""
    retry_after: str = ""
    seconds: float = 30.0
    keep: float = 0.5


class Faults:
    """The faults still to come. A request takes the first that applies to it; safe between threads."""

    def __init__(self, kinds: Collection[str]) -> None:
        self._kinds = frozenset(kinds)
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()

    def add(
        self,
        kind: str,
        *,
        times: int = 1,
        skip: int = 0,
        path: str = "",
        retry_after: object = "",
        seconds: float = 30.0,
        keep: float = 0.5,
    ) -> None:
        """Order a fault; see `Fault`.

        Raises:
            UsageError: this server knows no such kind.
        """
        if kind not in self._kinds:
            raise UsageError(
                f"no fault is called {kind!r} here", hint=f"There are {', '.join(sorted(self._kinds))}."
            )
        fault = Fault(kind, times, skip, path, str(retry_after), seconds, keep)
        with self._lock:
            self._waiting.append(fault)

    def take(self, path: str) -> Fault | None:
        """Return the fault that spoils a request for this path, None where all is well."""
        with self._lock:
            for fault in self._waiting:
                if fault.path in path and self._applies(fault):
                    return fault
        return None

    def clear(self) -> None:
        """Forget all that were ordered."""
        with self._lock:
            self._waiting.clear()

    @property
    def waiting(self) -> int:
        """How many requests are still to be spoiled."""
        with self._lock:
            return sum(fault.times for fault in self._waiting)

    def _applies(self, fault: Fault) -> bool:
        if fault.skip:
            fault.skip -= 1
            return False
        fault.times -= 1
        if fault.times <= 0:
            self._waiting.remove(fault)
        return True
