"""From one database to another, whichever they are: every row of every table, or none.

The rows go in the order of their references, in batches, in one transaction of the target; what came out is
counted and held against every invariant on both sides before it is committed.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, text

from digest.errors import AnotherWorker, StoreError
from digest.store import migrating
from digest.store.engine import open_store
from digest.store.invariants import count_rows, find_violations, numbered_tables
from digest.store.postgresql import be_patient
from digest.store.schema import gate, installation, marks, metadata
from digest.store.worker import hold_worker
from digest.store.workers import list_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Table

    from digest.store.engine import Store
    from digest.store.invariants import Violation

_BATCH = 500
_BATCH_OF_PAGES = 8
"""A page of arXiv's may have megabytes."""

_SEEDED = (installation, marks, gate)
"""Tables that are never empty: what a new database holds is replaced."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied.

    Attributes:
        rows: how many rows of each table, by name; both sides hold as many.
    """

    rows: dict[str, int]

    @property
    def total(self) -> int:
        """How many rows there are altogether."""
        return sum(self.rows.values())


def copy_store(source: Store, url: str, tell: Callable[[str, int], None]) -> CopyReport:
    """Copy everything into an empty database; nothing may work on the source from then on.

    Both sides keep the installation's secret, so that links in messages sent long ago go on working.

    Args:
        source: where it works now.
        url: the new database; its tables are made.
        tell: is told a table's name and how many of its rows are through.

    Raises:
        AnotherWorker: a process works on one of the two.
        SchemaMismatch: a newer release wrote the source.
        StoreError: the target isn't empty or can't be written.
    """
    with ExitStack() as stack:
        stack.enter_context(hold_worker(source))
        target = open_store(url, create=True)
        stack.callback(target.close)
        if target.path is not None and source.path is not None and target.path.samefile(source.path):
            raise StoreError(f"{source.url_masked} can't be copied onto itself", hint="Name another database.")
        stack.enter_context(hold_worker(target))
        with target.begin() as into, source.begin() as out:
            refuse_filled(into, target.url_masked)
            migrating.refuse_other(out, source.url_masked)
            _hold_still(out, source)
            return copy_rows(out, into, tell)


def copy_rows(out: Connection, into: Connection, tell: Callable[[str, int], None]) -> CopyReport:
    """Copy every row, in the caller's two transactions.

    Args:
        out: a transaction on the source that sees one state throughout.
        into: a writing transaction on the target, which is empty; see `refuse_filled`.
        tell: is told a table's name and how many of its rows are through.

    Raises:
        StoreError: the two sides differ afterwards, or one of them breaks an invariant: roll back.
    """
    for side in (out, into):
        if side.dialect.name == "postgresql":
            be_patient(side)
    for table in reversed(_SEEDED):
        into.execute(table.delete())
    for table in metadata.sorted_tables:
        tell(table.name, 0)
        through = 0
        for batch in _read_batches(out, table):
            into.execute(insert(table), batch)
            through += len(batch)
            tell(table.name, through)
    if into.dialect.name == "postgresql":
        _set_sequences(into)
    before, after = count_rows(out), count_rows(into)
    if before != after:
        differing = ", ".join(
            f"{name} {before[name]:,}/{after[name]:,}" for name in before if before[name] != after[name]
        )
        raise StoreError(f"the copy does not hold what was copied: {differing}", hint="Nothing was changed.")
    refuse_violations(find_violations(out), "the source")
    refuse_violations(find_violations(into), "the copy")
    return CopyReport(after)


def refuse_filled(conn: Connection, where: str) -> None:
    """Refuse to copy into a database that holds something.

    Raises:
        StoreError: it does.
    """
    seeded = {table.name for table in _SEEDED}
    filled = [name for name, count in count_rows(conn).items() if count and name not in seeded]
    has_counted = conn.execute(select(func.coalesce(func.max(marks.c.value), 0))).scalar_one() > 0
    if filled or has_counted:
        raise StoreError(
            f"the database {where} is not empty: it holds {', '.join(filled) or 'marks'}",
            hint="Name a database without tables, or one that `digest migrate` has just made.",
        )


def refuse_violations(violations: list[Violation], what: str) -> None:
    """Refuse a database that breaks an invariant.

    Raises:
        StoreError: it does; each one is named.
    """
    if violations:
        broken = "; ".join(f"{violation.name}: {violation.count:,} break this" for violation in violations)
        raise StoreError(f"{what} is not sound: {broken}", hint="`digest db check` shows what is wrong.")


def _hold_still(conn: Connection, store: Store) -> None:
    """Let nobody write until a transaction ends; whatever is being sent right now must have ended.

    On SQLite a transaction that writes is alone anyway.

    Raises:
        AnotherWorker: a process works on it.
        StoreError: a message is on its way.
    """
    if store.dialect == "postgresql":
        names = ", ".join(table.name for table in metadata.sorted_tables)
        conn.execute(text(f"LOCK TABLE {names} IN SHARE MODE"))
        living = [worker for worker in list_workers(conn) if not worker.is_gone]
        if living:
            names = ", ".join(f"process {worker.pid} on {worker.host}" for worker in living)
            raise AnotherWorker(
                f"{store.url_masked} is worked on: {names}",
                hint="Stop every `digest serve` that works on it; one that died is forgotten after a minute.",
            )
        alive = "lease_until > extract(epoch FROM clock_timestamp())"
        working = text(f"SELECT count(*) FROM deliveries WHERE state IN ('claimed', 'sending') AND {alive}")
        busy = conn.execute(working).scalar_one()
        if busy:
            raise StoreError(
                f"{busy:,} messages are being sent from {store.url_masked} right now",
                hint="Stop every `digest serve` and `digest run` that works on it, then call this again.",
            )


def _read_batches(out: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    size = _BATCH_OF_PAGES if table.name == "raw_pages" else _BATCH
    rows = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=size)
    for batch in out.execute(rows).mappings().partitions():
        yield [dict(row) for row in batch]


def _set_sequences(conn: Connection) -> None:
    for table in numbered_tables():
        sequence = conn.execute(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')")).scalar()
        if sequence is not None:
            highest = conn.execute(select(func.max(table.c.id))).scalar()
            conn.execute(text(f"SELECT setval('{sequence}', {highest or 1}, {str(highest is not None).lower()})"))
