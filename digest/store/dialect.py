"""Says where SQLite and PostgreSQL differ, how the latter is reached, and how values are packed.

PostgreSQL ends statements, lock waits and forgotten transactions, and the kernels on both sides
notice a peer that acknowledges nothing.
Row locks need no code of ours: SQLAlchemy leaves `with_for_update` out on SQLite, where only one
connection writes at a time.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import (
    ARRAY,
    JSON,
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    Table,
    Text,
    TextClause,
    TypeDecorator,
    bindparam,
    case,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect, ExceptionContext
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NULLTYPE, TypeEngine

from digest import __version__
from digest.model.errors import ConfigurationError, StoreError
from digest.model.said import Said

if TYPE_CHECKING:
    from psycopg import Connection as Session  # an extra: SQLite works without
    from sqlalchemy.dialects import postgresql

T = TypeVar("T")

_LIST_LIMIT = 1000
"""Values bound in one `IN` list: well below what both drivers take."""

POOL = 10
"""The most connections of a process: one for each job, the others for sending threads and pages."""

POOL_WAIT = 30.0
"""Seconds that a thread waits for one of these connections to become free."""

CONNECTION: dict[str, str] = {
    "connect_timeout": "5",  # a host that is down, of several: the next is tried
    "keepalives_idle": "15",  # with the two below: a dead link is noticed after half a minute
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""What libpq gets unless the URL says otherwise.

See https://www.postgresql.org/docs/current/libpq-connect.html.
"""

SESSION: dict[str, str] = {
    "synchronous_commit": "on",  # a message whose commit a crash undoes would be sent again
    "statement_timeout": "30s",  # our statements take milliseconds; over millions of rows, seconds
    "lock_timeout": "20s",  # longer than anybody lawfully holds a row, shorter than a claim's lease
    # Matching a large batch computes between two statements, but for less than this.
    "idle_in_transaction_session_timeout": "120s",
    # The server's side: a client that is gone must not go on holding its locks.
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""What each session is set to, unless the URL's `options` say otherwise."""

_READ_ONLY = "25006"
"""The error of a server that takes no writes: a primary that became a standby."""

_BIG_INTEGER = BigInteger().with_variant(Integer, "sqlite")
"""An integer of 64 bits. SQLite numbers a key by itself only if its type is `INTEGER`."""


class database_clock(FunctionElement[float]):  # noqa: N801 - reads as the SQL function it is
    """Seconds since 1970 on the database's own clock, moving on within a transaction too."""

    type = Double()
    inherit_cache = True


@compiles(database_clock, "sqlite")
def _sqlite_clock(*_: object, **__: object) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_clock, "postgresql")
def _postgresql_clock(*_: object, **__: object) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"


