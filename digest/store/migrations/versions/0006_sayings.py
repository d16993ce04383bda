"""What is said of readers, gaps, jobs and alarms has a code. What was said keeps its words.

Revision ID: 0006
Revises: 0005
"""  # noqa: INP001 - read by its path

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("suppressions", "reason"),
    ("subscription_destinations", "reason"),
    ("gaps", "reason"),
    ("job_turns", "trouble"),
    ("alarms", "detail"),
)

_CODES = (
    ("it was taken out of the subscription", "not named"),
    ("refused in three digests in a row", "refused in a row"),
    ("operator", "operator"),
)
"""By what was decided before of a destination: its words, and its code."""


def upgrade() -> None:
    """Write each text as the argument of a code, and give a code to what has one."""
    conn = op.get_bind()
    make_array = "json_array(%s)" if conn.dialect.name == "sqlite" else "json_build_array(%s)::text"
    for table, column in _COLUMNS:
        known = [f"WHEN '{words}' THEN '[\"{code}\"]'" for words, code in _CODES]
        others = make_array % f"'words', {column}"
        said = f"CASE {column} {' '.join(known)} ELSE {others} END"
        conn.exec_driver_sql(f"UPDATE {table} SET {column} = {said} WHERE {column} <> ''")
