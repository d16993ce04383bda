"""Papers, the texts they had, and the changes between them. No text is ever overwritten.

A text that comes back (A, B, A again) is the row it was the first time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, tuple_, update

from digest.announcements import Kind
from digest.comparing import KnownPaper, StoredChange
from digest.errors import StoreBusy
from digest.papers import ArxivId
from digest.store.dialect import in_chunks, insert
from digest.store.marks import allocate_changes
from digest.store.paper_rows import read_paper, write_paper
from digest.store.schema import changes as changes_table
from digest.store.schema import papers as papers_table
from digest.store.schema import versions as versions_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select

    from digest.comparing import Change
    from digest.papers import Paper

_LATEST_BATCH = 500


def load_known(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, KnownPaper]:
    """Return what is stored of some papers; those never stored are missing."""
    known = {}
    for chunk in in_chunks(str(id_) for id_ in ids):
        found = (
            select(papers_table.c.arxiv_id, papers_table.c.datestamp, papers_table.c.as_of, versions_table)
            .join(versions_table, versions_table.c.id == papers_table.c.latest_version_id)
            .where(papers_table.c.arxiv_id.in_(chunk))
        )
        rows = conn.execute(found).all()
        earlier = _load_earlier(conn, [row.paper_id for row in rows])
        for row in rows:
            paper = replace(read_paper(row), datestamp=row.datestamp)
            known[paper.id] = KnownPaper(
                key=row.paper_id,
                version_id=row.id,
                paper=paper,
                as_of=row.as_of,
                earlier=frozenset(earlier.get(row.paper_id, ())),
            )
    return known


def _load_earlier(conn: Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return the hashes of all texts but the latest, by paper."""
    left_behind = (
        select(versions_table.c.paper_id, versions_table.c.content_hash)
        .join(papers_table, papers_table.c.id == versions_table.c.paper_id)
        .where(versions_table.c.paper_id.in_(keys), versions_table.c.id != papers_table.c.latest_version_id)
    )
    hashes: dict[int, list[str]] = {}
    for row in conn.execute(left_behind):
        hashes.setdefault(row.paper_id, []).append(row.content_hash)
    return hashes


def load_paper(conn: Connection, id_: ArxivId) -> KnownPaper | None:
    """Return what is stored of one paper, None where it never was."""
    return load_known(conn, [id_]).get(id_)


def load_versions(conn: Connection, version_ids: Iterable[int]) -> dict[int, Paper]:
    """Return papers as they read at stored texts, by the texts' keys."""
    texts = {}
    for chunk in in_chunks(version_ids):
        found = (
            select(papers_table.c.arxiv_id, versions_table)
            .join(papers_table, papers_table.c.id == versions_table.c.paper_id)
            .where(versions_table.c.id.in_(chunk))
        )
        texts.update({row.id: read_paper(row) for row in conn.execute(found)})
    return texts


def save_changes(
    conn: Connection, changes: Sequence[Change], *, run_id: int, at: datetime, as_of: datetime | None = None
) -> tuple[StoredChange, ...]:
    """Store findings: papers, the texts that are new, and numbered changes, in a few statements for all.

    Call it in the transaction in which `load_known` told what the changes were compared with.

    Args:
        conn: a writing transaction.
        changes: at most one for each paper.
        run_id: the poll run that found them.
        at: when it did (UTC).
        as_of: arXiv's own time of the answer that told (UTC).

    Raises:
        StoreBusy: another process stored one of these papers in the meantime: roll back and look again.
    """
    if not changes:
        return ()
    keys = _save_papers(conn, changes, run_id, at)
    texts, came_back = _save_texts(conn, changes, keys, run_id, at)
    _move_latest(conn, changes, keys, texts, as_of)
    first = allocate_changes(conn, len(changes))
    as_stored = load_versions(conn, came_back)
    stored = tuple(
        StoredChange(
            id=number,
            kind=change.kind,
            paper=as_stored.get(texts[change.paper.id], change.paper),
            previous=change.known.paper if change.known else None,
            fields=change.fields,
            run_id=run_id,
            found_at=at,
            paper_key=keys[change.paper.id],
            text_key=texts[change.paper.id],
            previous_key=change.known.version_id if change.known else 0,
        )
        for number, change in enumerate(changes, start=first)
    )
    conn.execute(insert(conn, changes_table), list(map(_write_change, stored)))
    return stored


def load_changes(conn: Connection, ids: Iterable[int]) -> dict[int, StoredChange]:
    """Return changes by id; unknown ids are missing."""
    loaded = {}
    for chunk in in_chunks(ids):
        found = select(changes_table).where(changes_table.c.id.in_(chunk)).order_by(changes_table.c.id)
        loaded.update({change.id: change for change in _read_changes(conn, found)})
    return loaded


def changes_after(conn: Connection, change_id: int, limit: int) -> list[StoredChange]:
    """Return the changes found after one, in order, at most `limit`."""
    found = select(changes_table).where(changes_table.c.id > change_id)
    return _read_changes(conn, found.order_by(changes_table.c.id).limit(limit))


def latest_changes(conn: Connection) -> Iterator[StoredChange]:
    """Yield the newest change of each paper, the paper announced last first; stop when you have enough."""
    order = (papers_table.c.month, papers_table.c.number, papers_table.c.id)
    newest = select(func.max(changes_table.c.id)).where(changes_table.c.paper_id == papers_table.c.id)
    page = (
        select(changes_table, papers_table.c.month, papers_table.c.number)
        .join(papers_table, papers_table.c.id == changes_table.c.paper_id)
        .where(changes_table.c.id == newest.correlate(papers_table).scalar_subquery())
        .order_by(*(column.desc() for column in order))
        .limit(_LATEST_BATCH)
    )
    rows: Sequence[Row[Any]] = conn.execute(page).all()
    while rows:
        yield from _assemble(conn, rows)
        last = rows[-1]
        rows = conn.execute(page.where(tuple_(*order) < (last.month, last.number, last.paper_id))).all()


