"""Changes: what is new in the texts of papers, numbered in the order in which it was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from digest.model.announcements import Change, Kind, StoredChange, find_announcement
from digest.model.papers import Paper
from digest.store import words
from digest.store.dialect import dialect_insert, in_chunks, select_by
from digest.store.papers import STORED, load_versions, move_latest, save_texts
from digest.store.papers import save as save_papers
from digest.store.papers import write as write_paper
from digest.store.schema import changes as changes_table
from digest.store.schema import marks, papers, poll_runs


def allocate(conn: Connection, count: int) -> int:
    """Take that many change ids in a row; return the first.

    The row stays locked until the transaction ends, so ids become visible in growing order on
    PostgreSQL too: a reader that sees change N sees every change before it. A sequence would not
    promise that.
    """
    mark = marks.c
    advance = update(marks).where(mark.name == STORED).values(value=mark.value + count)
    last: int = conn.execute(advance.returning(mark.value)).scalar_one()
    return last - count + 1


def save(
    conn: Connection,
    changes: Sequence[Change],
    hash_text: Callable[[Paper], str],
    *,
    run_id: int,
    at: datetime,
    as_of: datetime | None = None,
    hashes: Mapping[str, bytes] | None = None,
) -> tuple[StoredChange, ...]:
    """Store findings: papers, the texts that are new, and numbered changes, in a few statements.

    Call it in the transaction in which `load_known` read what the changes were compared with: at
    most one for each paper. Texts that hash alike are one text. `as_of` is arXiv's own time of the
    answer (UTC); for `hashes` see `move_latest`.

    Raise `StoreBusy`: another process stored one of these papers in the meantime: roll back and
    read again.
    """
    if not changes:
        return ()
    keys = save_papers(conn, changes)
    rows = []
    for change in changes:
        row = write_paper(change.paper, keys[change.paper.id], hash_text(change.paper))
        rows.append(row)
    texts = save_texts(conn, rows)
    move_latest(conn, changes, keys, texts.keys, as_of=as_of, hashes=hashes or {})
    as_stored = load_versions(conn, texts.came_back)
    found = {texts.keys[keys[change.paper.id]]: change.paper for change in changes}
    by_text = found | as_stored
    words.save(conn, by_text)
    first = allocate(conn, len(changes))
    stored = []
    for number, change in enumerate(changes, start=first):
        paper_key = keys[change.paper.id]
        text_key = texts.keys[paper_key]
        paper = by_text[text_key]
        previous = change.known
        one = StoredChange(
            id=number,
            kind=change.kind,
            paper=paper,
            previous=previous.paper if previous else None,
            fields=change.fields,
            run_id=run_id,
            found_at=at,
            paper_key=paper_key,
            text_key=text_key,
            previous_key=previous.version_id if previous else 0,
            announced_on=find_announcement(at, change.paper.datestamp),
        )
        stored.append(one)
    written = [_write_change(change) for change in stored]
    conn.execute(dialect_insert(conn, changes_table), written)
    return tuple(stored)


def load(conn: Connection, ids: Iterable[int]) -> dict[int, StoredChange]:
    """Return changes by id; unknown ids are missing."""
    found = select(changes_table)
    rows = select_by(conn, found, changes_table.c.id, sorted(ids))
    rows.sort(key=lambda row: row.id)
    return {change.id: change for change in _assemble(conn, rows)}


def load_after(conn: Connection, change_id: int, limit: int) -> list[StoredChange]:
    """Return the changes found after one, in order, at most `limit`."""
    change = changes_table.c
    found = select(changes_table).where(change.id > change_id)
    in_order = found.order_by(change.id)
    rows = conn.execute(in_order.limit(limit)).all()
    return _assemble(conn, rows)


def list_latest(conn: Connection) -> dict[int, int]:
    """Return the newest change of each paper by its text's key, the paper announced last first."""
    paper = papers.c
    change = changes_table.c
    newest = select(func.max(change.id)).where(change.paper_id == paper.id)
    newest_id = newest.correlate(papers).scalar_subquery()
    latest = select(change.version_id, change.id).join(papers).where(change.id == newest_id)
    in_order = latest.order_by(paper.month.desc(), paper.number.desc(), paper.id.desc())
    return {row.version_id: row.id for row in conn.execute(in_order)}


def load_last_announced(conn: Connection, ids: Iterable[int], limit: int) -> list[StoredChange]:
    """Return those of some changes whose papers were announced last, the last first.

    Each has its paper as that reads now.
    """
    paper = papers.c
    change = changes_table.c
    columns = (paper.month, paper.number, change.id, paper.latest_version_id)
    found = select(*columns).join(changes_table).where(paper.latest_version_id.is_not(None))
    places = sorted(select_by(conn, found, change.id, ids), key=tuple, reverse=True)[:limit]
    stored = load(conn, [row.id for row in places])
    texts = load_versions(conn, [row.latest_version_id for row in places])
    return [replace(stored[row.id], paper=texts[row.latest_version_id]) for row in places]


def load_cross_lists(conn: Connection, after: datetime) -> list[StoredChange]:
    """Return the cross-lists that runs found which began after a moment (UTC), in order."""
    change = changes_table.c
    run = poll_runs.c
    first = select(func.min(run.id)).where(run.started_at > after)
    is_recent = change.run_id >= first.scalar_subquery()
    found = select(changes_table).where(is_recent, change.kind == Kind.CROSS_LIST)
    in_order = found.order_by(change.id)
    rows = conn.execute(in_order).all()
    return _assemble(conn, rows)


def load_earlier(
    conn: Connection, paper_keys: Iterable[int]
) -> dict[int, tuple[StoredChange, ...]]:
    """Return every change of some papers by paper key, oldest first."""
    history: dict[int, tuple[StoredChange, ...]] = {}
    for chunk in in_chunks(paper_keys):
        found = select(changes_table).where(changes_table.c.paper_id.in_(chunk))
        rows = conn.execute(found.order_by(changes_table.c.id)).all()
        for change in _assemble(conn, rows):
            earlier = history.get(change.paper_key, ())
            history[change.paper_key] = (*earlier, change)
    return history


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
        "announced_on": change.announced_on,
    }


def _assemble(conn: Connection, rows: Sequence[Row[Any]]) -> list[StoredChange]:
    """Return changes with the texts of before and after."""
    keys = {row.version_id for row in rows}
    keys.update(row.previous_version_id for row in rows if row.previous_version_id)
    texts = load_versions(conn, sorted(keys))
    return [_read_change(row, texts) for row in rows]


def _read_change(row: Row[Any], texts: Mapping[int, Paper]) -> StoredChange:
    previous = None
    if row.previous_version_id:
        previous = texts[row.previous_version_id]
    return StoredChange(
        id=row.id,
        kind=Kind(row.kind),
        paper=texts[row.version_id],
        previous=previous,
        fields=tuple(row.fields.split()),
        run_id=row.run_id,
        found_at=row.found_at,
        paper_key=row.paper_id,
        text_key=row.version_id,
        previous_key=row.previous_version_id or 0,
        announced_on=row.announced_on,
    )
