"""Changes `digest.toml` by command: each change is checked, shown, asked for, and can be undone.

Without a terminal nobody can answer. The change is then written at once, as a script expects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps

import click

from digest.cli.commands import name_command, quote_as_called
from digest.cli.context import load, opened_store
from digest.cli.output import (
    Aside,
    Part,
    json_option,
    list_fields,
    print_json,
    settle,
    show,
    style,
    wants_json,
)
from digest.config import edits, find_config, load_config, read_environment
from digest.config.replacement import ConfigFile, read_config_file, replace_config_file
from digest.model.errors import ConfigurationError, UsageError
from digest.query import parse_query
from digest.store import workers


@dataclass(frozen=True)
class FileChange:
    """A checked change: a file, its bytes to come, the lines of a unified diff, possible slips.

    A change that `is_undone` brings back the file before.
    """

    file: ConfigFile
    content: bytes
    diff: Sequence[str]
    remarks: Sequence[str]
    is_removal: bool = False
    is_undone: bool = False


def saves(
    screen: Callable[..., Iterable[Part]] = lambda _: (),
) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Let a command return a `FileChange`, or an answer that may have one as its `change`.

    It gets `--yes`, `--dry-run` and `--json`. The answer's screen is shown first, then the change.
    """

    def decorate(command: Callable[..., object]) -> Callable[..., None]:
        @click.option("-y", "--yes", is_flag=True, help="Write the change without a question.")
        @click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
        @json_option
        @wraps(command)
        def call(*args: object, as_json: bool, **given: object) -> None:
            del given["yes"]  # see `agrees`
            del given["dry_run"]
            answer = command(*args, **given)
            change = answer if isinstance(answer, FileChange) else getattr(answer, "change", None)
            said = {} if answer is change else list_fields(answer)
            if not as_json:
                show(screen(answer))
            if change is not None:
                is_written = _save(change)
                said["path"] = change.file.path
                said["written"] = is_written
                said["diff"] = change.diff
                said["remarks"] = change.remarks
                if not as_json:
                    show(_report(change, is_written=is_written))
            if as_json:
                said.pop("change", None)
                print_json(said)

        return call

    return decorate


def can_ask() -> bool:
    """Whether a person is there who can answer a question."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not wants_json()


def agrees(question: str, *, usually: bool) -> bool:
    """Whether to go on: as the options say, or as a person answers. Enter means `usually`."""
    options = click.get_current_context().params
    if options["dry_run"] or options["yes"] or not can_ask():
        return not options["dry_run"]
    return click.confirm(settle(question), default=usually)


def open_file(ctx: click.Context) -> ConfigFile:
    """Read the `digest.toml` that the call means."""
    file = read_config_file(find_config(ctx.obj["config_path"], read_environment()))
    load_config(file.path, read_environment(), content=file.content)
    return file


def plan_change(
    file: ConfigFile, content: bytes, *, is_removal: bool = False, is_undone: bool = False
) -> FileChange:
    """Check all that a file is to hold.

    Queries that can't be read in it now are no fault of the change.
    """
    known: set[str] = set()
    with suppress(ConfigurationError):
        before = load_config(file.path, read_environment(), content=file.content)
        known = {*(text for _, text in before.list_texts()), *before.warnings}
    try:
        after = load_config(file.path, read_environment(), content=content)
    except ConfigurationError as error:
        # Several mistakes have their hints in the message.
        has_several = len(getattr(error, "each", ())) > 1
        hint = "" if has_several else error.hint
        raise UsageError(f"nothing was written: {error.message}", hint=hint) from error
    remarks = []
    for _, text in after.list_texts():
        if text not in known:
            remarks += [note.message for note in parse_query(text).notes]
    remarks += [warning for warning in after.warnings if warning not in known]
    text_after = ConfigFile(file.path, content).text
    diff = edits.compare_texts(file.text, text_after, file.path.name)
    return FileChange(file, content, diff, remarks, is_removal, is_undone)


def _save(change: FileChange) -> bool:
    """Show a change, and write it if that is wanted; return whether it was."""
    if not wants_json():
        show(_show(change))
    question = f"Write this into {change.file.path.name}?"
    is_wanted = bool(change.diff) and agrees(question, usually=not change.is_removal)
    if is_wanted:
        replace_config_file(change.file, change.content, is_undone=change.is_undone)
    return is_wanted


def _show(change: FileChange) -> Iterator[Part]:
    """Yield what differs, without the marks that only programs need."""
    colors = {"+": "green", "-": "red"}
    for line in change.diff[3:]:
        mark = line[0]
        shown = "  …" if mark == "@" else f"  {line}".rstrip()
        yield style(shown, fg=colors.get(mark))
    if change.diff:
        yield ""
    for remark in change.remarks:
        yield Aside(f"note: {quote_as_called(remark)}")


def _report(change: FileChange, *, is_written: bool) -> Iterator[Part]:
    path = change.file.path
    if not is_written:
        said = "" if change.diff else f"{path.name} says so already. "
        yield f"{said}Nothing was written."
        return
    call = name_command()
    if find_config(None, read_environment()) != path:
        call += f" --config {path}"
    yield f"Wrote {path}. The next `{call} run` uses it."
    latest, *_ = change.file.list_before()
    if latest.exists():
        yield f"`{call} config undo` brings back the file before that change."
    ctx = click.get_current_context()
    if load(ctx).store.git_branch:
        yield "Commit it and push it: the workflow reads what is in the repository."
        return
    with suppress(ConfigurationError), opened_store(ctx) as bench, bench.store.read() as conn:
        is_served = any(not worker.is_gone for worker in workers.load(conn))
        if is_served:
            yield (
                "`digest serve` is at work: "
                "`systemctl reload digest` or SIGHUP lets it read the file."
            )
