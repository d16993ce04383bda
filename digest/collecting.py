"""When Python looks for garbage in cycles: not in the middle of work that makes much and leaves none."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_working = 0
_was_enabled = False


@contextmanager
def collecting_later() -> Iterator[None]:
    """Let Python look for cycles behind a piece of work, not in it; several threads may be in one at a time.

    A batch makes objects by the hundred thousand and hardly a cycle, next to all that an installation holds:
    looking through them again and again takes up to two fifths of the time. What is left of a batch counts as
    old from then on.
    """
    global _working, _was_enabled  # noqa: PLW0603 - the switch is the process's
    with _lock:
        if not _working:
            _was_enabled = gc.isenabled()
            gc.disable()
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if not _working:
                gc.freeze()
                gc.unfreeze()
                if _was_enabled:
                    gc.enable()