def later(one: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the greater of two values, neither of them NULL."""
    return case((one > other, one), else_=other)


def dialect_insert(conn: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can say what happens on a conflict, for this connection's database."""
    if conn.dialect.name == "sqlite":
        return sqlite.insert(table)
    # This import takes a tenth of a command's start, and SQLite does not need it.
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415

    return postgresql.insert(table)


def upsert(
    conn: Connection,
    table: Table,
    rows: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    changes: Mapping[str, Any],
) -> None:
    """Insert one row or several; a stored row of the same primary key is changed instead."""
    keys = [column.name for column in table.primary_key]
    insertion = dialect_insert(conn, table).values(rows)
    conn.execute(insertion.on_conflict_do_update(index_elements=keys, set_=changes))


def make_storable(text: str) -> str:
    """Return a text that others wrote in a form that every database takes.

    NUL and halves of a surrogate pair are replaced by other characters.
    """
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


class Keys(TypeDecorator[Collection[int]]):
    """Several keys in one parameter.

    The statement is the same however many there are, and is prepared once.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return an array if the database has them."""
        return dialect.type_descriptor(
            ARRAY(BigInteger()) if dialect.name == "postgresql" else Text()
        )

    def process_bind_param(
        self, value: Collection[int] | None, dialect: Dialect
    ) -> list[int] | str:
        """Return the keys as the driver takes them, in growing order."""
        keys = sorted(value or ())
        return keys if dialect.name == "postgresql" else json.dumps(keys)


class _is_among(FunctionElement[Any]):  # noqa: N801 - reads as the SQL condition it is
    # Not Boolean: SQLAlchemy would write `(…) = 1` on SQLite, and no index serves that.
    type = NULLTYPE
    inherit_cache = True


def is_among(key: ColumnElement[int], name: str) -> ColumnElement[bool]:
    """Return the condition that a key is one of those in a parameter of this name."""
    return _is_among(key, bindparam(name, type_=Keys))


@compiles(_is_among, "sqlite")
def _is_among_listed(
    element: _is_among,
    compiler: SQLCompiler,
    **options: Any,  # noqa: ANN401 - SQLAlchemy's hook
) -> str:
    key, keys = [compiler.process(part, **options) for part in element.clauses]
    return f"{key} IN (SELECT value FROM json_each({keys}))"


@compiles(_is_among, "postgresql")
def _is_among_array(
    element: _is_among,
    compiler: SQLCompiler,
    **options: Any,  # noqa: ANN401 - SQLAlchemy's hook
) -> str:
    key, keys = [compiler.process(part, **options) for part in element.clauses]
    return f"{key} = ANY ({keys})"


def lock_advisory(conn: Connection, key: int) -> None:
    """Let one transaction at a time go on from here: those that name the same key wait for its end.

    On SQLite nothing is needed: only one connection writes at a time.
    """
    if conn.dialect.name == "postgresql":
        conn.execute(select(func.pg_advisory_xact_lock(key)))


def in_chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Cut values into lists short enough for `IN`, each value once, in the order they came."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), _LIST_LIMIT):
        yield distinct[start : start + _LIST_LIMIT]


def select_by(
    conn: Connection, found: Select[Any], column: ColumnElement[Any], values: Iterable[Any]
) -> list[Row[Any]]:
    """Return the rows of a query in which a column has one of some values.

    There may be any number of values.
    """
    rows: list[Row[Any]] = []
    for chunk in in_chunks(values):
        rows.extend(conn.execute(found.where(column.in_(chunk))))
    return rows


def pack(ids: Iterable[int]) -> bytes:
    """Return ids as bytes, sorted, each once."""
    ordered = sorted(set(ids))
    return struct.pack(f"<{len(ordered)}q", *ordered)


def unpack(blob: bytes) -> tuple[int, ...]:
    """Return the ids of a blob, in growing order."""
    return struct.unpack(f"<{len(blob) // 8}q", blob)


def open_postgresql(url: URL, *, pool: int = POOL) -> Engine:
    """Return an engine for a PostgreSQL; nothing is asked of it yet."""
    try:
        engine = create_engine(
            url,
            isolation_level="READ COMMITTED",  # what every fence and lock of ours is written for
            pool_size=pool,
            max_overflow=0,
            pool_timeout=POOL_WAIT,
            pool_use_lifo=True,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "PostgreSQL needs the psycopg driver, which is not installed",
            hint="Install it with: pip install 'preprint-digest[postgres]'",
        ) from error
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "handle_error", _leave_standby)
    return engine


def be_patient(conn: Connection) -> None:
    """Let this transaction wait as long as it takes, for locks and for slow statements."""
    for name in ("lock_timeout", "statement_timeout"):
        conn.execute(sql(f"SET LOCAL {name} = 0"))


def _connect(
    _dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]
) -> Session[Any]:
    import psycopg  # noqa: PLC0415 - an extra: SQLite works without

    options = [f"-c {name}={value}" for name, value in SESSION.items()]
    if named.get("options"):
        options.append(named["options"])
    settings = {
        **CONNECTION,
        "application_name": f"digest {__version__} ({os.getpid()})",
        **named,
        "options": " ".join(options),
        "client_encoding": "UTF8",  # whatever the surroundings say
    }
    session = psycopg.connect(*arguments, **settings)
    encoding = session.info.parameter_status("server_encoding")
    name = session.info.dbname
    if encoding not in (None, "UTF8"):  # None: a pooler did not pass it on
        session.close()
        raise StoreError(
            f"the database {name} has the encoding {encoding}, and Digest needs UTF8",
            hint="Make another with `createdb -E UTF8 -T template0 NAME`, and name it in url under"
            " [store].",
        )
    return session


