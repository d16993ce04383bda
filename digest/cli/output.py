"""The door from a command to the screen: prints its answer as JSON or a screen, and how far it is.

What a command says is printed here. A few texts take other ways: a question goes through click,
after `settle`, and a long page of the manual through its pager. A digest goes through the
transport for a console. The control characters of all texts are taken out here: the name
of a collection or a server's answer must not move the cursor. Our own styles carry a number that
nobody else knows.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import wraps
from typing import Any, NamedTuple, TextIO, TypeAlias

import click

from digest.model.characters import UNWANTED
from digest.model.clock import monotonic
from digest.model.errors import ConfigurationError, DigestError, UsageError

_OURS = f"{int.from_bytes(os.urandom(3), 'big')};"
"""A random number that marks our own escape sequences; `settle` removes it before they are shown.

Nobody who wrote a text can guess it, so `clean` knows which sequences are ours."""

_NOT_OURS = re.compile(
    rf"(\x1b\[{_OURS}[\d;]*m|\x1b\]8;{_OURS}[!-~]*\x1b\\)"
    rf"|[{UNWANTED}]|[\r\v\f\x1c-\x1f\x85\u2028\u2029]"
)

LARGEST_ID = 2**63 - 1
"""The largest id that a database takes."""

_WIDEST = 110
"""Columns of a digest: longer lines are hard to read."""

_SHORT = 20
"""If no cell of a column is longer than this, none of them is folded."""

_GAP = 2
"""Blanks between two columns of a table."""

_VERB_COLUMNS = 11
"""Columns that the present verb's name takes, with blanks around it; the last one stays free."""

_MARGINS = 19
"""Columns that a verb's name and its time take beside the text of its line."""


def clean(text: str) -> str:
    """Take out of a text what a terminal would obey or would not show; keep our marked styles."""
    return _NOT_OURS.sub(_keep_ours, text)


def _keep_ours(found: re.Match[str]) -> str:
    ours: str | None = found[1]
    if ours:
        return ours
    return " " if found[0].isspace() else ""


def settle(text: str) -> str:
    """Clean a text and take the mark out of our styles: to print it, or to ask with it."""
    return _NOT_OURS.sub(lambda found: found[0].replace(_OURS, "", 1), clean(text))


def mark_ours(text: str) -> str:
    """Mark the styles of a cleaned text as ours, so that `clean` keeps them.

    A line's end after the last line is dropped.
    """
    styled = text.removesuffix("\n").replace("\x1b[", f"\x1b[{_OURS}")
    return styled.replace("\x1b]8;", f"\x1b]8;{_OURS}")


def style(text: str, **looks: Any) -> str:  # noqa: ANN401 - what `click.style` takes
    """Return a text with a style: `fg="red"`, `bold=True`, `dim=True`."""
    if not text:
        return ""
    return mark_ours(click.style("\0", **looks)).replace("\0", clean(text))


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Clean a text and print it as it is laid out."""
    echo_cleaned(settle(text), err=err, nl=nl)


def echo_cleaned(document: str | bytes, *, err: bool = False, nl: bool = True) -> None:
    """Print a text as it is: it was cleaned before, or is a file for another program."""
    click.echo(document, nl=nl, err=err)


MARKS = {True: style("✓", fg="green"), False: style("✗", fg="red")}


class Aside(NamedTuple):
    """What a screen says on standard error."""

    text: str


class Block(NamedTuple):
    """Lines that are laid out for the terminal already."""

    text: str


Part: TypeAlias = str | Aside | Block
"""A part of a screen; a mere string is sentences, folded to the terminal, and "" an empty line."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def answers(
    screen: Callable[..., Iterable[Part]], *of_screen: str
) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Let a command return its answer: a frozen value, printed with `--json`, else as a screen.

    An answer's `exit_code` is that of the command. An answer's `failure`, an error, is raised
    after it is shown. Options `of_screen` say how much is shown: the screen takes them, and the
    command does not.
    """

    def decorate(command: Callable[..., object]) -> Callable[..., None]:
        @json_option
        @wraps(command)
        def call(*args: object, as_json: bool, **given: object) -> None:
            options = {name: given.pop(name) for name in of_screen}
            # A digest for a console goes to standard output: it must not stand in the JSON.
            with redirect_stdout(sys.stderr) if as_json else nullcontext():
                answer = command(*args, **given)
            if as_json:
                print_json(answer)
            else:
                echo_parts(screen(answer, **options))
            failure = getattr(answer, "failure", None)
            if isinstance(failure, DigestError):
                raise failure
            click.get_current_context().exit(getattr(answer, "exit_code", 0))

        return call

    return decorate


def wants_json() -> bool:
    """Whether the command was called with `--json`: then it asks nobody, and shows no progress."""
    return bool(click.get_current_context().params.get("as_json"))


def print_json(value: object) -> None:
    """Print a value as JSON, indented and in ASCII."""
    echo_cleaned(json.dumps(_to_plain(value), indent=2))


def list_fields(value: object) -> dict[str, Any]:
    """Return a dataclass's public fields by name."""
    names = [field.name for field in fields(value)]  # type: ignore[arg-type]
    return {name: getattr(value, name) for name in names if not name.startswith("_")}


