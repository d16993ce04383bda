"""The door from a command to the screen: prints what it answers, as JSON or as a screen, and how far it is.

No other file of the house prints. Whoever wrote a text, its control characters are taken out here: the name of a
collection or a server's answer must not move the cursor. Our own styles carry a number that nobody else knows.
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
from dataclasses import fields, is_dataclass
from datetime import date
from functools import wraps
from typing import Any, Literal, NamedTuple, TextIO, TypeAlias

import click

from digest.model.characters import UNWANTED
from digest.model.clock import monotonic
from digest.model.errors import ConfigurationError, DigestError, UsageError

_OURS = f"{int.from_bytes(os.urandom(3), 'big')};"
"""What an escape sequence of ours holds until it is printed. A terminal would read a style without a meaning."""

_NOT_OURS = re.compile(
    rf"(\x1b\[{_OURS}[\d;]*m|\x1b\]8;{_OURS}[!-~]*\x1b\\)|[{UNWANTED}]|[\r\v\f\x1c-\x1f\x85\u2028\u2029]"
)

LARGEST_ID = 2**63 - 1
"""What a database takes for an id."""

_WIDEST = 110
"""Columns of a digest: longer lines are hard to read."""

_SHORT = 20
"""Columns up to which no cell of a table is folded."""

_MARGINS = 19
"""Columns beside a verb's line: its name, and how long it took."""


def clean(text: str) -> str:
    """Take out of a text what a terminal would obey, or would not show; our own styles stay."""
    return _NOT_OURS.sub(lambda found: found[1] or " " * found[0].isspace(), text)


def settle(text: str) -> str:
    """Return a text as a terminal gets it, cleaned: to print it, or to ask with it."""
    return _NOT_OURS.sub(lambda found: found[0].replace(_OURS, "", 1), clean(text))


def mark_ours(text: str) -> str:
    """Return a text without its last line's end whose styles stay: it was cleaned before it was styled."""
    return (
        text.removesuffix("\n")
        .replace("\x1b[", f"\x1b[{_OURS}")
        .replace("\x1b]8;", f"\x1b]8;{_OURS}")
    )


def style(text: str, **looks: Any) -> str:  # noqa: ANN401 - what `click.style` takes
    """Return a text with a style: `fg="red"`, `bold=True`, `dim=True`."""
    return mark_ours(click.style("\0", **looks)).replace("\0", clean(text)) if text else ""


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text as it is laid out, cleaned."""
    put(settle(text), err=err, nl=nl)


def put(document: str | bytes, *, err: bool = False, nl: bool = True) -> None:
    """Print what was cleaned before, such as a file for another program."""
    click.echo(document, nl=nl, err=err)


MARKS = {True: style("✓", fg="green"), False: style("✗", fg="red")}


class Aside(NamedTuple):
    """What a screen says on standard error."""

    text: str


class Block(NamedTuple):
    """Lines that are laid out for the terminal already."""

    text: str


Part: TypeAlias = str | Aside | Block
"""A part of a screen; a mere string is sentences, which are folded to the terminal, and "" an empty line."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def answers(
    screen: Callable[..., Iterable[Part]], *of_screen: str
) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Let a command return its answer: a frozen value, which `--json` prints and of which a screen is made.

    An answer's `exit_code` is that of the command. An answer's `failure`, an error, is raised after it is shown.
    Options `of_screen` say how much is shown: the screen takes them, and the command does not.
    """

    def decorate(command: Callable[..., object]) -> Callable[..., None]:
        @json_option
        @wraps(command)
        def call(*args: object, as_json: bool, **given: object) -> None:
            options = {name: given.pop(name) for name in of_screen}
            with (
                redirect_stdout(sys.stderr) if as_json else nullcontext()
            ):  # where a digest for a console goes
                answer = command(*args, **given)
            if as_json:
                print_json(answer)
            else:
                show(screen(answer, **options))
            if isinstance(failure := getattr(answer, "failure", None), DigestError):
                raise failure
            click.get_current_context().exit(getattr(answer, "exit_code", 0))

        return call

    return decorate


def wants_json() -> bool:
    """Whether the command was called with `--json`: then it asks nobody, and shows no progress."""
    return bool(click.get_current_context().params.get("as_json"))


def print_json(value: object) -> None:
    """Print a value as JSON, indented and in ASCII."""
    put(json.dumps(_to_plain(value), indent=2))


def list_fields(value: object) -> dict[str, Any]:
    """Return a dataclass's public fields by name."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))  # type: ignore[arg-type]
    return {name: getattr(value, name) for name in names}


