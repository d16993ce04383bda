"""What was excluded: papers and queries that a subscription never wants to hear of.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let a subscription keep what it excludes; until it says so, that is nothing."""
    op.add_column("subscriptions", col.text("exclude_queries", server_default=""))
    op.add_column("subscriptions", col.text("exclude_papers", server_default=""))


def downgrade() -> None:
    """Forget what was excluded."""
    op.drop_column("subscriptions", "exclude_papers")
    op.drop_column("subscriptions", "exclude_queries")
