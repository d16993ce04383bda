"""Opens the database, makes its tables, and brings those of an older release up to this one."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError
from typing import Any, Literal

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Text,
    column,
    create_engine,
    event,
    false,
    insert,
    inspect,
    make_url,
    select,
    table,
    text,
    update,
)
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    ProgrammingError,
)
from sqlalchemy.exc import OperationalError as OperationalErrorFailures
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateIndex, CreateTable

from digest.model.clock import SystemClock
from digest.model.errors import ConfigurationError, SchemaMismatch, StoreBusy, StoreError
from digest.store.dialect import (
    POOL,
    be_patient,
    dialect_insert,
    lock_advisory,
    metadata,
    open_postgresql,
)
from digest.store.schema import gate, installation, marks

_OURS = (IntegrityError, ProgrammingError)
"""A broken constraint or statement is a mistake of the code, never of the database.

It is not explained away.
"""

_BUSY = (
    "database is locked",
    "deadlock detected",
    "could not serialize",
    "lock timeout",
    "not obtain lock",
    "statement timeout",  # who wants a row may wait for several others, one after the other
)

_MAKE_ROOM = (
    "Make room on its disk. Nothing stored is lost. Running processes then continue by themselves."
)
_ROOM = 65_536
"""Bytes without which SQLite can't so much as open a database.

