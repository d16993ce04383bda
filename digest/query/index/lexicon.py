"""Puts what queries search for into tables that are asked from the papers' side.

Saved queries ask for words, phrases, names, categories, ids and dates. Each thing asked for is one leaf,
found by what a paper has to say to meet it: so a batch of papers is read once, however many queries there are.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from digest.model import taxonomy
from digest.query.evaluation import STEMMED, WordPattern, compile_condition, read_name
from digest.query.names import NamePattern, fold_umlauts, list_spellings
from digest.query.tree import (
    And,
    Condition,
    Node,
    Not,
    Prefix,
    Shape,
    split_range,
    spread_beyond_words,
    spread_condition,
)
from digest.query.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from digest.query.evaluation import Run, Test


class LeafKind(IntEnum):
    """What a node is.

    `LEAF`: one thing to detect in a paper. `AND`, `OR`: of its operands. `SPREAD`: the OR that one `all:`
    condition amounts to; it stays a node of its own within other ORs, since many queries share it.
    """

    LEAF = 0
    AND = 1
    OR = 2
    SPREAD = 3


_LEAF, _AND, _SPREAD = (
    LeafKind.LEAF,
    LeafKind.AND,
    LeafKind.SPREAD,
)  # naming a member takes Python 3.11 as long as joining two nodes
_KEYS = [kind.to_bytes() for kind in LeafKind]

ALWAYS = 0
"""The reference that every paper meets; `negate(ALWAYS)` none does."""


def negate(reference: int) -> int:
    """Return the reference that is met where this one is not."""
    return reference ^ 1


class Graph:
    """Nodes, each after its operands.

    Attributes:
        kinds: node -> its `LeafKind`.
        levels: node -> 0 for leaves, else one more than the highest of its operands.
        starts: node -> where its operands begin in `operands`; one more at the end.
        operands: references, in growing order within a node.
    """

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.levels = array("H")
        self.starts = array("I", (0,))
        self.operands = array("I")
        self._nodes: dict[int | bytes, int] = {}
        self.add_leaf()  # ALWAYS

    def __len__(self) -> int:
        return len(self.kinds)

    def add_leaf(self) -> int:
        """Return a new leaf."""
        node = len(self.kinds)
        self.kinds.append(_LEAF)
        self.levels.append(0)
        self.starts.append(len(self.operands))
        return node

    def join(self, kind: LeafKind, references: Iterable[int]) -> int:
        """Return a reference to the node that joins these; the same one for the same operands in any order.

        An operand that is a node of the same kind is taken apart, but for a `SPREAD`.
        """
        distinct, kinds = set(references), self.kinds
        if kind is not _SPREAD:
            for reference in [one for one in distinct if kinds[one >> 1] == kind and not one & 1]:
                distinct.remove(reference)
                distinct.update(self.list_operands(reference >> 1))
        if kind is _AND:
            distinct.discard(ALWAYS)
        if len(distinct) < 2:  # noqa: PLR2004  # there is nothing to join
            return distinct.pop() if distinct else ALWAYS if kind is _AND else negate(ALWAYS)
        ordered = sorted(distinct)
        key: int | bytes
        if len(ordered) == 2:  # noqa: PLR2004  # as most are: one number is found sooner, and takes less
            key = (ordered[0] << 32 | ordered[1]) << 2 | kind
        else:
            key = _KEYS[kind] + array("I", ordered).tobytes()
        node = self._nodes.get(key)
        if node is None:
            levels = self.levels
            level = 1 + max([levels[reference >> 1] for reference in ordered])
            node = self._nodes[key] = len(kinds)
            kinds.append(kind)
            levels.append(level)
            self.operands.extend(ordered)
            self.starts.append(len(self.operands))
        return node << 1

    def list_operands(self, node: int) -> array[int]:
        """Return the references a node joins."""
        return self.operands[self.starts[node] : self.starts[node + 1]]


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


class TermLinks:
    """What is asked for in several terms, as steps from one term to the next; these are the steps of one depth.

    Attributes:
        before: step -> the step before it; at the first depth, the first term.
        terms: step -> the term it leads to.
        places: step -> how far behind the first term that stands; 0 where order does not count.
        leaves: by column: step -> the leaf that is met when the step is taken, `NOWHERE` for none;
            shorter than the others where all later ones have none.
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
    """All that is searched for: tables from what a paper may say to the leaf that meets.

    Attributes:
        graph: where the leaves lie.
        terms: every term of any column -> its number.
        leaves: by column: term -> leaf, `NOWHERE` for none; shorter than `terms` where all later ones have none.
        beginnings: by column: beginning of a term -> leaf.
        phrases: the steps of phrases, by depth; their columns are those of words.
        parts: the steps from part to part of one name, their terms in growing order, by depth.
        signatures: last name and first name or initial of one name (their terms, packed by `pack`) -> leaf.
        names: part of a name (`fold_umlauts`) -> what needs a second check of names that have it.
        begun_names: beginning of such a part -> the same.
        ranges: first and last minute -> leaf.
        tests: conditions that no table knows -> what tells whether a paper meets them, and the leaf.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.terms: dict[str, int] = {}
        self.leaves = [array("i") for _ in Column]
        self.beginnings: list[dict[str, int]] = [{} for _ in Column]
        self.phrases: list[TermLinks] = []
        self.parts: list[TermLinks] = []
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

    def _find_step(
        self, chains: list[TermLinks], columns: int, terms: Sequence[int], places: Sequence[int]
    ) -> int:
        step = terms[0]
        for depth in range(len(terms) - 1):
            if depth == len(chains):
                chains.append(TermLinks(columns))
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


_AND_INDEXING, _OR, _SPREAD_INDEXING = LeafKind.AND, LeafKind.OR, LeafKind.SPREAD  # as in the graph
_MOST_KNOWN = 2**14
_COLUMNS: Mapping[Prefix, Column] = {
    Prefix.TITLE: Column.TITLE,
    Prefix.ABSTRACT: Column.ABSTRACT,
    Prefix.COMMENT: Column.COMMENT,
    Prefix.JOURNAL_REF: Column.JOURNAL_REF,
    Prefix.REPORT_NO: Column.REPORT_NO,
}


class Indexer:
    """Finds trees in a lexicon's graph, and adds what is not there yet.

    Equal trees, however they were written, come to one reference: see `printing.canonicalise`.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._known: dict[Condition, int] = {}
        """The conditions met last: the lexicon knows them all, but would have to read their texts again."""

    def find(self, node: Node) -> int:
        """Return the reference to what meets a tree."""
        if isinstance(node, Condition):
            reference = self._known.get(node)
            return self._read_condition(node) if reference is None else reference
        if isinstance(node, Not):
            return negate(self.find(node.operand))
        kind = _AND_INDEXING if isinstance(node, And) else _OR
        return self._lexicon.graph.join(kind, map(self.find, node.operands))

    def _read_condition(self, condition: Condition) -> int:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        read = _READERS.get(condition.prefix, _find_test)
        if condition.prefix is Prefix.ALL:
            reference = read(self._lexicon, condition)
        else:
            parts = [read(self._lexicon, part) for part in spread_condition(condition)]
            reference = self._lexicon.graph.join(_OR, parts)
        self._known[condition] = reference
        return reference


