"""The stored papers of an author."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from digest.query.words import fold
from digest.store.papers import load_versions
from digest.store.schema import papers, versions

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from digest.papers import Paper

_BATCH = 2_000
"""Lists of authors read at once."""


def load_papers_naming(conn: Connection, words: Collection[str]) -> list[Paper]:
    """Return the stored papers, as they read now, in whose authors' names one of some folded words occurs.

    It may be a part of a longer word: whoever asks looks at the names themselves. Names with TeX in them
    are returned whatever they say. Every list of authors is read, which takes seconds a million papers.
    """
    found = (
        select(versions.c.id, versions.c.authors)
        .join(papers, papers.c.latest_version_id == versions.c.id)
        .execution_options(yield_per=_BATCH)
    )
    kept = [row.id for row in conn.execute(found) if _names_one(row.authors, words)]
    return sorted(load_versions(conn, kept).values(), key=lambda paper: paper.id)


def _names_one(authors: list[list[str]], words: Collection[str]) -> bool:
    text = " ".join(author[0] for author in authors)
    folded = fold(text)
    return "\\" in text or "$" in text or any(word in folded for word in words)
