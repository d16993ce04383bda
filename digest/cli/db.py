"""`digest db`: the database as a whole: checked, backed up, restored, moved to PostgreSQL."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import click
from sqlalchemy import Connection

from digest.cli.commands import CommandGroup
from digest.cli.context import choose_clock, find_here, load, opened, opened_store
from digest.cli.output import Part, answers, echo, say, showing_progress, table
from digest.config import read_environment
from digest.config.values import STATE_KEY_BYTES
from digest.inspect.here import Here
from digest.model.clock import write_with_zone
from digest.model.errors import UsageError
from digest.model.numbers import count
from digest.plan.restored import Settled, settle
from digest.store import backups, lock_worker
from digest.store.backups import FOLDER, INVARIANTS, RestoreReport, Violation
from digest.store.engine import MigrationReport, head_revision


@click.group(cls=CommandGroup)
def command() -> None:
    """The database as a whole: check it, back it up, restore it, move it to PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Soundness:
    """The rules that rows break, and how many rows each table has."""

    violations: tuple[Violation, ...]
    rows: Mapping[str, int]

    @property
    def exit_code(self) -> int:
        """1 if anything is wrong."""
        return 1 if self.violations else 0


def _show_soundness(found: Soundness) -> Iterator[Part]:
    rows = sum(found.rows.values())
    sound = f"Sound: {len(INVARIANTS)} rules hold over {rows:,} rows."
    broken = [(one.count, one.name) for one in found.violations]
    yield table(("ROWS", "BREAK THIS RULE"), broken, empty=sound)
    if broken:
        yield (
            "Stop what works on it, and keep a copy of the file. "
            "Then restore the latest backup that is sound."
        )


@command.command()
@answers(_show_soundness)
@click.pass_context
def check(ctx: click.Context) -> Soundness:
    """Read the whole database: is it sound?

    Every rule that must hold is checked, and SQLite checks its own file. Nothing is changed, and
    `digest serve` may go on meanwhile. Exit code 1 if anything is wrong.
    """
    with opened_store(ctx) as bench, bench.store.read() as conn:
        return Soundness(tuple(backups.load_violations(conn)), backups.count_rows(conn))


def _show_copied(rows: Mapping[str, int]) -> Iterator[Part]:
    yield f"{sum(rows.values()):,} rows copied and checked."
    yield (
        "Next: write its URL under [store] in digest.toml. Start nothing on the old database again."
    )


