"""What was checked: how far each look reached, ids that are missing, and arXiv's own listings.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from digest.store.schema import columns as col

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Widen the ledger of looks, date what is stored of papers, and make two tables."""
    for column in (
        col.number("requests", server_default="0"),
        col.number("lookback", server_default="0"),
        col.text("next_token", server_default=""),
        col.text("horizon", server_default=""),
    ):
        op.add_column("poll_runs", column)
    for late in (col.day("datestamp"), col.moment("as_of", nullable=True), col.day("mailing")):
        op.add_column("papers", late)
    op.create_index("ix_papers_mailing", "papers", ["mailing"])
    op.create_table(
        "gaps",
        sa.Column("month", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        col.text("state"),
        col.moment("missed_at"),
        col.number("asks"),
        col.moment("asked_at", nullable=True),
        col.moment("ended_at", nullable=True),
        col.text("reason"),
    )
    op.create_index("ix_gaps_state", "gaps", ["state"])
    op.create_table(
        "listings",
        col.key(),
        col.reference("run_id", "poll_runs.id"),
        sa.Column("mailing", sa.Date, nullable=False),
        col.text("subjects"),
        col.moment("fetched_at"),
        col.json("announced"),
    )
    op.create_index("ix_listings_run_id", "listings", ["run_id"])
    op.create_index("ix_listings_mailing", "listings", ["mailing"])


def downgrade() -> None:
    """Forget what was checked; what was found stays."""
    op.drop_table("listings")
    op.drop_table("gaps")
    op.drop_index("ix_papers_mailing", "papers")
    for name in ("mailing", "as_of", "datestamp"):
        op.drop_column("papers", name)
    for name in ("horizon", "next_token", "lookback", "requests"):
        op.drop_column("poll_runs", name)