def _to_plain(value: object) -> object:
    """Return a value in the types that JSON has.

    A dataclass becomes its fields, but one that has a text of its own, such as an id, becomes that
    text. A date is in ISO 8601.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_plain(inner) for key, inner in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [_to_plain(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    is_record = is_dataclass(value) and not isinstance(value, type)
    has_text = type(value).__str__ is not object.__str__
    if is_record and not has_text:
        return _to_plain(list_fields(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def echo_parts(parts: Iterable[Part]) -> None:
    """Print the parts of a screen."""
    for part in parts:
        if isinstance(part, Aside):
            echo_folded(part.text, err=True)
        else:
            echo(render(part))


def render(part: Part) -> str:
    """Return a part laid out for the terminal, without the last line's end."""
    if not isinstance(part, str):
        return part.text
    return "\n".join(_fold_lines(clean(part), find_columns()))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table: its name, and its cells."""

    name: str
    cells: tuple[str | int, ...]

    @property
    def has_numbers(self) -> bool:
        return any(isinstance(cell, int) for cell in self.cells)

    @property
    def is_short(self) -> bool:
        """Whether none of its cells needs to be folded."""
        return max(map(len, self._list_texts())) <= _SHORT

    @property
    def least_width(self) -> int:
        """Columns of the terminal that it needs at least.

        These are those of its longest cell, or of its longest word if its cells are folded.
        """
        texts = self._list_texts()
        if self.is_short:
            return max(map(len, texts))
        words = " ".join(texts).split()
        return max(map(len, words), default=0)

    def _list_texts(self) -> list[str]:
        return [self.name, *(click.unstyle(clean(str(cell))) for cell in self.cells)]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str | int]], *, empty: str, folds: bool = True
) -> Part:
    """Return rows under a header, as wide as the terminal; `empty` if there are none.

    Numbers are at the right. What is too long is folded, or cut if nothing `folds`. In a terminal
    too narrow for its words each row has its cells below one another. A last column without a name
    holds remarks: they follow the table, each after the first cell of its row.
    """
    if not rows:
        return empty
    has_remarks = header[-1] == ""
    width = len(header) - 1 if has_remarks else len(header)
    columns = [_Column(name, tuple(cells)) for name, *cells in zip(header, *rows, strict=True)]
    columns = columns[:width]
    written = [list(map(_write_cell, row)) for row in rows]
    needed = sum(column.least_width + _GAP for column in columns) - _GAP
    if folds and needed > find_columns():
        blocks = [labelled(zip(header, row[:width], strict=False)).text for row in written]
    else:
        blocks = [_draw_table(columns, [row[:width] for row in written], folds=folds)]
    if has_remarks:
        remarks = [(row[0], row[-1]) for row in written if row[-1]]
        if remarks:
            blocks.append(labelled(remarks).text)
    return Block("\n\n".join(blocks))


def _write_cell(cell: str | int) -> str:
    return f"{cell:,}" if isinstance(cell, int) else clean(cell)


def _draw_table(columns: Sequence[_Column], rows: Sequence[Sequence[str]], *, folds: bool) -> str:
    """Lay out rows in columns, as wide as the terminal; what is too long is folded, or cut."""
    from rich.console import Console  # noqa: PLC0415 - a twentieth of a run that shows no table
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        drawn.add_column(
            column.name,
            justify="right" if column.has_numbers else "left",
            no_wrap=folds and column.is_short,
            overflow="fold" if folds else "ellipsis",
        )
    no_wrap = None if folds else True
    for row in rows:
        cells = [Text.from_ansi(cell, no_wrap=no_wrap) for cell in row]
        drawn.add_row(*cells)
    console = Console(width=find_columns(), highlight=False)
    with console.capture() as captured:
        console.print(drawn)
    text = mark_ours(captured.get()).rstrip("\n")
    return "\n".join(line.rstrip() for line in text.split("\n"))


def labelled(
    lines: Iterable[tuple[str, str]], *, width: int = 0, gap: int = 2, is_bold: bool = True
) -> Block:
    """Return texts, each after its label and folded.

    Labels are as wide as the widest, and as `width` at least.
    """
    listed = [(clean(label), clean(text)) for label, text in lines]
    widths = [len(click.unstyle(label)) for label, _ in listed]
    lead = gap + max([width, *widths])
    indent = " " * lead
    laid = []
    for (label, text), label_width in zip(listed, widths, strict=True):
        shown = style(label, bold=True) if is_bold else label
        head = shown + indent[label_width:]
        for line in _fold_lines(text, find_columns() - lead):
            laid.append(f"{head}{line}".rstrip())
            head = indent
    return Block("\n".join(laid))


def echo_folded(text: str, *, err: bool = False) -> None:
    """Print sentences, folded to the terminal's columns.

    On standard error nothing is folded unless a terminal shows it: a log is read line by line.
    """
    is_log = err and not sys.stderr.isatty()
    echo(text if is_log else render(text), err=err)


def _fold_lines(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, each folded."""
    for line in text.split("\n"):
        yield from fold(line, width)


