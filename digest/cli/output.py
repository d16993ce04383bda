"""Prints tables, JSON, progress and bars."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len
from rich.console import Console

from digest.model.clock import monotonic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime, tzinfo

    from _typeshed import DataclassInstance


@contextmanager
def showing_progress(*, quiet: bool = False) -> Iterator[Callable[[str, int], None]]:
    """Give what is to be called with what is done and how much is through; the line is gone at the end."""
    with Console(stderr=True, quiet=quiet).status("") as status:
        yield lambda what, through: status.update(f"{what} {through:,} rows" if through else what)


_WIDEST = 110
"""Columns: longer lines are hard to read."""


_MARGINS = 19
"""What stands beside a verb's line: its name, and how long it took."""


def find_width() -> int:
    """Return how many columns a text may take: the terminal's, or what COLUMNS says; 80 where neither is known."""
    return min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)


def shows_colors() -> bool:
    """Whether the output is a terminal that shows colours and links, as rich judges it; NO_COLOR wants neither."""
    console = Console()
    is_able = console.color_system is not None and not console.legacy_windows
    return sys.stdout.isatty() and is_able and not console.no_color


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
"""`--json`, the same for every listing."""


def print_json(value: object) -> None:
    """Print a value as JSON, indented and in ASCII."""
    click.echo(json.dumps(_to_plain(value), indent=2))


def as_dict(value: DataclassInstance, *without: str) -> dict[str, object]:
    """Return a dataclass's public fields by name, but for some."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))
    return {name: getattr(value, name) for name in names if name not in without}


def _to_plain(value: object) -> object:
    """Return what JSON knows: dataclasses by field unless they can be written, as ids can; dates in ISO 8601."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        return _to_plain(as_dict(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str | None]], *, empty: str) -> None:
    """Print rows under a header (see `lay_out`); `empty` where there are none."""
    if not rows:
        click.echo(empty)
        return
    first, *others = lay_out([header, *rows])
    click.echo(click.style(first, bold=True))
    for line in others:
        click.echo(line)


def lay_out(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """Return rows as lines, columns as wide as their widest cell; a cell before a None reaches into the next."""
    widths = [
        max((_measure(row[n]) for row in rows if n + 1 == len(row) or row[n + 1] is not None), default=0)
        for n in range(len(rows[0]))
    ]
    lines = []
    for row in rows:
        line, end = "", 0
        for cell, width in zip(row, widths, strict=True):
            if cell is not None:
                line += " " * (end - _measure(line)) + cell
            end += width + 2
        lines.append(line.rstrip())
    return lines


def _measure(cell: str | None) -> int:
    return cell_len(click.unstyle(cell or ""))


class Lines:
    """Tells the verbs as lines: one for each that ended, with how long it took.

    On a terminal the present verb stands on a line of its own that is written over; elsewhere only
    what has ended is printed, so that a log stays readable.
    """

    def __init__(self, *, quiet: bool = False, to_stderr: bool = True) -> None:
        self._err = to_stderr
        self._is_terminal = (sys.stderr if to_stderr else sys.stdout).isatty() and not quiet
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
            click.echo("\r\x1b[K", nl=False, err=self._err)
        room = find_width() - _MARGINS
        first, *others = wrap(what, room) if self._is_terminal else [what]
        click.echo(f" {verb:<8} {first:<{room}} {seconds}", err=self._err)
        for line in others:
            click.echo(f"{'':10}{line}", err=self._err)

    def _overwrite(self, text: str) -> None:
        if self._is_terminal:
            click.echo(f"\r\x1b[K {self._verb:<8} {text[: find_width() - 11]}", nl=False, err=self._err)


BARS = "▁▂▃▄▅▆▇█"


def write_moment(moment: datetime | None, zone: tzinfo | None) -> str:
    """Write a moment as `Fri 20 Nov 09:05`, "–" where there is none."""
    return f"{moment.astimezone(zone):%a %-d %b %H:%M}" if moment else "–"


def cut(text: str, width: int) -> str:
    """Fold a text's white space and cut it to so many letters, between words if it can be; … shows the cut."""
    folded = " ".join(text.split())
    if len(folded) <= width:
        return folded
    head = folded[: width - 1]
    whole = head if folded[width - 1] == " " else head.rpartition(" ")[0]
    return (whole if len(whole) > width * 2 // 3 else head).rstrip(" ,;:.") + "…"


def wrap(text: str, width: int) -> list[str]:
    """Fold a text into lines of so many letters, between words alone; one line at least."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def describe_guarantee(source: str) -> str:
    """Say what a source promises, and what it does not."""
    if source == "harvest":
        return "every paper arXiv announces, however late after submission; ids are checked for holes"
    return (
        "what arXiv's search shows of each saved query, 8 days back nightly, 35 weekly, 100 monthly; about"
        " 6 papers in 10,000 come later still, and arXiv's index must be complete"
    )


def draw_bars(counts: Sequence[int]) -> str:
    """Draw figures as bars of one cell each, as high as they are beside the highest."""
    highest = max(counts, default=0) or 1
    return "".join(BARS[-(-number * (len(BARS) - 1) // highest)] for number in counts)