def _find_all(lexicon: Lexicon, condition: Condition) -> int:
    plain = WordPattern.compile(condition, is_stemmed=False)
    parts = spread_beyond_words(condition.shape, condition.text)
    references = [_READERS[part.prefix](lexicon, part) for part in parts]
    references += _find_pattern(lexicon, STEMMED_COLUMNS, plain.stem())
    references += _find_pattern(lexicon, PLAIN_COLUMNS, plain)
    return lexicon.graph.join(_SPREAD_INDEXING, references)


def _find_words(lexicon: Lexicon, condition: Condition) -> int:
    pattern = WordPattern.compile(condition, is_stemmed=condition.prefix in STEMMED)
    return _find_pattern(lexicon, (_COLUMNS[condition.prefix],), pattern)[0]


def _find_pattern(lexicon: Lexicon, columns: Sequence[Column], pattern: WordPattern) -> list[int]:
    """Return the references to what meets a pattern in each of some columns."""
    found = [_find_clause(lexicon, columns, runs) for runs in pattern.clauses]
    if pattern.beginning:
        found.append([lexicon.find_beginning(column, pattern.beginning) << 1 for column in columns])
    if len(found) == 1:
        return found[0]
    join = lexicon.graph.join
    return [join(_AND_INDEXING, [references[place] for references in found]) for place in range(len(columns))]


