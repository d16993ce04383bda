"""Papers in a store as a complete harvest brings them, with their announcements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final

from sqlalchemy import update

from digest.compare import content_hash
from digest.model.announcements import (
    Change,
    Kind,
    StoredChange,
    earliest_announcement,
    latest_announcement,
)
from digest.model.papers import Paper
from digest.store import Store, changes, papers, runs
from digest.store.papers import MATCHED, STORED
from digest.store.schema import marks

_AT_ONCE: Final = 1_000
_FOUR_WEEKS: Final = timedelta(weeks=4)
_LOOK_BACK: Final = timedelta(days=60)


def gather(papers: Iterable[Paper], last: datetime) -> list[Paper]:
    """Return papers as if submitted until a moment, so many weeks earlier that each keeps its weekday."""
    late = (
        (paper, max(-((last - paper.published) // _FOUR_WEEKS), 0) * _FOUR_WEEKS)
        for paper in papers
    )
    return [
        replace(paper, published=paper.published - by, updated=paper.updated - by)
        for paper, by in late
    ]


def store_month(
    store: Store,
    given: Sequence[Paper],
    now: datetime,
    *,
    since: date | None = None,
    first: date | None = None,
    kind: Kind = Kind.NEW,
) -> None:
    """Store papers that one complete harvest brought, and match them.

    From `since` on everything is there (two months before, if it is None); `first` is the earliest
    announcement.
    """
    with store.begin() as conn:
        window = since or (now - _LOOK_BACK).date()
        run_id = runs.start(conn, source="harvest", at=now, window_from=window, is_bootstrap=True)
        stored: list[StoredChange] = []
        for start in range(0, len(given), _AT_ONCE):
            chunk = given[start : start + _AT_ONCE]
            known = papers.load_known(conn, [paper.id for paper in chunk])
            found = [Change(kind, paper, known.get(paper.id)) for paper in chunk]
            stored += changes.save(conn, found, content_hash, run_id=run_id, at=now)
        days = {
            one.paper_key: min(earliest_announcement(one.paper.published), latest_announcement(now))
            for one in stored
        }
        if kind is Kind.NEW:
            papers.assign_announcements(
                conn, {key: max(day, first or day) for key, day in days.items()}
            )
        figures = {"pages": 1, "papers": len(given), "new": len(given), "changed": 0}
        runs.finish(conn, run_id, outcome="complete", at=now, **figures)
        runs.move_cursor(conn, source="harvest", run_id=run_id, started_at=now, mark=(202611, 2))
        matched = papers.load_mark(conn, STORED)
        conn.execute(update(marks).where(marks.c.name == MATCHED).values(value=matched))
