"""A turn stays open while what was announced by then is not checked; one that closed so is told.

Revision ID: 0003
Revises: 0002
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let each subscription keep what it needs for that."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("subscriptions", sa.Column("awaits_after", number))
    unchecked = sa.Column("unchecked", sa.Text, nullable=False, server_default="")
    op.add_column("subscriptions", unchecked)
    is_open = sa.text("awaits_after IS NOT NULL")
    op.create_index(
        "ix_subscriptions_open",
        "subscriptions",
        ["awaits_after"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
