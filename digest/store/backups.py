"""Copies of the database, and what must be true of any.

That is asked of each backup, each move, and by `digest db check`. A count that is not zero is a
fault of ours, or of a disk. Copies are backups of SQLite, and the move to PostgreSQL, which has its
own tools for backups.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection, Table, func, insert, make_url, select, text, update

from digest.model.errors import StoreError, UsageError
from digest.model.slots import SlotKind
from digest.store.dialect import be_patient, metadata
from digest.store.engine import (
    MigrationReport,
    Store,
    connect,
    current_revision,
    explain_file,
    head_revision,
    known_revisions,
    migrate,
    open_store,
    upgrade,
)
from digest.store.outbox import PORTION
from digest.store.schema import gate, installation, marks
from digest.store.workers import lock_file

_IS_FOR_ALL = f"slot NOT LIKE '{SlotKind.LATER_PLACES.pattern}'"
"""A digest for places that came later shows what others had already."""

INVARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "a match is in a digest of its own subscription": """
            SELECT count(*) FROM matches JOIN digests ON digests.id = matches.digest_id
            WHERE digests.subscription_id <> matches.subscription_id""",
        "a digest with papers comes from matches": f"""
            SELECT count(*) FROM digests WHERE papers > 0 AND {_IS_FOR_ALL}
            AND NOT EXISTS (SELECT 1 FROM matches WHERE matches.digest_id = digests.id)""",
        "a digest has no more papers than were matched for it": f"""
            SELECT count(*) FROM digests WHERE {_IS_FOR_ALL} AND papers > coalesce(
                (SELECT sum(matches.papers) FROM matches
                WHERE matches.digest_id = digests.id), 0)""",
        "a slot has one digest": """
            SELECT count(*) FROM (SELECT 1 FROM digests
            GROUP BY subscription_id, slot HAVING count(*) > 1) AS twice""",
        "a part goes to a destination once": """
            SELECT count(*) FROM (SELECT 1 FROM deliveries
            GROUP BY digest_id, destination, part HAVING count(*) > 1) AS twice""",
        "all parts of a digest are there": """
            SELECT count(*) FROM (SELECT 1 FROM deliveries
            GROUP BY digest_id, destination
            HAVING count(*) <> max(parts) OR max(part) >= max(parts)) AS short""",
        "a part is sent after those before it": """
            SELECT count(*) FROM deliveries AS later
            WHERE part > 0 AND state IN ('sending', 'sent') AND EXISTS (
                SELECT 1 FROM deliveries AS earlier WHERE earlier.digest_id = later.digest_id
                AND earlier.destination = later.destination AND earlier.part < later.part
                AND earlier.state <> 'sent')""",
        "a delivery has a known state": """
            SELECT count(*) FROM deliveries
            WHERE state NOT IN ('ready', 'claimed', 'sending', 'sent', 'unknown',
                'held', 'dead', 'suppressed')""",
        "a delivery has a time of its end once it has ended": """
            SELECT count(*) FROM deliveries WHERE (ended_at IS NOT NULL)
                <> (state IN ('sent', 'dead', 'suppressed'))""",
        "a claim on a delivery has an end": """
            SELECT count(*) FROM deliveries
            WHERE state IN ('claimed', 'sending') AND lease_until IS NULL""",
        "every attempt is on record": """
            SELECT count(*) FROM deliveries WHERE attempts <>
                (SELECT count(*) FROM attempts WHERE attempts.delivery_id = deliveries.id)""",
        "what was sent was attempted": """
            SELECT count(*) FROM deliveries
            WHERE state = 'sent' AND NOT EXISTS (SELECT 1 FROM attempts
                WHERE attempts.delivery_id = deliveries.id AND attempts.outcome = 'sent')""",
        "what may have been sent is kept": """
            SELECT count(*) FROM deliveries
            WHERE state IN ('sending', 'unknown') AND media_type IS NULL""",
        "only what is being sent has an open attempt": """
            SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = attempts.delivery_id
            WHERE attempts.ended_at IS NULL AND deliveries.state <> 'sending'""",
        "nothing was sent to a destination that had unsubscribed": """
            SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = attempts.delivery_id
            JOIN digests ON digests.id = deliveries.digest_id
            JOIN subscriptions ON subscriptions.id = digests.subscription_id
            JOIN suppressions ON suppressions.destination = deliveries.destination
                AND (suppressions.subscription = subscriptions.name
                OR (suppressions.subscription = '' AND digests.occasion <> 'letter'))
            WHERE attempts.started_at > suppressions.since""",
        "no change is numbered beyond the counter": """
            SELECT count(*) FROM changes
            WHERE id > (SELECT value FROM marks WHERE name = 'changes')""",
        "nothing is matched that is not stored": """
            SELECT count(*) FROM marks WHERE name = 'matched'
            AND value > (SELECT value FROM marks WHERE name = 'changes')""",
        "every change is matched once": """
            SELECT count(*) FROM (SELECT from_change, to_change,
                lag(to_change) OVER (ORDER BY id) AS reached
                FROM match_runs WHERE occasion = 'poll') AS runs
            WHERE from_change > to_change OR from_change <> coalesce(reached, from_change)""",
        "matching has come as far as its mark says": """
            SELECT count(*) FROM match_runs
            WHERE to_change > (SELECT value FROM marks WHERE name = 'matched')""",
        "a change belongs to the paper whose version it brought": """
            SELECT count(*) FROM changes JOIN versions ON versions.id = changes.version_id
            WHERE versions.paper_id <> changes.paper_id""",
        "a paper's latest version is its own": """
            SELECT count(*) FROM papers
            WHERE latest_version_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM versions
                WHERE versions.id = papers.latest_version_id AND versions.paper_id = papers.id)""",
        "a source is checked as far as a complete run went": """
            SELECT count(*) FROM cursors
            JOIN poll_runs ON poll_runs.id = cursors.last_complete_run_id
            WHERE poll_runs.outcome NOT IN ('complete', 'empty')""",
        "no source is checked beyond its last run": """
            SELECT count(*) FROM cursors
            WHERE last_complete_run_id > (SELECT coalesce(max(id), 0) FROM poll_runs)""",
        "a saved query has one text at a time": """
            SELECT count(*) FROM (SELECT 1 FROM query_revisions WHERE ended_at IS NULL
            GROUP BY query_id HAVING count(*) > 1) AS twice""",
        "there is one installation": """
            SELECT abs(count(*) - 1) FROM installation""",
    }
)
"""What must be true → how many rows break it."""

FOLDER = "backups"
"""The folder of backups beside a SQLite database, if nothing else is said."""

_NAMED = re.compile(r"digest-\d{8}T\d{6}Z\.db")

_LOGS = ("-wal", "-journal", "-shm")
"""What SQLite keeps beside a database that is open.