def _to_plain(value: object) -> object:
    """Return what JSON knows: dataclasses by field unless they can be written, as ids can; dates in ISO 8601."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [
            _to_plain(inner)
            for inner in (sorted(value) if isinstance(value, set | frozenset) else value)
        ]
    if isinstance(value, date):
        return value.isoformat()
    if (
        is_dataclass(value)
        and not isinstance(value, type)
        and type(value).__str__ is object.__str__
    ):
        return _to_plain(list_fields(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def show(parts: Iterable[Part]) -> None:
    """Print the parts of a screen."""
    for part in parts:
        if isinstance(part, Aside):
            say(part.text, err=True)
        else:
            echo(render(part))


def render(part: Part) -> str:
    """Return a part as the terminal shows it, without the last line's end."""
    if not isinstance(part, str):
        return part.text
    return "\n".join(
        folded for line in clean(part).split("\n") for folded in fold(line, find_columns())
    )


def table(
    header: Sequence[str], rows: Sequence[Sequence[str | int]], *, empty: str, folds: bool = True
) -> Part:
    """Return rows under a header, as wide as the terminal; `empty` if there are none.

    Numbers are at the right. What is too long is folded, or cut if nothing `folds`. In a terminal too narrow for
    its words each row has its cells below one another. A last column without a name holds remarks: they follow the
    table, each after the first cell of its row.
    """
    if not rows:
        return empty
    from rich.console import Console  # noqa: PLC0415 - a twentieth of a run that shows no table
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    width = len(header) - (header[-1] == "")
    columns = list(zip(header, *rows, strict=True))[:width]
    shown, needed = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold"), -2
    for name, *cells in columns:
        plain = [name, *(click.unstyle(clean(str(cell))) for cell in cells)]
        is_short = max(map(len, plain)) <= _SHORT
        needed += 2 + max(
            len(word) for text in plain for word in ([text] if is_short else [*text.split(), ""])
        )
        side: Literal["left", "right"] = (
            "right" if any(isinstance(cell, int) for cell in cells) else "left"
        )
        shown.add_column(
            name, justify=side, no_wrap=is_short and folds, overflow="fold" if folds else "ellipsis"
        )
    written = [
        [f"{cell:,}" if isinstance(cell, int) else clean(cell) for cell in row] for row in rows
    ]
    for row in written:
        shown.add_row(*(Text.from_ansi(cell, no_wrap=not folds or None) for cell in row[:width]))
    console = Console(width=find_columns(), highlight=False)
    with console.capture() as captured:
        console.print(shown)
    blocks = [
        "\n".join(line.rstrip() for line in mark_ours(captured.get()).rstrip("\n").split("\n"))
    ]
    if needed > find_columns() and folds:
        blocks = [labelled(zip(header, row[:width], strict=False)).text for row in written]
    remarks = [(row[0], row[-1]) for row in written if row[-1] and width < len(row)]
    return Block("\n\n".join([*blocks, *([labelled(remarks).text] if remarks else [])]))


def labelled(
    lines: Iterable[tuple[str, str]], *, width: int = 0, gap: int = 2, is_bold: bool = True
) -> Block:
    """Return texts, each after its label and folded; labels are as wide as the widest, and as `width` at least."""
    listed = [(clean(label), clean(text)) for label, text in lines]
    lead = gap + max([width, *(len(click.unstyle(label)) for label, _ in listed)])
    laid = []
    for label, text in listed:
        folded = [each for line in text.split("\n") for each in fold(line, find_columns() - lead)]
        head = (style(label, bold=True) if is_bold else label) + " " * (
            lead - len(click.unstyle(label))
        )
        laid += [
            f"{' ' * lead if number else head}{line}".rstrip() for number, line in enumerate(folded)
        ]
    return Block("\n".join(laid))


def say(text: str, *, err: bool = False) -> None:
    """Print sentences, folded to the terminal's columns.

    On standard error nothing is folded unless a terminal shows it: a log is read line by line.
    """
    echo(text if err and not sys.stderr.isatty() else render(text), err=err)