It often says something else than that.
"""

_MADE_BEFORE = (
    "If it was made before the first release, move the file away: `digest run` makes it anew."
)

_HINTS = {
    "is full": _MAKE_ROOM,
    "no space left": _MAKE_ROOM,
    "readonly": "Make the file, its folder and its disk writable for this account.",
    "read-only": "Connect to the primary, or end its read-only mode.",
    "unable to open": (
        "Check that the folder is there and writable for this account, and that its disk has room."
    ),
    "not a database": "The file holds something else; change url under [store] in digest.toml.",
    "no such column": _MADE_BEFORE,
    "malformed": "Restore the latest backup: the file is damaged.",
    "disk i/o": (
        "Check the disk and its free space. If the file is damaged, restore the latest backup."
    ),
    "password": "Check the name and the password in url under [store].",
    "does not exist": "Create the database, or change url under [store].",
    "connection": "Check that the server is up and can be reached from here.",
}

_READING = {"is_reading": True}
_READING_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

_SQLITE_MODES = {"busy_timeout": 10_000, "foreign_keys": 1, "journal_mode": "wal", "synchronous": 2}
"""What every SQLite connection must report. Without `synchronous` FULL, 2, a power cut
loses commits that were answered (https://sqlite.org/pragma.html#pragma_synchronous)."""

_UNSYNCED = 1
"""`synchronous` NORMAL: a commit does not wait for the disk, and goes there with the next one."""

_SECRETS = ("password", "sslpassword")
"""What of an address's query is for nobody's eyes: libpq takes passwords there, too."""

_WRITE_LOCK = 30.0
"""Seconds a thread waits for another of its process that writes to the same SQLite file."""

_MODE_ATTEMPTS = 5
"""That many processes may start on a new file at once before one sees that it is locked."""

MIGRATIONS = Path(__file__).parent / "migrations"
"""Revisions are numbered files in `versions`, one after the other.

They change a database that is there. A new one gets the tables of `schema` as they are, marked
with the newest revision.
"""

_LOCK_KEY = 0x64696765
"""PostgreSQL's advisory lock under which migrations run; any number that nobody else uses."""

_TABLE_TIMEOUT = "3s"
"""How long a migration waits for a table that others use; meanwhile others wait behind it."""

GATE = "arxiv"
"""The name of the gate's row: all of arXiv's interfaces share one pace."""


@contextmanager
def explaining(where: str, path: Path | None = None) -> Iterator[None]:
    """Turn errors of the database inside the block into errors that say what to do.

    It is at an address, or in a file. What somebody else holds is `StoreBusy`: the same may pass
    later.
    """
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy(
            "every connection to the database is taken", hint="Use fewer workers."
        ) from error
    except _OURS:
        raise
    except (OperationalErrorFailures, InterfaceError, DatabaseError) as error:
        raise _explain(error, where, path) from error


def explain_file(what: str, error: OSError) -> StoreError:
    """Return the error that says what to do about a file which can't be written.

    `what` names it with its path.
    """
    hint = "Check that its folder is writable for this account, and that its disk has room."
    return StoreError(f"{what} can't be written: {error.strerror}", hint=hint)


def is_busy(error: DBAPIError) -> bool:
    """Whether somebody else held what was needed: the same may pass later."""
    said = str(error.orig).lower()
    return any(sign in said for sign in _BUSY)


def _explain(error: DatabaseError | InterfaceError, where: str, path: Path | None) -> StoreError:
    said = " ".join(str(error.orig).split())
    if is_busy(error):
        return StoreBusy(
            f"the database {where} is busy, or locked by another process: {said}",
            hint="Try again. If it lasts, find the process that locks it, or what slows it down.",
        )
    if path is not None and _has_no_room(path.parent):
        return StoreError(
            f"the database {where} can't be used, its disk is full: {said}", hint=_MAKE_ROOM
        )
    return StoreError(f"the database {where} can't be used: {said}", hint=_find_hint(said))


def _has_no_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free < _ROOM


def _find_hint(said: str) -> str:
    """Return what to do about an error of a database; "" if nobody knows."""
    lowered = said.lower()
    for sign, hint in _HINTS.items():
        if sign in lowered:
            return hint
    return ""


class Store:
    """An open database. Close it when done.

    `path` is the SQLite file itself, whatever links led to it: what lies beside it is the same for
    everybody who works on it. None on PostgreSQL. `before_write` is called before each transaction
    that writes; it may refuse.
    """

    before_write: Callable[[], None] | None = None

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        url = engine.url.set(drivername=self.dialect)
        shown = url.difference_update_query(_SECRETS)
        self.url_masked = shown.render_as_string(hide_password=True)
        self.path: Path | None = None
        self._file: tuple[int, int] | None = None
        self._turn: threading.Lock | None = None
        if self.dialect == "sqlite":
            self.path = Path(url.database or "").resolve()
            self._file = _identify(self.path)
            self._turn = threading.Lock()

    def reopen(self) -> None:
        """Take the file that is at its path now for the database."""
        self.close()
        self._file = None if self.path is None else _identify(self.path)

    @contextmanager
    def begin(self, *, is_allowed: bool = False, is_lasting: bool = True) -> Iterator[Connection]:
        """Open a transaction that writes: committed at the end, rolled back if anything is raised.

        If `is_allowed`, `before_write` is not asked. If it is not lasting, a power cut may undo it
        until the next one that is; the death of a process never does. Raise `StoreBusy` if somebody
        else writes for too long.
        """
        if self.before_write is not None and not is_allowed:
            self.before_write()
        self.check_file()
        with (
            self._lock_writes(),
            explaining(self.url_masked, self.path),
            self.engine.connect().execution_options(is_lasting=is_lasting) as conn,
            conn.begin(),
        ):
            if self.dialect == "postgresql" and not is_lasting:
                conn.execute(text("SET LOCAL synchronous_commit = off"))
            yield conn

    @contextmanager
    def _lock_writes(self) -> Iterator[None]:
        """Let one thread at a time write to a SQLite file, and wake the next.

        SQLite itself looks only now and then.
        """
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=_WRITE_LOCK):
            raise StoreBusy(
                f"another part of this process has been writing to {self.path}"
                f" for {_WRITE_LOCK:.0f} s"
            )
        try:
            yield
        finally:
            self._turn.release()

    def check_file(self) -> None:
        """See that SQLite's file is still the one that was opened.

        What is written to another is lost.
        """
        if self.path is None:
            return
        try:
            is_same = _identify(self.path) == self._file
        except FileNotFoundError:
            is_same = False
        except OSError:
            return  # nobody knows for now
        if not is_same:
            raise StoreError(
                f"the database {self.path} was deleted or replaced while it was in use",
                hint="Put back the one that belongs there, or `digest db restore` a backup, and"
                " start again.",
            )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database, and cannot change it."""
        self.check_file()
        options: dict[str, Any] = _READING if self.dialect == "sqlite" else _READING_SNAPSHOT
        with (
            explaining(self.url_masked, self.path),
            self.engine.connect().execution_options(**options) as conn,
            conn.begin(),
        ):
            yield conn

    def close(self) -> None:
        """Close every connection; harmless when done twice."""
        self.engine.dispose()


def open_store(url: str, *, create: bool = False, pool: int = POOL) -> Store:
    """Open the database at a URL, `sqlite:///path` or `postgresql://user@host/name`.

    With `create`, tables are made if there are none (a SQLite file is made readable by its owner
    only). Raise `SchemaMismatch` if they are older than this release, or newer.
    """
    store = connect(url, create=create, pool=pool)
    try:
        with store.read() as conn:
            revision = current_revision(conn)
        if create and not revision:
            upgrade(store)
        else:
            check_revision(revision, store.url_masked)
    except BaseException:
        store.close()
        raise
    return store


def migrate(url: str) -> MigrationReport:
    """Bring the database at a URL to this release's schema; see `upgrade`."""
    with closing(connect(url, create=True)) as store:
        return upgrade(store)