Whatever log it finds it plays into the file of that name.
"""

_SEEDED = (installation, marks, gate)
"""Tables that are never empty: what a new database holds is replaced."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold."""

    name: str
    count: int


def load_violations(conn: Connection) -> list[Violation]:
    """Ask a database for every invariant; return those that do not hold, none if all is well."""
    violations = []
    for name, query in INVARIANTS.items():
        number = int(conn.execute(text(query)).scalar_one())
        if number:
            violations.append(Violation(name, number))
    if conn.dialect.name == "sqlite":
        violations.extend(_find_damage(conn))
    return violations


def count_rows(conn: Connection) -> dict[str, int]:
    """Return how many rows each table holds, by name, in the order in which they can be filled."""
    counts = {}
    for table in metadata.sorted_tables:
        counted = select(func.count()).select_from(table)
        counts[table.name] = conn.execute(counted).scalar_one()
    return counts


def _find_damage(conn: Connection) -> Iterator[Violation]:
    """Yield what SQLite itself says of a file that is not whole."""
    said = [row[0] for row in conn.exec_driver_sql("PRAGMA integrity_check(20)")]
    if said != ["ok"]:
        yield Violation(f"the file is whole ({said[0]})", len(said))
    orphans = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        table, _row, parent, *_ = orphans[0]
        yield Violation(f"every reference leads somewhere ({table} to {parent})", len(orphans))


def load_sent_until(conn: Connection) -> datetime | None:
    """Return until when all that was due had gone out before a restore (UTC).

    None if there was none. The keys of its messages begin with it. A restored database may make
    another digest for a slot that the lost one had a digest for: a key that the other side knows
    would make it a duplicate.
    """
    return conn.execute(select(installation.c.sent_until)).scalar()


def set_sent_until(conn: Connection, until: datetime) -> None:
    """Keep until when all that was due had gone out (UTC); see `load_sent_until`."""
    conn.execute(update(installation).values(sent_until=until))


def default_backup(folder: Path, now: datetime) -> Path:
    """Return the file a backup goes into if none is named."""
    return folder / f"digest-{now:%Y%m%dT%H%M%SZ}.db"


