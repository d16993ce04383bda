"""Hands rows by the thousand to the driver as it takes them.

SQLAlchemy looks at each value of each row, which takes longer than the database takes to keep them. Here
PostgreSQL is given each column as one array, and SQLite's driver the rows as they are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import ARRAY, bindparam, func, select, update
from sqlalchemy import column as column_clause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Column, Connection, Table, Update
    from sqlalchemy.dialects.postgresql import Insert
    from sqlalchemy.sql.base import ReadOnlyColumnCollection

    Row = tuple[Any, ...]


class ManyRows:
    """An INSERT of many rows of one table.

    Args:
        table: which.
        own: names of the columns that differ from row to row, in the order of a row's values.
        shared: names of those that are the same for all.
        unless: names of the columns of a key: a row whose key is there already is left out; () for none.
    """

    def __init__(
        self, table: Table, own: Sequence[str], shared: Sequence[str] = (), *, unless: Sequence[str] = ()
    ) -> None:
        self._table = table
        self._own = tuple(table.c[name] for name in own)
        self._shared = tuple(table.c[name] for name in shared)
        self._unless = tuple(unless)

    def insert(self, conn: Connection, rows: Sequence[Row], **shared: Any) -> None:  # noqa: ANN401 - any column's
        """Keep rows, in their order."""
        if not rows:
            return
        if conn.dialect.name == "postgresql":
            conn.execute(self._at_once, _turn(self._own, rows) | shared)
            return
        (same,) = _bind_rows(conn, self._shared, [tuple(shared[column.name] for column in self._shared)])
        conn.exec_driver_sql(self._each, [(*row, *same) for row in _bind_rows(conn, self._own, rows)])

    def number(self, conn: Connection, rows: Sequence[Row], **shared: Any) -> dict[Any, int]:  # noqa: ANN401 - as above
        """Keep rows, in their order; return the ids of those that were not there yet, by a row's first value."""
        if not rows:
            return {}
        id_, first = self._table.c.id, self._own[0]
        if conn.dialect.name == "postgresql":
            added = conn.execute(self._at_once.returning(id_, first), _turn(self._own, rows) | shared)
        else:
            # Nobody else writes meanwhile, and new ids are greater than all before them.
            last = conn.execute(select(func.max(id_))).scalar() or 0
            self.insert(conn, rows, **shared)
            added = conn.execute(select(id_, first).where(id_ > last).order_by(id_))
        return {value: int(number) for number, value in added.all()}

    @cached_property
    def _at_once(self) -> Insert:
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - SQLite works without, and starts sooner

        columns = (*self._own, *self._shared)
        given = _unnest(self._own)
        same = [bindparam(column.name, type_=column.type) for column in self._shared]
        statement = postgresql.insert(self._table).from_select(
            [column.name for column in columns],
            select(*(given[column.name] for column in self._own), *same),
            include_defaults=False,
        )
        return statement.on_conflict_do_nothing(index_elements=self._unless) if self._unless else statement

    @cached_property
    def _each(self) -> str:
        names = [column.name for column in (*self._own, *self._shared)]
        unless = f" ON CONFLICT ({', '.join(self._unless)}) DO NOTHING" if self._unless else ""
        values = ", ".join("?" * len(names))
        return f"INSERT INTO {self._table.name} ({', '.join(names)}) VALUES ({values}){unless}"


class ManyTakes:
    """An UPDATE of many rows of one table, each found by its key, whose `taken` column is empty and is filled in.

    Args:
        table: which.
        taken: the name of the column.
        key: the names of the key's columns.
    """

    def __init__(self, table: Table, taken: str, key: Sequence[str]) -> None:
        self._table = table
        self._taken = table.c[taken]
        self._key = tuple(table.c[name] for name in key)

    def take(self, conn: Connection, rows: Sequence[Row]) -> int:
        """Fill in; return how many were empty.

        Args:
            conn: a writing transaction.
            rows: what is filled in, and the key.
        """
        if not rows:
            return 0
        if conn.dialect.name == "postgresql":
            return conn.execute(self._at_once, _turn((self._taken, *self._key), rows)).rowcount
        return conn.exec_driver_sql(self._each, list(rows)).rowcount

    @cached_property
    def _at_once(self) -> Update:
        given = _unnest((self._taken, *self._key))
        found = [column == given[column.name] for column in self._key]
        return (
            update(self._table).where(*found, self._taken.is_(None)).values({self._taken: given[self._taken.name]})
        )

    @cached_property
    def _each(self) -> str:
        key = " AND ".join(f"{column.name} = ?" for column in self._key)
        name = self._taken.name
        return f"UPDATE {self._table.name} SET {name} = ? WHERE {key} AND {name} IS NULL"


def _unnest(columns: Sequence[Column[Any]]) -> ReadOnlyColumnCollection[str, Any]:
    """Return the columns of a table that PostgreSQL makes of arrays, parameters that `_turn` names."""
    arrays = [bindparam(f"all_{column.name}", type_=ARRAY(column.type)) for column in columns]
    given = [column_clause(column.name, column.type) for column in columns]
    return func.unnest(*arrays).table_valued(*given).render_derived(name="given").c


def _turn(columns: Sequence[Column[Any]], rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows as an array of each column."""
    return {
        f"all_{column.name}": list(values) for column, values in zip(columns, zip(*rows, strict=True), strict=True)
    }


def _bind_rows(conn: Connection, columns: Sequence[Column[Any]], rows: Sequence[Row]) -> Sequence[Row]:
    """Return rows as SQLite's driver takes them: the same ones, where no value has to be written otherwise."""
    binds = [_find_bind(conn, column) for column in columns]
    if not any(binds):
        return rows
    return [
        tuple([value if bind is None else bind(value) for bind, value in zip(binds, row, strict=True)])
        for row in rows
    ]


def _find_bind(conn: Connection, column: Column[Any]) -> Callable[[Any], Any] | None:
    return column.type.dialect_impl(conn.dialect).bind_processor(conn.dialect)
