"""Matches that wait for a digest, parted: from what is not told after all, and from what was told elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, update

from digest.messages import Occasion
from digest.store.matches import begin_match_run, papers_of, save_matches
from digest.store.packing import pack
from digest.store.schema import matches

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from digest.store.matches import MatchRow


def let_go(conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]) -> None:
    """Take changes out of matches that wait for a digest; a match left without any is no match any more.

    Args:
        conn: the transaction that read the rows.
        subscription_id: whose.
        change_ids: what it is not told.
        rows: its waiting matches.
    """
    paper_of = papers_of(conn, {id_ for row in rows for id_ in row.changes})
    for row in rows:
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if not kept:
            conn.execute(delete(matches).where(*_is_waiting(subscription_id, row)))
        elif len(kept) < len(row.changes):
            _keep(conn, subscription_id, row, kept, paper_of)


def split_told(
    conn: Connection, subscription_id: int, change_ids: Collection[int], rows: Sequence[MatchRow]
) -> list[int]:
    """Part the changes that were told from those that were not, so that each match is wholly one or the other.

    Args:
        conn: the transaction that read the rows.
        subscription_id: whose.
        change_ids: what was told.
        rows: its waiting matches.

    Returns:
        The match runs whose row holds only what was told.
    """
    paper_of = papers_of(conn, {id_ for row in rows for id_ in row.changes})
    runs = []
    for row in rows:
        told = [id_ for id_ in row.changes if id_ in change_ids]
        kept = [id_ for id_ in row.changes if id_ not in change_ids]
        if not told:
            continue
        if not kept:
            runs.append(row.match_run_id)
            continue
        _keep(conn, subscription_id, row, kept, paper_of)
        beside = begin_match_run(
            conn, from_change=told[0] - 1, to_change=told[-1], at=row.matched_at, occasion=Occasion.TAKEN_AS_TOLD
        )
        save_matches(conn, beside, {subscription_id: told}, at=row.matched_at, occasion=row.occasion)
        conn.execute(update(matches).where(matches.c.match_run_id == beside).values(brought=_pack_brought(row)))
        runs.append(beside)
    return runs


def _keep(
    conn: Connection, subscription_id: int, row: MatchRow, kept: Sequence[int], paper_of: Mapping[int, int]
) -> None:
    """Leave a waiting match with these of its changes, and with the count of their papers."""
    papers = len({paper_of[id_] for id_ in kept})
    mine = _is_waiting(subscription_id, row)
    values = {"changes": pack(kept), "papers": papers, "brought": _pack_brought(row)}
    conn.execute(update(matches).where(*mine).values(values))


def _pack_brought(row: MatchRow) -> bytes | None:
    """Return what the run brought at first: from that a feed dates its papers, whatever else is left out."""
    return pack(row.brought) if row.brought else None


def _is_waiting(subscription_id: int, row: MatchRow) -> tuple[ColumnElement[bool], ...]:
    return (
        matches.c.subscription_id == subscription_id,
        matches.c.match_run_id == row.match_run_id,
        matches.c.digest_id.is_(None),
    )
