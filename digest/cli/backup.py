"""`digest backup`: one state of the database in one file, proven."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json
from digest.counting import count

if TYPE_CHECKING:
    from digest.store.backing_up import BackupReport


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Write over FILE where it is there already.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    help="Without FILE: afterwards remove all backups there but so many, the newest.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, file: Path | None, *, force: bool, keep: int | None, as_json: bool) -> None:
    """Copy the database to FILE while everything goes on, and prove the copy.

    Without FILE it goes to a file named after the moment, in the folder `backups` beside the database (on
    PostgreSQL: beside digest.toml). It is looked all through, only then given its name, and can be read by
    this account only: it holds the addresses of your readers, and what they read.

    Of PostgreSQL this makes a SQLite file, from one snapshot: good to move or to look into. For backups up to
    the last second use the server's own: pg_dump, or base backups with archived WAL; after going back to one
    of those call `digest restore --mark` before anything else.

    A backup knows that it is one: whoever starts from it sends nothing until `digest resume`.
    """
    from digest.cli.progress import Progress  # noqa: PLC0415 - the stack is loaded by the command that needs it
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the same
    from digest.errors import UsageError  # noqa: PLC0415 - the same
    from digest.store.backing_up import FOLDER, back_up, default_backup, prune_backups  # noqa: PLC0415 - the same

    if keep is not None and file is not None:
        raise UsageError("--keep is for backups without FILE", hint="Leave FILE or --keep away.")
    with opened_store(ctx, moved_too=True) as here:
        folder = (here.store.path.parent if here.store.path else here.config.folder) / FOLDER
        path = file or default_backup(folder, here.now)
        with Progress(quiet=as_json) as tell:
            report = back_up(here.store, path, here.now, tell, replace=force)
        removed = prune_backups(folder, keep, report.path) if keep is not None else ()
    if as_json:
        print_json({"file": report.path, "bytes": report.size, "rows": report.rows, "removed": list(removed)})
    else:
        _tell(report, removed)


def _tell(report: BackupReport, removed: tuple[Path, ...]) -> None:

    rows, size = sum(report.rows.values()), report.size / 1e6
    click.echo(f"{report.path}: {size:,.1f} MB, {count(rows, 'row')}, looked all through and sound.")
    if removed:
        click.echo(f"{count(len(removed), 'older backup')} removed.")
