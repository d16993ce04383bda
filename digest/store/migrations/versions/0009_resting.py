"""What waits for the end of its reader's quiet hours says so.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add until when a delivery was put off; of what waits already nobody knows why, until it is claimed again.

    The release before goes on putting off without a word of it: what it does counts as late an hour after it was
    planned, as ever.
    """
    op.add_column("deliveries", col.moment("quiet_until", nullable=True))


def downgrade() -> None:
    """Forget why deliveries wait; they do so all the same."""
    op.drop_column("deliveries", "quiet_until")
