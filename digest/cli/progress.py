"""How far work on whole tables has come: a line that is written over, on a terminal's standard error alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def showing_progress(*, quiet: bool = False) -> Iterator[Callable[[str, int], None]]:
    """Give what is to be called with what is done and how much is through; the line is gone at the end."""
    with Console(stderr=True, quiet=quiet).status("") as status:
        yield lambda what, through: status.update(f"{what} {through:,} rows" if through else what)
