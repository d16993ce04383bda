"""The words of stored texts, as queries compare them: read once, and kept beside the texts.

A text is stored with its words in one transaction. Words that older rules read are read anew, some
in each pass, and so are those of texts that a database had before it had this table. Until then,
and for texts without words, the text itself is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select

from digest.model.papers import ArxivId, Paper
from digest.query import IndexedPaper
from digest.query.paper_words import RULES, PaperWords, WordReader
from digest.store.dialect import dialect_insert, in_chunks
from digest.store.papers import load_versions
from digest.store.schema import papers, versions, words

_KEPT: Select[Any] = (
    select(
        versions.c.id,
        papers.c.arxiv_id,
        versions.c.version,
        versions.c.categories,
        versions.c.published,
        versions.c.dois,
        versions.c.license,
        words.c.rules,
        words.c.packed,
    )
    .join(papers, papers.c.id == versions.c.paper_id)
    .outerjoin(words)
)
"""What is kept of texts, as far as queries can tell one from another."""

_AT_ONCE: Final = 2_000
"""Texts that are read anew in one transaction, which takes less than a second."""


def save(conn: Connection, texts: Mapping[int, Paper]) -> None:
    """Keep the words of texts by their keys, in the transaction that stores them."""
    if not texts:
        return
    reader = WordReader()
    rows = []
    for key, paper in sorted(texts.items()):
        rows.append({"version_id": key, "rules": RULES, "packed": reader.read(paper).pack()})
    insertion = dialect_insert(conn, words)
    given = insertion.excluded
    changes = {"rules": given.rules, "packed": given.packed}
    conn.execute(insertion.on_conflict_do_update(index_elements=["version_id"], set_=changes), rows)


def load(conn: Connection, keys: Iterable[int]) -> dict[int, IndexedPaper]:
    """Return papers with their words, by their texts' keys in this order; unknown are missing."""
    return dict(walk(conn, keys))


def walk(conn: Connection, keys: Iterable[int]) -> Iterator[tuple[int, IndexedPaper]]:
    """Yield what `load` returns, with few in memory at once."""
    for chunk in in_chunks(keys):
        rows = {row.id: row for row in conn.execute(_KEPT.where(versions.c.id.in_(chunk)))}
        unread = [key for key, row in rows.items() if row.rules != RULES]
        texts = load_versions(conn, unread)
        reader = WordReader()
        for key in chunk:
            if key in texts:
                yield key, reader.index(texts[key])
            elif key in rows:
                yield key, _read_row(rows[key])


def _read_row(row: Row[Any]) -> IndexedPaper:
    return IndexedPaper(
        id=ArxivId.parse(row.arxiv_id),
        version=row.version,
        categories=tuple(row.categories.split()),
        published=row.published,
        dois=tuple(row.dois),
        license=row.license,
        words=PaperWords.unpack(row.packed),
    )


def renew(conn: Connection) -> int:
    """Read anew texts whose words were read by older rules: some of them, the newest first.

    Return how many there were. Who forgets one of them meanwhile waits.
    """
    is_old = words.c.rules < RULES
    newest_first = select(words.c.version_id).where(is_old).order_by(words.c.version_id.desc())
    some = newest_first.limit(_AT_ONCE).with_for_update()
    keys = conn.execute(some).scalars().all()
    save(conn, load_versions(conn, keys))
    return len(keys)
