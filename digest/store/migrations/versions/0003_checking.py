"""What was checked: how far each look reached, ids that are missing, and arXiv's own listings.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from digest.announcements import latest_mailing
from digest.store.schema import columns as col

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_LAST_LOOKS = 50
"""So many reach further back than any mailing is judged by."""

_runs = sa.table(
    "poll_runs",
    sa.column("id", sa.BigInteger),
    sa.column("source", sa.Text),
    sa.column("outcome", sa.Text),
    sa.column("started_at", col.Moment),
    sa.column("highest_id", sa.Text),
)
_papers = sa.table(
    "papers",
    sa.column("id", sa.BigInteger),
    sa.column("arxiv_id", sa.Text),
    sa.column("archive", sa.Text),
    sa.column("month", sa.Integer),
    sa.column("number", sa.Integer),
    sa.column("first_run_id", sa.BigInteger),
    sa.column("mailing", sa.Date),
)
_changes = sa.table("changes", sa.column("paper_id", sa.BigInteger), sa.column("kind", sa.Text))


def upgrade() -> None:
    """Widen the ledger of looks, date what is stored of papers, and make two tables.

    What earlier releases found as new is dated by when they found it, so that it is not counted to the next
    mailing; and the newest paper is noted of their last looks, so that the next one shows whether it is newer.
    """
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
    conn = op.get_bind()
    _date_what_was_new(conn)
    _note_how_far_looks_went(conn)


def _date_what_was_new(conn: sa.Connection) -> None:
    is_new = sa.exists().where(_changes.c.paper_id == _papers.c.id, _changes.c.kind == "new")
    finders = sa.select(_runs.c.id, _runs.c.started_at).where(
        _runs.c.id.in_(sa.select(_papers.c.first_run_id).distinct())
    )
    for run in conn.execute(finders).all():
        brought = sa.update(_papers).where(_papers.c.first_run_id == run.id, is_new)
        conn.execute(brought.values(mailing=latest_mailing(run.started_at)))


def _note_how_far_looks_went(conn: sa.Connection) -> None:
    looks = (
        sa.select(_runs.c.id)
        .where(_runs.c.source == "harvest", _runs.c.outcome == "complete", _runs.c.highest_id == "")
        .order_by(_runs.c.id.desc())
        .limit(_LAST_LOOKS)
    )
    for run_id in conn.execute(looks).scalars().all():
        newest = (
            sa.select(_papers.c.arxiv_id)
            .where(_papers.c.archive == "", _papers.c.first_run_id <= run_id)
            .order_by(_papers.c.month.desc(), _papers.c.number.desc())
            .limit(1)
        )
        highest = conn.execute(newest).scalar()
        if highest is not None:
            conn.execute(sa.update(_runs).where(_runs.c.id == run_id).values(highest_id=highest))


def downgrade() -> None:
    """Forget what was checked; what was found stays."""
    op.drop_table("listings")
    op.drop_table("gaps")
    op.drop_index("ix_papers_mailing", "papers")
    for name in ("mailing", "as_of", "datestamp"):
        op.drop_column("papers", name)
    for name in ("horizon", "next_token", "lookback", "requests"):
        op.drop_column("poll_runs", name)
