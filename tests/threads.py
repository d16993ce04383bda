"""Threads that all do something at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

One = TypeVar("One")
Result = TypeVar("Result")


def do_together(each: Sequence[One], step: Callable[[One], Result]) -> list[Result]:
    """Take a step with each, all at the same moment.

    Return what came of it, or raise what went wrong.
    """
    together = threading.Barrier(len(each))

    def act(one: One) -> Result:
        together.wait(20)
        return step(one)

    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(act, each))
