"""Made-up papers and changes for tests: every field has a plain default."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from digest.model.announcements import Kind, KnownPaper, StoredChange
from digest.model.papers import ArxivId, Author, Paper

SUBMITTED = datetime(2026, 11, 18, 10, 0, tzinfo=UTC)
FOUND = datetime(2026, 11, 20, 3, 50, tzinfo=UTC)


def make_paper(
    id_: str = "2611.15012",
    **fields: Any,  # noqa: ANN401 - any field of Paper
) -> Paper:
    given = fields.pop("authors", ("Ada Example", "Bo Sample"))
    authors = [Author(one) if isinstance(one, str) else one for one in given]
    defaults: dict[str, Any] = {
        "version": 1,
        "title": "Tail latency on shared GPUs",
        "abstract": "We measure tail latency.",
        "authors": tuple(authors),
        "categories": ("cs.PF",),
        "published": SUBMITTED,
        "updated": SUBMITTED,
    }
    values = defaults | fields
    return Paper(id=ArxivId.parse(id_), **values)


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
    values = defaults | fields
    return StoredChange(id=id_, kind=kind, paper=paper, previous=previous, **values)


def make_changes(numbers: Iterable[int]) -> list[StoredChange]:
    """Return a new paper of each number, which is the number of its change too."""
    return [make_change(number, make_paper(f"2611.{number:05d}")) for number in numbers]
