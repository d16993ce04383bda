"""What changed in a SQLite database since a copy of it, as statements of SQL; and a copy that is fit to travel.

The rendered bytes of messages stay at home: they are made again from the frozen digest. Their `media_type` says
that they were there. So do the processes at work, which the other side could not ask anyway.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

_STAYS = {"deliveries": ("body",)}
"""Columns that stay at home."""

_AT_HOME = ("workers", "job_turns")
"""Tables that stay at home."""


def copy_for_travel(path: Path, copy: Path) -> None:
    """Write a small copy of a database, without what stays at home, to a file that is not there yet."""
    with closing(sqlite3.connect(path)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as made:
        for table in _AT_HOME:
            made.execute(f"DELETE FROM {table}")
        for table, columns in _STAYS.items():
            for column in columns:
                made.execute(f"UPDATE {table} SET {column} = NULL")
        made.execute("VACUUM")


def write_differences(path: Path, base: Path) -> str | None:
    """Return the statements that make the database at a path of the copy `base`; None if the tables differ."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as conn:
        conn.execute("ATTACH ? AS base", (str(base),))
        conn.execute("BEGIN")
        if _list_tables(conn, "main") != _list_tables(conn, "base"):
            return None
        return "\n".join(line for name in _list_tables(conn, "main") for line in _compare(conn, name))


def apply_differences(path: Path, changes: str) -> None:
    """Run statements that `write_differences` wrote, all or none."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA foreign_keys=OFF")
        conn.executescript(f"BEGIN;\n{changes}\nCOMMIT;")


def _list_tables(conn: sqlite3.Connection, schema: str) -> dict[str, str]:
    """Return each table that travels, with the statement that made it."""
    found = conn.execute(f"SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table' ORDER BY name")
    return {name: sql for name, sql in found if name not in _AT_HOME and not name.startswith("sqlite_")}


def _compare(conn: sqlite3.Connection, table: str) -> Iterator[str]:
    columns = [(row[1], row[5]) for row in conn.execute(f"PRAGMA main.table_info({table})")]
    kept = [f'"{name}"' for name, _ in columns if name not in _STAYS.get(table, ())]
    keys = [f'"{name}"' for name, place in columns if place] or kept
    here, there = (f"SELECT {', '.join(kept)} FROM {schema}.{table}" for schema in ("main", "base"))
    where = " || ' AND ' || ".join(f"'{name} = ' || quote({name})" for name in keys)
    for (condition,) in conn.execute(f"SELECT {where} FROM ({there} EXCEPT {here})"):
        yield f"DELETE FROM {table} WHERE {condition};"
    values = " || ', ' || ".join(f"quote({name})" for name in kept)
    for (row,) in conn.execute(f"SELECT {values} FROM ({here} EXCEPT {there})"):
        yield f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({row});"
