"""Faults on order: what should go wrong, with which request, and how often."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar


class Counted(Protocol):
    """Something that happens so many times, after so many occasions that pass."""

    times: int
    skip: int


C = TypeVar("C", bound=Counted)


class Orders(Generic[C]):
    """What is still to happen. The first that applies is taken; safe between threads."""

    def __init__(self) -> None:
        self._waiting: list[C] = []
        self._lock = threading.Lock()

    def order(self, one: C) -> None:
        """Let something happen."""
        with self._lock:
            self._waiting.append(one)

    def take_first(self, is_meant: Callable[[C], bool]) -> C | None:
        """Return what happens on an occasion, None where all goes its ordinary way."""
        with self._lock:
            for one in self._waiting:
                if is_meant(one) and self._applies(one):
                    return one
        return None

    def clear(self) -> None:
        """Forget all that was ordered."""
        with self._lock:
            self._waiting.clear()

    @property
    def waiting(self) -> int:
        """How often something is still to happen."""
        with self._lock:
            return sum(one.times for one in self._waiting)

    def _applies(self, one: C) -> bool:
        if one.skip:
            one.skip -= 1
            return False
        one.times -= 1
        if one.times <= 0:
            self._waiting.remove(one)
        return True


@dataclass(slots=True)
class Fault:
    """One thing to go wrong with so many requests whose path contains `path`.

    The first `skip` of them are let pass. `seconds` of real time is how long a silence or a delay
    lasts, `keep` the part left of a shortened page.
    """

    kind: str
    times: int = 1
    skip: int = 0
    path: str = ""
    retry_after: object = ""
    seconds: float = 30.0
    keep: float = 0.5


class Faults(Orders[Fault]):
    """The faults of a server that knows some kinds of them."""

    def __init__(self, kinds: Collection[str]) -> None:
        super().__init__()
        self._kinds = frozenset(kinds)

    def add(self, kind: str, **fields: Any) -> None:  # noqa: ANN401 - fields of Fault
        """Order a fault; see `Fault`."""
        assert kind in self._kinds, f"there are {', '.join(sorted(self._kinds))}, and no {kind}"
        self.order(Fault(kind, **fields))

    def take(self, path: str) -> Fault | None:
        """Return the fault that spoils a request for this path, None where all is well."""
        return self.take_first(lambda fault: fault.path in path)
