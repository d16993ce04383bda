"""`digest config`: what counts, and where it comes from."""

from __future__ import annotations

import click

from digest.cli.changes import SaveOptions, plan_change, save_change, saving_options
from digest.cli.commands import CommandGroup
from digest.cli.output import cut, json_option, print_json, print_table
from digest.config import find_config, open_config_or_defaults, read_environment, show_settings
from digest.config.replacement import read_config_file, read_file_before

_WIDEST_VALUE = 80


@click.group(cls=CommandGroup)
def command() -> None:
    """Show the configuration. `digest doctor --quick` checks it."""


@command.command()
@json_option
@click.pass_context
def show(ctx: click.Context, *, as_json: bool) -> None:
    """Show every setting, and where its value comes from.

    It comes from the default, the file, or a variable. Secrets are never shown, only whether they
    are set. Without a file, defaults and variables count.
    """
    config = open_config_or_defaults(ctx.obj["config_path"])
    if as_json:
        print_json({"path": config.path, "settings": show_settings(config), "warnings": config.warnings})
        return
    rows = [[row.key, cut(row.value, _WIDEST_VALUE) or '""', row.origin] for row in show_settings(config)]
    print_table(["SETTING", "VALUE", "FROM"], rows, empty="")
    for warning in config.warnings:
        click.echo(f"warning: {warning}", err=True)


@command.command()
@saving_options
@click.pass_context
def undo(ctx: click.Context, *, options: SaveOptions) -> None:
    """Put digest.toml back as it was before a command changed it last.

    Called again, it takes back the change before that one, up to ten. What you edited by hand since the
    change goes, too: `--dry-run` shows it.
    """
    file = read_config_file(find_config(ctx.obj["config_path"], read_environment()))
    save_change(ctx, plan_change(file, read_file_before(file)), options, is_undone=True)