def fold(text: str, width: int) -> list[str]:
    """Fold a line into lines of at most a number of columns, between words; its indent stays.

    What fits stays as it is.
    """
    if len(click.unstyle(text)) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip())]
    lines: list[str] = []
    for word in text.split():
        if lines and len(click.unstyle(f"{lines[-1]} {word}")) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}{word}")
    return lines


def cut(text: str, width: int) -> str:
    """Fold a text's white space and cut it to a number of letters; … shows the cut.

    The cut is between two words, unless that takes away too much.
    """
    folded = " ".join(text.split())
    if len(folded) <= width:
        return folded
    head = folded[: width - 1]
    if folded[width - 1] != " ":
        whole, _, _ = head.rpartition(" ")
        if len(whole) > width * 2 // 3:
            head = whole
    return head.rstrip(" ,;:.") + "…"


def find_columns() -> int:
    """Return the terminal's columns, or what COLUMNS says; 80 if neither is known."""
    return shutil.get_terminal_size((80, 24)).columns


def find_width() -> int:
    """Return how many columns a digest may take: the terminal's, or `_WIDEST` if it has more."""
    return min(find_columns(), _WIDEST)


def shows_colors() -> bool:
    """Whether the output is a terminal that shows colours and links, as rich judges it.

    With NO_COLOR it shows neither.
    """
    from rich.console import Console  # noqa: PLC0415 - see above

    console = Console()
    is_able = console.color_system is not None and not console.legacy_windows
    return sys.stdout.isatty() and is_able and not console.no_color


