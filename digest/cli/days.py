"""A day on the command line: `2026-11-19`, and words for whoever writes it otherwise."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click


class Day(click.DateTime):
    """A day as a command takes it."""

    def __init__(self) -> None:
        super().__init__(["%Y-%m-%d"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401 - as click has it
        """Return midnight of a day.

        Raises:
            BadParameter: it is none, or written otherwise.
        """
        try:
            return value if isinstance(value, datetime) else datetime.strptime(value, self.formats[0])  # noqa: DTZ007 - a day
        except ValueError:
            self.fail(f"{value!r} is no day: write year, month and day, as in 2026-11-19", param, ctx)
