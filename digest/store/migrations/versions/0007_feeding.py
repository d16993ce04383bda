"""Feeds of saved queries, and since when a feed's address before the present one is void.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what only this release writes; a feed whose address was changed before has no moment for it."""
    op.add_column("subscriptions", col.moment("feed_rotated_at", nullable=True))
    op.create_table(
        "query_feeds",
        col.reference("query_id", "saved_queries.id", primary_key=True),
        col.number("generation"),
        col.moment("opened_at"),
        col.moment("rotated_at", nullable=True),
        col.moment("revoked_at", nullable=True),
        col.blob("first_look"),
    )


def downgrade() -> None:
    """Forget which saved queries have feeds."""
    op.drop_table("query_feeds")
    op.drop_column("subscriptions", "feed_rotated_at")