def earlier_changes(conn: Connection, paper_keys: Iterable[int]) -> dict[int, tuple[StoredChange, ...]]:
    """Return every change of some papers by paper key, oldest first."""
    history: dict[int, tuple[StoredChange, ...]] = {}
    for chunk in in_chunks(paper_keys):
        found = select(changes_table).where(changes_table.c.paper_id.in_(chunk)).order_by(changes_table.c.id)
        for change in _read_changes(conn, found):
            history[change.paper_key] = (*history.get(change.paper_key, ()), change)
    return history


def _save_papers(conn: Connection, changes: Sequence[Change], run_id: int, at: datetime) -> dict[ArxivId, int]:
    """Insert the papers never stored; return the keys of all."""
    keys = {change.paper.id: change.known.key for change in changes if change.known}
    unseen = [change.paper for change in changes if not change.known]
    rows = [
        {
            "arxiv_id": str(paper.id),
            "month": paper.id.month,
            "number": paper.id.number,
            "archive": paper.id.archive,
            "first_run_id": run_id,
            "first_seen_at": at,
            "latest_version": paper.version,
            "primary_category": paper.primary_category,
        }
        for paper in unseen
    ]
    if rows:
        added = (
            insert(conn, papers_table)
            .on_conflict_do_nothing(index_elements=["arxiv_id"])
            .returning(papers_table.c.id, papers_table.c.arxiv_id)
        )
        keys.update({ArxivId.parse(row.arxiv_id): row.id for row in conn.execute(added, rows)})
    _require(len(keys), len(changes))
    return keys


def _save_texts(
    conn: Connection, changes: Sequence[Change], keys: Mapping[ArxivId, int], run_id: int, at: datetime
) -> tuple[dict[ArxivId, int], list[int]]:
    """Insert the texts never stored; return the keys of all, and which of them are texts that came back.

    What came back may have been written with other accents or blanks, which count as the same text: it
    is read as it was stored first, since that is where spans point into.
    """
    rows = [write_paper(change.paper, keys[change.paper.id], run_id, at) for change in changes]
    wanted = {(row["paper_id"], row["version"], row["content_hash"]) for row in rows}
    identity = (versions_table.c.paper_id, versions_table.c.version, versions_table.c.content_hash)
    added = insert(conn, versions_table).on_conflict_do_nothing(
        index_elements=[column.name for column in identity]
    )
    found = {
        (row.paper_id, row.version, row.content_hash): row.id
        for row in conn.execute(added.returning(versions_table.c.id, *identity), rows)
    }
    came_back = []
    for chunk in in_chunks(sorted(wanted - found.keys())):
        back = select(versions_table.c.id, *identity).where(tuple_(*identity).in_(chunk))
        for row in conn.execute(back):
            found[row.paper_id, row.version, row.content_hash] = row.id
            came_back.append(row.id)
    keys_of_texts = {
        change.paper.id: found[row["paper_id"], row["version"], row["content_hash"]]
        for change, row in zip(changes, rows, strict=True)
    }
    return keys_of_texts, came_back


def _move_latest(
    conn: Connection,
    changes: Sequence[Change],
    keys: Mapping[ArxivId, int],
    texts: Mapping[ArxivId, int],
    as_of: datetime | None,
) -> None:
    move = (
        update(papers_table)
        .where(
            papers_table.c.id == bindparam("key"),
            papers_table.c.latest_version_id.is_not_distinct_from(bindparam("known_version_id")),
        )
        .values(
            latest_version=bindparam("now_version"),
            latest_version_id=bindparam("now_version_id"),
            primary_category=bindparam("now_primary"),
            datestamp=bindparam("now_datestamp"),
            as_of=bindparam("now_as_of"),
        )
    )
    rows = [
        {
            "key": keys[change.paper.id],
            "known_version_id": change.known.version_id if change.known else None,
            "now_version": change.paper.version,
            "now_version_id": texts[change.paper.id],
            "now_primary": change.paper.primary_category,
            "now_datestamp": change.paper.datestamp,
            "now_as_of": as_of,
        }
        for change in changes
    ]
    _require(conn.execute(move, rows).rowcount, len(changes))


def _require(found: int, wanted: int) -> None:
    if found != wanted:
        raise StoreBusy(
            f"another process stored {wanted - found} of these papers meanwhile",
            hint="Nothing is lost; the next look finds what differs from what it stored.",
        )


def _write_change(change: StoredChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "paper_id": change.paper_key,
        "version_id": change.text_key,
        "previous_version_id": change.previous_key or None,
        "kind": str(change.kind),
        "fields": " ".join(change.fields),
        "run_id": change.run_id,
        "found_at": change.found_at,
    }


def _read_changes(conn: Connection, found: Select[Any]) -> list[StoredChange]:
    return _assemble(conn, conn.execute(found).all())


def _assemble(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredChange]:
    keys = {row.version_id for row in rows} | {row.previous_version_id for row in rows} - {None}
    texts = load_versions(conn, sorted(keys))
    return [
        StoredChange(
            id=row.id,
            kind=Kind(row.kind),
            paper=texts[row.version_id],
            previous=texts[row.previous_version_id] if row.previous_version_id else None,
            fields=tuple(row.fields.split()),
            run_id=row.run_id,
            found_at=row.found_at,
            paper_key=row.paper_id,
            text_key=row.version_id,
            previous_key=row.previous_version_id or 0,
        )
        for row in rows
    ]
