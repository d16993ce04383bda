"""How digests read: what papers stand under, how much of a change is told, and what one day a week brings.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what only this release writes; for the release before, every digest reads as it did."""
    op.add_column("subscriptions", col.text("group_by", server_default="kind"))
    op.add_column("subscriptions", col.text("replacements", server_default="folded"))
    op.add_column("subscriptions", col.text("weekly", server_default="round-up"))


def downgrade() -> None:
    """Forget how digests are to read."""
    for column in ("weekly", "replacements", "group_by"):
        op.drop_column("subscriptions", column)
