"""What stays of forgotten papers is packed by month; the next checks move it there.

Revision ID: 0002
Revises: 0001
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables."""
    month = sa.Column("month", sa.Integer, primary_key=True, autoincrement=False)
    packed = sa.Column("papers", sa.LargeBinary, nullable=False)
    op.create_table("forgotten", sa.Column("archive", sa.Text, primary_key=True), month, packed)
    count = sa.Column("papers", sa.Integer, nullable=False)
    op.create_table("forgotten_days", sa.Column("announcement", sa.Date, primary_key=True), count)