def back_up(
    store: Store, path: Path, report: Callable[[str, int], None], *, replace: bool = False
) -> dict[str, int]:
    """Write a backup, prove it, and only then give it its name.

    It is what `VACUUM INTO` makes while others go on writing. Only its owner may read the file.
    Return how many rows each table holds.

    Raise `StoreError`: the file exists already or can't be written, or the copy is not sound.
    Raise `UsageError`: it is PostgreSQL.
    """
    if store.path is None:
        url = store.url_masked.replace(":***@", "@")
        raise UsageError(
            f"{store.url_masked} is PostgreSQL, which has its own backups",
            hint=f"Run: pg_dump --format=custom --file=digest.dump '{url}'",
        )
    if path.exists() and not replace:
        raise StoreError(
            f"{path} exists already", hint="Name another file, or add --force to write over it."
        )
    with _unfinished(path) as copy:
        report("copy", 0)
        _copy_file(store.path, copy)
        report("check", 0)
        rows = _finish(copy, f"the copy for {path}")
        copy.replace(path)
    return rows


def prune(folder: Path, keep: int) -> tuple[Path, ...]:
    """Remove all backups with a name by default except that many, the newest.

    Return what was removed.
    """
    named = sorted(path for path in folder.iterdir() if _NAMED.fullmatch(path.name))
    outdated = named[:-keep]
    for path in outdated:
        path.unlink()
    return tuple(outdated)


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """Give an empty file beside the one that is meant, readable by its owner only.

    It is gone afterwards.
    """
    copy = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)  # a process that was killed may have left it
        handle = os.open(copy, os.O_CREAT | os.O_EXCL, 0o600)
        os.close(handle)
    except OSError as error:
        raise explain_file(str(path), error) from error
    try:
        yield copy
    finally:
        for part in _list_files(copy):
            part.unlink(missing_ok=True)


def _list_files(database: Path) -> list[Path]:
    """Return the file of a SQLite database, and all that SQLite keeps beside it."""
    return [database.with_name(database.name + suffix) for suffix in ("", *_LOGS)]


def _copy_file(path: Path, copy: Path) -> None:
    """Copy a SQLite database as one state, which others may be writing to, into an empty file."""
    url = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(url, uri=True, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} can't be copied: {error}",
            hint="Check that it is a whole database, and that the disk has room for another of this"
            " size.",
        ) from error


