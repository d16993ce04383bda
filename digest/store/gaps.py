"""Missing ids: numbers that arXiv gave to papers which no answer has brought yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Update, and_, exists, func, select, union, update

from digest.model.papers import FIVE_DIGITS_SINCE, ArxivId
from digest.model.polls import Gap
from digest.model.said import NOTHING, Said
from digest.store.dialect import dialect_insert
from digest.store.papers import HAS_USUAL_ID, SLOT, list_packed, load_packed
from digest.store.schema import forgotten, gaps, papers

_TODAY = ""
"""The archive of papers with ids of today's kind, which have none."""


class GapState(StrEnum):
    """What became of a missing id."""

    OPEN = "open"
    FOUND = "found"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class GapLine:
    """A missing id as the ledger keeps it; for the fields see `Gap`."""

    gap: Gap
    state: GapState
    ended_at: datetime | None
    reason: Said


def load_announced_numbers(conn: Connection) -> dict[int, set[int]]:
    """Return the numbers stored of the last two months, by month.

    Ids of odd spellings are left out.
    """
    paper = papers.c
    stored = select(paper.month).where(paper.archive == _TODAY)
    packed_away = select(forgotten.c.month).where(forgotten.c.archive == _TODAY)
    months = sorted(conn.execute(union(stored, packed_away)).scalars())
    found: dict[int, set[int]] = {}
    for month in months[-2:]:
        with_row = select(paper.number).where(paper.month == month, HAS_USUAL_ID)
        numbers = set(conn.execute(with_row).scalars())
        packed = load_packed(conn, [(_TODAY, month)])
        for of_month in packed.values():
            numbers |= list_packed(of_month)
        found[month] = numbers
    return found


def save(conn: Connection, ids: Iterable[ArxivId], at: datetime) -> int:
    """Note ids that are missing; return how many of them are open now and were not before."""
    begun = {"state": GapState.OPEN, "missed_at": at, "asks": 0, "reason": NOTHING}
    rows = [begun | {"month": id_.month, "number": id_.number} for id_ in ids if not id_.archive]
    if not rows:
        return 0
    add = dialect_insert(conn, gaps).on_conflict_do_nothing(index_elements=["month", "number"])
    added = conn.execute(add.returning(gaps.c.number), rows).all()
    return len(added)


def load_open(conn: Connection) -> list[Gap]:
    """Return the ids that are missing now, in order."""
    gap = gaps.c
    found = select(gaps).where(gap.state == GapState.OPEN)
    in_order = found.order_by(gap.month, gap.number)
    return [_read_gap(row) for row in conn.execute(in_order)]


def load(conn: Connection, *, limit: int = 100) -> list[GapLine]:
    """Return missing ids with what became of them, the newest first."""
    newest_first = (gaps.c.month.desc(), gaps.c.number.desc())
    found = select(gaps).order_by(*newest_first).limit(limit)
    lines = []
    for row in conn.execute(found):
        gap = _read_gap(row)
        state = GapState(row.state)
        lines.append(GapLine(gap, state, row.ended_at, row.reason))
    return lines


def count_gaps(conn: Connection) -> dict[GapState, int]:
    """Count the missing ids by what became of them; states without any are left out."""
    state = gaps.c.state
    counted = select(state, func.count()).group_by(state)
    return {GapState(row[0]): row[1] for row in conn.execute(counted)}


def close_found(conn: Connection, at: datetime) -> int:
    """Note which of the ids that were missing or given up are stored by now; return how many."""
    gap = gaps.c
    paper = papers.c
    packed = forgotten.c
    is_it = and_(paper.month == gap.month, paper.number == gap.number)
    is_stored = exists().where(is_it, HAS_USUAL_ID)
    version = func.substr(packed.papers, SLOT * gap.number + 1, 1)
    is_of_month = and_(packed.archive == _TODAY, packed.month == gap.month)
    is_packed = exists().where(is_of_month, version > b"\0")
    is_missing = gap.state != GapState.FOUND
    found = update(gaps).where(is_missing, is_stored | is_packed)
    closed = {"state": GapState.FOUND, "ended_at": at, "reason": NOTHING}
    return conn.execute(found.values(closed)).rowcount


def mark_asked(conn: Connection, asked: Iterable[Gap], at: datetime) -> None:
    """Note that arXiv was asked for ids once more."""
    for gap in asked:
        once_more = _update_open(gap)
        conn.execute(once_more.values(asks=gaps.c.asks + 1, asked_at=at))


def give_up(conn: Connection, given_up: Iterable[tuple[Gap, Said]], at: datetime) -> None:
    """Give ids up, each with the reason."""
    for gap, reason in given_up:
        end = _update_open(gap)
        conn.execute(end.values(state=GapState.GIVEN_UP, ended_at=at, reason=reason))


def _update_open(gap: Gap) -> Update:
    """Return the beginning of a statement that changes a missing id, if it is missing still."""
    row = gaps.c
    is_it = and_(row.month == gap.id.month, row.number == gap.id.number)
    return update(gaps).where(is_it, row.state == GapState.OPEN)


def _read_gap(row: Any) -> Gap:  # noqa: ANN401 - a row, whatever else it holds
    digits = 5 if row.month >= FIVE_DIGITS_SINCE else 4
    return Gap(ArxivId(row.month, row.number, digits=digits), row.missed_at, row.asks, row.asked_at)
