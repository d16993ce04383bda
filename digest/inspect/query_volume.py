"""Counts what a query brings of the last days, and compares two wordings of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from digest.model.announcements import earliest_announcement, has_announcement, latest_announcement
from digest.model.clock import write_day
from digest.model.errors import count
from digest.model.messages import DayCount
from digest.model.papers import Paper
from digest.query import AnalysedPaper, And, Condition, Node, Or, PaperIndex, Query, analyse, find_reasons, matches
from digest.query.canonical import print_condition
from digest.query.tree import Not

MATCH_SPAN = timedelta(days=30)
"""How far back matches are counted."""

FEW_ANNOUNCEMENTS, _ANNOUNCEMENTS_A_WEEK = 5, 5


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days (UTC) on which papers were first submitted.

    Attributes:
        whole: dates of those of which everything is announced, but for what moderators hold, in order.
        begun: dates of those after them, of which more will be announced.
    """

    whole: tuple[date, ...]
    begun: tuple[date, ...] = ()

    @property
    def dates(self) -> tuple[date, ...]:
        """All of them, in order."""
        return self.whole + self.begun


def list_submission_days(now: datetime, days: int) -> DaySpan:
    """Return the last UTC days whose submissions were all due for announcement by now, so many, and those since.

    What is submitted after a deadline comes with the next announcement, so the last days are begun only.
    """
    announcement, today = latest_announcement(now), now.date()
    last = today
    while earliest_announcement(datetime.combine(last, time.max, tzinfo=UTC)) > announcement:
        last -= timedelta(days=1)
    whole = tuple(last - timedelta(days=back) for back in reversed(range(days)))
    return DaySpan(whole, tuple(last + timedelta(days=on) for on in range(1, (today - last).days + 1)))


def count_days(span: DaySpan, papers: Iterable[Paper]) -> dict[date, int]:
    """Return how many papers were submitted on each of some days."""
    counts = Counter(paper.published.date() for paper in papers)
    return {day: counts[day] for day in span.dates}


def describe_rate(papers: int, announcements: int, days: int) -> str:
    """Say how much it is that some days brought: `about 6 papers a day`, a week or a month.

    Of none, and where the days are too few for that, say the number as it is: `3 papers in 4 days`.
    """
    known = f"{count(papers, 'paper')} in {count(days, 'day')}"
    if not papers or announcements < FEW_ANNOUNCEMENTS:
        return known
    each = papers / announcements
    for rate, span in ((each, "day"), (each * _ANNOUNCEMENTS_A_WEEK, "week")):
        if rate >= 1:
            return f"about {count(round(rate), 'paper')} a {span}"
    return f"about {count(papers, 'paper')} a month" if days == MATCH_SPAN.days else known


def describe_matches(matched: Iterable[DayCount], began_at: datetime, now: datetime) -> str:
    """Say how much it is that matched in the last 30 days, or since a later moment; see `describe_rate`."""
    first = max(began_at, now - MATCH_SPAN).date()
    days = max((now.date() - first).days, 1)
    announcements = sum(has_announcement(first + timedelta(days=number)) for number in range(days))
    return describe_rate(sum(day.papers for day in matched), announcements, days)


def describe_volume(span: DaySpan, papers: Iterable[Paper]) -> str:
    """Say how much a query brings: `about 3 papers a week (most on Tue 17 Nov: 9)`.

    The rate is that of whole days; what came of days that are only begun is said apart.
    """
    counts = count_days(span, papers)
    total, so_far = sum(counts[day] for day in span.whole), sum(counts[day] for day in span.begun)
    said = describe_rate(total, sum(map(has_announcement, span.whole)), len(span.whole))
    best = max(span.whole, key=lambda day: counts[day], default=None)
    if best is not None and counts[best] > 1:
        said += f" (most on {write_day(best, span.dates[-1])}: {counts[best]:,})"
    return said + (f"; on the days since, {so_far:,} more so far" if so_far else "")


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a paper does not match: conditions it lacks, and excluded ones it meets, in the order written.

    Attributes:
        lacks: the conditions it lacks, one by one.
        has: the excluded ones it meets.
        wants: what it lacks in words, which say where one condition is enough and where all are needed.
    """

    lacks: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    wants: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        lacks = f"lacks {' and '.join(self.wants or self.lacks)}" if self.lacks else ""
        has = f"has {' and '.join(self.has)}, which is excluded" if self.has else ""
        return "; ".join(filter(None, (lacks, has)))


@dataclass(frozen=True, slots=True)
class ChangedPaper:
    """A paper that one of two wordings brings and the other does not.

    Attributes:
        met: the clauses through which the one brings it.
        why_not: why the other does not.
    """

    paper: Paper
    met: tuple[str, ...]
    why_not: WhyNot


@dataclass(frozen=True, slots=True)
class Rewording:
    """What changes between two wordings, over the same papers; each in the order of announcement, newest first."""

    gained: tuple[ChangedPaper, ...]
    lost: tuple[ChangedPaper, ...]
    kept: tuple[Paper, ...]


def find_why_not(query: Query | Node, paper: Paper | AnalysedPaper) -> WhyNot:
    """Return what keeps a paper from matching; nothing where it matches."""
    tree = query.tree if isinstance(query, Query) else query
    lacks, has = _split_reasons(tree, paper)
    wants: dict[str, None] = {}
    ready = analyse(paper) if isinstance(paper, Paper) else paper
    if isinstance(tree, Or) and not all(isinstance(operand, Condition) for operand in tree.operands):
        words = _name_wanted(tree, ready)
        wants.update({words: None} if words else {})
    if isinstance(tree, And):
        for operand in tree.operands:
            if not matches(operand, ready):
                words = _name_wanted(operand, ready)
                wants.update(dict.fromkeys([words] if words else _split_reasons(operand, ready)[0]))
    return WhyNot(lacks, has, tuple(wants))


def _split_reasons(tree: Node, paper: Paper | AnalysedPaper) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the conditions a paper lacks for a query, and the excluded ones it meets."""
    clauses = [reason.clause for reason in find_reasons(Not(tree), paper)]
    lacks = tuple(clause.removeprefix("NOT ") for clause in clauses if clause.startswith("NOT "))
    return lacks, tuple(clause for clause in clauses if not clause.startswith("NOT "))


def _name_wanted(node: Node, ready: AnalysedPaper) -> str:
    """Say in words what of a query that is not met would have to be there; "" where something is excluded."""
    match node:
        case Condition():
            return print_condition(node)
        case And(operands) | Or(operands):
            wanted = [_name_wanted(operand, ready) for operand in operands if not matches(operand, ready)]
            if not all(wanted):
                return ""
            if isinstance(node, And):
                return " and ".join(wanted)
            return f"either {', '.join(wanted[:-1])} or {wanted[-1]}" if len(wanted) > 1 else wanted[0]
        case Not():
            return ""


def compare_wordings(old: Query, new: Query, papers: Iterable[Paper]) -> Rewording:
    """Hold papers against two wordings of a query."""
    listed = sorted(papers, key=lambda paper: paper.id, reverse=True)
    had, has = map(set, PaperIndex(listed).find([old, new]))
    return Rewording(
        tuple(_explain_changed(listed[number], new, old) for number in sorted(has - had)),
        tuple(_explain_changed(listed[number], old, new) for number in sorted(had - has)),
        tuple(listed[number] for number in sorted(had & has)),
    )


def _explain_changed(paper: Paper, brings: Query, fails: Query) -> ChangedPaper:
    ready = analyse(paper)
    met = tuple(reason.clause for reason in find_reasons(brings, ready))
    return ChangedPaper(paper, met, find_why_not(fails, ready))
