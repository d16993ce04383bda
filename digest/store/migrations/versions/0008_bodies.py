"""what the mails of a digest share is stored once. What was stored before stays whole.

Revision ID: 0008
Revises: 0005
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, and the column that names a row of it."""
    content = sa.Column("content", sa.LargeBinary, nullable=False)
    op.create_table("bodies", sa.Column("hash", sa.Text, primary_key=True), content)
    op.get_bind().exec_driver_sql(
        "ALTER TABLE deliveries ADD COLUMN shared TEXT"
        " CONSTRAINT fk_deliveries_shared REFERENCES bodies (hash)"
    )
    where = sa.text("shared IS NOT NULL")
    op.create_index(
        "ix_deliveries_shared",
        "deliveries",
        ["shared"],
        sqlite_where=where,
        postgresql_where=where,
    )
