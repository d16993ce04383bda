"""What a replay reads: the ledger, the pages, what was stored before them, and what was recorded from them.

Everything here reads alike from an installation and from the scratch store beside it; only `copy_run` and
`save_past` write, into the scratch store. `changes` is read by `load_found` and `list_changed` alone, to be
held against what came out.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from digest.planning.beforehand import Past, PastText
from digest.planning.differences import Found
from digest.planning.polls import Source
from digest.planning.replays import KeptPage, LedgerRun
from digest.store.dialect import in_chunks
from digest.store.paper_rows import read_paper
from digest.store.runs import RunOutcome
from digest.store.schema import changes, papers, poll_runs, quarantine, raw_pages, versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.comparing import KnownPaper
    from digest.papers import ArxivId

TextKey = tuple[int, str, int, str]
"""What tells a text from others: the run that stored it, its paper, version and content hash."""

_NOT_TEXT = frozenset({"id", "paper_id", "arxiv_id"})
"""Columns of a text's row that are numbered by each store for itself, or name the paper."""


@dataclass(frozen=True, slots=True)
class KeptPast:
    """A paper that was stored before a run.

    Attributes:
        past: what is still to be seen of its state then.
        first_run_id: the run that met it first.
        first_seen_at: when that was (UTC).
        rows: its texts of then as rows of `versions`, in the order of `past.texts`.
    """

    past: Past
    first_run_id: int
    first_seen_at: datetime
    rows: tuple[dict[str, Any], ...]


def list_runs(conn: Connection) -> list[LedgerRun]:
    """Return every run of the ledger, in order."""
    found = select(
        *poll_runs.c["id", "source", "started_at", "outcome", "is_bootstrap", "pages", "papers", "new"],
        *poll_runs.c["changed", "highest_id", "next_token"],
        func.length(poll_runs.c.horizon).label("judge"),
    ).order_by(poll_runs.c.id)
    return [
        LedgerRun(
            id=row.id,
            source=row.source,
            started_at=row.started_at,
            is_ended=row.outcome != RunOutcome.RUNNING,
            is_complete=row.outcome in (RunOutcome.COMPLETE, RunOutcome.EMPTY),
            is_bootstrap=row.is_bootstrap,
            pages=row.pages,
            papers=row.papers,
            new=row.new,
            changed=row.changed,
            highest_id=row.highest_id,
            next_token=row.next_token,
            has_judge=row.judge > 0,
        )
        for row in conn.execute(found)
    ]


def list_pages(conn: Connection) -> list[KeptPage]:
    """Return every page that is kept, without its bytes, in the order in which they were committed."""
    found = select(*raw_pages.c["id", "run_id", "number", "url", "fetched_at", "sha256"]).order_by(raw_pages.c.id)
    return [KeptPage(**row) for row in conn.execute(found).mappings()]


def load_body(conn: Connection, page_id: int) -> bytes:
    """Return a page as it came.

    Raises:
        ValueError: what is kept of it is damaged.
    """
    packed = conn.execute(select(raw_pages.c.body).where(raw_pages.c.id == page_id)).scalar_one()
    try:
        return zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError(f"what is kept of it can't be unpacked: {error}") from error


def copy_run(source: Connection, scratch: Connection, run_id: int) -> None:
    """Begin a run of another store in this one, under the same number and with nothing counted yet."""
    row = dict(source.execute(select(poll_runs).where(poll_runs.c.id == run_id)).mappings().one())
    row |= {"pages": 0, "papers": 0, "new": 0, "changed": 0, "highest_id": "", "gate_token": 0}
    scratch.execute(insert(poll_runs).values(row))


def load_pasts(conn: Connection, ids: Iterable[ArxivId], run_id: int) -> dict[ArxivId, KeptPast]:
    """Return what is still to be seen of papers as they were before a run; those unknown then are missing."""
    pasts: dict[ArxivId, KeptPast] = {}
    for chunk in in_chunks(str(id_) for id_ in ids):
        found = (
            select(
                *papers.c["arxiv_id", "first_run_id", "first_seen_at", "latest_version_id", "datestamp", "as_of"],
                func.length(poll_runs.c.horizon).label("judge"),
                versions,
            )
            .join(papers, papers.c.id == versions.c.paper_id)
            .outerjoin(poll_runs, poll_runs.c.id == versions.c.run_id)
            .where(papers.c.arxiv_id.in_(chunk), versions.c.run_id < run_id)
            .order_by(versions.c.id)
        )
        by_paper: dict[int, list[Any]] = {}
        for row in conn.execute(found):
            by_paper.setdefault(row.paper_id, []).append(row)
        for rows in by_paper.values():
            past = _read_past(rows)
            pasts[past.past.texts[0].paper.id] = past
    return pasts


