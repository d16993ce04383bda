"""Which mailing brought which paper, and what is the newest paper known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select, update

from digest.announcements import Kind
from digest.papers import ArxivId
from digest.store.dialect import in_chunks
from digest.store.schema import changes, papers, versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date, datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Announced:
    """A paper met as new whose mailing has yet to be told.

    Attributes:
        key: the stored paper's key.
        order: `ArxivId.announcement_order`.
        published: when its first version was submitted (UTC).
    """

    key: int
    order: tuple[int, int]
    published: datetime


def find_unassigned(conn: Connection) -> list[Announced]:
    """Return the papers met as new that belong to no mailing yet, in the order of their announcement."""
    found = (
        select(papers.c.id, papers.c.month, papers.c.number, versions.c.published)
        .join(changes, changes.c.paper_id == papers.c.id)
        .join(versions, versions.c.id == changes.c.version_id)
        .where(papers.c.mailing.is_(None), changes.c.kind == Kind.NEW)
        .order_by(papers.c.month, papers.c.number, papers.c.id)
    )
    return [Announced(row.id, (row.month, row.number), row.published) for row in conn.execute(found)]


def assign_mailings(conn: Connection, mailings: Mapping[int, date]) -> None:
    """Keep which mailing brought each paper, by its key."""
    if mailings:
        assign = update(papers).where(papers.c.id == bindparam("key")).values(mailing=bindparam("of"))
        conn.execute(assign, [{"key": key, "of": mailing} for key, mailing in mailings.items()])


def count_announced(conn: Connection, first: date, last: date) -> dict[date, int]:
    """Return how many papers each mailing of a span of Eastern dates brought; those without any are missing."""
    counted = (
        select(papers.c.mailing, func.count())
        .where(papers.c.mailing >= first, papers.c.mailing <= last)
        .group_by(papers.c.mailing)
    )
    return {row[0]: row[1] for row in conn.execute(counted)}


def find_first(conn: Connection, keys: Iterable[int]) -> date | None:
    """Return the earliest mailing that brought one of some papers, by their keys; None where none is known."""
    found = [
        conn.execute(select(func.min(papers.c.mailing)).where(papers.c.id.in_(chunk))).scalar()
        for chunk in in_chunks(keys)
    ]
    return min(filter(None, found), default=None)


def load_mailings(conn: Connection, keys: Iterable[int]) -> dict[int, tuple[date | None, date | None]]:
    """Return of papers, by their keys, the mailing that brought each and the day arXiv last changed its record."""
    return {
        row.id: (row.mailing, row.datestamp)
        for chunk in in_chunks(keys)
        for row in conn.execute(
            select(papers.c.id, papers.c.mailing, papers.c.datestamp).where(papers.c.id.in_(chunk))
        )
    }


def find_newest(conn: Connection, *, is_harvested: bool = False) -> tuple[ArxivId, date | None] | None:
    """Return the paper announced last of all that are stored, with its datestamp; None where none is.

    Args:
        conn: a reading transaction.
        is_harvested: only of those that a harvest has shown with their datestamps: another one must show them
            again. What a search or a question for ids brought before it proves nothing of harvests.
    """
    newest = select(papers.c.arxiv_id, papers.c.datestamp).where(papers.c.archive == "")
    if is_harvested:
        newest = newest.where(papers.c.datestamp.is_not(None))
    row = conn.execute(newest.order_by(papers.c.month.desc(), papers.c.number.desc()).limit(1)).one_or_none()
    return (ArxivId.parse(row.arxiv_id), row.datestamp) if row else None
