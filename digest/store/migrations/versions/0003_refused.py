"""What a delivery was refused for, and since when it has been held for that.

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

_IS_OPEN = "state IN ('held', 'ready', 'claimed', 'sending', 'unknown')"


def upgrade() -> None:
    """Add the two columns and their indexes.

    What was held before has no code, and waits for its operator.
    """
    op.add_column("deliveries", sa.Column("refusal", sa.Text, nullable=True))
    op.add_column("deliveries", sa.Column("held_at", sa.DateTime(timezone=True), nullable=True))
    _add_index("ix_deliveries_refused", ["refusal", "destination", "id"], "IN ('place', 'account')")
    _add_index("ix_deliveries_refused_account", ["id"], "= 'account'")


def _add_index(name: str, columns: list[str], refusal: str) -> None:
    which = sa.text(f"refusal {refusal} AND {_IS_OPEN}")
    op.create_index(name, "deliveries", columns, sqlite_where=which, postgresql_where=which)