def _finish(
    copy: Path, name: str, change: Callable[[Connection], None] | None = None
) -> dict[str, int]:
    """Check all of a copy, and change it in one transaction if asked.

    Wait until it is on the disk as one file.
    """
    with closing(open_store(f"sqlite:///{copy}")) as store, store.begin() as conn:
        _refuse_violations(conn, name)
        if change is not None:
            change(conn)
        rows = count_rows(conn)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    for place in (copy, copy.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return rows


def copy_store(source: Store, url: str, report: Callable[[str, int], None]) -> dict[str, int]:
    """Copy everything from SQLite into an empty PostgreSQL database.

    Nothing may work on the source from then on. Both sides keep the installation's secret, so that
    links in messages sent long ago go on working.

    Raise `AnotherWorker`: a process works on the source.
    Raise `UsageError`: the two are not of these kinds.
    Raise `StoreError`: the target isn't empty or can't be written, or what was copied breaks an
    invariant.
    """
    if source.path is None or make_url(url).get_backend_name() == "sqlite":
        raise UsageError(
            "only SQLite is copied, and only to PostgreSQL",
            hint="`digest db backup FILE` copies SQLite to SQLite, pg_dump and pg_restore copy"
            " PostgreSQL.",
        )
    with (
        lock_file(source.path),
        closing(open_store(url, create=True)) as target,
        target.begin() as into,
        source.begin() as out,  # nobody writes to SQLite meanwhile
    ):
        _refuse_filled(into, target.url_masked)
        be_patient(into)
        for table in reversed(_SEEDED):
            into.execute(table.delete())
        for table in metadata.sorted_tables:
            _copy_table(table, out, into, report)
        _set_sequences(into)
        copied = count_rows(into)
        if copied != count_rows(out):
            raise StoreError(
                f"the copy does not hold what was copied: {copied}", hint="Nothing was changed."
            )
        _refuse_violations(into, "what was copied")
        return copied


def _copy_table(
    table: Table, out: Connection, into: Connection, report: Callable[[str, int], None]
) -> None:
    """Copy the rows of a table from one database into another, a portion at a time."""
    copied = 0
    report(table.name, copied)
    found = select(table).order_by(*table.primary_key.columns)
    rows = out.execute(found.execution_options(yield_per=PORTION)).mappings()
    for portion in rows.partitions():
        into.execute(insert(table), [dict(row) for row in portion])
        copied += len(portion)
        report(table.name, copied)


def _refuse_filled(conn: Connection, where: str) -> None:
    """Refuse a database that holds anything which a new one does not."""
    seeded = {table.name for table in _SEEDED}
    filled = [name for name, number in count_rows(conn).items() if number and name not in seeded]
    highest = select(func.coalesce(func.max(marks.c.value), 0))
    if not filled and conn.execute(highest).scalar_one() > 0:
        filled = ["marks"]
    if filled:
        raise StoreError(
            f"the database {where} is not empty: it holds {', '.join(filled)}",
            hint="Name a database without tables, or one that `digest db migrate` has just made.",
        )


def _refuse_violations(conn: Connection, what: str) -> None:
    violations = load_violations(conn)
    if not violations:
        return
    said = [f"{violation.name}: broken {violation.count:,}×" for violation in violations]
    broken = "; ".join(said)
    raise StoreError(f"{what} is damaged: {broken}", hint="`digest db check` shows what is wrong.")


def _set_sequences(conn: Connection) -> None:
    """Let PostgreSQL number new rows after those that were copied with their numbers."""
    for table in metadata.sorted_tables:
        if "id" not in table.columns:
            continue
        asked = text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')")
        sequence = conn.execute(asked).scalar()
        if sequence is None:
            continue
        highest = conn.execute(select(func.max(table.c.id))).scalar()
        is_used = "false" if highest is None else "true"
        conn.execute(text(f"SELECT setval('{sequence}', {highest or 1}, {is_used})"))


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A backup that was put in place.

    `kept` is what was there before, with its log, None for nothing.
    """

    place: Path
    kept: Path | None
    rows: dict[str, int]


def bring_up(url: str) -> MigrationReport:
    """Do as `migrate`, and keep a copy of the file of an older SQLite database beside it.

    It is locked meanwhile.

    Raise `AnotherWorker`: a process works on it.
    Raise `SchemaMismatch`: it was written by a newer release.
    Raise `StoreError`: it can't be copied or changed. Then it is as it was.
    """
    with closing(connect(url, create=True)) as store:
        with store.read() as conn:
            is_older = current_revision(conn) in known_revisions()[:-1]
        if store.path is None or not is_older:
            return upgrade(store)
        kept = store.path.with_name(f"{store.path.name}.before-{head_revision()}")
        with lock_file(store.path), _unfinished(kept) as copy:
            _copy_file(store.path, copy)
            copy.replace(kept)
            return replace(upgrade(store), kept=kept)


def restore(
    url: str,
    backup: Path,
    now: datetime,
    report: Callable[[str, int], None],
    *,
    settle: Callable[[Connection], None],
) -> RestoreReport:
    """Put a backup in the place of the SQLite database at a URL.

    `settle`: settles in the backup what was sent since, in one transaction, before it is put in
    place.

    Raise `AnotherWorker`: a process works on the database.
    Raise `SchemaMismatch`: the backup was made by a newer release.
    Raise `StoreError`: the backup is not sound, or the database can't be written.
    Raise `UsageError`: the database is PostgreSQL.
    """
    path = _find_place(url, backup)
    with lock_file(path), _unfinished(path) as copy:
        report("copy", 0)
        _copy_file(backup, copy)
        _bring_up(copy, backup)
        report("check", 0)
        rows = _finish(copy, str(backup), settle)
        report("put in place", 0)
        try:
            kept = _put_in_place(copy, path, now)
        except OSError as error:
            raise explain_file(str(path), error) from error
    return RestoreReport(path, kept, rows)


def _find_place(url: str, backup: Path) -> Path:
    """Return the file of the database at a URL, if a backup can be put there."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise UsageError(
            "the database is PostgreSQL, which has its own backups",
            hint="Restore with pg_restore, then run `digest db restored`. `digest help backups`"
            " says how.",
        )
    name_one = "Name one that `digest db backup` has written."
    if not backup.is_file():
        raise StoreError(f"there is no backup at {backup}", hint=name_one)
    path = Path(parsed.database or "").resolve()
    if path.exists() and path.samefile(backup):
        raise StoreError(f"{backup} is the database itself", hint=name_one)
    return path


def _put_in_place(copy: Path, path: Path, now: datetime) -> Path | None:
    """Put a file where the database is, whose log goes aside with it.

    Return where that is kept.
    """
    kept = path.with_name(f"{path.name}.before-restore-{now:%Y%m%dT%H%M%SZ}")
    if kept.exists():
        raise StoreError(
            f"{kept} exists already", hint="Nothing was changed. Run the command again in a second."
        )
    for old, aside in zip(_list_files(path), _list_files(kept), strict=True):
        if old.exists():
            old.rename(aside)
    copy.rename(path)
    return kept if kept.exists() else None


def _bring_up(copy: Path, backup: Path) -> None:
    with closing(connect(f"sqlite:///{copy}")) as store, store.read() as conn:
        revision = current_revision(conn)
    if not revision:
        raise StoreError(
            f"{backup} is not a backup: it has none of Digest's tables",
            hint="Name another file that `digest db backup` has written. Nothing was changed.",
        )
    migrate(f"sqlite:///{copy}")
