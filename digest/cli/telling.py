"""What a command says while it works and when it is done: lines for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from digest.clock import monotonic

if TYPE_CHECKING:
    from collections.abc import Sequence

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
"""`--json`, the same for every listing."""


def print_json(value: object) -> None:
    """Print a value as JSON: indented, in ASCII, dates in ISO 8601, enumerations as their text."""
    click.echo(json.dumps(value, indent=2, default=_to_json))


def _to_json(value: object) -> Any:  # noqa: ANN401 - whatever json can go on with
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print rows under a header, columns as wide as their widest cell; `empty` where there are none."""
    if not rows:
        click.echo(empty)
        return

    def measure(cell: str) -> int:
        return cell_len(click.unstyle(cell))

    widths = [max(measure(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for number, row in enumerate([header, *rows]):
        cells = [cell + " " * (width - measure(cell)) for cell, width in zip(row, widths, strict=True)]
        line = "  ".join(cells).rstrip()
        click.echo(click.style(line, bold=True) if number == 0 else line)


def lay_out(rows: Sequence[tuple[str | None, ...]]) -> list[str]:
    """Return rows as lines of aligned columns; a cell before a None reaches into the next column."""
    columns = range(len(rows[0]))
    widths = [
        max((cell_len(row[n] or "") for row in rows if n + 1 == len(row) or row[n + 1] is not None), default=0)
        for n in columns
    ]
    lines = []
    for row in rows:
        line, end = "", 0
        for cell, width in zip(row, widths, strict=True):
            if cell is not None:
                line += " " * (end - cell_len(line)) + cell
            end += width + 2
        lines.append(line.rstrip())
    return lines


class Lines:
    """Tells the verbs as lines: one for each that ended, with how long it took.

    On a terminal the present verb stands on a line of its own that is written over; elsewhere only
    what has ended is printed, so that a log stays readable.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._is_terminal = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._verb, self._what, self._started = "", "", monotonic()

    def begin(self, verb: str, what: str) -> None:
        """Say that a verb begins."""
        self._verb, self._what, self._started = verb, what, monotonic()
        self._overwrite(what)

    def update(self, text: str) -> None:
        """Say how far it has come."""
        self._overwrite(f"{self._what} · {text}" if self._what else text)

    def end(self, verb: str, summary: str) -> None:
        """Say what it ended with."""
        if self._quiet:
            return
        seconds = f"{monotonic() - self._started:6.1f} s"
        what = f"{self._what}: {summary}" if self._what else summary
        if self._is_terminal:
            click.echo("\r\x1b[K", nl=False, err=True)
        click.echo(f" {verb:<8} {what:<78} {seconds}", err=True)

    def _overwrite(self, text: str) -> None:
        if self._is_terminal:
            click.echo(f"\r\x1b[K {self._verb:<8} {text[:90]}", nl=False, err=True)
