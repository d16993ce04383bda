"""Made-up papers and changes for tests: every field has a plain default."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from digest.model.announcements import Kind, KnownPaper, StoredChange
from digest.model.papers import ArxivId, Author, Paper

SUBMITTED = datetime(2026, 11, 18, 10, 0, tzinfo=UTC)
FOUND = datetime(2026, 11, 20, 3, 50, tzinfo=UTC)


def make_paper(id_: str = "2611.15012", **fields: Any) -> Paper:  # noqa: ANN401 - any field of Paper
    authors = fields.pop("authors", ("Ada Example", "Bo Sample"))
    defaults: dict[str, Any] = {
        "version": 1,
        "title": "Tail latency on shared GPUs",
        "abstract": "We measure tail latency.",
        "authors": tuple(Author(name) if isinstance(name, str) else name for name in authors),
        "categories": ("cs.PF",),
        "published": SUBMITTED,
        "updated": SUBMITTED,
    }
    return Paper(id=ArxivId.parse(id_), **(defaults | fields))


def know(paper: Paper, key: int = 1) -> KnownPaper:
    return KnownPaper(key, key, paper)


def make_change(
    id_: int,
    paper: Paper,
    kind: Kind = Kind.NEW,
    previous: Paper | None = None,
    **fields: Any,  # noqa: ANN401 - any field of StoredChange
) -> StoredChange:
    defaults: dict[str, Any] = {
        "fields": (),
        "run_id": 1,
        "found_at": FOUND,
        "paper_key": paper.id.number,
    }
    return StoredChange(id=id_, kind=kind, paper=paper, previous=previous, **(defaults | fields))
