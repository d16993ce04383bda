"""What another wording of a query gains and loses, paper by paper, and through which clause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from digest.papers import Paper
from digest.query import And, Condition, Not, Or, Query, analyse, find_reasons, matches
from digest.query.printing import print_condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from digest.query import AnalysedPaper, Node


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
