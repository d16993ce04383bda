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
PLAIN_COLUMNS = (Column.COMMENT, Column.JOURNAL_REF, Column.REPORT_NO)
WORD_COLUMNS = (*STEMMED_COLUMNS, *PLAIN_COLUMNS)


class Links:
    """What is asked for in several terms, as steps from one term to the next; these are the steps of one depth.

    Attributes:
        before: step -> the step before it; at the first depth, the first term.
        terms: step -> the term it leads to.
        places: step -> how far behind the first term that stands; 0 where order does not count.
        leaves: by column: step -> the leaf that is met when the step is taken, `NOWHERE` for none;
            shorter than the others where the rest has none.
    """

    def __init__(self, columns: int) -> None:
        self.before = array("I")
        self.terms = array("I")
        self.places = array("I")
        self.leaves = [array("i") for _ in range(columns)]
        self._numbers: dict[int, int] = {}

    def find(self, before: int, term: int, place: int) -> int:
        """Return the number of a step, a new one where it was not known."""
        key = (place << 32 | before) << 32 | term
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.before)
            self.before.append(before)
            self.terms.append(term)
            self.places.append(place)
        return number


def pack(upper: int, lower: int) -> int:
    """Return two numbers as one."""
    return upper << 32 | lower


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
        phrases: the steps of phrases, by depth; their columns are those of words.
        parts: the steps from part to part of one name, their terms in growing order, by depth.
        signatures: last name and first name or initial of one name (their terms, packed by `pack`) -> leaf.
        names: part of a name (`fold_umlauts`) -> what needs a closer look at names that have it.
        begun_names: beginning of such a part -> the same.
        ranges: first and last minute -> leaf.
        tests: conditions that no table knows -> what tells whether a paper meets them, and the leaf.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.terms: dict[str, int] = {}
        self.leaves = [array("i") for _ in Column]
        self.beginnings: list[dict[str, int]] = [{} for _ in Column]
        self.phrases: list[Links] = []
        self.parts: list[Links] = []
        self.signatures: dict[int, int] = {}
        self.names: dict[str, list[NameLeaf]] = {}
        self.begun_names: dict[str, list[NameLeaf]] = {}
        self.ranges: dict[tuple[str, str], int] = {}
        self.tests: dict[Condition, tuple[Test, int]] = {}
        self._named: dict[Condition, int] = {}

    def number(self, term: str) -> int:
        """Return the number of a term, a new one where it was not known."""
        terms = self.terms
        return terms.setdefault(term, len(terms))

    def find_term(self, column: Column, term: str) -> int:
        """Return the leaf of papers that have this very term."""
        return self._find_in(self.leaves[column], self.number(term))

    def find_terms(self, columns: Iterable[Column], term: str) -> list[int]:
        """Return the leaves of papers that have this very term, for several columns."""
        number, tables = self.number(term), self.leaves
        return [self._find_in(tables[column], number) for column in columns]

    def find_beginning(self, column: Column, beginning: str) -> int:
        """Return the leaf of papers that have a term, or in stemmed columns a word, that begins so."""
        return self._find(self.beginnings[column], beginning)

    def find_phrase(self, columns: Iterable[Column], terms: Sequence[str], places: Sequence[int]) -> list[int]:
        """Return the leaves of papers that have these terms, two at least, so far behind the first of them."""
        step = self._find_step(self.phrases, len(WORD_COLUMNS), list(map(self.number, terms)), places)
        tables = self.phrases[len(terms) - 2].leaves
        return [self._find_in(tables[column], step) for column in columns]

    def find_parts(self, parts: Iterable[str]) -> int:
        """Return the leaf of papers by someone whose name has all of these parts, in any order."""
        terms = list(map(self.number, parts))
        if len(terms) > 1:
            terms = sorted(set(terms))
        if len(terms) == 1:
            return self._find_in(self.leaves[Column.NAME_PART], terms[0])
        step = self._find_step(self.parts, 1, terms, [0] * len(terms))
        return self._find_in(self.parts[len(terms) - 2].leaves[0], step)

    def find_signature(self, last: str, first: str) -> int:
        """Return the leaf of papers by someone with this last name, and this first name or initial."""
        return self._find(self.signatures, pack(self.number(last), self.number(first)))

    def find_name(self, condition: Condition, parts: Iterable[str], beginnings: Iterable[str] = ()) -> int:
        """Return the leaf of papers by someone whom a condition's pattern means.

        Args:
            condition: on authors.
            parts: one of them is in every name that is meant; () where none is known.
            beginnings: then, how a part of every such name begins: in one of these ways.
        """
        leaf = self._named.get(condition)
        if leaf is None:
            leaf = self._named[condition] = self.graph.add_leaf()
            tables = [self.names.setdefault(part, []) for part in parts]
            for table in tables or [self.begun_names.setdefault(beginning, []) for beginning in beginnings]:
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

    def _find_step(self, chains: list[Links], columns: int, terms: Sequence[int], places: Sequence[int]) -> int:
        step = terms[0]
        for depth in range(len(terms) - 1):
            if depth == len(chains):
                chains.append(Links(columns))
            step = chains[depth].find(step, terms[depth + 1], places[depth + 1])
        return step

    def _find_in(self, table: array[int], number: int) -> int:
        size = len(table)
        if number < size:
            leaf = table[number]
            if leaf == NOWHERE:
                leaf = table[number] = self.graph.add_leaf()
            return leaf
        if number > size:
            table.extend((NOWHERE,) * (number - size))
        leaf = self.graph.add_leaf()
        table.append(leaf)
        return leaf
