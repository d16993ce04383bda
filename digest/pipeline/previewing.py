"""What a query brings over some days: from what is stored where that reaches, else from arXiv's search.

Nothing is stored. What arXiv returns is held against the query here once more, so that either way a query
means the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from digest.announcements import mailing_moment, mailings_between
from digest.arxiv.search import walk_search
from digest.arxiv.windows import EARLIEST, Window
from digest.planning.holding import hold_papers
from digest.planning.previews import (
    LONGEST_HOLD,
    Share,
    list_clauses,
    list_submission_days,
    place_papers,
    survey_everything,
    survey_found,
)
from digest.query import Or, matches, to_arxiv
from digest.query.printing import print_tree
from digest.store import archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from sqlalchemy import Connection

    from digest.arxiv.client import ArxivClient
    from digest.papers import Paper
    from digest.pipeline.site import Progress
    from digest.planning.previews import Survey
    from digest.query import Query

PAGE: Final = 500
"""Papers asked for at once."""

COUNTED_DAYS: Final = 28
LEAST_MAILINGS: Final = 5
"""Fewer mailings say little about a category."""

MOST_CLAUSES: Final = 8
"""Clauses that arXiv is asked to count, one request each; of a query with more, none is."""


@dataclass(frozen=True, slots=True)
class StoredDays:
    """Mailings of which everything is stored, in order, and when arXiv was last looked at (UTC)."""

    mailings: tuple[date, ...]
    checked_at: datetime


def find_stored_days(
    conn: Connection, now: datetime, days: int, *, is_part_enough: bool = False
) -> StoredDays | None:
    """Return the mailings of the last days where all of them are stored; None where some are not.

    Args:
        conn: a reading transaction.
        now: the moment (UTC).
        days: how far back.
        is_part_enough: those that are stored will do, though earlier ones are not.
    """
    reach = archive.find_reach(conn)
    if reach is None:
        return None
    since = now - timedelta(days=days)
    first = datetime.combine(reach.since, time.min, tzinfo=UTC)
    is_reached = is_part_enough or all(mailing_moment(day) >= first for day in mailings_between(since, now))
    found = tuple(mailings_between(max(since, first), min(reach.until, now)))
    return StoredDays(found, reach.until) if found and is_reached else None


def survey_stored(conn: Connection, query: Query, stored: StoredDays, progress: Progress) -> Survey:
    """Count what a query brings of stored mailings."""
    return survey_everything(query, stored.mailings, load_days(conn, stored, progress))


def find_stored(
    conn: Connection, query: Query | Or, stored: StoredDays, progress: Progress
) -> tuple[list[date], list[Paper]]:
    """Return the stored mailings that brought anything, and their papers that a query means."""
    seen: set[date] = set()

    def note_days() -> Iterator[Paper]:
        for mailing, paper in load_days(conn, stored, progress):
            seen.add(mailing)
            yield paper

    found = [paper for paper, met in hold_papers([query], note_days()) if met]
    return sorted(seen), found


def load_days(conn: Connection, stored: StoredDays, progress: Progress) -> Iterator[tuple[date, Paper]]:
    """Yield the papers that stored mailings announced, each with its mailing."""
    first, known, number = stored.mailings[0], set(stored.mailings), 0
    progress.begin("read", "what is stored")
    announced = archive.load_announced(conn, first, mailing_moment(first) - LONGEST_HOLD)
    for mailing, paper in place_papers(announced, stored.mailings):
        if mailing in known:
            number += 1
            if number % PAGE == 0:
                progress.update(f"{number:,} papers")
            yield mailing, paper
    progress.end("read", f"{number:,} papers")


def count_daily_papers(conn: Connection, now: datetime) -> dict[str, float]:
    """Return how many new papers a day each category has, over up to four weeks; {} where too few are stored."""
    stored = find_stored_days(conn, now, COUNTED_DAYS, is_part_enough=True)
    if stored is None or len(stored.mailings) < LEAST_MAILINGS:
        return {}
    days = (stored.mailings[-1] - stored.mailings[0]).days + 1
    counts = archive.count_by_category(conn, stored.mailings[0])
    return {category: number / days for category, number in counts.items()}


def survey_arxiv(client: ArxivClient, query: Query, *, days: int, now: datetime, progress: Progress) -> Survey:
    """Ask arXiv what was submitted in the last days, and how many papers each clause has there.

    Raises:
        ArxivError: arXiv did not answer well.
    """
    dates = list_submission_days(now, days)
    found = [paper for paper in search_days(client, query, dates, progress) if matches(query, paper)]
    return survey_found(dates, found, _count_clauses(client, query, dates, progress))


def search_days(
    client: ArxivClient, query: Query | Or, dates: Sequence[date], progress: Progress
) -> Iterator[Paper]:
    """Yield what arXiv's search has of a query, submitted on some days (UTC), in no particular order."""
    progress.begin("search", f"{dates[0]:%-d %b} to {dates[-1]:%-d %b}")
    found = total = 0
    asked = _span(dates).confine(to_arxiv(query))
    for fetched in walk_search(client, asked, until=EARLIEST, size=PAGE, asks_twice=True):
        found, total = found + len(fetched.page.papers), fetched.page.total
        progress.update(f"{found:,} of {total:,} papers")
        yield from fetched.page.papers
    progress.end("search", f"{found:,} found")


def _span(dates: Sequence[date]) -> Window:
    return Window(
        datetime.combine(dates[0], time.min, tzinfo=UTC), datetime.combine(dates[-1], time(23, 59), tzinfo=UTC)
    )


def _count_clauses(
    client: ArxivClient, query: Query, dates: Sequence[date], progress: Progress
) -> Iterator[Share]:
    clauses = list_clauses(query.tree)
    if not 0 < len(clauses) <= MOST_CLAUSES:
        return
    window = _span(dates)
    progress.begin("search", "each clause alone")
    for number, (role, node) in enumerate(clauses, start=1):
        progress.update(f"{number} of {len(clauses)}")
        asked = window.confine(to_arxiv(node))
        yield Share(print_tree(node), role, client.search(asked, size=1).page.total)
    progress.end("search", f"{len(clauses)} clauses counted")
