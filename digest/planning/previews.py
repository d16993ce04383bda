"""What a query brings: papers by day, how much that is in words, and what each of its clauses lets through."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Final

from digest.announcements import earliest_mailing, estimate_mailings, latest_mailing
from digest.planning.holding import hold_papers
from digest.query import And, Or, Query
from digest.query.printing import print_condition, print_tree
from digest.query.tree import Not, walk_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.papers import Paper
    from digest.query import Node

LONGEST_HOLD: Final = timedelta(days=14)
"""Papers submitted so long before a span of mailings are looked at, too: 2 in 100 were held for longer."""

MOST_CONDITIONS: Final = 60
"""Of more conditions than so many it is not counted how many papers meet each."""

WEEKS_FROM: Final = 45
"""From so many days on a chart has a bar a week."""

_WEEK = 7
_SELDOM = 2 / 3
_SEVERAL = -2
"""More than one clause decides, so none does alone."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Unit(StrEnum):
    """What a day of a preview is: a mailing that announced papers, or a day (UTC) on which they were submitted."""

    MAILING = "mailing"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Day:
    """One day: its date (Eastern for mailings), how many papers matched, and of how many (0: unknown)."""

    date: date
    papers: int
    of: int = 0


class Role(StrEnum):
    """What a clause does in a query: it must be met, it is one of several ways, or it takes papers away."""

    REQUIRED = "required"
    ALTERNATIVE = "alternative"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Share:
    """What one clause of a query lets through.

    Attributes:
        clause: as text; of an exclusion what is excluded.
        role: what it does.
        alone: papers that meet it, whatever else they are.
        without: papers the query would bring if the clause were left out; None where that was not counted.
    """

    clause: str
    role: Role
    alone: int
    without: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What a query brings over some days.

    Attributes:
        unit: what a day is.
        days: in order, without those on which nothing could come.
        papers: those that match, the one announced last first.
        shares: the clauses at the top of the query, in the order written; () for a query of one clause.
        never_met: conditions that no paper of these days meets.
    """

    unit: Unit
    days: tuple[Day, ...]
    papers: tuple[Paper, ...]
    shares: tuple[Share, ...] = ()
    never_met: tuple[str, ...] = ()


def list_clauses(tree: Node) -> list[tuple[Role, Node]]:
    """Return the clauses at the top of a query with what each does; none where it is a single one."""
    match tree:
        case And(operands):
            return [
                (Role.EXCLUDED, operand.operand) if isinstance(operand, Not) else (Role.REQUIRED, operand)
                for operand in operands
            ]
        case Or(operands):
            return [(Role.ALTERNATIVE, operand) for operand in operands]
        case _:
            return []


def survey_everything(query: Query, days: Sequence[date], papers: Iterable[tuple[date, Paper]]) -> Survey:
    """Hold all papers of some mailings against a query and each of its clauses.

    Args:
        query: the query.
        days: Eastern dates of the mailings that count, in order; one that brought nobody anything is left out.
        papers: everything they brought, and perhaps more, each with its mailing.
    """
    counter = _Counter(query)
    known, totals, matched = set(days), Counter[date](), Counter[date]()
    found: list[Paper] = []
    waiting: deque[date] = deque()

    def note_days() -> Iterator[Paper]:
        for day, paper in papers:
            if day in known:
                waiting.append(day)
                yield paper

    for paper, met in hold_papers(counter.nodes, note_days()):
        day = waiting.popleft()
        totals[day] += 1
        if counter.take(met):
            matched[day] += 1
            found.append(paper)
    return Survey(
        Unit.MAILING,
        tuple(Day(day, matched[day], totals[day]) for day in days if totals[day]),
        _order(found),
        counter.list_shares(),
        counter.list_never_met(),
    )


def survey_found(days: Sequence[date], papers: Iterable[Paper], shares: Iterable[Share]) -> Survey:
    """Count papers that match by the days (UTC) on which they were submitted; others are passed over.

    Args:
        days: those that count, in order.
        papers: all that match.
        shares: of the query's clauses, as arXiv counted them.
    """
    known = set(days)
    found = [paper for paper in papers if paper.published.date() in known]
    matched = Counter(paper.published.date() for paper in found)
    return Survey(Unit.DAY, tuple(Day(day, matched[day]) for day in days), _order(found), tuple(shares))


def _order(papers: Iterable[Paper]) -> tuple[Paper, ...]:
    """Put the paper announced last first."""
    return tuple(sorted(papers, key=lambda paper: paper.id, reverse=True))


class _Counter:
    """Counts papers by clause, one after the other, so that a month of them need not be kept.

    Attributes:
        nodes: what each paper is to be held against: the query, its clauses, and its conditions.
    """

    def __init__(self, query: Query) -> None:
        self._is_any = isinstance(query.tree, Or)
        self._clauses = list_clauses(query.tree)
        self._alone = [0] * len(self._clauses)
        self._alone_only = [0] * len(self._clauses)
        self._seen = self._total = 0
        conditions = {print_condition(condition): condition for condition in walk_conditions(query.tree)}
        is_counted = len(conditions) <= MOST_CONDITIONS
        self._conditions = list(conditions) if is_counted else []
        self.nodes = [
            query.tree,
            *(node for _, node in self._clauses),
            *(conditions.values() if is_counted else ()),
        ]
        self._never_met = set(range(1 + len(self._clauses), len(self.nodes)))

    def take(self, met: frozenset[int]) -> bool:
        """Count one paper by which nodes it meets; tell whether it matches."""
        self._seen += 1
        self._never_met -= met
        is_match = 0 in met
        self._total += is_match
        deciding = -1
        for number, (role, _) in enumerate(self._clauses):
            is_met = number + 1 in met
            self._alone[number] += is_met
            if is_met is (role is not Role.REQUIRED):
                deciding = number if deciding == -1 else _SEVERAL
        if deciding >= 0:
            self._alone_only[deciding] += 1
        return is_match

    def list_shares(self) -> tuple[Share, ...]:
        """Return what each clause lets through."""
        sign = -1 if self._is_any else 1
        return tuple(
            Share(print_tree(node), role, alone, self._total + sign * only)
            for (role, node), alone, only in zip(self._clauses, self._alone, self._alone_only, strict=True)
        )

    def list_never_met(self) -> tuple[str, ...]:
        """Return the conditions that no paper met, in the order written."""
        if not self._seen:
            return ()
        first = 1 + len(self._clauses)
        return tuple(self._conditions[place - first] for place in sorted(self._never_met))


def place_papers(
    papers: Iterable[tuple[date | None, Paper]], mailings: Sequence[date]
) -> Iterator[tuple[date, Paper]]:
    """Yield papers with the mailings that brought them, estimated where that is not kept.

    What the first harvest found was announced before anybody looked, so no mailing of it is kept; the order of
    ids and the dates of submission tell it well enough (see `estimate_mailings`).

    Args:
        papers: in the order of their announcement; without a mailing only such as the first harvest found.
        mailings: Eastern dates of those that count, in order.
    """
    before: list[Paper] = []
    for mailing, paper in papers:
        if mailing is not None:
            yield mailing, paper
        elif not paper.id.archive:
            before.append(paper)
    begun = False
    late: list[Paper] = []
    for paper in before:
        begun = begun or (bool(mailings) and earliest_mailing(paper.published) >= mailings[0])
        if begun:
            late.append(paper)
    if late:
        yield from zip(estimate_mailings([paper.published for paper in late], mailings), late, strict=True)


def list_submission_days(now: datetime, days: int) -> list[date]:
    """Return the last UTC days whose submissions were all due for announcement by now, so many, in order.

    What is submitted after the deadline of a mailing comes with the next one.
    """
    mailing, day = latest_mailing(now), now.date()
    while earliest_mailing(datetime.combine(day, time.max, tzinfo=UTC)) > mailing:
        day -= timedelta(days=1)
    return [day - timedelta(days=back) for back in reversed(range(days))]


def describe_volume(survey: Survey) -> str:
    """Say how much a query brings: `about 3 papers a mailing, none on 4 of 21; most on Tue 17 Nov: 9`."""
    counts = [day.papers for day in survey.days]
    total, length, unit = sum(counts), len(counts), survey.unit
    if not length:
        return f"there was no {unit} in this time"
    if not total:
        return f"no paper in {_count(length, unit)}"
    mean = total / length
    if mean < _SELDOM:
        rate = (
            f"about 1 paper in {_count(round(1 / mean), unit)}"
            if total > 1
            else f"1 paper in {_count(length, unit)}"
        )
    else:
        rate = f"about {_count(round(mean), 'paper')} a {unit}"
    empty = counts.count(0)
    said = [f"{rate}, none on {empty:,} of {length:,}" if empty else f"{rate}, some on each of {length:,}"]
    best = max(survey.days, key=lambda day: day.papers)
    if best.papers > 1 and length > 1:
        said.append(f"most on {best.date:%a %-d %b}: {best.papers:,}")
    return "; ".join(said)


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def describe_nothing(survey: Survey) -> str:
    """Say why a query brings nothing: which condition is never met, or which clause is the narrowest."""
    required = [share for share in survey.shares if share.role is not Role.ALTERNATIVE]
    best = max(required, key=lambda share: share.without or 0, default=None)
    gain = (
        f"without {_name_clause(best)} it would bring {_count(best.without, 'paper')}"
        if best and best.without
        else ""
    )
    if survey.never_met:
        named = ", ".join(survey.never_met[:6]) + (" …" if len(survey.never_met) > 6 else "")  # noqa: PLR2004 - the six just named
        return f"no paper of these {survey.unit}s meets {named}" + (f"; {gain}" if gain else "")
    if gain:
        return f"each condition is met by some paper, but never all by one; {gain}"
    return "each condition is met by some paper, but never all by one, nor all but one" if required else ""


def _name_clause(share: Share) -> str:
    return f"ANDNOT {share.clause}" if share.role is Role.EXCLUDED else share.clause


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: what stands before it, the bar itself, and the number it shows."""

    label: str
    bar: str
    number: int


