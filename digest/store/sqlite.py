"""What goes to SQLite's driver as it was compiled once: for what is written once a message."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from sqlite3 import Connection as Session

    from sqlalchemy import Engine, UpdateBase

NORMAL, FULL = 1, 2
"""Values of `PRAGMA synchronous` (https://sqlite.org/pragma.html#pragma_synchronous)."""


def set_modes(say: Callable[[str], object], known: dict[str, Any], *, is_reading: bool, awaits_disk: bool) -> None:
    """Say whether the next transaction only reads, and whether it waits for the disk, where that is news.

    Args:
        say: runs a statement on a connection outside a transaction.
        known: what was said to it before; lives as long as the driver's connection does.
        is_reading: nothing can be written.
        awaits_disk: its commit outlives a cut of the power.
    """
    modes = is_reading, awaits_disk
    if known.get("modes") != modes:
        known.pop("modes", None)  # where one of the two fails, nothing is known
        say(f"PRAGMA query_only={int(is_reading)}")
        say(f"PRAGMA synchronous={FULL if awaits_disk else NORMAL}")
        known["modes"] = modes


def run_alone(
    engine: Engine, statements: Sequence[UpdateBase], values: Mapping[str, Any], *, awaits_disk: bool
) -> bool:
    """Run a few changes as one transaction: a fifth of what it takes through SQLAlchemy.

    Args:
        engine: whose connections are used.
        statements: changes; the first returns a row where it holds, and without one nothing is changed.
        values: for all of them.
        awaits_disk: as `set_modes`.

    Returns:
        Whether the first held.

    Raises:
        DBAPIError: it failed, and nothing is changed.
    """
    (first, *others), lent = statements, None
    try:
        lent = engine.raw_connection()
        session: Session = lent.driver_connection  # type: ignore[assignment, unused-ignore]  # it is SQLite's
        set_modes(session.execute, lent.info, is_reading=False, awaits_disk=awaits_disk)
        session.execute("BEGIN IMMEDIATE")
        holds = session.execute(*_bind(first, values)).fetchall()
        for statement in others if holds else ():
            session.execute(*_bind(statement, values))
        session.commit()
    except engine.dialect.loaded_dbapi.Error as error:  # also where a connection can't be opened just now
        raise DBAPIError.instance(str(first), None, error, engine.dialect.loaded_dbapi.Error) from error
    finally:
        if lent is not None:
            lent.close()  # rolls back what is left open
    return bool(holds)


def _bind(statement: UpdateBase, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a statement as the driver reads it, with its values as the driver takes them."""
    sql, constants, processors = _compile(statement)
    bound = {name: values[name] if process is None else process(values[name]) for name, process in processors}
    return sql, constants | bound


@cache
def _compile(
    statement: UpdateBase,
) -> tuple[str, dict[str, Any], tuple[tuple[str, Callable[[Any], Any] | None], ...]]:
    """Return a statement's text, its values that are always the same, and what makes the others the driver's."""
    dialect = sqlite.dialect(paramstyle="named")
    compiled = statement.compile(dialect=dialect)
    constants, processors = {}, []
    for name, parameter in compiled.binds.items():
        process = parameter.type.dialect_impl(dialect).bind_processor(dialect)
        if parameter.required:
            processors.append((name, process))
        else:
            constants[name] = parameter.value if process is None else process(parameter.value)
    return str(compiled), constants, tuple(processors)
