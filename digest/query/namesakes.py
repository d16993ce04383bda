"""Who bears a name: the papers it is met on, grouped into likely persons, and queries that tell them apart.

arXiv knows names, not people. Papers are taken for one person's where a co-author or an affiliation ties
them together; a paper that nothing ties to others goes to the one person of its field whose name agrees,
and is left open where there are several. Names that contradict each other are never one person's, nor are
two authors of one paper.

The less two names are alike, the more must tie them. `W. H. Wang` and `Wei Wang` each tell what the other
doesn't: they are one person's only where two co-authors written out, or an affiliation, say so. `W. Wang` and
`W. H. Wang` need one co-author written out or two with initials; the field alone says nothing of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from digest.query.analysis import analyse
from digest.query.names import fold_umlauts
from digest.query.people import Likeness, compare_given
from digest.query.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from digest.papers import Paper
    from digest.query.analysis import AnalysedPaper
    from digest.query.people import PersonPattern

GROUPS = frozenset(("collaboration", "collaborations", "consortium", "group", "team"))
"""How an author's name ends that is no person's: its papers are many people's."""

_FEW = 30
"""Papers of more authors than so many tell little of who works with whom."""


@dataclass(frozen=True, slots=True)
class Namesake:
    """Somebody who bears the name, as far as papers tell.

    Attributes:
        names: the forms it is printed in with the papers of each, the most frequent first.
        papers: the newest first.
        co_authors: names as printed with shared papers, the most frequent first.
        categories: all that the papers carry with how many do, the most frequent first.
        affiliations: as printed, the most frequent first; often none.
    """

    names: tuple[tuple[str, int], ...]
    papers: tuple[Paper, ...]
    co_authors: tuple[tuple[str, int], ...]
    categories: tuple[tuple[str, int], ...]
    affiliations: tuple[str, ...]

    @property
    def years(self) -> tuple[int, int]:
        """The years of the first and the last paper, by the submission of version 1."""
        years = [paper.published.year for paper in self.papers]
        return min(years), max(years)


@dataclass(frozen=True, slots=True)
class Namesakes:
    """Everybody met under a name.

    Attributes:
        names: the forms the name is met in, with the papers of each, the most frequent first.
        people: likely persons, those with the most papers first.
        unclear: papers with a bearer of the name who may be several of them, each once, the newest first.
    """

    names: tuple[tuple[str, int], ...]
    people: tuple[Namesake, ...]
    unclear: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class _Bearing:
    """A paper with the author who bears the name."""

    paper: AnalysedPaper
    index: int
    given: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.paper.names[self.index].plain

    @property
    def field(self) -> str:
        return self.paper.paper.primary_category


def find_namesakes(pattern: PersonPattern, papers: Iterable[Paper | AnalysedPaper]) -> Namesakes:
    """Group the papers on which a name is met into likely persons; other papers are passed over."""
    found = [bearing for paper in papers for bearing in _find_bearings(pattern, analyse(paper))]
    found.sort(key=lambda bearing: (bearing.paper.paper.id, bearing.index))
    groups = _Grouping(found)
    for list_keys, least in _TIES:
        for tied in _tie_by(found, list_keys):
            groups.join_all(tied, least)
    people, open_ones = groups.place_loners()
    return Namesakes(
        names=_count(found[number].name for number in range(len(found))),
        people=tuple(sorted((_describe(found, people_of) for people_of in people), key=_most_papers_first)),
        unclear=tuple({found[number].paper.paper: None for number in reversed(open_ones)}),
    )


def _find_bearings(pattern: PersonPattern, paper: AnalysedPaper) -> Iterator[_Bearing]:
    indexes = {index for ending in pattern.endings for index in paper.name_parts.get(ending, ())}
    for index in sorted(indexes):
        given = pattern.find_given(paper.names[index].parts)
        if given:
            yield _Bearing(paper, index, given)


def _list_co_authors(bearing: _Bearing) -> Iterator[str]:
    """Yield co-authors by the words of their names that are written out; whose first name isn't is left out."""
    for parts in _split_co_authors(bearing):
        if len(parts[0]) > 1:
            yield " ".join(part for part in parts if len(part) > 1)


def _list_full_pairs(bearing: _Bearing) -> Iterator[str]:
    """Yield co-authors written out two by two."""
    yield from _pair(set(_list_co_authors(bearing)))


def _list_pairs(bearing: _Bearing) -> Iterator[str]:
    """Yield co-authors two by two with their first initials: one alone could be anybody's."""
    yield from _pair({f"{parts[0][:1]} {parts[-1]}" for parts in _split_co_authors(bearing)})


def _pair(names: Collection[str]) -> Iterator[str]:
    if len(names) <= _FEW:
        yield from (f"{one}, {other}" for one, other in combinations(sorted(names), 2))


def _split_co_authors(bearing: _Bearing) -> Iterator[Sequence[str]]:
    for index, name in enumerate(bearing.paper.names):
        if index != bearing.index and len(name.parts) > 1 and name.parts[-1] not in GROUPS:
            yield tuple(map(fold_umlauts, name.parts))