def _find_clause(lexicon: Lexicon, columns: Sequence[Column], runs: Sequence[Run]) -> list[int]:
    """Return the references to what meets any of some runs in each of some columns."""
    if len(runs) == 1:
        return [leaf << 1 for leaf in _find_run(lexicon, columns, runs[0])]
    found = [_find_run(lexicon, columns, run) for run in runs]
    join = lexicon.graph.join
    return [join(_OR, [leaves[place] << 1 for leaves in found]) for place in range(len(columns))]


def _find_run(lexicon: Lexicon, columns: Sequence[Column], run: Run) -> list[int]:
    if len(run.terms) == 1:
        return lexicon.find_terms(columns, run.terms[0])
    return lexicon.find_phrase(columns, run.terms, run.places)


def _find_author(lexicon: Lexicon, condition: Condition) -> int:
    if condition.shape is not Shape.BEGINNING and _is_whole_parts(condition.text):
        return lexicon.find_parts(map(fold_umlauts, map(fold, condition.text.split()))) << 1
    pattern = read_name(condition)
    if not isinstance(pattern, NamePattern):
        return _find_test(lexicon, condition)
    if len(pattern.anywhere) == 1 and not _is_whole(pattern.anywhere[0]):
        begun = list_spellings(pattern.anywhere[0][:-1])
        leaves = [lexicon.find_beginning(Column.NAME_PART, spelling) << 1 for spelling in begun]
        return lexicon.graph.join(_OR, leaves)
    return _find_name(lexicon, condition, pattern) << 1


def _is_whole_parts(name: str) -> bool:
    """Tell whether a name is nothing but parts to be met as they are, as most are."""
    return "," not in name and "*" not in name


def _find_name(lexicon: Lexicon, condition: Condition, pattern: NamePattern) -> int:
    match pattern:
        case NamePattern(anywhere=parts) if parts and all(map(_is_whole, parts)):
            return lexicon.find_parts(parts)
        case NamePattern(last=(last,), given=(first,)) if _is_whole(last) and _is_whole(first):
            return lexicon.find_signature(last, first)
    parts = pattern.anywhere or pattern.last
    rarest = sorted(filter(_is_whole, parts), key=lambda part: (lexicon.count_names(part), -len(part)))
    return lexicon.find_name(condition, rarest[:1], list_spellings(max(parts, key=len)[:-1]))


def _is_whole(part: str) -> bool:
    return not part.endswith("*")


def _find_person(lexicon: Lexicon, condition: Condition) -> int:
    pattern = read_name(condition)
    endings = () if isinstance(pattern, NamePattern) else pattern.endings
    return lexicon.find_name(condition, endings) << 1


def _find_category(lexicon: Lexicon, condition: Condition) -> int:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        return lexicon.find_beginning(Column.CATEGORY, text.casefold()) << 1
    if taxonomy.is_archive(text):
        return lexicon.find_term(Column.ARCHIVE, text) << 1
    return lexicon.find_term(Column.CATEGORY, text.casefold()) << 1


def _find_id(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_term(Column.ID, condition.text.casefold()) << 1


def _find_doi(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_term(Column.DOI, condition.text.casefold()) << 1


def _find_range(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_range(*split_range(condition.text)) << 1


def _find_test(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_test(condition) << 1


_READERS: Mapping[Prefix, Callable[[Lexicon, Condition], int]] = {
    **dict.fromkeys(_COLUMNS, _find_words),
    Prefix.ALL: _find_all,
    Prefix.AUTHOR: _find_author,
    Prefix.PERSON: _find_person,
    Prefix.CATEGORY: _find_category,
    Prefix.ID: _find_id,
    Prefix.DOI: _find_doi,
    Prefix.SUBMITTED: _find_range,
}
"""A condition of any other kind is held against each paper by the plain evaluator's own closure."""
