"""Prints tables, JSON, progress and bars."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from digest.model.clock import monotonic

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_WIDEST = 110
"""Columns of a digest: longer lines are hard to read."""

_NARROWEST = 12
"""Columns that a cell keeps, however narrow the terminal."""

_MARGINS = 19
"""What stands beside a verb's line: its name, and how long it took."""

LARGEST_ID = 2**63 - 1
"""What a database takes for an id."""


@contextmanager
def showing_progress(*, quiet: bool = False) -> Iterator[Callable[[str, int], None]]:
    """Give a function to call with what is done and how much of it; the line is gone at the end."""
    from rich.console import Console  # noqa: PLC0415 - a twentieth of a run that shows no table

    with Console(stderr=True, quiet=quiet).status("") as status:
        yield lambda what, through: status.update(f"{what} {through:,} rows" if through else what)


def find_columns() -> int:
    """Return the terminal's columns, or what COLUMNS says; 80 where neither is known."""
    return shutil.get_terminal_size((80, 24)).columns


def find_width() -> int:
    """Return how many columns a digest may take: those of the terminal, up to a width that reads well."""
    return min(find_columns(), _WIDEST)


def say(text: str, *, err: bool = False) -> None:
    """Print sentences, folded to the terminal's columns; see `print_wrapped`."""
    print_wrapped("", text, err=err)


def print_wrapped(
    label: str,
    text: str,
    *,
    width: int = 0,
    err: bool = False,
    **style: Any,  # noqa: ANN401 - as click.style has it
) -> None:
    """Print a text behind a label, folded to the terminal's columns; what is folded stands below the text.

    Lines that the text has already stay lines. On standard error nothing is folded unless a terminal shows it:
    a log is read line by line.

    Args:
        width: columns that the label takes at least.
        style: of the label where there is one, else of the text, as `click.style` takes it.
    """
    lead = max(width, _measure(label))
    room = sys.maxsize if err and not sys.stderr.isatty() else find_columns() - lead
    lines = [folded for line in text.split("\n") for folded in wrap(line, room)]
    for number, line in enumerate(lines):
        head = "" if number else label
        shown = click.style(head, **style) if style and head.strip() else head
        shown += " " * (lead - _measure(head))
        shown += click.style(line, **style) if style and not label.strip() else line
        click.echo(shown.rstrip(), err=err)


def shows_colors() -> bool:
    """Whether the output is a terminal that shows colours and links, as rich judges it; NO_COLOR wants neither."""
    from rich.console import Console  # noqa: PLC0415 - the same

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


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str, whole: int = -1) -> None:
    """Print rows under a header, as wide as the terminal (see `lay_out`); `empty` where there are none.

    A last column without a name holds remarks: where they find no room each stands below its row.
    """
    if not rows:
        say(empty)
        return
    columns = find_columns()
    has_remarks = header[-1] == "" and sum(_find_widths(rows)) + 2 * len(header) > columns
    table = [row[:-1] for row in (header, *rows)] if has_remarks else [header, *rows]
    for number, lines in enumerate(lay_out(table, columns, whole)):
        for line in lines:
            click.echo(click.style(line, bold=True) if number == 0 else line)
        if has_remarks and number and rows[number - 1][-1]:
            print_wrapped("    ", rows[number - 1][-1])


def lay_out(rows: Sequence[Sequence[str]], columns: int, whole: int = -1) -> list[list[str]]:
    """Return each row as lines: columns as wide as their widest cell, the widest folded until all fit.

    Cells are folded between words alone, and those of the column `whole` are not. A row with a word that finds no
    room has its cells below one another, each after its name in the first row. So have all if that is too wide.
    """
    widths, room = _find_widths(rows), columns - 2 * (len(rows[0]) - 1)
    words = _find_widths([[max(wrap(cell, 1), key=_measure) for cell in row] for row in rows])
    for least in (words, [_NARROWEST] * len(words)):
        if sum(widths) > room:
            widths = _find_widths(rows)
        while sum(widths) > room:
            spare = [size if size > least[at] and at != whole else 0 for at, size in enumerate(widths)]
            if not any(spare):
                break
            widths[spare.index(max(spare))] -= 1
    laid: list[list[str]] = []
    for row in rows:
        cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        lines = []
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (f"{part}{' ' * (width - _measure(part))}" for part, width in zip(parts, widths, strict=True))
            lines.append("  ".join(padded).rstrip())
        is_too_wide = max(map(_measure, lines)) > columns or laid[:1] == [[]]
        laid.append(_stack(row, rows[0], columns) if is_too_wide else lines)
    return laid


def _stack(row: Sequence[str], header: Sequence[str], columns: int) -> list[str]:
    named = [f"    {name.strip()}: {cell.strip()}" for name, cell in zip(header, row, strict=True) if cell.strip()]
    return [] if row is header else [row[0], *(line for cell in named[1:] for line in wrap(cell, columns))]


def _find_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_measure, cells)) for cells in zip(*rows, strict=True)]


def _measure(text: str) -> int:
    return cell_len(click.unstyle(text))


class ProgressLines:
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


def cut(text: str, width: int) -> str:
    """Fold a text's white space and cut it to so many letters, between words if it can be; … shows the cut."""
    folded = " ".join(text.split())
    if len(folded) <= width:
        return folded
    head = folded[: width - 1]
    whole = head if folded[width - 1] == " " else head.rpartition(" ")[0]
    return (whole if len(whole) > width * 2 // 3 else head).rstrip(" ,;:.") + "…"


def write_brief(volume: str) -> str:
    """Write `about 2 papers a week` as a table has it below PAPERS."""
    return re.sub("about | papers?", "", volume)


def wrap(text: str, width: int) -> list[str]:
    """Fold a line into lines of so many columns, between words alone; one line at least.

    What fits stays as it is. What is folded keeps its indent.
    """
    if _measure(text) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(f"{indent}{word}")
    return lines or [""]


def describe_guarantee(source: str) -> str:
    """Say what a source promises, and what it does not."""
    if source == "harvest":
        return "Every paper that arXiv announces is fetched, however late. Missing ids are asked for."
    return (
        "What arXiv's search shows of each saved query: 8 days back each night, 35 weekly, 100 monthly."
        " About 6 papers in 10,000 come later still."
    )
