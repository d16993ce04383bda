"""Make the tables of a new database, and bring those of an older release up to this one.

A new database gets the tables of `schema` as they stand, marked with the newest revision. Revisions are numbered
files in `migrations/versions`, one after the other, and change a database that is there. Alembic is loaded only
where there is something to do: every start asks for the revision, few change it.

Replicas are replaced one by one, so a schema has to serve two releases for a while: a revision *expands*
(tables, and columns with a default), fills what it added, and leaves everything else as it is. What the
release before still uses is *contracted* away by a revision of a later release, which then writes its own
number to `installation.works_from`: the oldest revision whose code may work on the schema as it stands.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Text, column, insert, inspect, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable

from digest.model.clock import SystemClock
from digest.model.errors import SchemaMismatch, StoreBusy, StoreError
from digest.store.dialect import metadata, take_turn
from digest.store.schema import gate, installation, marks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from digest.store.engine import Store

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK_KEY = 0x64696765
"""PostgreSQL's advisory lock under which migrations run; any number that nobody else uses."""

_ATTEMPTS = 20
_PAUSE = 1.0
_TABLE_PATIENCE = "3s"
"""How often, after how many seconds, and how long a table is asked for that others use: those who work on the
tables of the release before may hold one of them and want another, and the database then lets one of both go."""

_revision_table = table("alembic_version", column("version_num", Text))


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration did: the revision `before` ("" for an empty database) and `after`."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Schema:
    """How a database's tables stand.

    Attributes:
        revision: theirs, "" where there are none.
        works_from: of tables newer than this release, the oldest revision whose code may work on them; ""
            where none is named.
    """

    revision: str
    works_from: str = ""


def head_revision() -> str:
    """Return the revision this release works with."""
    return known_revisions()[-1]


def known_revisions() -> tuple[str, ...]:
    """Return every revision this release knows, oldest first."""
    files = (MIGRATIONS / "versions").glob("[0-9]*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def current_revision(conn: Connection) -> str:
    """Return the revision a database is at, "" where it holds no tables of ours."""
    if not inspect(conn).has_table(_revision_table.name):
        return ""
    return str(conn.execute(select(_revision_table.c.version_num)).scalar() or "")


def load_schema(conn: Connection) -> Schema:
    """Return how a database's tables stand."""
    revision = current_revision(conn)
    if not revision or revision in known_revisions():
        return Schema(revision)
    is_ours = inspect(conn).has_table(installation.name)
    works_from = conn.execute(select(installation.c.works_from)).scalar() if is_ours else None
    return Schema(revision, works_from or "")


def is_older(schema: Schema) -> bool:
    """Whether `upgrade` would bring a schema forward."""
    return schema.revision in known_revisions()[:-1]


def check_schema(schema: Schema, where: str) -> None:
    """Refuse a schema that this release can't work with.

    Raises:
        SchemaMismatch: it is older, too new, or not there at all.
    """
    head = head_revision()
    if schema.revision == head or (schema.works_from and schema.works_from <= head):
        return
    if not schema.revision:
        raise SchemaMismatch(f"the database {where} holds no tables yet", hint="Run `digest migrate`.")
    if is_older(schema):
        raise SchemaMismatch(
            f"the database {where} is at revision {schema.revision}, this release needs {head}",
            hint="Make a backup, then run `digest migrate`; what runs on PostgreSQL meanwhile may go on.",
        )
    least = f", and works with releases from {schema.works_from} on" if schema.works_from else ""
    raise SchemaMismatch(
        f"the database {where} is at revision {schema.revision}, which is newer than this release's {head}{least}",
        hint="Install the release that wrote it, or a later one, or restore a backup made before.",
    )


def refuse_other(conn: Connection, where: str) -> None:
    """Refuse a schema that is not exactly this release's: a newer one can be worked with, but not copied whole.

    Raises:
        SchemaMismatch: it is another one.
    """
    revision, head = current_revision(conn), head_revision()
    if revision != head:
        raise SchemaMismatch(
            f"{where} is at revision {revision or 'none'}, and this release knows all of {head} only",
            hint="Do this with the release that wrote it, or a later one: nothing would be left out then.",
        )


def upgrade(store: Store) -> MigrationReport:
    """Bring a database to this release's schema, in one transaction and under a lock.

    A newer one that this release may work on stays as it is.

    Raises:
        SchemaMismatch: a newer release wrote it, and this one can't work on it.
        StoreBusy: others use its tables so much that they can't be changed.
        StoreError: the tables can't be built.
    """
    for _ in range(_ATTEMPTS if store.dialect == "postgresql" else 0):
        with contextlib.suppress(StoreBusy):
            return _upgrade_once(store)
        SystemClock().sleep(_PAUSE)
    return _upgrade_once(store)


def _upgrade_once(store: Store) -> MigrationReport:
    from digest.store.engine import is_busy  # noqa: PLC0415 - each of the two needs the other

    with store.begin() as conn:
        take_turn(conn, _LOCK_KEY)
        if store.dialect == "postgresql":
            # Whoever works meanwhile queues up behind a table that is asked for: better to let go and ask anew.
            conn.execute(text(f"SET LOCAL lock_timeout = '{_TABLE_PATIENCE}'"))
        schema = load_schema(conn)
        before = schema.revision
        if before and before not in known_revisions():
            check_schema(schema, store.url_masked)
            return MigrationReport(before, before)
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
                f"the tables of {store.url_masked} can't be brought up to date: {error.orig}",
                hint="Nothing was changed. Does another application keep tables of the same names there?",
            ) from error
        return MigrationReport(before, current_revision(conn))


def _make_tables(conn: Connection) -> None:
    for made in metadata.sorted_tables:
        conn.execute(CreateTable(made))
        for index in made.indexes:
            where = f" WHERE {index.info['where']}" if "where" in index.info else ""
            conn.execute(text(f"{CreateIndex(index).compile(conn)}{where}"))
    if conn.dialect.name == "postgresql":
        # Compressing a mail of 90 KB takes 1.5 ms before it can go out, and bodies are kept for days only.
        conn.execute(text("ALTER TABLE deliveries ALTER COLUMN body SET STORAGE EXTERNAL"))
    conn.execute(insert(marks), [{"name": "changes", "value": 0}, {"name": "matched", "value": 0}])
    idle = dict.fromkeys(gate.c.keys(), 0)
    conn.execute(insert(gate).values(**idle | {"name": "arxiv", "holder": "", "breaker_reason": ""}))
    conn.execute(
        insert(installation).values(
            id=1,
            secret=secrets.token_urlsafe(32),
            created_at=SystemClock().now(),
        )
    )


def _run_alembic(conn: Connection, what: Literal["upgrade", "stamp"]) -> None:
    from alembic import command  # noqa: PLC0415 - takes a fifth of a second that most starts don't need
    from alembic.config import Config  # noqa: PLC0415 - the same

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    (command.upgrade if what == "upgrade" else command.stamp)(config, head_revision())