def _read_past(rows: Sequence[Any]) -> KeptPast:
    texts = tuple(
        PastText(read_paper(row), row.content_hash, row.stored_at, is_dated=bool(row.judge)) for row in rows
    )
    first = rows[0]
    present = next((place for place, row in enumerate(rows) if row.id == first.latest_version_id), None)
    names = [column.name for column in versions.columns if column.name not in _NOT_TEXT]
    return KeptPast(
        Past(texts, present, first.datestamp, first.as_of),
        first.first_run_id,
        first.first_seen_at,
        tuple({name: getattr(row, name) for name in names} for row in rows),
    )


def save_past(scratch: Connection, kept: KeptPast, state: KnownPaper) -> None:
    """Store a paper as it was, in one of its possible states; `state.version_id` is its text's place."""
    paper = state.paper
    added = insert(papers).values(
        arxiv_id=str(paper.id),
        month=paper.id.month,
        number=paper.id.number,
        archive=paper.id.archive,
        first_run_id=kept.first_run_id,
        first_seen_at=kept.first_seen_at,
        latest_version=paper.version,
        primary_category=paper.primary_category,
        datestamp=paper.datestamp,
        as_of=state.as_of,
    )
    key = scratch.execute(added.returning(papers.c.id)).scalar_one()
    for place, row in enumerate(kept.rows):
        text = scratch.execute(insert(versions).values(paper_id=key, **row).returning(versions.c.id)).scalar_one()
        if place == state.version_id:
            scratch.execute(update(papers).where(papers.c.id == key).values(latest_version_id=text))


def load_found(conn: Connection, first: int, last: int) -> list[Found]:
    """Return the changes that a span of runs found, in order."""
    before = versions.alias("before")
    found = (
        select(
            *changes.c["run_id", "kind", "fields"],
            papers.c.arxiv_id.label("paper"),
            *versions.c["version", "content_hash"],
            before.c.content_hash.label("previous"),
        )
        .join(papers, papers.c.id == changes.c.paper_id)
        .join(versions, versions.c.id == changes.c.version_id)
        .outerjoin(before, before.c.id == changes.c.previous_version_id)
        .where(changes.c.run_id >= first, changes.c.run_id <= last)
        .order_by(changes.c.id)
    )
    return [Found(**{**row, "previous": row["previous"] or ""}) for row in conn.execute(found).mappings()]


def list_changed(conn: Connection, after: int) -> set[str]:
    """Return the ids of the papers that runs after one have changed."""
    moved = select(papers.c.arxiv_id).join(changes, changes.c.paper_id == papers.c.id)
    return set(conn.execute(moved.where(changes.c.run_id > after).distinct()).scalars())


def load_texts(conn: Connection, ids: Sequence[str], first: int, last: int) -> dict[TextKey, dict[str, Any]]:
    """Return the texts that a span of runs stored of some papers, by run, paper, version and content hash."""
    found = (
        select(papers.c.arxiv_id, versions)
        .join(papers, papers.c.id == versions.c.paper_id)
        .where(papers.c.arxiv_id.in_(ids), versions.c.run_id >= first, versions.c.run_id <= last)
    )
    return {
        (row["run_id"], row["arxiv_id"], row["version"], row["content_hash"]): {
            name: value for name, value in row.items() if name not in _NOT_TEXT
        }
        for row in conn.execute(found).mappings()
    }


def load_papers(conn: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what is stored of some papers beside their texts, by id; which mailing brought them is left out."""
    found = (
        select(
            *papers.c["arxiv_id", "first_run_id", "first_seen_at", "latest_version", "primary_category"],
            *papers.c["datestamp", "as_of"],
            versions.c.content_hash,
        )
        .join(versions, versions.c.id == papers.c.latest_version_id)
        .where(papers.c.arxiv_id.in_(ids))
    )
    return {row["arxiv_id"]: dict(row) for row in conn.execute(found).mappings()}


def list_set_aside(conn: Connection, first: int, last: int) -> list[tuple[int, int, int, str]]:
    """Return run, page, position and error of every paper that could not be read in a span of runs."""
    found = (
        select(*quarantine.c["run_id", "page", "position", "error"])
        .join(poll_runs, poll_runs.c.id == quarantine.c.run_id)
        .where(quarantine.c.run_id >= first, quarantine.c.run_id <= last, poll_runs.c.source != Source.LISTING)
    )
    rows = conn.execute(found.order_by(quarantine.c.id))
    return [(row.run_id, row.page, row.position, row.error) for row in rows]
