"""Counts what a query, its clauses or another wording bring."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from digest.model.announcements import earliest_mailing, latest_mailing
from digest.model.errors import count
from digest.model.papers import Paper
from digest.query import And, Condition, Or, Query, analyse, find_reasons, matches
from digest.query.canonical import print_condition, print_tree
from digest.query.index.reverse_index import hold_papers
from digest.query.tree import Not, walk_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.query import AnalysedPaper, Node


MOST_CONDITIONS: Final = 60
"""Of more conditions than so many it is not counted how many papers meet each."""

_SELDOM = 2 / 3
_SEVERAL = -2
"""More than one clause decides, so none does alone."""

_NAMED: Final = 6
"""Of more conditions that are never met so many are named."""


class Unit(StrEnum):
    """What a day of a preview is: a mailing that announced papers, or a day (UTC) on which they were submitted."""

    MAILING = "mailing"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Span:
    """Days looked at.

    Attributes:
        unit: what a day is.
        whole: dates of those of which everything is announced, but for what moderators hold, in order.
        begun: dates of those after them, of which more is to be announced; mailings are whole or not there yet.
    """

    unit: Unit
    whole: tuple[date, ...]
    begun: tuple[date, ...] = ()

    @property
    def dates(self) -> tuple[date, ...]:
        """All of them, in order."""
        return self.whole + self.begun


@dataclass(frozen=True, slots=True)
class Day:
    """One day.

    Attributes:
        date: Eastern for mailings, UTC for days of submission.
        papers: how many of it matched.
        of: of how many; 0 where that is not known.
        is_whole: everything of it is announced, as far as it is not held; False for the last days before now.
    """

    date: date
    papers: int
    of: int = 0
    is_whole: bool = True


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
        shares: the clauses at the top of the query, in the order written; () for a query of one clause, and
            where they were not counted.
        never_met: conditions that no paper of these days meets; None where conditions were not counted.
        is_asked: the clauses were counted by arXiv, by its own reading of them.
    """

    unit: Unit
    days: tuple[Day, ...]
    papers: tuple[Paper, ...]
    shares: tuple[Share, ...] = ()
    never_met: tuple[str, ...] | None = None
    is_asked: bool = False


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


def survey_everything(query: Query, span: Span, papers: Iterable[tuple[date, Paper]]) -> Survey:
    """Hold all papers of some days against a query and each of its clauses.

    Args:
        query: the query.
        span: the days that count; a mailing that brought nobody anything is left out.
        papers: everything they brought, and perhaps more, each with its day.
    """
    counter = _Counter(query)
    known, totals, matched = set(span.dates), Counter[date](), Counter[date]()
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
        span.unit,
        tuple(
            Day(day, matched[day], totals[day], day in span.whole)
            for day in span.dates
            if totals[day] or span.unit is Unit.DAY
        ),
        _order(found),
        counter.list_shares(),
        counter.list_never_met(),
    )


def survey_found(span: Span, papers: Iterable[Paper], shares: Iterable[Share]) -> Survey:
    """Count papers that match by the days (UTC) on which they were submitted; others are passed over.

    Args:
        span: the days that count.
        papers: all that match.
        shares: of the query's clauses, as arXiv counted them.
    """
    found = [paper for paper in papers if paper.published.date() in span.dates]
    matched = Counter(paper.published.date() for paper in found)
    days = tuple(Day(day, matched[day], is_whole=day in span.whole) for day in span.dates)
    return Survey(Unit.DAY, days, _order(found), tuple(shares), is_asked=True)


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

    def list_never_met(self) -> tuple[str, ...] | None:
        """Return the conditions that no paper met, in the order written; None where they were not counted."""
        if not (self._seen and self._conditions):
            return None
        first = 1 + len(self._clauses)
        return tuple(self._conditions[place - first] for place in sorted(self._never_met))


def list_submission_days(now: datetime, days: int) -> Span:
    """Return the last UTC days whose submissions were all due for announcement by now, so many, and those since.

    What is submitted after the deadline of a mailing comes with the next one, so the last days are begun only.
    """
    mailing, today = latest_mailing(now), now.date()
    last = today
    while earliest_mailing(datetime.combine(last, time.max, tzinfo=UTC)) > mailing:
        last -= timedelta(days=1)
    whole = tuple(last - timedelta(days=back) for back in reversed(range(days)))
    return Span(Unit.DAY, whole, tuple(last + timedelta(days=on) for on in range(1, (today - last).days + 1)))


def describe_volume(survey: Survey) -> str:
    """Say how much a query brings: `about 3 papers a mailing, none on 4 of 21; most on Tue 17 Nov: 9`.

    The rate is that of whole days; what came of days that are only begun is said apart.
    """
    begun = [day for day in survey.days if not day.is_whole]
    so_far = sum(day.papers for day in begun)
    said = _describe_rate([day for day in survey.days if day.is_whole], survey.unit)
    since = f"on the {count(len(begun), survey.unit)} since, {count(so_far, 'paper')} so far"
    return f"{said}; {since}" if so_far else said


