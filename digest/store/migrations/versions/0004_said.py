"""What is said of deliveries and of checks has a code. What was said before keeps its words.

Revision ID: 0004
Revises: 0003
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("deliveries", "last_error"),
    ("attempts", "detail"),
    ("poll_runs", "failure"),
)

_CODES = (
    ("deliveries", "last_error", "the subscription has ended", "has ended"),
    ("poll_runs", "failure", "the process ended before the run did", "check abandoned"),
)
"""By what was decided before: its words, and its code."""

_EARLIER_PART = re.compile(r"part (\d+) was not sent: (.*)", re.DOTALL)


def upgrade() -> None:
    """Write each text as the argument of a code, and give a code to what has one."""
    conn = op.get_bind()
    make_array = "json_array(%s)" if conn.dialect.name == "sqlite" else "json_build_array(%s)::text"
    for table, column in _COLUMNS:
        words = make_array % f"'words', {column}"
        conn.exec_driver_sql(f"UPDATE {table} SET {column} = {words} WHERE {column} <> ''")
    for table, column, sentence, code in _CODES:
        words = make_array % f"'words', '{sentence}'"
        conn.exec_driver_sql(
            f"UPDATE {table} SET {column} = '[\"{code}\"]' WHERE {column} = {words}"
        )
    _split_earlier_parts(conn)


def _split_earlier_parts(conn: sa.Connection) -> None:
    """Part what ended with a part before it from why that was not sent."""
    last_error = sa.column("last_error", sa.Text)
    deliveries = sa.table("deliveries", last_error)
    found = sa.select(last_error).where(last_error.like('["words",%"part %')).distinct()
    for stored in conn.execute(found).scalars().all():
        _, text = json.loads(stored)
        split = json.dumps(_split(text), ensure_ascii=False)
        change = sa.update(deliveries).where(last_error == stored).values(last_error=split)
        conn.execute(change)


def _split(text: str) -> list[object]:
    earlier = _EARLIER_PART.fullmatch(text)
    return ["earlier part", earlier[1], _split(earlier[2])] if earlier else ["words", text]
