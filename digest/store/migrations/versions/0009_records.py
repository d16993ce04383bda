"""what a harvest's record was is kept with its paper, so that it need not be read twice.

Revision ID: 0009
Revises: 0005
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the hashes of records; nothing is known of those that came before."""
    op.add_column("papers", sa.Column("record_hash", sa.LargeBinary, nullable=True))