@command.command()
@click.option(
    "--to", "url", required=True, metavar="URL", help="The new database, empty: postgresql://…"
)
@answers(_show_copied)
@click.pass_context
def copy(ctx: click.Context, url: str) -> Mapping[str, int]:
    """Copy everything from SQLite to an empty PostgreSQL database.

    Stop Digest first. All rows are copied in one transaction, counted and checked. If anything is
    wrong, nothing has changed.

    Then write the new URL under [store] in digest.toml. Start nothing on the old database again:
    both would send. Links in mails sent before go on working.
    """
    with opened_store(ctx) as bench, showing_progress() as tell:
        return backups.copy_store(bench.store, url, tell)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made: its size in bytes and its rows by table.

    `removed` are the older ones that were removed.
    """

    file: Path
    bytes: int
    rows: Mapping[str, int]
    removed: tuple[Path, ...]


def _show_backup(made: Backup) -> Iterator[Part]:
    rows = count(sum(made.rows.values()), "row")
    yield f"{made.file}: {made.bytes / 1e6:,.1f} MB, {rows}, checked and sound."
    if made.removed:
        yield f"{count(len(made.removed), 'older backup')} removed."


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    help="Without FILE: keep that many of the newest backups, and remove the others.",
)
@answers(_show_backup)
@click.pass_context
def backup(ctx: click.Context, file: Path | None, *, force: bool, keep: int | None) -> Backup:
    """Copy a SQLite database to FILE while it works, and check it.

    Without FILE it goes into the folder `backups` beside the database, and its name is the time.
    Only this account can read it: it holds your readers' addresses.

    PostgreSQL has its own backups: use pg_dump. `digest help backups` shows the commands.
    """
    if keep is not None and file is not None:
        raise UsageError("--keep is for backups without FILE", hint="Leave FILE or --keep away.")
    with opened_store(ctx) as bench, showing_progress() as tell:
        own = None if bench.config.store.git_branch else bench.store.path
        beside = own.parent if own else bench.config.folder
        folder = beside / FOLDER
        path = file or backups.default_backup(folder, bench.here.now)
        rows = backups.back_up(bench.store, path, tell, replace=force)
        removed = backups.prune(folder, keep) if keep is not None else ()
        return Backup(path, path.stat().st_size, rows, removed)


_sent_until_option = click.option(
    "--sent-until",
    metavar="MOMENT",
    help="What was due by then had gone out: now, or 2026-11-20T08:30Z.",
)


@dataclass(frozen=True, slots=True)
class Settlement:
    """What was taken as sent, until when.

    `restored` is what was restored, None if that was done by other means.
    """

    here: Here
    sent_until: datetime
    settled: Settled
    restored: RestoreReport | None = None


def _show_settlement(done: Settlement) -> Iterator[Part]:
    report = done.restored
    if report is not None:
        rows = count(sum(report.rows.values()), "row")
        yield f"{report.place}: restored, {rows}, checked and sound."
        if report.kept is not None:
            yield f"What was there before is kept: {report.kept}"
    messages = count(done.settled.deliveries, "delivery", "deliveries")
    papers = count(done.settled.papers, "paper")
    until = write_with_zone(done.sent_until, done.here.zone, done.here.now)
    in_utc = f"{done.sent_until:%Y-%m-%dT%H:%M:%SZ}"
    yield f"Taken as sent: {messages} and {papers}, due by {until} ({in_utc})."
    yield "That holds for papers that are fetched only now, too."
    yield "First unsubscribe again who unsubscribed since, and close feeds that were closed."
    yield "Then `digest run --now`, so that nothing that waits is judged by an old check."


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@_sent_until_option
@answers(_show_settlement)
@click.pass_context
def restore(ctx: click.Context, file: Path, sent_until: str | None) -> Settlement:
    """Put the backup FILE in the place of a SQLite database.

    The backup is checked first. The database before is kept beside it, named .before-restore-….
    Refused while another process works on it. A PostgreSQL database is restored with pg_restore.

    The backup does not know what was sent after it was made. So you say until when messages had
    gone out: what was due by then counts as sent, also what is fetched only now. In doubt name an
    earlier moment: then some papers come twice, and none is missed. A moment without a zone is read
    in that of your `when`.

    Afterwards do again what people did since: `digest subscription unsubscribe`,
    `digest feed revoke` and `digest feed rotate`.
    """
    config = load(ctx)
    if config.store.git_branch:
        raise UsageError(
            f"the database is on the branch {config.store.git_branch}",
            hint="Each command fetches it. `digest db backup` writes a copy.",
        )
    here = find_here(config, choose_clock(config))
    until = _read_moment(sent_until, here.zone, here.now)
    found: list[Settled] = []

    def settle_restored(conn: Connection) -> None:
        found.append(settle(conn, until, source=config.arxiv.source, now=here.now))

    with showing_progress() as tell:
        report = backups.restore(config.store.url, file, here.now, tell, settle=settle_restored)
    (settled,) = found
    return Settlement(here, until, settled, report)


@command.command()
@_sent_until_option
@answers(_show_settlement)
@click.pass_context
def restored(ctx: click.Context, sent_until: str | None) -> Settlement:
    """Say that the database was brought back by other means.

    Call it after pg_restore, after you went back to a snapshot of the machine, or after you copied
    a file into place, and before you start anything. What was due by the moment you name counts as
    sent: see `digest db restore --help`.
    """
    with opened_store(ctx) as bench, lock_worker(bench.store):
        here = bench.here
        until = _read_moment(sent_until, here.zone, here.now)
        with bench.store.begin() as conn:
            settled = settle(conn, until, source=bench.config.arxiv.source, now=here.now)
        return Settlement(here, until, settled)


def _read_moment(text: str | None, zone: tzinfo | None, now: datetime) -> datetime:
    """Return a moment as it was written (UTC): in its own zone, or in that of all screens."""
    if text is None:
        raise UsageError(
            "say until when messages had gone out",
            hint="Add --sent-until now, or the last moment when all was well: "
            "--sent-until 2026-11-20T08:30Z",
        )
    if text.strip().lower() == "now":
        return now
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a moment",
            hint="Write day and time: 2026-11-20T09:30, or 2026-11-20T08:30Z.",
        ) from error
    if moment > now:
        raise UsageError(
            "this moment is in the future", hint="Name the last moment when all was well, or `now`."
        )
    return moment


def _show_migrated(done: MigrationReport) -> Iterator[Part]:
    if not done.before:
        yield f"Made, at revision {done.after}. Next: `digest run`"
    elif done.before == done.after:
        yield f"At revision {done.after} already, nothing to do."
    else:
        yield f"Revision {done.before} → {done.after}."
    if done.kept is not None:
        yield f"The database before is kept: {done.kept}. Remove it once all goes well."


@command.command("migrate")
@answers(_show_migrated)
@click.pass_context
def migrate_store(ctx: click.Context) -> MigrationReport:
    """Bring the database up to this release, or make one.

    If the change fails, the database stays as it was. With SQLite, stop Digest before; a copy of
    the file is kept beside it. With PostgreSQL, make a backup before; processes of the release
    before may go on until you replace them. A state on a branch is fetched, changed and pushed.
    What a later release wrote is refused: exit code 3.
    """
    config = load(ctx)
    if not config.store.git_branch:
        return backups.bring_up(config.store.url)
    with opened(ctx, create=False, migrates=True) as site:
        branch = site.branch
        if branch and branch.migrated:
            done = branch.migrated
            branch.take_lease()
            return done
    return MigrationReport(head_revision(), head_revision())


@command.command("rotate-key")
@click.pass_context
def rotate_key(ctx: click.Context) -> None:
    """Encrypt the state on a branch with a new key.

    It prints the new key before it uses it.
    """
    if read_environment().get("GITHUB_ACTIONS"):
        raise UsageError(
            "the log of a workflow would show the key",
            hint="Call it in a clone on your own machine.",
        )
    with opened(ctx, create=False) as site:
        if site.branch is None:
            raise UsageError(
                "there is no key: the database is not on a branch",
                hint="See `digest help workflow`.",
            )
        key = os.urandom(STATE_KEY_BYTES)
        site.branch.rotate_key(key)
        shown = b64encode(key).decode()
        echo(f"New key: {shown}", err=True)
    say(f"The state on the branch {site.config.store.git_branch} is encrypted with the new key.")
    say(
        "Write it into secrets.env, "
        "and set the secret DIGEST_STORE_STATE_KEY to it before the next run."
    )
    say(
        "Who has the old key can still read what was on the branch before, in a clone or at GitHub."
    )
