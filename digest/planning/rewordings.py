"""What another wording of a query gains and loses, paper by paper, and through which clause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.query import Not, Query, analyse, find_reasons, matches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from digest.papers import Paper
    from digest.query import AnalysedPaper, Node


@dataclass(frozen=True, slots=True)
class Failing:
    """Why a paper does not match: conditions it lacks, and excluded ones it meets, in the order written."""

    lacks: tuple[str, ...] = ()
    has: tuple[str, ...] = ()

    def __str__(self) -> str:
        lacks = f"lacks {' and '.join(self.lacks)}" if self.lacks else ""
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
    lacks: list[str] = []
    has: list[str] = []
    for reason in find_reasons(Not(tree), paper):
        is_lacking = reason.clause.startswith("NOT ")
        (lacks if is_lacking else has).append(reason.clause.removeprefix("NOT "))
    return Failing(tuple(lacks), tuple(has))


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