def _list_affiliations(bearing: _Bearing) -> Iterator[str]:
    for affiliation in bearing.paper.paper.authors[bearing.index].affiliations:
        yield " ".join(fold(affiliation).split())


_TIES: Sequence[tuple[Callable[[_Bearing], Iterator[str]], Likeness]] = (
    (_list_affiliations, Likeness.CROSSED),
    (_list_full_pairs, Likeness.CROSSED),
    (_list_co_authors, Likeness.SHORTENED),
    (_list_pairs, Likeness.SHORTENED),
)
"""What ties papers, and how much alike names must be for it: the strongest first."""


def _tie_by(found: Sequence[_Bearing], list_keys: Callable[[_Bearing], Iterator[str]]) -> list[list[int]]:
    """Return the numbers of the bearings that share a key, the rarest key first: it tells most."""
    by_key: dict[str, list[int]] = {}
    for number, bearing in enumerate(found):
        for key in dict.fromkeys(list_keys(bearing)):
            by_key.setdefault(key, []).append(number)
    return [numbers for _, numbers in sorted(by_key.items(), key=lambda entry: (len(entry[1]), entry[0]))]


class _Grouping:
    """Bearings in groups that are joined where no name contradicts and no paper has two of them."""

    def __init__(self, found: Sequence[_Bearing]) -> None:
        self._found = found
        self._group_of = list(range(len(found)))
        self._members = {number: [number] for number in range(len(found))}
        self._names = {number: {bearing.given} for number, bearing in enumerate(found)}
        self._papers = {number: {bearing.paper.paper.id} for number, bearing in enumerate(found)}

    def join_all(self, tied: Sequence[int], least: Likeness) -> None:
        """Make bearings that share a tie one person's each with the first of them that it can be joined to."""
        heads: list[int] = []
        for number in tied:
            if not any(self.join(head, number, least) for head in heads):
                heads.append(number)

    def join(self, one: int, other: int, least: Likeness) -> bool:
        """Make two bearings one person's, with all that is tied to them; False where they can't be."""
        kept, gone = sorted((self._group_of[one], self._group_of[other]))
        if kept == gone:
            return True
        if not self._can_be_one(kept, gone, least):
            return False
        for number in self._members[gone]:
            self._group_of[number] = kept
        self._members[kept] += self._members.pop(gone)
        self._names[kept] |= self._names.pop(gone)
        self._papers[kept] |= self._papers.pop(gone)
        return True

    def _can_be_one(self, one: int, other: int, least: Likeness) -> bool:
        return self._papers[one].isdisjoint(self._papers[other]) and all(
            compare_given(mine, theirs) >= least for mine in self._names[one] for theirs in self._names[other]
        )

    def place_loners(self) -> tuple[list[list[int]], list[int]]:
        """Return the groups, and the numbers of the bearings that fit several.

        Names written out are placed before initials, older papers before newer ones.
        """
        people = {members[0] for members in self._members.values() if len(members) > 1}
        loners = [members[0] for members in self._members.values() if len(members) == 1]
        open_ones = []
        for number in sorted(loners, key=lambda number: (len(self._found[number].given[0]) == 1, number)):
            fitting = {self._group_of[person] for person in people if self._fits(number, self._group_of[person])}
            if len(fitting) > 1:
                open_ones.append(number)
            elif fitting and self._is_called_so(number, min(fitting)):
                self.join(fitting.pop(), number, Likeness.SHORTENED)
            else:
                people.add(number)
        groups = {self._group_of[person] for person in people}
        return [sorted(self._members[group]) for group in sorted(groups)], sorted(open_ones)

    def _fits(self, number: int, group: int) -> bool:
        fields = {self._found[member].field for member in self._members[group]}
        return self._found[number].field in fields and self._can_be_one(group, number, Likeness.SHORTENED)

    def _is_called_so(self, number: int, group: int) -> bool:
        """Tell whether a person is met under just as many names: the field alone ties no others."""
        given = self._found[number].given
        return any(compare_given(given, name) is Likeness.ALIKE for name in self._names[group])


def _describe(found: Sequence[_Bearing], numbers: Sequence[int]) -> Namesake:
    mine = [found[number] for number in numbers]
    others = (
        name
        for bearing in mine
        for name in {each.plain for index, each in enumerate(bearing.paper.names) if index != bearing.index}
    )
    affiliations = (
        affiliation for bearing in mine for affiliation in bearing.paper.paper.authors[bearing.index].affiliations
    )
    return Namesake(
        names=_count(bearing.name for bearing in mine),
        papers=tuple(bearing.paper.paper for bearing in reversed(mine)),
        co_authors=_count(others),
        categories=_count(category for bearing in mine for category in bearing.paper.paper.categories),
        affiliations=tuple(name for name, _ in _count(affiliations)),
    )


def _count(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(texts).items(), key=lambda pair: (-pair[1], pair[0])))


def _most_papers_first(person: Namesake) -> tuple[int, tuple[int, int]]:
    month, number = person.papers[0].id.announcement_order
    return -len(person.papers), (-month, -number)
