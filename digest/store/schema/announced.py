"""What arXiv announced: papers, the texts they had, and what changed when."""

from __future__ import annotations

from sqlalchemy import Index, Table, UniqueConstraint

from digest.store.schema import columns as col

papers = Table(
    "papers",
    col.metadata,
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
    col.day("datestamp"),
    col.moment("as_of", nullable=True),
    col.day("mailing"),
    Index(None, "month", "number"),
    Index(None, "mailing"),
)

versions = Table(
    "versions",
    col.metadata,
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
    UniqueConstraint("paper_id", "version", "content_hash"),
)

changes = Table(
    "changes",
    col.metadata,
    col.explicit_key(),
    col.reference("paper_id", "papers.id"),
    col.reference("version_id", "versions.id"),
    col.reference("previous_version_id", "versions.id", nullable=True),
    col.text("kind"),
    col.text("fields"),
    col.big("run_id"),
    col.moment("found_at"),
    Index(None, "paper_id", "id"),
    Index(None, "run_id"),
)

marks = Table("marks", col.metadata, col.name_key("name"), col.big("value"))
