"""`digest restore`: a backup in the place of the database, and how it stands afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json
from digest.counting import count
from digest.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from digest.cli.storing import Installation
    from digest.pipeline.resuming import Quarantine


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--status", "asks_status", is_flag=True, help="Say what a restored database holds back; changes nothing."
)
@click.option("--mark", is_flag=True, help="Say that the database was restored by other means; it holds all back.")
@json_option
@click.pass_context
def command(ctx: click.Context, file: Path | None, *, asks_status: bool, mark: bool, as_json: bool) -> None:
    """Put the backup FILE in the place of the database.

    The backup is looked all through first. What was in its place is kept beside it, named .before-restore-….
    Into PostgreSQL a backup goes only where the database is empty. Refused while a worker runs.

    A restored database does not know what was sent after the backup, and finds papers anew that readers have
    had. So it polls and matches but plans and sends NOTHING, old or new, until you say how to go on:
    `digest restore --status` shows what waits, `digest resume` lets it go. Who left or subscribed after the
    backup is not known either: enter them again first (`digest subscription leave`). Nor is which feeds were
    closed or got another address since: until you do it again (`digest feed`), the old addresses answer.

    With SQLite that happens too where a file was copied back by hand: a file beside the database says how far
    it had come. A snapshot of the whole machine, or PostgreSQL's own tools, can't be noticed: stop everything,
    restore, and call `digest restore --mark` before anything is started.
    """
    if (file is not None) + asks_status + mark != 1:
        raise UsageError("name one of FILE, --status and --mark", hint="`digest restore --help` explains them.")
    if file is not None:
        _restore(ctx, file, as_json=as_json)
    elif mark:
        _mark(ctx, as_json=as_json)
    else:
        _show(ctx, as_json=as_json)


def _restore(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    from digest.cli.opening import choose_clock, load  # noqa: PLC0415 - loaded by the command that needs it
    from digest.cli.progress import Progress  # noqa: PLC0415 - the same
    from digest.cli.wording import write_moment  # noqa: PLC0415 - the same
    from digest.config.zones import choose_zone  # noqa: PLC0415 - the same
    from digest.store.restoring import restore_backup  # noqa: PLC0415 - the same

    config = load(ctx)
    now = choose_clock(config).now()
    with Progress(quiet=as_json) as tell:
        report = restore_backup(config.store.url, file, now, tell)
    if as_json:
        kept = str(report.kept) if report.kept else None
        print_json({"store": report.place, "taken_at": report.taken_at, "kept": kept, "rows": report.rows})
        return
    rows, taken = sum(report.rows.values()), write_moment(report.taken_at, choose_zone(config))
    click.echo(f"{report.place}: as it was at {taken}, {count(rows, 'row')}, looked all through and sound.")
    if report.kept is not None:
        click.echo(f"What was there before is kept: {report.kept}")
    click.echo("It sends nothing until you say how to go on: digest run, then digest restore --status.")
    click.echo("Who left, and feeds that were closed, since the backup: do that again (digest restore --help).")


def _mark(ctx: click.Context, *, as_json: bool) -> None:
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the same
    from digest.pipeline.resuming import mark_restored  # noqa: PLC0415 - the same
    from digest.store import hold_worker  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, hold_worker(here.store):
        held = mark_restored(here.store, here.now)
    if as_json:
        print_json({"held": held})
    else:
        click.echo(
            f"{count(held, 'delivery', 'deliveries')} held; nothing is planned or sent until `digest resume`."
        )


def _show(ctx: click.Context, *, as_json: bool) -> None:
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the same
    from digest.pipeline.resuming import load_quarantine  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.read() as conn:
        quarantine = load_quarantine(conn, here.store, here.config.arxiv.source)
        if as_json:
            print_json(_as_json(quarantine))
        elif quarantine is None:
            click.echo("Nothing is held back: this database is no copy, or was told how to go on.")
        else:
            _tell(here, quarantine)


def _as_json(quarantine: Quarantine | None) -> dict[str, object]:
    if quarantine is None:
        return {"held_back": False}
    return {
        "held_back": True,
        "taken_at": quarantine.taken_at,
        "restored_at": quarantine.restored_at,
        "last_sent_at": quarantine.lost.sent_at,
        "all_sent_at": quarantine.lost.clear_at,
        "deliveries": quarantine.deliveries,
        "papers": quarantine.papers,
        "subscriptions": quarantine.subscriptions,
        "has_looked": quarantine.has_looked,
    }


def _tell(here: Installation, quarantine: Quarantine) -> None:
    from digest.cli.wording import write_moment  # noqa: PLC0415 - the same

    def write(moment: datetime | None, more: str = "", otherwise: str = "not known") -> str:
        return f"{write_moment(moment, here.zone)}{more}" if moment is not None else otherwise

    last, clear = quarantine.lost.sent_at, quarantine.lost.clear_at
    waiting = count(quarantine.deliveries, "delivery", "deliveries")
    papers = f"{count(quarantine.papers, 'paper')} for {count(quarantine.subscriptions, 'subscription')}"
    lines = {
        "copy of": write(quarantine.taken_at),
        "found": write(quarantine.restored_at, otherwise="by no worker yet"),
        "last sent": write(last, ", by the database before"),
        "all sent": write(clear, ", by the same: nothing that was due then was left"),
        "held": f"{waiting}; {papers} not planned",
    }
    click.echo("This database was restored from a copy: nothing is planned or sent.\n")
    for label, text in lines.items():
        click.echo(f"{click.style(f'{label:<10}', bold=True)}{text}")
    click.echo()
    if not quarantine.has_looked:
        click.echo("digest run --now           first: finds what was announced since, and sends nothing")
    moment = f"{clear:%Y-%m-%dT%H:%M:%SZ}" if clear else "MOMENT"
    click.echo(f"digest resume --since {moment}   what was due by then was sent; the rest goes out")
    click.echo("digest resume              all of it goes out, also what readers have had\n")
    if clear is None:
        click.echo("Name as MOMENT the last at which all that was due was sent; when in doubt an earlier one.")
    elif last is not None and last > clear:
        click.echo("Messages were sent after that moment, too, while others were still due: they may come twice.")
    click.echo("What was replaced, cross-listed or edited may come twice: arXiv does not always tell when.")
