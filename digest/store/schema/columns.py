"""The kinds of columns there are, so that a table reads as a list of what it holds.

A column refuses NULL unless it says `nullable=True`; what is not known is "" or 0 where that is
unambiguous.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    TypeDecorator,
)

if TYPE_CHECKING:
    from sqlalchemy import TextClause
    from sqlalchemy.engine import Dialect

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Moment(TypeDecorator[datetime]):
    """An aware moment in, the same moment in UTC out, on both databases."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the driver stores: UTC, without a zone where the database knows none."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} names no time zone, so it is no moment")
        moment = value if value.tzinfo is UTC else value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what was stored, aware, in UTC."""
        del dialect  # both store UTC; one of them just does not say so
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Big = BigInteger().with_variant(Integer, "sqlite")
"""64 bits on both: only `INTEGER` gives SQLite's keys their numbers by themselves."""


def key() -> Column[int]:
    """Return the primary key `id`, numbered by the database."""
    return Column("id", Big, primary_key=True)


def explicit_key() -> Column[int]:
    """Return the primary key `id`, numbered by us."""
    return Column("id", Big, primary_key=True, autoincrement=False)


def name_key(name: str) -> Column[str]:
    """Return a primary key, or a part of one, that is a text."""
    return Column(name, Text, primary_key=True)


def reference(name: str, target: str, **options: Any) -> Column[int]:  # noqa: ANN401 - Column's own options
    """Return a foreign key to another table's `id`."""
    return Column(name, Big, ForeignKey(target), **{"nullable": False, **options})


def text(name: str, **options: Any) -> Column[str]:  # noqa: ANN401 - Column's own options
    """Return a text of any length."""
    return Column(name, Text, **{"nullable": False, **options})


def number(name: str, **options: Any) -> Column[int]:  # noqa: ANN401 - Column's own options
    """Return a whole number that stays below two thousand million."""
    return Column(name, Integer, **{"nullable": False, **options})


def big(name: str, **options: Any) -> Column[int]:  # noqa: ANN401 - Column's own options
    """Return a whole number that may grow for ever, such as another row's id."""
    return Column(name, Big, **{"nullable": False, **options})


def moment(name: str, **options: Any) -> Column[datetime]:  # noqa: ANN401 - Column's own options
    """Return a moment of business time."""
    return Column(name, Moment, **{"nullable": False, **options})


def day(name: str) -> Column[date]:
    """Return a date, NULL where there is none."""
    return Column(name, Date)


def seconds(name: str, **options: Any) -> Column[float]:  # noqa: ANN401 - Column's own options
    """Return a moment on the database's own clock, as seconds since 1970."""
    return Column(name, Double, **{"nullable": False, **options})


def flag(name: str) -> Column[bool]:
    """Return yes or no."""
    return Column(name, Boolean, nullable=False)


def blob(name: str, **options: Any) -> Column[bytes]:  # noqa: ANN401 - Column's own options
    """Return bytes."""
    return Column(name, LargeBinary, **{"nullable": False, **options})


def json(name: str) -> Column[Any]:
    """Return a small structure kept as JSON text."""
    return Column(name, JSON, nullable=False)


def partial_index(name: str, *columns: str, where: TextClause) -> Index:
    """Return an index of the rows that meet a condition, which stands in its `info`.

    SQLAlchemy's own `postgresql_where` would have every start on SQLite load all of that dialect.
    """
    return Index(name, *columns, info={"where": where})
