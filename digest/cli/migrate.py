"""`digest migrate`: the database, made or brought up to this release."""

from __future__ import annotations

import click

from digest.cli.opening import load
from digest.cli.telling import json_option, print_json
from digest.config.addresses import mask_password
from digest.store import migrate


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Bring the database up to this release, or make it; harmless when there is nothing to do.

    Make a backup first. All of it is one transaction: where it fails, nothing has changed. On PostgreSQL
    processes of the release before may go on meanwhile, and be replaced one by one; on SQLite stop what
    runs. A database that this release is too old for is refused, exit code 3.
    """
    config = load(ctx)
    where = mask_password(config.store.url).removeprefix("sqlite:///")
    report = migrate(config.store.url)
    if as_json:
        print_json({"store": where, "before": report.before, "after": report.after})
    elif not report.before:
        click.echo(f"{where}: made, at revision {report.after}. Next: digest run")
    elif report.before == report.after:
        click.echo(f"{where}: at revision {report.after} already, nothing to do.")
    else:
        click.echo(f"{where}: revision {report.before} → {report.after}.")
