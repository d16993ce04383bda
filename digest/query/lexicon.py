"""What the leaves of a graph look for, in tables that are asked from the papers' side.

Saved queries ask for words, phrases, names, categories, ids and dates. Each thing asked for is one leaf,
found by what a paper has to say to meet it: so a batch of papers is read once, however many queries there are.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from digest.query.evaluation import compile_condition
from digest.query.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from digest.query.evaluation import Test
    from digest.query.tree import Condition

_Key = TypeVar("_Key")

NOWHERE = -1
"""Stands in a table where there is no leaf."""


class Column(IntEnum):
    """Where a paper says what it says; the columns of words come first, the two stemmed ones before all."""

    TITLE = 0
    ABSTRACT = 1
    COMMENT = 2
    JOURNAL_REF = 3
    REPORT_NO = 4
    NAME_PART = 5
    CATEGORY = 6
    ARCHIVE = 7
    ID = 8
    DOI = 9


STEMMED_COLUMNS = (Column.TITLE, Column.ABSTRACT)
WORD_COLUMNS = (*STEMMED_COLUMNS, Column.COMMENT, Column.JOURNAL_REF, Column.REPORT_NO)


class Links:
    """The steps of phrases from one word to the next, at one depth.

    Attributes:
        before: step -> the step before it; at the first depth, the term of the phrase's first word.
        places: step -> how far behind the phrase's first word its word stands.
        terms: step -> the term of its word.
        leaves: by column of words: step -> the leaf of the phrase that ends with it, `NOWHERE` for none;
            shorter than the others where the rest has none.
    """

    def __init__(self) -> None:
        self.before = array("I")
        self.places = array("I")
        self.terms = array("I")
        self.leaves = [array("i") for _ in WORD_COLUMNS]
        self._numbers: dict[int, int] = {}

    def find(self, before: int, place: int, term: int) -> int:
        """Return the number of a step, a new one where it was not known."""
        key = (before << 32 | term) << 32 | place
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.before)
            self.before.append(before)
            self.places.append(place)
            self.terms.append(term)
        return number


class NameLeaf(NamedTuple):
    """A leaf for names that only the condition's own pattern can judge."""

    condition: Condition
    leaf: int


class Lexicon:
    """All that is looked for: tables from what a paper may say to the leaf that meets.

    Attributes:
        graph: where the leaves lie.
        terms: every term of any column -> its number.
        leaves: by column: term -> leaf, `NOWHERE` for none; shorter than `terms` where the rest has none.
        beginnings: by column: beginning of a term -> leaf.
        links: the steps of phrases, by depth.
        pairs: two parts of one name (their terms, the smaller one in the upper 32 bits) -> leaf.
        signatures: last and first part of a name, or its initial, parted by a line feed -> leaf.
        names: part of a name -> what needs a closer look at names that have it.
        begun_names: beginning of such a part -> the same.
        ranges: first and last minute -> leaf.
        tests: conditions that no table knows -> what tells whether a paper meets them, and the leaf.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.terms: dict[str, int] = {}
        self.leaves = [array("i") for _ in Column]
        self.beginnings: list[dict[str, int]] = [{} for _ in Column]
        self.links: list[Links] = []
        self.pairs: dict[int, int] = {}
        self.signatures: dict[str, int] = {}
        self.names: dict[str, list[NameLeaf]] = {}
        self.begun_names: dict[str, list[NameLeaf]] = {}
        self.ranges: dict[tuple[str, str], int] = {}
        self.tests: dict[Condition, tuple[Test, int]] = {}
        self._named: dict[Condition, int] = {}

    def number(self, term: str) -> int:
        """Return the number of a term, a new one where it was not known."""
        return self.terms.setdefault(term, len(self.terms))

    def find_term(self, column: Column, term: str) -> int:
        """Return the leaf of papers that have this very term."""
        return self._find_in(self.leaves[column], self.number(term))

    def find_beginning(self, column: Column, beginning: str) -> int:
        """Return the leaf of papers that have a term, or in stemmed columns a word, that begins so."""
        return self._find(self.beginnings[column], beginning)

    def find_phrase(self, column: Column, terms: Sequence[str], places: Sequence[int]) -> int:
        """Return the leaf of papers that have these terms, two at least, so far behind the first of them."""
        step = self.number(terms[0])
        for depth, (term, place) in enumerate(zip(terms[1:], places[1:], strict=True)):
            if depth == len(self.links):
                self.links.append(Links())
            step = self.links[depth].find(step, place, self.number(term))
        return self._find_in(self.links[len(terms) - 2].leaves[column], step)

    def find_pair(self, one: str, other: str) -> int:
        """Return the leaf of papers by someone whose name has these two different parts, in any order."""
        smaller, larger = sorted((self.number(one), self.number(other)))
        return self._find(self.pairs, smaller << 32 | larger)

    def find_signature(self, last: str, first: str) -> int:
        """Return the leaf of papers by someone with this last name, and this first name or initial."""
        return self._find(self.signatures, f"{last}\n{first}")

    def find_name(self, condition: Condition, parts: Iterable[str], beginning: str = "") -> int:
        """Return the leaf of papers by someone whom a condition's pattern means.

        Args:
            condition: on authors.
            parts: one of them is in every name that is meant; () where none is known.
            beginning: then, how a part of every such name begins.
        """
        leaf = self._named.get(condition)
        if leaf is None:
            leaf = self._named[condition] = self.graph.add_leaf()
            tables = [self.names.setdefault(part, []) for part in parts]
            for table in tables or [self.begun_names.setdefault(beginning, [])]:
                table.append(NameLeaf(condition, leaf))
        return leaf

    def count_names(self, part: str) -> int:
        """Return how many conditions a name with this part has to be shown to."""
        return len(self.names.get(part, ()))

    def find_range(self, start: str, end: str) -> int:
        """Return the leaf of papers first submitted from this minute to that."""
        return self._find(self.ranges, (start, end))

    def find_test(self, condition: Condition) -> int:
        """Return the leaf of papers that meet a condition, whatever it is: each is held against it by itself."""
        if condition not in self.tests:
            self.tests[condition] = compile_condition(condition), self.graph.add_leaf()
        return self.tests[condition][1]

    def _find(self, table: dict[_Key, int], key: _Key) -> int:
        leaf = table.get(key)
        if leaf is None:
            leaf = table[key] = self.graph.add_leaf()
        return leaf

    def _find_in(self, table: array[int], number: int) -> int:
        missing = number + 1 - len(table)
        if missing > 0:
            table.extend((NOWHERE,) * missing)
        if table[number] == NOWHERE:
            table[number] = self.graph.add_leaf()
        return table[number]
