"""`digest db`: the database as a whole: looked through, backed up, restored, copied elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import choose_clock, load, opened_store
from digest.cli.output import json_option, print_json, print_table, showing_progress, write_moment
from digest.config.addresses import mask_password
from digest.config.zones import choose_zone, write_with_zone
from digest.model.errors import UsageError, count
from digest.serve.resume import resume as resume_restored
from digest.store import database, hold_worker, migrate
from digest.store.backups import FOLDER, back_up, copy_store, default_backup, prune_backups, restore_backup
from digest.store.database import INVARIANTS, count_rows, load_violations

if TYPE_CHECKING:
    from datetime import tzinfo

    from digest.store.database import Violation


@click.group(cls=CommandGroup)
def command() -> None:
    """The database as a whole: look it through, back it up, restore it, copy it to another one."""


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Look all through the database: is it whole and sound?

    Every invariant is asked, and SQLite looks through its own file and references. Changes nothing, and works
    beside a running `digest serve`. Exit code 1 where anything is wrong.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        violations = load_violations(conn)
        rows = count_rows(conn)
    if as_json:
        found = {violation.name: violation.count for violation in violations}
        print_json({"sound": not violations, "violations": found, "rows": rows})
    else:
        _tell(violations, len(INVARIANTS), sum(rows.values()))
    if violations:
        ctx.exit(1)


def _tell(violations: list[Violation], asked: int, rows: int) -> None:
    if not violations:
        click.echo(f"Sound: {asked} invariants hold over {rows:,} rows, and every reference leads somewhere.")
        return
    lines = [[f"{violation.count:,}", violation.name] for violation in violations]
    print_table(["ROWS", "BREAK WHAT SHOULD ALWAYS BE TRUE"], lines, empty="")
    click.echo("Stop what works on it, keep a copy of the file, and restore the latest backup that is sound.")


@command.command()
@click.option(
    "--to", "url", required=True, metavar="URL", help="The new database, empty: postgresql://… or sqlite:///…"
)
@json_option
@click.pass_context
def copy(ctx: click.Context, url: str, *, as_json: bool) -> None:
    """Copy everything to another, empty database.

    From SQLite to PostgreSQL, back, or elsewhere. Stop every Digest that works on either first. All rows go
    over in one transaction, are counted, and every invariant is asked on both sides; where anything is wrong
    nothing has changed. Then write the new URL under [store] in digest.toml, and start nothing on the old
    database again: both would send. Links in mails sent before go on working.
    """
    with opened_store(ctx) as here, showing_progress(quiet=as_json) as tell:
        copied = copy_store(here.store, url, tell)
        before = here.store.url_masked
    after = mask_password(url)
    if as_json:
        held = dict.fromkeys(INVARIANTS, 0)
        print_json({"from": before, "to": after, "rows": copied, "violations": held})
        return
    lines = [[name, f"{rows:,}", f"{rows:,}"] for name, rows in copied.items() if rows]
    print_table(["TABLE", "HERE", "THERE"], lines, empty="")
    click.echo(f"{sum(copied.values()):,} rows copied, {len(INVARIANTS)} invariants hold on both sides.")
    click.echo(f'Next: write url = "{after}" under [store] in digest.toml, and start nothing on {before} again.')


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Write over FILE where it is there already.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    help="Without FILE: afterwards remove all backups there but so many, the newest.",
)
@json_option
@click.pass_context
def backup(ctx: click.Context, file: Path | None, *, force: bool, keep: int | None, as_json: bool) -> None:
    """Copy the database to FILE while it works, and prove the copy.

    Without FILE it goes to a file named after the moment, in the folder `backups` beside the database (on
    PostgreSQL: beside digest.toml). It is looked all through, only then given its name, and can be read by
    this account only: it holds the addresses of your readers, and what they read.

    Of PostgreSQL this makes a SQLite file, from one snapshot: good to copy or to look into. For backups up to
    the last second use the server's own: pg_dump, or base backups with archived WAL; after going back to one
    of those call `digest db restore --mark` before anything else.

    A backup knows that it is one: whoever starts from it sends nothing until `digest db resume`.
    """
    if keep is not None and file is not None:
        raise UsageError("--keep is for backups without FILE", hint="Leave FILE or --keep away.")
    with opened_store(ctx) as here:
        folder = (here.store.path.parent if here.store.path else here.config.folder) / FOLDER
        path = file or default_backup(folder, here.now)
        with showing_progress(quiet=as_json) as tell:
            rows = back_up(here.store, path, here.now, tell, replace=force)
        removed = prune_backups(folder, keep) if keep is not None else ()
    size = path.stat().st_size
    if as_json:
        print_json({"file": path, "bytes": size, "rows": rows, "removed": list(removed)})
        return
    total = count(sum(rows.values()), "row")
    click.echo(f"{path}: {size / 1e6:,.1f} MB, {total}, looked all through and sound.")
    if removed:
        click.echo(f"{count(len(removed), 'older backup')} removed.")


@command.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--mark", is_flag=True, help="Say that the database was restored by other means.")
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path | None, *, mark: bool, as_json: bool) -> None:
    """Put the backup FILE in the place of the database.

    The backup is looked all through first. What was in its place is kept beside it, named .before-restore-….
    Into PostgreSQL a backup goes only where the database is empty. Refused while a worker runs.

    A restored database does not know what was sent after the backup. So it asks arXiv and matches, but sends
    NOTHING until `digest db resume`. Do again first what people did since: `digest subscription unsubscribe`,
    `digest feed revoke` and `digest feed rotate`. Until then the old feed addresses answer.

    Did you restore the database by other means, such as a snapshot of the machine or PostgreSQL's own tools? Then
    call `digest db restore --mark` before you start anything.
    """
    if (file is not None) == mark:
        raise UsageError("name a FILE, or --mark", hint="`digest db restore --help` explains them.")
    if file is None:
        with opened_store(ctx) as here, hold_worker(here.store), here.store.begin() as conn:
            database.mark_copy(conn, here.now)
        if as_json:
            print_json({"restored": True})
        else:
            click.echo("Nothing is planned or sent until `digest db resume`.")
        return

    config = load(ctx)
    now = choose_clock(config).now()
    with showing_progress(quiet=as_json) as tell:
        report = restore_backup(config.store.url, file, now, tell)
    if as_json:
        kept = str(report.kept) if report.kept else None
        print_json({"store": report.place, "taken_at": report.taken_at, "kept": kept, "rows": report.rows})
        return
    rows, taken = sum(report.rows.values()), write_moment(report.taken_at, choose_zone(config))
    click.echo(f"{report.place}: as it was at {taken}, {count(rows, 'row')}, looked all through and sound.")
    if report.kept is not None:
        click.echo(f"What was there before is kept: {report.kept}")
    click.echo("It sends nothing until you say how to go on: digest run, then digest db resume.")
    click.echo("Who left, and feeds that were closed, since the backup: do that again (digest db restore --help).")


@command.command()
@click.option(
    "--since",
    metavar="MOMENT",
    help="What was due by then was sent already: 2026-11-20T08:30Z; without a zone, in that of the screens.",
)
@json_option
@click.pass_context
def resume(ctx: click.Context, since: str | None, *, as_json: bool) -> None:
    """Let a restored database plan and send again.

    Without --since everything that waits goes out, each paper once, also those that the database before had
    sent after the backup. With --since MOMENT, whatever was due by then counts as sent: its deliveries are
    dropped, and papers whose turn had come by then are told no more. Name the last moment at which all that
    was due was sent, and when in doubt an earlier one: some papers come twice then, and none is missed. So may
    what was replaced, cross-listed or edited, and what a pause kept: nobody knows when that was told.

    A moment that says no zone is read in the one that screens show: that of `when` under [defaults], else the
    one that all subscriptions share, else this machine's. 2026-11-20T08:30Z is UTC whatever that is.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        moment = _read_moment(since, here.zone) if since is not None else None
        resumed = resume_restored(conn, here.config.arxiv.source, here.now, since=moment)
    if as_json:
        since_then = {"since": moment} if moment is not None else {}
        print_json({"released": resumed.released, "dropped": resumed.dropped, "told": resumed.told, **since_then})
        return
    if moment is not None:
        dropped = count(resumed.dropped, "delivery", "deliveries")
        papers = f"{count(resumed.told, 'paper')} that had come due by {write_with_zone(moment, here.zone)}"
        click.echo(f"Taken as sent: {dropped}, and {papers} ({moment:%Y-%m-%dT%H:%M:%SZ}).")
    released = count(resumed.released, "delivery", "deliveries")
    click.echo(f"Working again: {released} released. The next `digest run` sends, or `digest serve` at once.")


def _read_moment(text: str, zone: tzinfo | None) -> datetime:
    """Return a moment as it was written (UTC): in its own zone, or in that of all screens.

    Raises:
        UsageError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no moment", hint="Write day and time: 2026-11-20T09:30, or 2026-11-20T08:30Z."
        ) from error


@command.command("migrate")
@json_option
@click.pass_context
def migrate_store(ctx: click.Context, *, as_json: bool) -> None:
    """Bring the database up to this release, or make one.

    Make a backup first. If the change fails, the database stays as it was. With SQLite, stop everything that
    uses the database before. With PostgreSQL, processes of the release before may go on until you replace
    them. A database of a later release is refused: exit code 3.
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
