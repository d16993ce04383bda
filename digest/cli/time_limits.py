"""A limit on how long something may take that might never end, such as a loop in somebody's template."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Let what is within raise `TimeoutError` once it has taken so many seconds.

    Only a process's main thread can be stopped like this; in others there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> Never:
        raise TimeoutError(f"it has not ended after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


limit_template = partial(limit_time, 5)
"""What checking a template once may take: a thousand times what the longest of ours does."""
