"""`digest config`: what counts, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from digest.cli.changes import FileChange, plan_change, saves
from digest.cli.commands import CommandGroup
from digest.cli.output import Aside, Part, answers, cut, table
from digest.config import find_config, open_config_or_defaults, read_environment, show_settings
from digest.config.display import SettingRow
from digest.config.replacement import read_config_file, read_file_before

_LONGEST_VALUE = 80


@click.group(cls=CommandGroup)
def command() -> None:
    """Show the configuration. `digest doctor --quick` checks it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting that counts, of which file; None without one."""

    path: Path | None
    settings: tuple[SettingRow, ...]
    warnings: tuple[str, ...]


def _show(shown: Settings) -> Iterator[Part]:
    rows = []
    for row in shown.settings:
        value = cut(row.value, _LONGEST_VALUE) or '""'
        rows.append((row.key, value, row.origin))
    yield table(("SETTING", "VALUE", "FROM"), rows, empty="")
    for warning in shown.warnings:
        yield Aside(f"warning: {warning}")


@command.command()
@answers(_show)
@click.pass_context
def show(ctx: click.Context) -> Settings:
    """Show every setting, and where its value comes from.

    It comes from the default, the file, or a variable. Secrets are never shown, only whether they
    are set. Without a file, defaults and variables count.
    """
    config = open_config_or_defaults(ctx.obj["config_path"])
    return Settings(config.path, show_settings(config), config.warnings)


@command.command()
@saves()
@click.pass_context
def undo(ctx: click.Context) -> FileChange:
    """Put digest.toml back as it was before a command changed it last.

    Called again, it takes back the change before that one, up to ten. What you edited by hand since
    the change goes, too: `--dry-run` shows it.
    """
    file = read_config_file(find_config(ctx.obj["config_path"], read_environment()))
    return plan_change(file, read_file_before(file), is_undone=True)
