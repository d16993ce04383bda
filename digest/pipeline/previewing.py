"""What a query brings over some days: from what is stored where that reaches, else from arXiv's search.

Nothing is stored. What arXiv returns is held against the query here once more, so that either way a query
means the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from digest.announcements import mailing_moment, mailings_between
from digest.arxiv.search import walk_search
from digest.arxiv.windows import EARLIEST, Window
from digest.planning.holding import hold_papers
from digest.planning.previews import (
    Role,
    Share,
    Span,
    Unit,
    list_clauses,
    list_submission_days,
    survey_everything,
    survey_found,
)
from digest.query import And, Or, matches, offer_beginnings, to_arxiv
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
    from digest.query import Node, Note, Query

PAGE: Final = 500
"""Papers asked for at once."""

COUNTED_DAYS: Final = 28
LEAST_MAILINGS: Final = 5
"""Fewer mailings say little about a category."""

MOST_CLAUSES: Final = 8
"""Clauses that arXiv is asked to count, one request each; of a query with more, none is."""

MOST_RESTS: Final = 5
"""Of so many clauses, at most, arXiv is asked what there were without each, where with all there is nothing."""


@dataclass(frozen=True, slots=True)
class StoredDays:
    """Days of which everything is stored that was announced of them.

    Attributes:
        span: mailings where it is kept of each what it brought, else days of first submission.
        checked_at: when arXiv was last looked at (UTC).
        told_from: Eastern date of the first mailing of which it is kept what it brought.
    """

    span: Span
    checked_at: datetime
    told_from: date


def find_stored_days(
    conn: Connection, now: datetime, days: int, *, is_part_enough: bool = False
) -> StoredDays | None:
    """Return the last days where everything of them is stored; None where it is not.

    What the first harvest found is not known by mailing, so where one of the mailings was before it, all is
    laid out by day of submission: no day's figure depends on how many others are looked at.

    Args:
        conn: a reading transaction.
        now: the moment (UTC).
        days: how far back.
        is_part_enough: those that are stored will do, though earlier ones are not.
    """
    reach = archive.find_reach(conn)
    if reach is None:
        return None
    until = min(reach.until, now)
    expected = list(mailings_between(now - timedelta(days=days), now))
    if expected and expected[0] >= reach.told_from:
        come = tuple(day for day in expected if mailing_moment(day) <= until)
        return StoredDays(Span(Unit.MAILING, come), reach.until, reach.told_from) if come else None
    asked, known = list_submission_days(now, days), list_submission_days(until, 1)
    if asked.whole[0] < reach.since and not is_part_enough:
        return None
    first, last = max(asked.whole[0], reach.since), known.whole[-1]
    whole = tuple(first + timedelta(days=on) for on in range((last - first).days + 1))
    begun = tuple(day for day in known.begun if day >= first)
    return StoredDays(Span(Unit.DAY, whole, begun), reach.until, reach.told_from) if whole else None


def survey_stored(conn: Connection, query: Query, stored: StoredDays, progress: Progress) -> Survey:
    """Count what a query brings of stored days."""
    return survey_everything(query, stored.span, load_days(conn, stored.span, progress))


def find_stored(
    conn: Connection, query: Query | Or, stored: StoredDays, progress: Progress
) -> tuple[Span, list[Paper]]:
    """Return the stored days, of mailings those that brought anything, and their papers that a query means."""
    seen: set[date] = set()

    def note_days() -> Iterator[Paper]:
        for day, paper in load_days(conn, stored.span, progress):
            seen.add(day)
            yield paper

    found = [paper for paper, met in hold_papers([query], note_days()) if met]
    span = stored.span
    return (Span(span.unit, tuple(sorted(seen))) if span.unit is Unit.MAILING else span), found


def load_days(conn: Connection, span: Span, progress: Progress) -> Iterator[tuple[date, Paper]]:
    """Yield the stored papers of some days, each with its day."""
    progress.begin("read", "what is stored")
    number, first, last = 0, span.dates[0], span.dates[-1]
    if span.unit is Unit.MAILING:
        placed = archive.load_announced(conn, first, last)
    else:
        begin, end = datetime.combine(first, time.min, tzinfo=UTC), datetime.combine(last, time.max, tzinfo=UTC)
        placed = ((paper.published.date(), paper) for paper in archive.load_submitted(conn, begin, end))
    for number, one in enumerate(placed, start=1):
        if number % PAGE == 0:
            progress.update(f"{number:,} papers")
        yield one
    progress.end("read", f"{number:,} papers")


def count_daily_papers(conn: Connection, now: datetime) -> dict[str, float]:
    """Return how many new papers a day each category has, over up to four weeks; {} where too few are stored."""
    reach = archive.find_reach(conn)
    if reach is None:
        return {}
    expected = mailings_between(now - timedelta(days=COUNTED_DAYS), min(reach.until, now))
    mailings = [day for day in expected if day >= reach.told_from]
    if len(mailings) < LEAST_MAILINGS:
        return {}
    days = (mailings[-1] - mailings[0]).days + 1
    counts = archive.count_by_category(conn, mailings[0])
    return {category: number / days for category, number in counts.items()}


def find_beginnings(conn: Connection, query: Query) -> tuple[Note, ...]:
    """Return a note for each word of a query that no stored paper has, but many begin with."""
    return offer_beginnings(query, partial(archive.load_texts, conn))


def survey_arxiv(client: ArxivClient, query: Query, *, days: int, now: datetime, progress: Progress) -> Survey:
    """Ask arXiv what was submitted in the last days, and how many papers each clause has there.

    Raises:
        ArxivError: arXiv did not answer well.
    """
    span = list_submission_days(now, days)
    found = [paper for paper in search_days(client, query, span, progress) if matches(query, paper)]
    survey = survey_found(span, found, _count_clauses(client, query, span, progress))
    return survey if found else replace(survey, shares=_count_rests(client, query, survey.shares, span, progress))


def search_days(client: ArxivClient, query: Query | Or, span: Span, progress: Progress) -> Iterator[Paper]:
    """Yield what arXiv's search has of a query, submitted on some days (UTC), in no particular order."""
    progress.begin("search", f"{span.dates[0]:%-d %b} to {span.dates[-1]:%-d %b}")
    found = total = 0
    asked = _enclose(span).confine(to_arxiv(query))
    for fetched in walk_search(client, asked, until=EARLIEST, size=PAGE, asks_twice=True):
        found, total = found + len(fetched.page.papers), fetched.page.total
        progress.update(f"{found:,} of {total:,} papers")
        yield from fetched.page.papers
    progress.end("search", f"{found:,} found")


