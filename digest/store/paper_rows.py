"""A paper's text as a row, and back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from digest.comparing import content_hash
from digest.papers import ArxivId, Author, Paper, Version

if TYPE_CHECKING:
    from sqlalchemy import Row


def write_paper(paper: Paper, key: int, run_id: int, at: datetime) -> dict[str, Any]:
    """Return the row of `versions` that keeps a paper's text; see `read_paper`.

    Args:
        paper: as it reads now.
        key: the stored paper's key.
        run_id: the poll run that brought it.
        at: when it was stored (UTC).
    """
    return {
        "paper_id": key,
        "version": paper.version,
        "content_hash": content_hash(paper),
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": [[author.name, *author.affiliations] for author in paper.authors],
        "categories": " ".join(paper.categories),
        "comment": paper.comment,
        "journal_ref": paper.journal_ref,
        "dois": list(paper.dois),
        "report_no": paper.report_no,
        "license": paper.license,
        "submitter": paper.submitter,
        "published": paper.published,
        "updated": paper.updated,
        "is_withdrawn": paper.is_withdrawn,
        "history": [
            [version.number, version.submitted.isoformat(), version.size, version.source_type]
            for version in paper.versions
        ],
        "run_id": run_id,
        "stored_at": at,
    }


def read_paper(row: Row[Any]) -> Paper:
    """Return the paper that a row of `versions`, with its paper's `arxiv_id`, keeps."""
    return Paper(
        id=ArxivId.parse(row.arxiv_id),
        version=row.version,
        title=row.title,
        abstract=row.abstract,
        authors=tuple(Author(name, tuple(affiliations)) for name, *affiliations in row.authors),
        categories=tuple(row.categories.split()),
        published=row.published,
        updated=row.updated,
        comment=row.comment,
        journal_ref=row.journal_ref,
        dois=tuple(row.dois),
        report_no=row.report_no,
        license=row.license,
        submitter=row.submitter,
        is_withdrawn=row.is_withdrawn,
        versions=tuple(
            Version(number, datetime.fromisoformat(submitted), size, source_type)
            for number, submitted, size, source_type in row.history
        ),
    )