def connect(url: str, *, create: bool = False, pool: int = POOL) -> Store:
    """Open a database without a check at its tables; see `open_store`."""
    parsed = _read_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _connect_sqlite(parsed, create=create)
    return Store(open_postgresql(parsed, pool=pool))


def _read_url(url: str) -> URL:
    hint = "Write sqlite:///path/to/digest.db, or postgresql://user@host/name."
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError("the database's url can't be understood", hint=hint) from error
    name, *_driver = parsed.drivername.split("+")
    if name not in ("sqlite", "postgresql", "postgres"):
        raise ConfigurationError(f"{name!r} is not a database that Digest can use", hint=hint)
    if name == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError("the database must be kept in a file", hint=hint)
    return parsed.set(drivername="sqlite+pysqlite" if name == "sqlite" else "postgresql+psycopg")


def _connect_sqlite(url: URL, *, create: bool) -> Store:
    path = Path(url.database or "")
    if not path.exists():
        _create_file(path, create=create)
    engine = create_engine(url)
    event.listen(engine, "connect", _set_sqlite_modes)
    event.listen(engine, "begin", _begin_sqlite)
    return Store(engine)


def _identify(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _create_file(path: Path, *, create: bool) -> None:
    if not path.parent.is_dir():
        raise StoreError(
            f"the folder of the database does not exist: {path.parent}",
            hint="Create it, or change url under [store] in digest.toml.",
        )
    if not create:
        raise StoreError(
            f"nothing has run yet: there is no database at {path}",
            hint="`digest run` makes the database.",
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"the database {path} can't be made: {error.strerror}",
            hint="Make the folder writable for this account, or change url under [store].",
        ) from error


def _set_sqlite_modes(connection: SqliteConnection, _: object = None) -> None:
    """Take transactions into our own hands, and check the modes that durability needs."""
    connection.isolation_level = None
    connection.create_function(
        "split_part", 3, lambda text, mark, part: text.split(mark)[part - 1]
    )  # as PostgreSQL's
    try:
        for name, wanted in _SQLITE_MODES.items():
            _set_mode(connection, f"PRAGMA {name}={wanted}")
            (found,) = connection.execute(f"PRAGMA {name}").fetchone()
            if found != wanted:
                raise StoreError(  # noqa: TRY301 - whatever ends it, the connection is closed below
                    f"SQLite keeps {name} at {found!r} where {wanted!r} is needed",
                    hint="Keep the database on a local disk: network file systems can't share its"
                    " journal.",
                )
    except BaseException:
        connection.close()  # SQLAlchemy 2.0 leaves it open until garbage is collected
        raise


def _set_mode(connection: SqliteConnection, statement: str) -> None:
    """Set a mode, waiting for others who do.

    SQLite itself does not wait while the journal's is switched.
    """
    for _ in range(_MODE_ATTEMPTS):
        try:
            connection.execute(statement).close()
        except OperationalError:
            connection.execute(
                "BEGIN IMMEDIATE"
            ).close()  # here it does, as long as busy_timeout says
            connection.execute("ROLLBACK").close()
        else:
            return
    connection.execute(statement).close()


def _begin_sqlite(conn: Connection) -> None:
    """Take the write lock at once.

    So nothing read in a transaction can change before it writes.
    """
    options = conn.get_execution_options()
    is_reading = options.get("is_reading", False)
    level = _SQLITE_MODES["synchronous"] if options.get("is_lasting", True) else _UNSYNCED
    conn.exec_driver_sql(f"PRAGMA synchronous={level}")
    conn.exec_driver_sql(f"PRAGMA query_only={int(is_reading)}")
    conn.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")


_revision_table = table("alembic_version", column("version_num", Text))


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration did: the revision `before`, that `after`, and the copy it `kept`.

    `before` is "" for an empty database.
    """

    before: str
    after: str
    kept: Path | None = None


def head_revision() -> str:
    """Return the revision this release works with."""
    return known_revisions()[-1]


def known_revisions() -> tuple[str, ...]:
    """Return every revision this release knows, oldest first."""
    files = (MIGRATIONS / "versions").glob("[0-9]*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def current_revision(conn: Connection) -> str:
    """Return the revision a database is at, "" if it holds no tables of ours."""
    if not inspect(conn).has_table(_revision_table.name):
        return ""
    return str(conn.execute(select(_revision_table.c.version_num)).scalar() or "")


def check_revision(revision: str, where: str) -> None:
    """Refuse, by `SchemaMismatch`, tables that are not this release's.

    They are older or newer, or not there at all.
    """
    head = head_revision()
    if revision == head:
        return
    if not revision:
        raise SchemaMismatch(
            f"the database {where} has no tables yet", hint="`digest run` makes them."
        )
    if revision in known_revisions():
        hint = (
            "Make a backup with pg_dump, then run `digest db migrate`. Other processes may go on"
            " meanwhile."
        )
        if where.startswith("sqlite"):
            hint = "Stop Digest, then run `digest db migrate`: it keeps a copy of the file first."
        said = f"the database {where} is at revision {revision}, this release needs {head}"
        raise SchemaMismatch(said, hint=hint)
    raise SchemaMismatch(
        f"the database {where} is at revision {revision}, which is newer than this release's"
        f" {head}",
        hint="Install the release that wrote it, or a later one, or restore a backup made before.",
    )


def upgrade(store: Store) -> MigrationReport:
    """Bring a database to this release's schema, in one transaction and under a lock.

    Raise `SchemaMismatch` if a newer release wrote it, `StoreBusy` if others use its tables so much
    that they can't be changed.
    """
    with store.begin() as conn:
        if store.dialect == "postgresql":
            be_patient(conn)  # an index over millions of rows takes its time
            lock_advisory(conn, _LOCK_KEY)
            conn.execute(text(f"SET LOCAL lock_timeout = '{_TABLE_TIMEOUT}'"))
        before = current_revision(conn)
        if before and before not in known_revisions():
            check_revision(before, store.url_masked)
        try:
            if before:
                _run_alembic(conn, "upgrade")
            else:
                _make_tables(conn)
                _run_alembic(conn, "stamp")
        except DBAPIError as error:
            if is_busy(error):
                raise
            raise StoreError(
                f"the tables of {store.url_masked} can't be updated: {error.orig}",
                hint="Nothing was changed. Check whether another application has tables of the same"
                " names there.",
            ) from error
        return MigrationReport(before, current_revision(conn))


def _make_tables(conn: Connection) -> None:
    for made in metadata.sorted_tables:
        conn.execute(CreateTable(made))
        for index in made.indexes:
            statement = str(CreateIndex(index).compile(conn))
            if "where" in index.info:
                statement += f" WHERE {index.info['where']}"
            conn.execute(text(statement))
    if conn.dialect.name == "postgresql":
        # Compressing a mail of 90 KB takes 1.5 ms before it can go out, and bodies are kept for
        # days only.
        conn.execute(text("ALTER TABLE deliveries ALTER COLUMN body SET STORAGE EXTERNAL"))
    first_marks = [{"name": name, "value": 0} for name in ("changes", "matched", "forgotten")]
    conn.execute(insert(marks), first_marks)
    insert_gate(conn)
    secret = secrets.token_urlsafe(32)
    made_at = SystemClock().now()
    conn.execute(insert(installation).values(id=1, secret=secret, created_at=made_at))


def insert_gate(conn: Connection) -> None:
    """Make the gate's row, if it is not there yet."""
    row: dict[str, Any] = dict.fromkeys(gate.c.keys(), 0)
    row |= {"name": GATE, "holder": "", "breaker_reason": ""}
    insertion = dialect_insert(conn, gate)
    conn.execute(insertion.on_conflict_do_nothing(index_elements=["name"]), row)


def _run_alembic(conn: Connection, what: Literal["upgrade", "stamp"]) -> None:
    # It takes a fifth of a second that most starts don't need.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    (command.upgrade if what == "upgrade" else command.stamp)(config, head_revision())


def check_writable(conn: Connection) -> None:
    """Ask for each column and do all that a write needs, and change nothing.

    An error tells what is wrong.
    """
    for made in metadata.sorted_tables:
        conn.execute(select(made).limit(0))
    conn.execute(update(installation).where(false()).values(sent_until=None))


def measure_size(store: Store) -> int:
    """Return how many bytes the database takes."""
    if store.path is not None:
        beside = store.path.with_name(store.path.name + "-wal")
        return sum(path.stat().st_size for path in (store.path, beside) if path.exists())
    with store.read() as conn:
        return int(conn.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