def draw_chart(days: Sequence[Day], *, width: int, is_unicode: bool) -> list[Bar]:
    """Draw papers a day as bars of at most `width` cells, one for each week where there are many days.

    Args:
        days: in order; a long run of them without any paper has one line.
        width: cells of the longest bar; small numbers take four cells a paper.
        is_unicode: whether eighths of a cell can be shown; whole ones of `#` otherwise.
    """
    if len(days) >= WEEKS_FROM:
        lines = [(f"week of {monday.day:>2} {monday:%b}", number) for monday, number in _sum_weeks(days).items()]
    else:
        lines = list(_label_days(days))
    highest = max((number for _, number in lines), default=0)
    cells = min(width, 4 * highest)
    broadest = max((len(label) for label, _ in lines), default=0)
    return [
        Bar(f"{label:<{broadest}}", _draw_bar(number * cells / max(highest, 1), is_unicode=is_unicode), number)
        for label, number in lines
    ]


def _label_days(days: Sequence[Day]) -> Iterator[tuple[str, int]]:
    for is_empty, group in groupby(days, key=lambda day: not day.papers):
        run = list(group)
        if is_empty and len(run) >= _WEEK:
            yield f"{_label(run[0].date)} to {_label(run[-1].date)}", 0
        else:
            yield from ((_label(day.date), day.papers) for day in run)


def _label(day: date) -> str:
    return f"{day:%a} {day.day:>2} {day:%b}"


def _sum_weeks(days: Sequence[Day]) -> dict[date, int]:
    weeks: dict[date, int] = {}
    for day in days:
        monday = day.date - timedelta(days=day.date.weekday())
        weeks[monday] = weeks.get(monday, 0) + day.papers
    return weeks


def _draw_bar(cells: float, *, is_unicode: bool) -> str:
    if not cells:
        return ""
    if not is_unicode:
        return "#" * max(1, round(cells))
    eighths = max(1, round(cells * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
