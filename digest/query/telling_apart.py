"""One person's papers and not their namesakes': the conditions that tell them apart, found by trying."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING

from digest import taxonomy
from digest.query.analysis import analyse
from digest.query.names import split_name
from digest.query.people import Likeness, Person, PersonPattern, UnclearPerson, compare_given
from digest.query.printing import print_tree
from digest.query.queries import matches
from digest.query.tree import And, Condition, Or, Prefix, Shape, intern_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.papers import Paper
    from digest.query.analysis import AnalysedPaper
    from digest.query.namesakes import Namesake
    from digest.query.tree import Node

_MOST_CLAUSES = 4
_MOST_CANDIDATES = 12
"""Categories, and co-authors, that are tried: the most frequent."""

_WRONG = 3
"""A paper of somebody else's that a clause brings weighs as much as so many of one's own."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A query for one of several people who share a name.

    Attributes:
        query: as text.
        found: how many of their own papers it brings.
        wrong: how many of the others', those left out that are theirs as well.
        unclear: how many that may be anybody's; all three together are what it brings.
    """

    query: str
    found: int
    wrong: int
    unclear: int = 0


def tell_apart(
    person: Condition, people: Sequence[Namesake], unclear: Sequence[Paper] = ()
) -> tuple[Narrowing, ...]:
    """Return for each of some namesakes a query that brings much of them and little of the others.

    The name is asked for as fully as it is known. Then categories and co-authors are tried, a category
    first, since tomorrow's paper may have other co-authors. Who has no namesakes needs neither.

    Args:
        person: the condition on the name.
        people: those who bear it.
        unclear: papers that may be several of theirs.
    """
    everybodys = {paper.id: analyse(paper) for one in people for paper in one.papers}
    open_ones = [analyse(paper) for paper in unclear if paper.id not in everybodys]
    narrowings = []
    for namesake in people:
        name = _name_fully(person, namesake)
        ids = {paper.id for paper in namesake.papers}
        mine = [everybodys[paper.id] for paper in namesake.papers]
        others = [paper for id_, paper in everybodys.items() if id_ not in ids]
        wrong = [paper for paper in others if matches(name, paper)]
        tree = narrow(name, _choose(namesake, mine, wrong) if wrong else [])
        narrowings.append(
            Narrowing(print_tree(tree), *(len(_find(tree, each)) for each in (mine, wrong, open_ones)))
        )
    return tuple(narrowings)


def _name_fully(person: Condition, namesake: Namesake) -> Condition:
    """Return the condition on all that somebody's papers tell of their name; it fits the shorter forms, too.

    What was asked for is part of it unless each of the two tells what the other doesn't: nobody who is met as
    `W. H.` alone is called `Wei H.` here.
    """
    pattern = PersonPattern.parse(person.text)
    printed = sorted({pattern.find_given([part.text for part in split_name(name)]) for name, _ in namesake.names})
    fullest = reduce(_merge_given, printed)
    if compare_given(fullest, pattern.given) is not Likeness.CROSSED:
        fullest = _merge_given(pattern.given, fullest)
    if fullest == pattern.given:
        return person
    return intern_condition(Prefix.PERSON, Shape.PHRASE, Person(fullest, Person.parse(person.text).last).text)


def _merge_given(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longer form of each given name: `yang`, and `y y`, are `yang y`."""
    return tuple(max(pair, key=len) for pair in zip_longest(one, other, fillvalue=""))


def _choose(namesake: Namesake, mine: Sequence[AnalysedPaper], wrong: Sequence[AnalysedPaper]) -> list[Condition]:
    """Return the alternatives that bring the most of somebody's papers for the fewest of others.

    The first is judged against asking for the name alone, each further one against going without it.
    """
    chosen: list[Condition] = []
    worth = len(mine) - _WRONG * len(wrong)
    found: set[int] = set()
    missed: set[int] = set()
    candidates = {clause: (_find(clause, mine), _find(clause, wrong)) for clause in _list_candidates(namesake)}

    def weigh(clause: Condition) -> int:
        own, foreign = candidates[clause]
        return len(found | own) - _WRONG * len(missed | foreign)

    while candidates and len(chosen) < _MOST_CLAUSES:
        best = max(candidates, key=weigh)
        if weigh(best) <= worth:
            break
        worth = weigh(best)
        chosen.append(best)
        own, foreign = candidates.pop(best)
        found, missed = found | own, missed | foreign
    return chosen


def narrow(person: Condition, clauses: Sequence[Node]) -> Node:
    """Return a person on condition that one of some clauses is met; without any, the person alone."""
    if not clauses:
        return person
    return And((person, clauses[0] if len(clauses) == 1 else Or(tuple(clauses))))


def _list_candidates(namesake: Namesake) -> Iterator[Condition]:
    for category, _ in namesake.categories[:_MOST_CANDIDATES]:
        yield intern_condition(Prefix.CATEGORY, Shape.WORD, taxonomy.canonical_category(category))
    for name, _ in namesake.co_authors[:_MOST_CANDIDATES]:
        try:
            yield intern_condition(Prefix.PERSON, Shape.PHRASE, Person.parse(name).text)
        except UnclearPerson:
            continue  # a collaboration of one word, or a name that can't be written: others will do


def _find(node: Node, papers: Iterable[AnalysedPaper]) -> set[int]:
    return {number for number, paper in enumerate(papers) if matches(node, paper)}