def _enclose(span: Span) -> Window:
    first, last = span.dates[0], span.dates[-1]
    return Window(datetime.combine(first, time.min, tzinfo=UTC), datetime.combine(last, time(23, 59), tzinfo=UTC))


def _count_clauses(client: ArxivClient, query: Query, span: Span, progress: Progress) -> tuple[Share, ...]:
    """Ask arXiv how many papers each clause has alone."""
    clauses = list_clauses(query.tree)
    if not 0 < len(clauses) <= MOST_CLAUSES:
        return ()
    counts = _count_found(client, [node for _, node in clauses], "each clause alone", span, progress)
    return tuple(Share(print_tree(node), role, alone) for (role, node), alone in zip(clauses, counts, strict=True))


def _count_rests(
    client: ArxivClient, query: Query, shares: tuple[Share, ...], span: Span, progress: Progress
) -> tuple[Share, ...]:
    """Ask arXiv how many papers a query that has none would have without each of its clauses.

    Nothing is asked where a clause that must be met has no paper, which is reason enough; nor where what is
    left is one clause that was counted, or exclusions alone.
    """
    tree = query.tree
    if not (isinstance(tree, And) and 0 < len(shares) <= MOST_RESTS) or _has_idle(shares):
        return shares
    known = _tell_rests(shares)
    asked = [place for place in range(len(shares)) if place not in known]
    rests = [_drop(tree.operands, place) for place in asked]
    counts = _count_found(client, rests, "all clauses but one", span, progress) if rests else []
    known |= dict(zip(asked, counts, strict=True))
    return tuple(replace(share, without=known[place]) for place, share in enumerate(shares))


def _tell_rests(shares: Sequence[Share]) -> dict[int, int | None]:
    """Return how many papers there are without each clause, by its place, as far as nobody need be asked."""
    known: dict[int, int | None] = {}
    for place in range(len(shares)):
        others = [share for other, share in enumerate(shares) if other != place]
        if all(share.role is Role.EXCLUDED for share in others):
            known[place] = None
        elif len(others) == 1:
            known[place] = others[0].alone
    return known


def _has_idle(shares: Sequence[Share]) -> bool:
    return any(share.role is Role.REQUIRED and not share.alone for share in shares)


def _drop(operands: Sequence[Node], place: int) -> Node:
    rest = (*operands[:place], *operands[place + 1 :])
    return And(rest) if len(rest) > 1 else rest[0]


def _count_found(
    client: ArxivClient, nodes: Sequence[Node], what: str, span: Span, progress: Progress
) -> list[int]:
    window, counts = _enclose(span), list[int]()
    progress.begin("search", what)
    for node in nodes:
        progress.update(f"{len(counts) + 1} of {len(nodes)}")
        counts.append(client.search(window.confine(to_arxiv(node)), size=1).page.total)
    progress.end("search", f"{len(nodes)} counted")
    return counts