def _leave_standby(context: ExceptionContext) -> None:
    """Drop every connection to a server that takes no writes any more.

    So the primary is found again.
    """
    if getattr(context.original_exception, "sqlstate", None) != _READ_ONLY:
        return
    wants_to_write = True
    if context.connection is not None:
        options = context.connection.get_execution_options()
        wants_to_write = not options.get("postgresql_readonly")
    if wants_to_write:
        context.is_disconnect = True


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *parts: SchemaItem, **options: Any) -> Table:  # noqa: ANN401 - Table's own
    """Return a table of this installation's database, listed in `metadata`."""
    return Table(name, metadata, *parts, **options)


class Moment(TypeDecorator[datetime]):
    """An aware moment in, the same moment in UTC out, on both databases."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the driver stores: UTC, without a zone if the database knows none."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone, so it is not a moment")
        moment = value if value.tzinfo is UTC else value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what was stored, aware, in UTC."""
        del dialect  # both store UTC; one of them just does not say so
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Sayings(TypeDecorator[Said]):
    """What is said, by its code and arguments; "" for nothing."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Said | None, dialect: Dialect) -> str | None:
        """Return what the driver stores: JSON, of texts that every database takes."""
        del dialect  # both store the same
        return None if value is None else value.change_texts(make_storable).dump()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Said | None:
        """Return what was stored."""
        del dialect
        return None if value is None else Said.parse(value)


def key(**options: Any) -> Column[int]:  # noqa: ANN401 - those of Column
    """Return the primary key `id`. With `autoincrement=False` we number it, else the database."""
    return Column("id", _BIG_INTEGER, primary_key=True, **options)


def name_key(name: str) -> Column[str]:
    """Return a column of texts that is the primary key, or a part of it."""
    return Column(name, Text, primary_key=True)


def reference(
    name: str,
    target: str,
    *,
    ondelete: str | None = None,
    **options: Any,  # noqa: ANN401 - those of Column
) -> Column[int]:
    """Return a column that names a row of another table by its `id`; not NULL by default.

    `ondelete`: what becomes of this row with that one; None refuses to delete that one.
    """
    key_of = ForeignKey(target, ondelete=ondelete)
    return Column(name, _BIG_INTEGER, key_of, **{"nullable": False, **options})


def _column_maker(kind: Any) -> Callable[..., Column[Any]]:  # noqa: ANN401 - any type of a column
    def make(name: str, **options: Any) -> Column[Any]:  # noqa: ANN401 - Column's own options
        return Column(name, kind, **{"nullable": False, **options})

    return make


# What makes a column by its name, not NULL unless its options say so.
text = _column_maker(Text)
said = _column_maker(Sayings)
flag = _column_maker(Boolean)
blob = _column_maker(LargeBinary)
json_value = _column_maker(JSON)
number = _column_maker(Integer)
"""Whole numbers that stay below two thousand million."""

big = _column_maker(_BIG_INTEGER)
"""Whole numbers that may grow for ever, such as another row's id."""

moment = _column_maker(Moment)
"""Moments of business time."""

seconds = _column_maker(Double)
"""Moments on the database's own clock, as seconds since 1970."""


def day(name: str) -> Column[date]:
    """Return a column of dates that may be NULL."""
    return Column(name, Date)


def partial_index(name: str, *columns: str, where: TextClause) -> Index:
    """Return an index of the rows that meet a condition, which is kept in its `info`.

    SQLAlchemy's own `postgresql_where` would have every start on SQLite load all of that dialect.
    """
    return Index(name, *columns, info={"where": where})
