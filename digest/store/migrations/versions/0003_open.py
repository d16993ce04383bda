"""What stays open: turns whose papers were not checked, and deliveries that were refused.

Revision ID: 0003
Revises: 0002
"""  # noqa: INP001 - read by its path

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


_IS_OPEN = "state IN ('held', 'ready', 'claimed', 'sending', 'unknown')"


def upgrade() -> None:
    """Add the columns and their indexes.

    What was held before has no code, and waits for its operator.
    """
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("subscriptions", sa.Column("awaits_after", number))
    unchecked = sa.Column("unchecked", sa.Text, nullable=False, server_default="")
    op.add_column("subscriptions", unchecked)
    op.add_column("deliveries", sa.Column("refusal", sa.Text, nullable=True))
    op.add_column("deliveries", sa.Column("held_at", sa.DateTime(timezone=True), nullable=True))
    _add_index(
        "subscriptions", "ix_subscriptions_open", ["awaits_after"], "awaits_after IS NOT NULL"
    )
    refused = ("refusal", "destination", "id")
    _add_index(
        "deliveries",
        "ix_deliveries_refused",
        refused,
        f"refusal IN ('place', 'account') AND {_IS_OPEN}",
    )
    _add_index(
        "deliveries", "ix_deliveries_refused_account", ["id"], f"refusal = 'account' AND {_IS_OPEN}"
    )


def _add_index(table: str, name: str, columns: Sequence[str], which: str) -> None:
    where = sa.text(which)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
