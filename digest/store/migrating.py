"""From one release's schema to the next: `digest migrate`, and the first start.

Revisions are numbered files in `migrations/versions`, one after the other. Alembic is loaded only where
there is something to do: every start asks for the revision, few change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Text, column, inspect, select, table
from sqlalchemy.exc import DBAPIError

from digest.errors import SchemaMismatch, StoreError
from digest.store.dialect import take_turn

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from digest.store.engine import Store

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK_KEY = 0x64696765
"""PostgreSQL's advisory lock under which migrations run; any number that nobody else uses."""

_revision_table = table("alembic_version", column("version_num", Text))


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration did: the revision `before` ("" for an empty database) and `after`."""

    before: str
    after: str


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


def check_revision(revision: str, where: str) -> None:
    """Refuse a schema that this release can't work with.

    Raises:
        SchemaMismatch: it is older, newer, or not there at all.
    """
    head = head_revision()
    if revision == head:
        return
    if not revision:
        raise SchemaMismatch(f"the database {where} holds no tables yet", hint="Run `digest migrate`.")
    if revision in known_revisions():
        raise SchemaMismatch(
            f"the database {where} is at revision {revision}, this release needs {head}",
            hint="Stop every Digest that uses it, make a backup, then run `digest migrate`.",
        )
    raise SchemaMismatch(
        f"the database {where} is at revision {revision}, which is newer than this release's {head}",
        hint="Install the release that wrote it, or a later one, or restore a backup made before.",
    )


def upgrade(store: Store) -> MigrationReport:
    """Bring a database to this release's schema, in one transaction and under a lock.

    Raises:
        SchemaMismatch: it was written by a newer release.
        StoreError: the tables can't be built.
    """
    with store.begin() as conn:
        take_turn(conn, _LOCK_KEY)
        before = current_revision(conn)
        if before and before not in known_revisions():
            check_revision(before, store.url_masked)
        try:
            _run(conn, "upgrade", head_revision())
        except DBAPIError as error:
            raise StoreError(
                f"the tables of {store.url_masked} can't be brought up to date: {error.orig}",
                hint="Nothing was changed. Does another application keep tables of the same names there?",
            ) from error
        return MigrationReport(before, current_revision(conn))


def downgrade(store: Store, revision: str) -> None:
    """Take a database back to an earlier revision ("base" for no tables), with what only later ones know lost."""
    with store.begin() as conn:
        take_turn(conn, _LOCK_KEY)
        _run(conn, "downgrade", revision)


def _run(conn: Connection, direction: str, revision: str) -> None:
    from alembic import command  # noqa: PLC0415 - takes a fifth of a second that most starts don't need

    config = _configure(conn)
    (command.upgrade if direction == "upgrade" else command.downgrade)(config, revision)


def _configure(conn: Connection) -> Config:
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    return config