def _describe_rate(days: Sequence[Day], unit: Unit) -> str:
    counts = [day.papers for day in days]
    total, length = sum(counts), len(counts)
    if not length:
        return f"there was no {unit} in this time"
    if not total:
        return f"no paper in {count(length, unit)}"
    mean = total / length
    if mean < _SELDOM:
        rate = (
            f"about 1 paper in {count(round(1 / mean), unit)}"
            if total > 1
            else f"1 paper in {count(length, unit)}"
        )
    else:
        rate = f"about {count(round(mean), 'paper')} a {unit}"
    empty = counts.count(0)
    said = [f"{rate}, none on {empty:,} of {length:,}" if empty else f"{rate}, some on each of {length:,}"]
    best = max(days, key=lambda day: day.papers)
    if best.papers > 1 and length > 1:
        said.append(f"most on {best.date:%a %-d %b}: {best.papers:,}")
    return "; ".join(said)


def describe_nothing(survey: Survey) -> str:
    """Say why a query brings nothing, by what was counted alone; "" where nothing was that would tell.

    A condition or clause may be met by nobody, or there is a clause without which papers would come.
    """
    said, unit, by = "", survey.unit, " (as arXiv counts)" if survey.is_asked else ""
    idle = tuple(share.clause for share in survey.shares if not share.alone and share.role is not Role.EXCLUDED)
    unmet = survey.never_met or idle
    if unmet:
        named = ", ".join(unmet[:_NAMED]) + (" …" if len(unmet) > _NAMED else "")
        said = f"no paper of these {unit}s meets {named}{by}"
    elif survey.never_met is not None and survey.shares:
        said = "each condition is met by some paper, but the whole query by none"
    elif survey.shares:
        has_exclusion = any(share.role is Role.EXCLUDED for share in survey.shares)
        each = "clause that must be met" if has_exclusion else "clause"
        said = f"each {each} is met by some paper{by}, but the whole query by none"
    return "; ".join(filter(None, (said, _describe_gain(survey, is_met=not unmet))))


def _describe_gain(survey: Survey, *, is_met: bool) -> str:
    """Say what would come without the one clause that keeps most away; nothing but exclusions is no query."""
    needed = [share for share in survey.shares if share.role is not Role.ALTERNATIVE]
    if sum(share.role is Role.REQUIRED for share in needed) == 1:
        needed = [share for share in needed if share.role is Role.EXCLUDED]
    best = max(needed, key=lambda share: share.without or 0, default=None)
    if best is not None and best.without:
        has = "arXiv has" if survey.is_asked else "it would bring"
        return f"without {print_share(best)} {has} {count(best.without, 'paper')}"
    is_counted = needed and all(share.without is not None for share in needed)
    return "leaving out any one clause would bring none either" if is_counted and is_met else ""


def print_share(share: Share) -> str:
    """Return a clause as it stands in its query, an exclusion as one."""
    return f"ANDNOT {share.clause}" if share.role is Role.EXCLUDED else share.clause


@dataclass(frozen=True, slots=True)
class Failing:
    """Why a paper does not match: conditions it lacks, and excluded ones it meets, in the order written.

    Attributes:
        lacks: the conditions it lacks, one by one.
        has: the excluded ones it meets.
        wants: what it lacks in words, which tell conditions of which one is enough from such as are all needed.
    """

    lacks: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    wants: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        lacks = f"lacks {' and '.join(self.wants or self.lacks)}" if self.lacks else ""
        has = f"has {' and '.join(self.has)}, which is excluded" if self.has else ""
        return "; ".join(filter(None, (lacks, has)))


@dataclass(frozen=True, slots=True)
class Moved:
    """A paper that one of two wordings brings and the other does not.

    Attributes:
        paper: the paper.
        met: the clauses through which the one brings it.
        failing: why the other does not.
    """

    paper: Paper
    met: tuple[str, ...]
    failing: Failing


@dataclass(frozen=True, slots=True)
class Rewording:
    """What changes between two wordings, over the same papers; each in the order of announcement, newest first."""

    gained: tuple[Moved, ...]
    lost: tuple[Moved, ...]
    kept: tuple[Paper, ...]


def find_failing(query: Query | Node, paper: Paper | AnalysedPaper) -> Failing:
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
    return Failing(lacks, has, tuple(wants))


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
    gained: list[Moved] = []
    lost: list[Moved] = []
    kept: list[Paper] = []
    for paper in papers:
        ready = analyse(paper)
        was, is_now = matches(old, ready), matches(new, ready)
        if was and is_now:
            kept.append(paper)
        elif is_now:
            gained.append(_explain_move(ready, new, old))
        elif was:
            lost.append(_explain_move(ready, old, new))
    return Rewording(
        tuple(sorted(gained, key=lambda moved: moved.paper.id, reverse=True)),
        tuple(sorted(lost, key=lambda moved: moved.paper.id, reverse=True)),
        tuple(sorted(kept, key=lambda paper: paper.id, reverse=True)),
    )


def _explain_move(ready: AnalysedPaper, brings: Query, fails: Query) -> Moved:
    met = tuple(reason.clause for reason in find_reasons(brings, ready))
    return Moved(ready.paper, met, find_failing(fails, ready))
