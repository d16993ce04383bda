"""Rows written in bulk by the database itself, to measure among many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Integer, insert, literal, select, text

from digest.store.dialect import be_patient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table

    from digest.store import Store


def numbers(count: int, start: int = 1) -> ColumnElement[int]:
    """Return the column of so many numbers in a row."""
    first = select(literal(start, Integer).label("n")).cte("numbers", recursive=True)
    return first.union_all(select(first.c.n + 1).where(first.c.n < start + count - 1)).c.n


def fill(store: Store, table: Table, n: ColumnElement[int], row: Mapping[str, object]) -> None:
    """Write a row for each number, made by the database itself.

    Args:
        store: where to.
        table: the table.
        n: `numbers`.
        row: its columns, each a value or an expression of the number; what it leaves out is empty or nought.
    """
    needed = [column for column in table.c if not column.nullable and column.name not in {"id", *row}]
    row = {column.name: "" if column.type.python_type is str else 0 for column in needed} | dict(row)
    said = [
        value if isinstance(value, ColumnElement) else literal(value, table.c[name].type)
        for name, value in row.items()
    ]
    with store.begin() as conn:
        if store.dialect == "postgresql":
            be_patient(conn)
        conn.execute(insert(table).from_select(list(row), select(*said).select_from(n.table)))


def settle(store: Store) -> None:
    """Let PostgreSQL look at what was written in bulk, as its autovacuum does within a minute."""
    if store.dialect == "postgresql":
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("SET statement_timeout = 0"))
            conn.execute(text("VACUUM ANALYZE"))
