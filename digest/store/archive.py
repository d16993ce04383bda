"""The stored papers of some days as they read now: by the mailing that brought them, or by submission."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select, tuple_

from digest.announcements import earliest_mailing, latest_mailing, next_mailing
from digest.planning.polls import Source
from digest.store.mailings import find_newest
from digest.store.paper_rows import read_paper
from digest.store.runs import RunOutcome
from digest.store.schema import cursors, papers, poll_runs, versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
        told_from: Eastern date of the first mailing of which it is kept what it brought; what was out at the
            first harvest is known, but not by mailing.
    """

    since: date
    until: datetime
    told_from: date


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
    first = conn.execute(since).scalar()
    if cursor is None or cursor.last_complete_at is None or first is None or find_newest(conn) is None:
        return None
    mark = (cursor.mark_month, cursor.mark_number)
    told_from = _find_told_from(conn, cursor.bootstrapped_at or cursor.last_complete_at, mark)
    return Reach(first, cursor.last_complete_at, told_from)


def _find_told_from(conn: Connection, looked_at: datetime, mark: tuple[int, int]) -> date:
    """Return the first mailing that had not come at all when the first harvest began (see `Reach.told_from`).

    That is the one last due where arXiv was late with it: nothing was there of what was submitted for it.
    """
    order, before = tuple_(papers.c.month, papers.c.number), (mark[0] - (89 if mark[0] % 100 == 1 else 1), 0)
    newest = (
        select(func.max(versions.c.published))
        .join(papers, papers.c.latest_version_id == versions.c.id)
        .where(papers.c.archive == "", order >= before, order <= mark, versions.c.published <= looked_at)
    )
    submitted, due = conn.execute(newest).scalar(), latest_mailing(looked_at)
    was_late = submitted is not None and earliest_mailing(submitted) < due
    return due if was_late else next_mailing(looked_at)


def load_announced(conn: Connection, first: date, last: date) -> Iterator[tuple[date, Paper]]:
    """Yield the papers that the mailings of a span of Eastern dates brought, both included, each with its mailing.

    They come in the order of their announcement. What the first harvest found belongs to none.
    """
    within = _select_papers().where(papers.c.mailing >= first, papers.c.mailing <= last)
    for row in conn.execute(within.execution_options(yield_per=_BATCH)):
        yield row.mailing, read_paper(row)


def load_submitted(conn: Connection, first: datetime, last: datetime) -> Iterator[Paper]:
    """Yield the stored papers whose first version was submitted between two moments (UTC), both included."""
    within = _select_papers().where(versions.c.published >= first, versions.c.published <= last)
    for row in conn.execute(within.execution_options(yield_per=_BATCH)):
        yield read_paper(row)


def load_texts(conn: Connection, fields: Sequence[str], letters: str) -> Iterator[str]:
    """Yield what stored papers have in some fields, where these hold some letters in any letter case."""
    columns = [versions.c[field] for field in fields]
    holding = (
        select(*columns)
        .join(papers, papers.c.latest_version_id == versions.c.id)
        .where(or_(*(column.icontains(letters, autoescape=True) for column in columns)))
    )
    with closing(conn.execute(holding.execution_options(yield_per=_BATCH))) as rows:
        for row in rows:
            yield "\n".join(row)


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
