"""Changes `digest.toml` by command: each change is checked, shown, asked for, and can be undone.

Without a terminal nobody can answer. The change is then written at once, as a script expects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from types import MappingProxyType
from typing import NamedTuple

import click

from digest.cli.context import opened_store
from digest.cli.output import json_option, print_json
from digest.cli.program import name_command, quote_as_called
from digest.config import edits, find_config, load_config, read_environment
from digest.config.replacement import ConfigFile, read_config_file, replace_config_file
from digest.model.errors import ConfigurationError, UsageError
from digest.query import parse_query
from digest.store.workers import load_workers

_COLOURS = {"+": "green", "-": "red"}


class SaveOptions(NamedTuple):
    """How a change is made: without a question, not at all (`is_trial`), shown as JSON."""

    is_sure: bool
    is_trial: bool
    as_json: bool

    @property
    def can_ask(self) -> bool:
        """Whether a person is there who can answer a question."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not self.as_json


def saving_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--yes`, `--dry-run` and `--json`; it takes them as `options`."""

    @click.option("-y", "--yes", is_flag=True, help="Write the change without a question.")
    @click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
    @json_option
    @wraps(command)
    def call(*args: object, yes: bool, dry_run: bool, as_json: bool, **given: object) -> None:
        command(*args, options=SaveOptions(yes, dry_run, as_json), **given)

    return call


class FileChange(NamedTuple):
    """A checked change: a file, its bytes to come, the lines of a unified diff, and what may be a slip."""

    file: ConfigFile
    content: bytes
    diff: Sequence[str]
    remarks: Sequence[str]


def open_file(ctx: click.Context) -> ConfigFile:
    """Read the `digest.toml` that the call means."""
    file = read_config_file(find_config(ctx.obj["config_path"], read_environment()))
    load_config(file.path, read_environment(), content=file.content)
    return file


def plan_change(file: ConfigFile, content: bytes) -> FileChange:
    """Check all that a file is to hold. Queries that can't be read in it now are no fault of the change."""
    known: list[str] = []
    with suppress(ConfigurationError):
        before = load_config(file.path, read_environment(), content=file.content)
        known = [*(text for _, text in before.list_texts()), *before.warnings]
    try:
        after = load_config(file.path, read_environment(), content=content)
    except ConfigurationError as error:
        hint = "" if len(getattr(error, "each", ())) > 1 else error.hint  # several have theirs in the message
        raise UsageError(f"nothing was written: {error.message}", hint=hint) from error
    new = [text for _, text in after.list_texts() if text not in known]
    remarks = [note.message for text in new for note in parse_query(text).notes]
    remarks += [warning for warning in after.warnings if warning not in known]
    diff = edits.compare_texts(file.text, ConfigFile(file.path, content).text, file.path.name)
    return FileChange(file, content, diff, remarks)


def save_change(
    ctx: click.Context,
    change: FileChange,
    options: SaveOptions,
    *,
    is_removal: bool = False,
    is_undone: bool = False,
    beside: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Show a change, ask whether to write it where somebody can answer, and write it.

    A mere Enter means yes, but no for a removal. JSON also shows what is `beside`. A change that `is_undone`
    brings the file before back.
    """
    name, is_wanted = change.file.path.name, bool(change.diff) and not options.is_trial
    if not options.as_json:
        _show(change)
    if is_wanted and options.can_ask and not options.is_sure:
        is_wanted = click.confirm(f"Write this into {name}?", default=not is_removal)
    if is_wanted:
        replace_config_file(change.file, change.content, is_undone=is_undone)
    if options.as_json:
        said = {"path": change.file.path, "written": is_wanted, "diff": change.diff, "remarks": change.remarks}
        print_json({**beside, **said})
    elif is_wanted:
        _report(ctx, change.file)
    else:
        click.echo("Nothing was written." if change.diff else f"{name} says so already. Nothing was written.")


def _show(change: FileChange) -> None:
    """Print what differs, without the marks that only programs need."""
    for line in change.diff[3:]:
        shown = f"  {line}".rstrip() if line[0] != "@" else "  …"
        click.echo(click.style(shown, fg=_COLOURS.get(line[0])))
    click.echo("\n" * bool(change.diff), nl=False)
    for remark in change.remarks:
        click.echo(f"note: {quote_as_called(remark)}", err=True)


def _report(ctx: click.Context, file: ConfigFile) -> None:
    """Say how to undo the change, and when it counts."""
    option = "" if find_config(None, read_environment()) == file.path else f" --config {file.path}"
    click.echo(f"Wrote {file.path}. The next `{name_command()}{option} run` uses it.")
    if file.list_before()[0].exists():
        click.echo(f"`{name_command()}{option} config undo` brings back the file before that change.")
    with suppress(ConfigurationError), opened_store(ctx) as here, here.store.read() as conn:
        if any(not worker.is_gone for worker in load_workers(conn)):
            click.echo("`digest serve` is at work: `systemctl reload digest` or SIGHUP lets it read the file.")