def fold(text: str, width: int) -> list[str]:
    """Fold a line into lines of at most a number of columns, between words alone; its indent stays.

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
    """Fold a text's white space and cut it to a number of letters, between words if it can be; … shows the cut."""
    folded = " ".join(text.split())
    if len(folded) <= width:
        return folded
    head = folded[: width - 1]
    whole = head if folded[width - 1] == " " else head.rpartition(" ")[0]
    return (whole if len(whole) > width * 2 // 3 else head).rstrip(" ,;:.") + "…"


def find_columns() -> int:
    """Return the terminal's columns, or what COLUMNS says; 80 if neither is known."""
    return shutil.get_terminal_size((80, 24)).columns


def find_width() -> int:
    """Return how many columns a digest may take: those of the terminal, up to a width that reads well."""
    return min(find_columns(), _WIDEST)


def shows_colors() -> bool:
    """Whether the output is a terminal that shows colours and links, as rich judges it; NO_COLOR wants neither."""
    from rich.console import Console  # noqa: PLC0415 - see above

    console = Console()
    is_able = console.color_system is not None and not console.legacy_windows
    return sys.stdout.isatty() and is_able and not console.no_color


@contextmanager
def writing_files() -> Iterator[None]:
    """Say which file can't be written, and what to do about it."""
    try:
        yield
    except OSError as error:
        hint = "Check the folder and its permissions."
        raise UsageError(
            f"{error.filename} can't be written: {error.strerror}", hint=hint
        ) from error


@contextmanager
def showing_progress() -> Iterator[Callable[[str, int], None]]:
    """Give a function to call with what is done and how much of it; the line is gone at the end."""
    from rich.console import Console  # noqa: PLC0415 - see above

    with Console(stderr=True, quiet=wants_json()).status("") as status:
        yield lambda what, through: status.update(
            clean(f"{what} {through:,} rows" if through else what)
        )


class ProgressLines:
    """Tells the verbs as lines: one for each that ended, with how long it took.

    On a terminal the present verb has a line of its own that is written over. Elsewhere only what has ended is
    printed, so that a log stays readable. With `--json` nothing is.
    """

    def __init__(self, *, to_stderr: bool = True, quiet: bool | None = None) -> None:
        self._err = to_stderr
        self._quiet = wants_json() if quiet is None else quiet
        self._is_terminal = (sys.stderr if to_stderr else sys.stdout).isatty() and not self._quiet
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
            put("\r\x1b[K", nl=False, err=self._err)
        room = find_width() - _MARGINS
        first, *others = fold(what, room) if self._is_terminal else [what]
        echo(f" {verb:<8} {first:<{room}} {seconds}", err=self._err)
        for line in others:
            echo(f"{'':10}{line}", err=self._err)

    def _overwrite(self, text: str) -> None:
        if self._is_terminal:
            put(
                f"\r\x1b[K {self._verb:<8} {clean(text)[: find_width() - 11]}",
                nl=False,
                err=self._err,
            )


class _Veil(io.RawIOBase):
    """Writes to a stream, whole lines alone, and these as a mask shows them."""

    name = ""

    def __init__(self, stream: TextIO, mask: Callable[[str], str]) -> None:
        self._stream, self._mask = stream, mask
        self._begun, self._lock = b"", threading.Lock()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        with self._lock:
            lines, end, begun = (self._begun + data).rpartition(b"\n")
            self._begun = begun
            self._stream.write(self._mask((lines + end).decode("utf-8", "replace")))
            self._stream.flush()
        return len(data)

    def end(self) -> None:
        """End the last line."""
        self.write(b"\n" * bool(self._begun))


@contextmanager
def veiled(option: str | None) -> Iterator[None]:
    """Keep what is private from the log of a workflow on GitHub: where a repository is public, all can read it.

    It is kept from it if the database is on a branch, as that of a workflow is; `option` names the configuration.
    """
    if (mask := _find_mask(option)) is None:
        yield
        return
    veils = [_Veil(one, mask) for one in (sys.stdout, sys.stderr)]
    out, err = (
        io.TextIOWrapper(one, "utf-8", "replace", newline="\n", write_through=True) for one in veils
    )
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            for veil in veils:
                veil.end()


def _find_mask(option: str | None) -> Callable[[str], str] | None:
    from digest.config import find_config, open_config_or_defaults, read_environment  # noqa: PLC0415 - slow

    environ = read_environment()
    if environ.get("GITHUB_ACTIONS") != "true":
        return None
    from digest.inspect.findings import build_mask, list_public_log, list_unread  # noqa: PLC0415 - slow

    try:
        config = open_config_or_defaults(option)
    except ConfigurationError as error:
        path = find_config(option, environ)
        file = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        if "git_branch" not in file and "DIGEST_STORE_GIT_BRANCH" not in environ:
            return None
        given = [
            value.strip() for name, value in environ.items() if name.startswith("DIGEST_VALUE_")
        ]
        return build_mask(list_unread(f"{error.message} {error.hint}", file, given))
    return build_mask(list_public_log(config)) if config.store.git_branch else None
