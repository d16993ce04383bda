"""The words of stored texts, as queries compare them: read once, and kept beside the texts.

A text is stored with its words in one transaction. Words that older rules read are read anew, some
in each pass, and so are those of texts that a database had before it had this table. Until then,
and for texts without words, the text itself is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

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

_IS_OLD = words.c.rules < RULES


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
    """Yield what `load` returns, few at a time."""
    for chunk in in_chunks(keys):
        rows = conn.execute(_KEPT.where(versions.c.id.in_(chunk))).all()
        found = _read_rows(conn, rows)
        for key in chunk:
            if key in found:
                yield key, found[key]


def _read_rows(conn: Connection, rows: Sequence[Row[Any]]) -> dict[int, IndexedPaper]:
    reader = WordReader()
    unread = load_versions(conn, [row.id for row in rows if row.rules != RULES])
    found = {key: reader.index(paper) for key, paper in unread.items()}
    for row in rows:
        if row.rules == RULES:
            found[row.id] = _read_row(row)
    return found


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


def has_old(conn: Connection) -> bool:
    """Whether the words of any text were read by older rules."""
    return conn.execute(select(words.c.rules).where(_IS_OLD).limit(1)).first() is not None


def renew(conn: Connection, limit: int) -> int:
    """Read anew so many texts whose words were read by older rules, the newest first.

    Return how many there were. Who forgets one of them meanwhile waits.
    """
    newest_first = select(words.c.version_id).where(_IS_OLD).order_by(words.c.version_id.desc())
    keys = conn.execute(newest_first.limit(limit).with_for_update()).scalars().all()
    save(conn, load_versions(conn, keys))
    return len(keys)
