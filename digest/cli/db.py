"""`digest db`: the database as a whole: checked, backed up, restored, moved to PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path

import click
from sqlalchemy import Connection

from digest.cli.commands import CommandGroup
from digest.cli.context import choose_clock, load, opened_store
from digest.cli.output import as_dict, json_option, print_json, print_table, say, showing_progress
from digest.config.addresses import mask_password
from digest.model.clock import write_with_zone
from digest.model.errors import UsageError, count
from digest.plan.restored import Settled, settle
from digest.store import lock_worker, migrate
from digest.store.backups import (
    FOLDER,
    INVARIANTS,
    back_up,
    copy_store,
    count_rows,
    default_backup,
    load_violations,
    prune_backups,
    restore_backup,
)


@click.group(cls=CommandGroup)
def command() -> None:
    """The database as a whole: check it, back it up, restore it, move it to PostgreSQL."""


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Read the whole database: is it sound?

    Every rule that must hold is checked, and SQLite checks its own file. Nothing is changed, and `digest serve`
    may go on meanwhile. Exit code 1 if anything is wrong.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        violations = load_violations(conn)
        rows = count_rows(conn)
    if as_json:
        found = {violation.name: violation.count for violation in violations}
        print_json({"sound": not violations, "violations": found, "rows": rows})
    else:
        sound = f"Sound: {len(INVARIANTS)} rules hold over {sum(rows.values()):,} rows."
        print_table(["ROWS", "BREAK THIS RULE"], [[f"{one.count:,}", one.name] for one in violations], empty=sound)
    if violations:
        if not as_json:
            say(
                "Stop what works on it, and keep a copy of the file. Then restore the latest backup that is sound."
            )
        ctx.exit(1)


@command.command()
@click.option("--to", "url", required=True, metavar="URL", help="The new database, empty: postgresql://…")
@json_option
@click.pass_context
def copy(ctx: click.Context, url: str, *, as_json: bool) -> None:
    """Copy everything from SQLite to an empty PostgreSQL database.

    Stop Digest first. All rows are copied in one transaction, counted and checked. If anything is wrong, nothing
    has changed.

    Then write the new URL under [store] in digest.toml. Start nothing on the old database again: both would
    send. Links in mails sent before go on working.
    """
    with opened_store(ctx) as here, showing_progress(quiet=as_json) as report:
        copied = copy_store(here.store, url, report)
        before = here.store.url_masked
    after = mask_password(url)
    if as_json:
        print_json({"from": before, "to": after, "rows": copied})
        return
    say(f"{sum(copied.values()):,} rows copied and checked.")
    say(f'Next: write url = "{after}" under [store] in digest.toml. Start nothing on {before} again.')


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    help="Without FILE: keep that many of the newest backups, and remove the others.",
)
@json_option
@click.pass_context
def backup(ctx: click.Context, file: Path | None, *, force: bool, keep: int | None, as_json: bool) -> None:
    """Copy a SQLite database to FILE while it works, and check it.

    Without FILE it goes into the folder `backups` beside the database, and its name is the time. Only this account
    can read it: it holds your readers' addresses.

    PostgreSQL has its own backups: use pg_dump. `digest help backups` shows the commands.
    """
    if keep is not None and file is not None:
        raise UsageError("--keep is for backups without FILE", hint="Leave FILE or --keep away.")
    with opened_store(ctx) as here:
        folder = (here.store.path.parent if here.store.path else here.config.folder) / FOLDER
        path = file or default_backup(folder, here.now)
        with showing_progress(quiet=as_json) as report:
            rows = back_up(here.store, path, report, replace=force)
        removed = prune_backups(folder, keep) if keep is not None else ()
    size = path.stat().st_size
    if as_json:
        print_json({"file": path, "bytes": size, "rows": rows, "removed": list(removed)})
        return
    total = count(sum(rows.values()), "row")
    say(f"{path}: {size / 1e6:,.1f} MB, {total}, checked and sound.")
    if removed:
        say(f"{count(len(removed), 'older backup')} removed.")


_sent_until_option = click.option(
    "--sent-until",
    metavar="MOMENT",
    help="What was due by then had gone out: now, or 2026-11-20T08:30Z.",
)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@_sent_until_option
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path, sent_until: str | None, *, as_json: bool) -> None:
    """Put the backup FILE in the place of a SQLite database.

    The backup is checked first. The database before is kept beside it, named .before-restore-….
    Refused while another process works on it. A PostgreSQL database is restored with pg_restore.

    The backup does not know what was sent after it was made. So you say until when messages had gone out: what was
    due by then counts as sent, also what is fetched only now. In doubt name an earlier moment: then some papers
    come twice, and none is missed. A moment without a zone is read in that of your `when`.

    Afterwards do again what people did since: `digest subscription unsubscribe`, `digest feed revoke` and
    `digest feed rotate`.
    """
    config = load(ctx)
    now = choose_clock(config).now()
    until = _read_moment(sent_until, config.zone, now)
    settled: list[Settled] = []

    def settle_backup(conn: Connection) -> None:
        settled.append(settle(conn, until, source=config.arxiv.source, now=now))

    with showing_progress(quiet=as_json) as tell:
        report = restore_backup(config.store.url, file, now, tell, settle=settle_backup)
    if as_json:
        restored = {"store": report.place, "kept": report.kept, "rows": report.rows}
        print_json(restored | {"sent_until": until} | as_dict(settled[0]))
        return
    say(f"{report.place}: restored, {count(sum(report.rows.values()), 'row')}, checked and sound.")
    if report.kept is not None:
        say(f"What was there before is kept: {report.kept}")
    _print_settled(until, settled[0], config.zone, now)


@command.command()
@_sent_until_option
@json_option
@click.pass_context
def restored(ctx: click.Context, sent_until: str | None, *, as_json: bool) -> None:
    """Say that the database was brought back by other means.

    Call it after pg_restore, after you went back to a snapshot of the machine, or after you copied a file into
    place, and before you start anything. What was due by the moment you name counts as sent: see
    `digest db restore --help`.
    """
    with opened_store(ctx) as here, lock_worker(here.store):
        until = _read_moment(sent_until, here.zone, here.now)
        with here.store.begin() as conn:
            settled = settle(conn, until, source=here.config.arxiv.source, now=here.now)
    if as_json:
        print_json({"sent_until": until} | as_dict(settled))
    else:
        _print_settled(until, settled, here.zone, here.now)


def _print_settled(until: datetime, settled: Settled, zone: tzinfo | None, now: datetime) -> None:
    messages = count(settled.deliveries, "delivery", "deliveries")
    waiting = f"{messages} and {count(settled.papers, 'paper')}"
    say(f"Taken as sent: {waiting}, due by {write_with_zone(until, zone, now)} ({until:%Y-%m-%dT%H:%M:%SZ}).")
    say("That holds for papers that are fetched only now, too.")
    say("First unsubscribe again who unsubscribed since, and close feeds that were closed.")
    say("Then `digest run --now`, so that nothing that waits is judged by an old check.")


def _read_moment(text: str | None, zone: tzinfo | None, now: datetime) -> datetime:
    """Return a moment as it was written (UTC): in its own zone, or in that of all screens."""
    if text is None:
        raise UsageError(
            "say until when messages had gone out",
            hint="Add --sent-until now, or the last moment when all was well: --sent-until 2026-11-20T08:30Z",
        )
    if text.strip().lower() == "now":
        return now
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a moment", hint="Write day and time: 2026-11-20T09:30, or 2026-11-20T08:30Z."
        ) from error
    if moment > now:
        raise UsageError("this moment is in the future", hint="Name the last moment when all was well, or `now`.")
    return moment


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
        say(f"{where}: made, at revision {report.after}. Next: `digest run`")
    elif report.before == report.after:
        say(f"{where}: at revision {report.after} already, nothing to do.")
    else:
        say(f"{where}: revision {report.before} → {report.after}.")
