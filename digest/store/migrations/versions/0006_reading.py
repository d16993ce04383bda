"""How digests read, feeds of saved queries, and digests in several messages.

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
    """Add what only this release writes.

    For the release before, every digest reads as it did, and columns it knows nothing of have their defaults. A
    feed whose address was changed before has no moment for it, and matches of that release are told apart by
    having no `brought`: it gave all papers of a run one moment in feeds, and there they stay.
    """
    op.add_column("subscriptions", col.text("group_by", server_default="kind"))
    op.add_column("subscriptions", col.text("replacements", server_default="folded"))
    op.add_column("subscriptions", col.text("weekly", server_default="round-up"))
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
    op.add_column("matches", col.blob("brought", nullable=True))
    op.add_column("deliveries", col.text("share", server_default=""))
    op.add_column("deliveries", col.big("replaces", server_default="0"))


def downgrade() -> None:
    """Forget how digests are to read, which saved queries have feeds, and which papers a message tells."""
    for column in ("replaces", "share"):
        op.drop_column("deliveries", column)
    op.drop_column("matches", "brought")
    op.drop_table("query_feeds")
    for column in ("feed_rotated_at", "weekly", "replacements", "group_by"):
        op.drop_column("subscriptions", column)