@contextmanager
def writing_files() -> Iterator[None]:
    """Turn a failure to write into an error that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{error.filename} can't be written: {error.strerror}",
            hint="Check the folder and its permissions.",
        ) from error


@contextmanager
def showing_progress() -> Iterator[Callable[[str, int], None]]:
    """Give a function that shows what is done, and through how many rows, on a line of its own.

    The line is gone at the end.
    """
    from rich.console import Console  # noqa: PLC0415 - see above

    with Console(stderr=True, quiet=wants_json()).status("") as status:

        def tell(what: str, through: int) -> None:
            said = f"{what} {through:,} rows" if through else what
            status.update(clean(said))

        yield tell


class ProgressLines:
    """Prints a line for each verb that has ended, with how long it took.

    On a terminal the present verb has a line of its own that is written over. Elsewhere only what
    has ended is printed, so that a log stays readable. With `--json` nothing is printed.
    """

    def __init__(self, *, to_stderr: bool = True, quiet: bool | None = None) -> None:
        self._err = to_stderr
        self._quiet = wants_json() if quiet is None else quiet
        self._is_terminal = (sys.stderr if to_stderr else sys.stdout).isatty() and not self._quiet
        self._verb = ""
        self._what = ""
        self._started = monotonic()

    def begin(self, verb: str, what: str) -> None:
        """Say that a verb begins."""
        self._verb = verb
        self._what = what
        self._started = monotonic()
        self._overwrite(what)

    def update(self, text: str) -> None:
        """Say how far the present verb has come."""
        self._overwrite(f"{self._what} · {text}" if self._what else text)

    def end(self, verb: str, summary: str) -> None:
        """Say what a verb ended with."""
        if self._quiet:
            return
        seconds = f"{monotonic() - self._started:6.1f} s"
        what = f"{self._what}: {summary}" if self._what else summary
        if self._is_terminal:
            echo_cleaned("\r\x1b[K", nl=False, err=self._err)
        room = find_width() - _MARGINS
        first, *others = fold(what, room) if self._is_terminal else [what]
        echo(f" {verb:<8} {first:<{room}} {seconds}", err=self._err)
        for line in others:
            echo(f"{'':10}{line}", err=self._err)

    def _overwrite(self, text: str) -> None:
        if self._is_terminal:
            shown = clean(text)[: find_width() - _VERB_COLUMNS]
            echo_cleaned(f"\r\x1b[K {self._verb:<8} {shown}", nl=False, err=self._err)


class _Veil(io.RawIOBase):
    """Passes whole lines on to a stream, each as the mask returns it."""

    name = ""

    def __init__(self, stream: TextIO, mask: Callable[[str], str]) -> None:
        self._stream = stream
        self._mask = mask
        self._begun = b""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        with self._lock:
            lines, end, self._begun = (self._begun + data).rpartition(b"\n")
            text = (lines + end).decode("utf-8", "replace")
            self._stream.write(self._mask(text))
            self._stream.flush()
        return len(data)

    def end(self) -> None:
        """Write what is left of a line that has no end."""
        if self._begun:
            self.write(b"\n")


@contextmanager
def veiled(option: str | None) -> Iterator[None]:
    """Keep what is private from the log of a workflow: if a repository is public, all can read it.

    Something is hidden only if GITHUB_ACTIONS is "true" and the database is on a branch. If the
    configuration can't be read, it is enough that it names `git_branch`. `option` is its path as
    the command line gives it, or None.
    """
    mask = _find_mask(option)
    if mask is None:
        yield
        return
    out = _Veil(sys.stdout, mask)
    err = _Veil(sys.stderr, mask)
    with redirect_stdout(_open_text(out)), redirect_stderr(_open_text(err)):
        try:
            yield
        finally:
            out.end()
            err.end()


def _open_text(veil: _Veil) -> io.TextIOWrapper:
    return io.TextIOWrapper(veil, "utf-8", "replace", newline="\n", write_through=True)


def _find_mask(option: str | None) -> Callable[[str], str] | None:
    # What is imported here is slow to load, and few calls need it.
    from digest import config  # noqa: PLC0415

    environ = config.read_environment()
    if environ.get("GITHUB_ACTIONS") != "true":
        return None
    from digest.inspect.findings import build_mask, list_public_log, list_unread  # noqa: PLC0415

    try:
        settings = config.open_config_or_defaults(option)
    except ConfigurationError as error:
        path = config.find_config(option, environ)
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        if "git_branch" not in text and "DIGEST_STORE_GIT_BRANCH" not in environ:
            return None
        given = [
            value.strip() for name, value in environ.items() if name.startswith("DIGEST_VALUE_")
        ]
        return build_mask(list_unread(f"{error.message} {error.hint}", text, given))
    return build_mask(list_public_log(settings)) if settings.store.git_branch else None
