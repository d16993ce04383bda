"""The round-up of a week: what each day brought, what became of it since, and which papers matched the most."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from digest.announcements import mailing_moment, mailings_between
from digest.planning.ordering import count_clauses, rank_entry
from digest.render.cleaning import clean_text
from digest.render.dates import write_day, write_days, write_long_day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

    from digest.messages import Digest, DigestEntry
    from digest.render.presentation import PaperView

MOST_MATCHED = 5
"""How many of the papers that matched the most are named; a week of no more papers than that names none."""

MOST_CHANGED = 10
"""How many of the papers that were replaced or withdrawn since are named; the others are counted."""

_TEMPLATES = {
    "email/digest.html": "email/weekly.html",
    "email/text.txt": "email/weekly.txt",
    "slack/digest.txt": "slack/weekly.txt",
    "terminal/digest.txt": "terminal/weekly.txt",
    "web/digest.html": "web/weekly.html",
}
"""What stands in for an ordinary digest's template."""

WEEKLY_TEMPLATES = frozenset(_TEMPLATES.values())


@dataclass(frozen=True, slots=True)
class DayView:
    """One mailing of the week: its day, `Thu 19 Nov` and `Thursday 19 November 2026`, and how many papers.

    `said` is the number in words: `none` is said only where all of the week was looked at.
    """

    day: str
    long_day: str
    count: int
    said: str


@dataclass(frozen=True, slots=True)
class ShareView:
    """A saved query: its name, and how many of the week's papers it matched."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class MatchView:
    """One of the papers that matched the most: the paper, and by how much: `2 saved queries, 5 conditions`."""

    paper: PaperView
    matched: str


@dataclass(frozen=True, slots=True)
class WeekView:
    """A week as templates see it.

    Attributes:
        span: its mailings, `16–19 November`.
        days: each mailing in turn, those too that brought nothing; () where there is one alone, whose heading
            says it.
        queries: the saved queries in the subscription's order, where there are several.
        changed: the first papers that were announced and then replaced or withdrawn within the week; what
            became of each is its `sequel`.
        changed_count: how many there are.
        most_matched: the papers that most saved queries and clauses met, the most first; () in a small week,
            and where too many tie.
    """

    span: str
    days: tuple[DayView, ...]
    queries: tuple[ShareView, ...]
    changed: tuple[PaperView, ...]
    changed_count: int
    most_matched: tuple[MatchView, ...]


def choose_template(name: str, digest: Digest) -> str:
    """Return the template of a digest, given an ordinary one's: a round-up has its own."""
    return _TEMPLATES[name] if digest.is_round_up else name


def as_fields(context: DataclassInstance) -> dict[str, Any]:
    """Return an ordinary digest's context as the names and values a round-up's begins with."""
    return {field.name: getattr(context, field.name) for field in fields(context)}


def view_week(digest: Digest, papers: Sequence[PaperView]) -> WeekView:
    """Return what templates see of a week.

    Args:
        digest: the round-up.
        papers: all its papers as templates see them, in its order.
    """
    changed = [paper for paper in papers if paper.entry.sequel is not None]
    most_matched = [MatchView(paper, _describe_match(paper.entry)) for paper in choose_most_matched(papers)]
    return WeekView(
        span=_write_span(digest),
        days=_count_days(digest),
        queries=_count_queries(digest),
        changed=tuple(changed[:MOST_CHANGED]),
        changed_count=len(changed),
        most_matched=tuple(most_matched),
    )


def choose_most_matched(papers: Sequence[PaperView]) -> tuple[PaperView, ...]:
    """Return the papers that most saved queries met, then most distinct clauses, then by a digest's own order.

    A paper that one clause alone brought is not among them, nor is one that was withdrawn since. Where more
    share the first place than would be named there are none: these would be the first papers over again.
    """
    if len(papers) <= MOST_MATCHED:
        return ()
    several = [
        paper
        for paper in papers
        if max(_count_matched(paper.entry)) > 1
        and not paper.entry.paper.is_withdrawn
        and not paper.is_withdrawn_since
    ]
    ranked = sorted(
        several, key=lambda paper: (*(-count for count in _count_matched(paper.entry)), rank_entry(paper.entry))
    )
    is_level = len(ranked) > MOST_MATCHED and _share_place(ranked[0], ranked[MOST_MATCHED])
    return () if is_level else tuple(ranked[:MOST_MATCHED])


def _share_place(paper: PaperView, other: PaperView) -> bool:
    return _count_matched(paper.entry) == _count_matched(other.entry)


def choose_top(digest: Digest, papers: Sequence[PaperView]) -> tuple[PaperView, ...]:
    """Return papers as the subject of a mail names them, the best first."""
    best = choose_most_matched(papers) if digest.is_round_up else ()
    return best or tuple(papers)


def _count_matched(entry: DigestEntry) -> tuple[int, int]:
    return len({reason.query for reason in entry.reasons}), count_clauses(entry)


def _describe_match(entry: DigestEntry) -> str:
    queries, clauses = _count_matched(entry)
    said = [f"{queries} saved queries"] if queries > 1 else []
    return ", ".join([*said, f"{clauses} condition{'' if clauses == 1 else 's'}"])


def _count_days(digest: Digest) -> tuple[DayView, ...]:
    coverage = digest.coverage
    counts = Counter(entry.mailing for entry in digest.entries if entry.mailing)
    if coverage.mailing is not None:
        first = mailing_moment(coverage.since or coverage.mailing) - timedelta(seconds=1)
        for day in mailings_between(first, mailing_moment(coverage.mailing)):
            counts.setdefault(day, 0)
    days = sorted(counts) if len(counts) > 1 else []
    none = "none" if coverage.is_complete else "none yet"
    return tuple(
        DayView(write_day(day), write_long_day(day), counts[day], f"{counts[day]:,}" if counts[day] else none)
        for day in days
    )


def _count_queries(digest: Digest) -> tuple[ShareView, ...]:
    if len(digest.queries) < 2:  # noqa: PLR2004 - one has all there is
        return ()
    counts = Counter(name for entry in digest.entries for name in entry.queries)
    return tuple(ShareView(clean_text(name), counts[name]) for name, _ in digest.queries)


def _write_span(digest: Digest) -> str:
    coverage = digest.coverage
    if coverage.mailing is None:
        return ""
    return write_days(coverage.since or coverage.mailing, coverage.mailing)
