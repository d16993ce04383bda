"""`digest db`: the database as a whole: checked, backed up, restored, copied elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import choose_clock, load, opened_store
from digest.cli.output import json_option, print_json, print_table, say, showing_progress, write_moment
from digest.config.addresses import mask_password
from digest.model.clock import write_with_zone
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
    """The database as a whole: check it, back it up, restore it, copy it to another one."""


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Read the whole database: is it sound?

    Every rule that must hold is asked, and SQLite checks its own file. Changes nothing, and works beside a
    running `digest serve`. Exit code 1 where anything is wrong.
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
        say(f"Sound: {asked} rules hold over {rows:,} rows.")
        return
    lines = [[f"{violation.count:,}", violation.name] for violation in violations]
    print_table(["ROWS", "BREAK THIS RULE"], lines, empty="")
    say("Stop what works on it, and keep a copy of the file. Then restore the latest backup that is sound.")


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
    say(f"{sum(copied.values()):,} rows copied, {len(INVARIANTS)} rules hold on both sides.")
    say(f'Next: write url = "{after}" under [store] in digest.toml. Start nothing on {before} again.')


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Write over FILE where it is there already.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    help="Without FILE: keep so many backups there, the newest, and remove the others.",
)
@json_option
@click.pass_context
def backup(ctx: click.Context, file: Path | None, *, force: bool, keep: int | None, as_json: bool) -> None:
    """Copy a SQLite database to FILE while it works, and check it.

    Without FILE it goes into the folder `backups` beside the database, named after the moment. Only this account
    can read it: it holds your readers' addresses.

    PostgreSQL has its own backups: use pg_dump. `digest help backups` shows the commands.

    A database restored from a backup sends nothing until `digest db resume`.
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
    say(f"{path}: {size / 1e6:,.1f} MB, {total}, checked and sound.")
    if removed:
        say(f"{count(len(removed), 'older backup')} removed.")


@command.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--mark", is_flag=True, help="Say that the database was restored by other means.")
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path | None, *, mark: bool, as_json: bool) -> None:
    """Put the backup FILE in the place of the database.

    The backup is checked first. The database before is kept beside it, named .before-restore-….
    Refused while another process works on it. A PostgreSQL database is restored with pg_restore.

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
            say("Nothing is sent until `digest db resume`.")
        return

    config = load(ctx)
    now = choose_clock(config).now()
    with showing_progress(quiet=as_json) as tell:
        report = restore_backup(config.store.url, file, now, tell)
    if as_json:
        kept = str(report.kept) if report.kept else None
        print_json({"store": report.place, "taken_at": report.taken_at, "kept": kept, "rows": report.rows})
        return
    rows, taken = sum(report.rows.values()), write_moment(report.taken_at, config.zone)
    say(f"{report.place}: as it was at {taken}, {count(rows, 'row')}, checked and sound.")
    if report.kept is not None:
        say(f"What was there before is kept: {report.kept}")
    say("It sends nothing until you say how to go on: `digest run`, then `digest db resume`.")
    say("Unsubscribe again who unsubscribed since the backup, and close feeds again that were closed.")


@command.command()
@click.option(
    "--since",
    metavar="MOMENT",
    help="What was due by then was sent already: 2026-11-20T08:30Z.",
)
@json_option
@click.pass_context
def resume(ctx: click.Context, since: str | None, *, as_json: bool) -> None:
    """Let a restored database plan and send again.

    Without --since all that waits is sent. Some of it comes twice: what was sent after the backup.

    With --since MOMENT, what was due by then counts as sent and is not sent again. Name the last moment at
    which all that was due was sent. In doubt name an earlier one: then some papers come twice, and none is
    missed. Replaced and cross-listed papers, and those of a pause, may come twice in any case.

    A moment without a zone is read in that of your `when`. 2026-11-20T08:30Z is UTC.
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
        say(f"Taken as sent: {dropped}, and {papers} ({moment:%Y-%m-%dT%H:%M:%SZ}).")
    released = count(resumed.released, "delivery", "deliveries")
    say(f"Working again: {released} released. The next `digest run` sends, or `digest serve` at once.")


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
            f"{text!r} is not a moment", hint="Write day and time: 2026-11-20T09:30, or 2026-11-20T08:30Z."
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
        say(f"{where}: made, at revision {report.after}. Next: `digest run`")
    elif report.before == report.after:
        say(f"{where}: at revision {report.after} already, nothing to do.")
    else:
        say(f"{where}: revision {report.before} → {report.after}.")
