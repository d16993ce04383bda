"""Made-up papers to measure with, on pages as long as arXiv's longest; reads real papers, too.

The fake arXiv writes them in arXiv's own formats; their abstracts are as long as real ones (1,320
characters in the mean).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice

from digest.model.papers import ArxivId, Author, Paper
from tests.fakes.archive import DemoPaper
from tests.fakes.oai import answer_oai
from tests.fakes.search import write_page
from tests.fakes.writing import Writer

ATOM_SIZE = 2_000
OAI_SIZE = 2_500
REAL = os.environ.get("DIGEST_REAL_DATA", "")
NOW = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)

_TITLES_OF_A_WRITER = 200


def write_atom_page(papers: list[Paper]) -> bytes:
    return write_page(papers, start=0, size=len(papers), total=len(papers), moment=NOW)


def write_oai_page(papers: list[DemoPaper]) -> bytes:
    asked = (("verb", "ListRecords"), ("metadataPrefix", "arXivRaw"), ("from", "2026-01-01"))
    return answer_oai(asked, papers, NOW, len(papers))


@cache
def made_up_papers(count: int) -> list[DemoPaper]:
    """Return papers of word lists, the same every time."""
    return list(islice(_make_up(), count))


def _make_up() -> Iterator[DemoPaper]:
    draw = random.Random(20_261_120)  # noqa: S311 - the same papers every time, and nothing secret
    first = NOW - timedelta(days=30)
    writer = Writer(draw)
    for number in range(99_999):
        if number % _TITLES_OF_A_WRITER == 0:
            writer = Writer(draw)  # which has no titles behind it that must not come again
        manuscript = writer.write()
        moment = first + timedelta(minutes=number)
        submitted = [moment]
        abstracts = [manuscript.abstract] * 4
        if number % 2:
            submitted.append(moment + timedelta(hours=30))
            abstracts[1:] = [writer.write().abstract for _ in range(3)]
        yield DemoPaper(
            id=f"2611.{number + 1:05d}",
            announced=moment + timedelta(days=1),
            submitted=tuple(submitted),
            submitter=manuscript.authors[-1].name,
            **manuscript._replace(abstract=" ".join(abstracts))._asdict(),
        )


def read_kept(kept: dict[str, object]) -> Paper:
    """Return a paper of the real data."""

    def text(name: str) -> str:
        return " ".join(str(kept.get(name) or "").split())

    authors = kept["authors"]
    categories = kept["categories"]
    assert isinstance(authors, list)
    assert isinstance(categories, list)
    return Paper(
        id=ArxivId.parse(text("id")),
        version=1,
        title=text("title"),
        abstract=text("abstract"),
        authors=tuple(Author(str(name)) for name in authors),
        categories=tuple(map(str, categories)),
        published=datetime.fromisoformat(text("published")).replace(tzinfo=UTC),
        updated=datetime.fromisoformat(text("updated")).replace(tzinfo=UTC),
        comment=text("comment"),
        journal_ref=text("journal_ref"),
        dois=tuple(text("doi").split()),
    )
