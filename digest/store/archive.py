"""The stored papers of some days as they read now: by the mailing that brought them, or by submission."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from digest.planning.polls import Source
from digest.store.mailings import find_newest
from digest.store.paper_rows import read_paper
from digest.store.runs import RunOutcome
from digest.store.schema import cursors, papers, poll_runs, versions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, datetime

    from sqlalchemy import Connection, Select

    from digest.papers import Paper

_BATCH = 1_000
"""Papers read at once: a month has twenty thousand."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Between which moments all that arXiv announced is stored, because harvests brought it.

    Attributes:
        since: UTC day from which on the first harvest asked for everything.
        until: when the last complete harvest began (UTC).
        mark: announcement order of the newest paper at the first harvest: what comes behind it is stored.
        newest: announcement order of the newest paper stored.
    """

    since: date
    until: datetime
    mark: tuple[int, int]
    newest: tuple[int, int]


def find_reach(conn: Connection) -> Reach | None:
    """Return what harvests cover without a gap; None where none was complete yet.

    An installation that asks arXiv's search stores what its saved queries brought, which says nothing of others.
    """
    own = (cursors.c.source == Source.HARVEST, cursors.c.query_key == "", cursors.c.is_bootstrapped)
    cursor = conn.execute(select(cursors).where(*own)).one_or_none()
    since = select(func.min(poll_runs.c.window_from)).where(
        poll_runs.c.source == Source.HARVEST,
        poll_runs.c.is_bootstrap,
        poll_runs.c.outcome.in_((RunOutcome.COMPLETE, RunOutcome.EMPTY)),
    )
    first, newest = conn.execute(since).scalar(), find_newest(conn)
    if cursor is None or cursor.last_complete_at is None or first is None or newest is None:
        return None
    mark = (cursor.mark_month, cursor.mark_number)
    return Reach(first, cursor.last_complete_at, mark, newest[0].announcement_order)


def load_announced(conn: Connection, first: date, submitted: datetime) -> Iterator[tuple[date | None, Paper]]:
    """Yield stored papers in the order of their announcement, each with its mailing as far as that is kept.

    Args:
        conn: a reading transaction.
        first: papers of mailings from this Eastern date on.
        submitted: of papers without a known mailing, those submitted since then (UTC).
    """
    of_late = or_(papers.c.mailing >= first, papers.c.mailing.is_(None) & (versions.c.published >= submitted))
    for row in conn.execute(_select_papers().where(of_late).execution_options(yield_per=_BATCH)):
        yield row.mailing, read_paper(row)


def load_submitted(conn: Connection, first: datetime, last: datetime) -> Iterator[Paper]:
    """Yield the stored papers whose first version was submitted between two moments (UTC), both included."""
    within = _select_papers().where(versions.c.published >= first, versions.c.published <= last)
    for row in conn.execute(within.execution_options(yield_per=_BATCH)):
        yield read_paper(row)


def count_by_category(conn: Connection, first: date) -> Counter[str]:
    """Return how many papers of the mailings from an Eastern date on carry each category."""
    listed = (
        select(versions.c.categories)
        .join(papers, papers.c.latest_version_id == versions.c.id)
        .where(papers.c.mailing >= first)
    )
    return Counter(category for (text,) in conn.execute(listed) for category in text.split())


def _select_papers() -> Select[Any]:
    return (
        select(papers.c.arxiv_id, papers.c.mailing, versions)
        .join(versions, versions.c.id == papers.c.latest_version_id)
        .order_by(papers.c.month, papers.c.number, papers.c.id)
    )
