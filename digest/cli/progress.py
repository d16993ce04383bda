"""How far work on whole tables has come: a line that is written over, on a terminal's standard error alone."""

from __future__ import annotations

import sys
from typing import Self

import click


class Progress:
    """Call it with what is being done and how much of it is through; the line is gone at the end."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._is_shown = sys.stderr.isatty() and not quiet

    def __call__(self, what: str, through: int) -> None:
        """Show how far it has come."""
        if self._is_shown:
            rows = f" {through:,} rows" if through else ""
            click.echo(f"\r\x1b[K {what}{rows}", nl=False, err=True)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Clear the line."""
        if self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)
