"""Digests in several messages: which papers each of them tells, and what it came in place of.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what only this release writes; columns the one before knows nothing of have their defaults."""
    op.add_column("deliveries", col.text("share", server_default=""))
    op.add_column("deliveries", col.big("replaces", server_default="0"))


def downgrade() -> None:
    """Forget which papers a message tells: the release before works it out anew."""
    for column in ("replaces", "share"):
        op.drop_column("deliveries", column)
