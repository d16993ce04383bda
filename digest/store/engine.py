"""The open database: how it is reached, in which mode, and that its schema is the one this code knows."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from pathlib import Path
from sqlite3 import OperationalError
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from digest.errors import ConfigurationError, StoreBusy, StoreError
from digest.store import migrating, postgresql, sqlite
from digest.store.failures import explaining
from digest.store.queueing import WriterQueue
from digest.store.reading import connect_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from sqlite3 import Connection as SqliteConnection

    from sqlalchemy import URL, Connection, Select, UpdateBase

    from digest.store.migrating import MigrationReport

_READING = {"is_reading": True}
_READING_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

_NOT_AWAITING_DISK = {"awaits_disk": False}

_SQLITE_MODES = {"busy_timeout": 10_000, "foreign_keys": 1, "journal_mode": "wal", "synchronous": sqlite.FULL}
"""What every SQLite connection must report after it was asked to: without `synchronous` FULL a power cut
loses commits that were answered (https://sqlite.org/pragma.html#pragma_synchronous)."""

_SECRETS = ("password", "sslpassword")
"""What of an address's query is for nobody's eyes: libpq takes passwords there, too."""

_TURN = 30.0
"""Seconds a thread waits for another of its process that writes to the same SQLite file."""

_MODE_ATTEMPTS = 5
"""So many processes may start on a new file at the same moment before one is told that it is locked."""


class Store:
    """An open database. Close it when done.

    Attributes:
        engine: SQLAlchemy's engine.
        dialect: "sqlite" or "postgresql".
        url_masked: its address without the password, for messages.
        path: the SQLite file itself, whatever links led to it: what lies beside it is the same for everybody
            who works on it. None on PostgreSQL.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        shown = engine.url.set(drivername=self.dialect).difference_update_query(_SECRETS)
        self.url_masked = postgresql.show_url(shown)
        self.path = Path(engine.url.database or "").resolve() if self.dialect == "sqlite" else None
        self._file = None if self.path is None else _identify(self.path)
        self._writers = WriterQueue(_TURN) if self.path else None
        self._is_ahead_of_disk = False

    @contextmanager
    def begin(self, *, awaits_disk: bool = True) -> Iterator[Connection]:
        """Open a transaction that writes: committed at the end, rolled back where anything is raised.

        Args:
            awaits_disk: False where SQLite need not wait for its disk: what was committed outlives the process
                all the same, and a cut of the power undoes it unless something after it did wait, or
                `settle_on_disk`. PostgreSQL always waits.

        Raises:
            StoreBusy: another process writes for too long.
            StoreError: the database is away, full, or can't be written.
        """
        self.check_file()
        options = {} if awaits_disk or self.dialect != "sqlite" else _NOT_AWAITING_DISK
        with (
            self._taking_turns(is_answer=False),
            explaining(self.url_masked, self.path),
            self.engine.connect().execution_options(**options) as conn,
            conn.begin(),
        ):
            self._is_ahead_of_disk = self._is_ahead_of_disk or bool(options)
            yield conn

    def check_file(self) -> None:
        """See that SQLite's file is still the one that was opened: what is written to another is lost.

        Raises:
            StoreError: it was deleted, or another took its place.
        """
        if self.path is None:
            return
        try:
            is_same = _identify(self.path) == self._file
        except FileNotFoundError:
            is_same = False
        except OSError:
            return  # nobody can tell for now
        if not is_same:
            raise StoreError(
                f"the database {self.path} was deleted or replaced while it was in use",
                hint="Put back the one that belongs there, or `digest db restore` a backup, and start again.",
            )

    def settle_on_disk(self) -> None:
        """Wait until all that was committed is on SQLite's disk, too.

        Raises:
            StoreError: as `begin`.
        """
        if not self._is_ahead_of_disk:
            return
        self._is_ahead_of_disk = False
        try:
            with self.begin() as conn:
                # Any write takes along what was committed before it; without one there is nothing to wait for.
                conn.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")
        except StoreError:
            self._is_ahead_of_disk = True
            raise

    def run_alone(self, statement: Select[Any], values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement of PostgreSQL's that is a transaction by itself; see `postgresql.run_alone`.

        Raises:
            StoreError: as `begin`.
        """
        with explaining(self.url_masked):
            return postgresql.run_alone(self.engine, statement, values)

    def write_answer(
        self, statements: Sequence[UpdateBase], values: Mapping[str, Any], *, awaits_disk: bool
    ) -> bool:
        """Write down one answer on SQLite, before anything else this process has to write; see `sqlite.run_alone`.

        Raises:
            StoreError: as `begin`.
        """
        self.check_file()
        with self._taking_turns(is_answer=True), explaining(self.url_masked, self.path):
            self._is_ahead_of_disk = self._is_ahead_of_disk or not awaits_disk
            return sqlite.run_alone(self.engine, statements, values, awaits_disk=awaits_disk)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database, and cannot change it.

        Raises:
            StoreError: the database is away.
        """
        self.check_file()
        options: dict[str, Any] = _READING if self.dialect == "sqlite" else _READING_SNAPSHOT
        with (
            explaining(self.url_masked, self.path),
            self.engine.connect().execution_options(**options) as conn,
            conn.begin(),
        ):
            yield conn

    def awaiting_answer(self) -> AbstractContextManager[None]:
        """Let other writers of this process hold back a moment: an answer comes soon, and is to be written first.

        Who writes or waits to is let finish before this begins. On SQLite alone, which takes one writer at a time.
        """
        return nullcontext() if self._writers is None else self._writers.awaiting_answer()

    @contextmanager
    def _taking_turns(self, *, is_answer: bool) -> Iterator[None]:
        if self._writers is None:
            yield
            return
        with self._writers.write(is_answer=is_answer) as is_mine:
            if not is_mine:
                raise StoreBusy(
                    f"something else this process does has been writing to {self.path} for {_TURN:.0f} s"
                )
            yield

    def close(self) -> None:
        """Close every connection; harmless when done twice."""
        self.engine.dispose()


def open_store(
    url: str,
    *,
    create: bool = False,
    upgrade: bool = False,
    is_reading: bool = False,
    pool: int = postgresql.POOL,
) -> Store:
    """Open the database at a URL.

    Args:
        url: `sqlite:///path`, `postgresql://user@host/name` or `postgresql://user@h1:5432,h2:5432/name`.
        create: build the tables where there are none (a SQLite file is made readable by its owner only).
        upgrade: bring an older schema up to date.
        is_reading: open it also where its disk is full or read-only; writing then fails. Not for a process
            that stays: its connections would not notice that there is room again.
        pool: connections to PostgreSQL at most.

    Raises:
        ConfigurationError: the URL names no database we know, or its driver is not installed.
        SchemaMismatch: the tables are older than this release (and `upgrade` is false), or newer.
        StoreError: it isn't there, can't be reached or written, or is no database.
    """
    store = connect(url, create=create, is_reading=is_reading, pool=pool)
    try:
        with store.read() as conn:
            schema = migrating.load_schema(conn)
        if (create and not schema.revision) or (upgrade and migrating.is_older(schema)):
            migrating.upgrade(store)
        else:
            migrating.check_schema(schema, store.url_masked)
    except BaseException:
        store.close()
        raise
    return store


def migrate(url: str) -> MigrationReport:
    """Bring the database at a URL to this release's schema, in one transaction and under a lock.

    Raises:
        SchemaMismatch: it was written by a newer release.
        StoreError: it can't be reached or written.
    """
    store = connect(url, create=True)
    try:
        return migrating.upgrade(store)
    finally:
        store.close()


def connect(url: str, *, create: bool = False, is_reading: bool = False, pool: int = postgresql.POOL) -> Store:
    """Open a database without a look at its tables; see `open_store`."""
    parsed = _read_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _connect_sqlite(parsed, create=create, is_reading=is_reading)
    return Store(postgresql.open_engine(parsed, pool=pool))


def _read_url(url: str) -> URL:
    hint = "Write sqlite:///path/to/digest.db, or postgresql://user@host/name."
    try:
        parsed = make_url(postgresql.spread_hosts(url))
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError("the database's url can't be understood", hint=hint) from error
    name = parsed.drivername.partition("+")[0]
    if name not in ("sqlite", "postgresql", "postgres"):
        raise ConfigurationError(f"{name!r} is no database Digest can use", hint=hint)
    if name == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError("the database must be kept in a file", hint=hint)
    return parsed.set(drivername="sqlite+pysqlite" if name == "sqlite" else "postgresql+psycopg")


def _connect_sqlite(url: URL, *, create: bool, is_reading: bool) -> Store:
    path = Path(url.database or "")
    if not path.exists():
        _create_file(path, create=create)
    if is_reading:
        engine = create_engine(url, creator=lambda: connect_for_reading(path, _set_sqlite_modes))
    else:
        engine = create_engine(url)
        event.listen(engine, "connect", _set_sqlite_modes)
    event.listen(engine, "begin", _begin_sqlite)
    return Store(engine)


def _identify(path: Path) -> tuple[int, int]:
    """Return what tells a file from every other one."""
    found = path.stat()
    return found.st_dev, found.st_ino


def _create_file(path: Path, *, create: bool) -> None:
    if not path.parent.is_dir():
        raise StoreError(
            f"the folder of the database is not there: {path.parent}",
            hint="Create it, or change url under [store] in digest.toml.",
        )
    if not create:
        raise StoreError(
            f"there is no database at {path}",
            hint="The first `digest run` or `digest migrate` makes it; or change url under [store].",
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"the database {path} can't be made: {error.strerror}",
            hint="Make the folder writable for this account, or change url under [store].",
        ) from error


def _set_sqlite_modes(connection: SqliteConnection, _: object = None) -> None:
    """Take transactions into our own hands, and make sure of the modes that durability rests on."""
    connection.isolation_level = None
    try:
        for name, wanted in _SQLITE_MODES.items():
            _set_mode(connection, f"PRAGMA {name}={wanted}")
            (found,) = connection.execute(f"PRAGMA {name}").fetchone()
            if found != wanted:
                raise StoreError(  # noqa: TRY301 - whatever ends it, the connection is closed below
                    f"SQLite keeps {name} at {found!r} where {wanted!r} is needed",
                    hint="Keep the database on a local disk: network file systems can't share its journal.",
                )
    except BaseException:
        connection.close()  # SQLAlchemy 2.0 leaves it open until garbage is collected
        raise


def _set_mode(connection: SqliteConnection, statement: str) -> None:
    """Set a mode, waiting for others who do: where the journal's is switched SQLite itself does not wait."""
    for _ in range(_MODE_ATTEMPTS):
        try:
            connection.execute(statement).close()
        except OperationalError:
            connection.execute("BEGIN IMMEDIATE").close()  # here it does, as long as busy_timeout says
            connection.execute("ROLLBACK").close()
        else:
            return
    connection.execute(statement).close()


def _begin_sqlite(conn: Connection) -> None:
    """Take the write lock at once, so that nothing read in a transaction can change before it writes."""
    options = conn.get_execution_options()
    is_reading, awaits_disk = options.get("is_reading", False), options.get("awaits_disk", True)
    known = conn.connection.info
    sqlite.set_modes(conn.exec_driver_sql, known, is_reading=is_reading, awaits_disk=awaits_disk)
    conn.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")
