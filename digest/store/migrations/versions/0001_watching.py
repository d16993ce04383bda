"""What arXiv announced, and how it was asked.

Revision ID: 0001
Revises: nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from digest.store.schema import columns as col

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "gate",
    "requests",
    "quarantine",
    "raw_pages",
    "cursors",
    "poll_runs",
    "marks",
    "changes",
    "versions",
    "papers",
)
"""In the order they can be dropped."""


def upgrade() -> None:
    """Make the tables, and the rows that are always there."""
    _create_announced()
    _create_polled()
    _fill()


def downgrade() -> None:
    """Drop them, and with them everything they kept."""
    for name in _TABLES:
        op.drop_table(name)


def _create_announced() -> None:
    op.create_table(
        "papers",
        col.key(),
        col.text("arxiv_id", unique=True),
        col.number("month"),
        col.number("number"),
        col.text("archive"),
        col.big("first_run_id"),
        col.moment("first_seen_at"),
        col.number("latest_version"),
        col.big("latest_version_id", nullable=True),
        col.text("primary_category"),
        sa.Index(None, "month", "number"),
    )
    op.create_table(
        "versions",
        col.key(),
        col.reference("paper_id", "papers.id"),
        col.number("version"),
        col.text("content_hash"),
        col.text("title"),
        col.text("abstract"),
        col.json("authors"),
        col.text("categories"),
        col.text("comment"),
        col.text("journal_ref"),
        col.json("dois"),
        col.text("report_no"),
        col.text("license"),
        col.text("submitter"),
        col.moment("published"),
        col.moment("updated"),
        col.flag("is_withdrawn"),
        col.json("history"),
        col.big("run_id"),
        col.moment("stored_at"),
        sa.UniqueConstraint("paper_id", "version", "content_hash"),
    )
    op.create_table(
        "changes",
        col.explicit_key(),
        col.reference("paper_id", "papers.id"),
        col.reference("version_id", "versions.id"),
        col.reference("previous_version_id", "versions.id", nullable=True),
        col.text("kind"),
        col.text("fields"),
        col.big("run_id"),
        col.moment("found_at"),
        sa.Index(None, "paper_id", "id"),
        sa.Index(None, "run_id"),
    )
    op.create_table("marks", col.name_key("name"), col.big("value"))


def _create_polled() -> None:
    op.create_table(
        "poll_runs",
        col.key(),
        col.text("source"),
        col.text("query_key"),
        col.day("window_from"),
        col.moment("started_at"),
        col.moment("finished_at", nullable=True),
        col.text("outcome"),
        col.number("pages"),
        col.number("papers"),
        col.number("total", nullable=True),
        col.number("new"),
        col.number("changed"),
        col.text("highest_id"),
        col.flag("is_bootstrap"),
        col.day("mailing"),
        col.text("failure"),
        col.big("gate_token"),
        sa.Index(None, "source", "query_key", "id"),
        sa.Index(None, "outcome"),
    )
    op.create_table(
        "cursors",
        col.name_key("source"),
        col.name_key("query_key"),
        col.day("complete_from"),
        col.big("last_complete_run_id", nullable=True),
        col.moment("last_complete_at", nullable=True),
        col.number("mark_month"),
        col.number("mark_number"),
        col.flag("is_bootstrapped"),
        col.moment("bootstrapped_at", nullable=True),
    )
    op.create_table(
        "raw_pages",
        col.key(),
        col.reference("run_id", "poll_runs.id", index=True),
        col.number("number"),
        col.text("url"),
        col.moment("fetched_at", index=True),
        col.text("sha256"),
        col.number("size"),
        col.blob("body"),
    )
    op.create_table(
        "quarantine",
        col.key(),
        col.reference("run_id", "poll_runs.id", index=True),
        col.number("page"),
        col.number("position"),
        col.text("error"),
        col.blob("snippet"),
        col.moment("seen_at"),
    )
    op.create_table(
        "requests",
        col.key(),
        col.moment("at", index=True),
        col.text("method"),
        col.text("url"),
        col.number("status", nullable=True),
        col.number("milliseconds"),
        col.number("size"),
        col.text("sha256"),
        col.text("outcome"),
        col.text("detail"),
    )
    op.create_table(
        "gate",
        col.name_key("name"),
        col.text("holder"),
        col.big("token"),
        col.seconds("lease_until"),
        col.seconds("next_at"),
        col.seconds("breaker_until"),
        col.number("breaker_failures"),
        col.text("breaker_reason"),
    )


def _fill() -> None:
    marks = sa.table("marks", sa.column("name"), sa.column("value"))
    op.bulk_insert(marks, [{"name": "changes", "value": 0}, {"name": "matched", "value": 0}])
    numbers = ("token", "lease_until", "next_at", "breaker_until", "breaker_failures")
    words = ("holder", "breaker_reason")
    gate = sa.table("gate", *(sa.column(name) for name in ("name", *numbers, *words)))
    row = {"name": "arxiv", **dict.fromkeys(numbers, 0), **dict.fromkeys(words, "")}
    op.bulk_insert(gate, [row])
