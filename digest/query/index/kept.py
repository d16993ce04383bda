"""Papers read once and kept, to be held against one query after the other.

`reverse_index` walks through every word of new papers, for all saved queries at once. Here papers stay and queries
come: words, names and categories are listed with the papers that have them, so that a query looks up only what it
asks for. Texts are not kept; a month of papers takes some eighty megabytes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from digest.query.evaluation import STEMMED, TEXTS, WordPattern, analyse, compile_condition, read_name
from digest.query.index.batch import STOP_WORD, scan
from digest.query.index.bitsets import Spreader, mark, take_runs
from digest.query.names import PersonPattern, list_spellings
from digest.query.tree import And, Condition, Not, Or, Prefix, spell_licence, split_range, spread_condition
from digest.query.words import stem_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from digest.model.papers import Paper
    from digest.query.tree import Node

    Marks: TypeAlias = NDArray[np.bool_]
    """Of each paper, whether it is meant."""
    _Row: TypeAlias = tuple[NDArray[np.integer], NDArray[np.integer]]
    """Numbers: from each of some on to before each of others."""
    _Texts: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int64]]
    """Of a chunk: the numbers of all words, and how many each text has: by column, whole, then parted."""
    _Pieces: TypeAlias = Sequence[NDArray[np.integer]]
    """The numbers of the parts of names, how many each has; occurrences of names, and whose they are."""


_CHUNK: Final = 250
"""Papers read at once: what is read is turned into numbers before the next come."""


class KeptPapers:
    """Papers, as far as a query can tell one from another; safe to share between threads.

    Args:
        papers: the first has the number 0.
    """

    def __init__(self, papers: Iterable[Paper]) -> None:
        words: dict[str, int] = {"": STOP_WORD}
        parts: dict[str, int] = {}
        texts: list[_Texts] = []
        names: list[_Pieces] = []
        self._values, self._size, count = _Values(), 0, 0
        for chunk in _cut(papers):
            batch = scan(chunk)
            sizes = np.bincount(batch.texts, minlength=2 * len(TEXTS) * len(chunk))
            texts.append((_number(batch.surfaces, words)[batch.words], sizes))
            of_parts = (_number(batch.parts, parts)[batch.name_parts], np.diff(batch.part_bounds))
            names.append((*of_parts, batch.names.numbers + count, batch.names.papers + self._size))
            self._values.read(chunk, self._size)
            self._size, count = self._size + len(chunk), count + len(batch.names.distinct)
        self._words = _Words(list(words), texts)
        self._names = _Names(list(parts), [np.concatenate(pieces) for pieces in zip(*names, strict=True)], count)

    def hold(self, queries: Iterable[Node]) -> list[list[int]]:
        """Return the numbers of the papers that each query means, in growing order."""
        known: dict[Condition, Marks] = {}
        return [np.flatnonzero(self._find(query, known)).tolist() for query in queries]

    def _find(self, node: Node, known: dict[Condition, Marks]) -> Marks:
        match node:
            case Condition():
                if node not in known:
                    known[node] = np.logical_or.reduce([self._find_part(part) for part in spread_condition(node)])
                return known[node]
            case Not(operand):
                return ~self._find(operand, known)
            case And(operands) | Or(operands):
                join = np.logical_and if isinstance(node, And) else np.logical_or
                met: Marks = join.reduce([self._find(operand, known) for operand in operands])
                return met

    def _find_part(self, condition: Condition) -> Marks:
        if condition.prefix in TEXTS:
            return self._words.find(condition)
        if condition.prefix in (Prefix.AUTHOR, Prefix.PERSON):
            return mark(self._names.find(condition), self._size)
        return self._values.find(condition, self._size)


def _cut(papers: Iterable[Paper]) -> Iterator[list[Paper]]:
    coming = iter(papers)
    yield []  # so that there is always one
    while chunk := list(islice(coming, _CHUNK)):
        yield chunk


def _number(values: Iterable[str], known: dict[str, int]) -> NDArray[np.int32]:
    return np.array([known.setdefault(value, len(known)) for value in values], np.int32)


class _Terms(NamedTuple):
    """Terms in order, some perhaps twice; each has the numbers from one on to before another."""

    ordered: list[str]
    begins: NDArray[np.integer]
    ends: NDArray[np.integer]

    def find(self, term: str) -> _Row:
        """Return the numbers of a term."""
        return self._cut(bisect_left(self.ordered, term), bisect_right(self.ordered, term))

    def find_begun(self, beginning: str) -> _Row:
        """Return the numbers of all terms that begin so."""
        first = bisect_left(self.ordered, beginning)
        return self._cut(first, bisect_left(self.ordered, 1, first, key=lambda one: not one.startswith(beginning)))

    def _cut(self, first: int, end: int) -> _Row:
        return self.begins[first:end], self.ends[first:end]


class _Rows:
    """Where each number stands; those that are not below a count are left out."""

    def __init__(self, numbers: NDArray[np.int32], count: int) -> None:
        self._bounds = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=count)[:count])))
        self.places = np.argsort(numbers, kind="stable")[: self._bounds[-1]].astype(np.int32)

    def take(self, values: NDArray[np.int32], row: _Row) -> NDArray[np.int32]:
        """Return what stands at the places of some numbers, of values in the order of `places`."""
        begins, ends = map(self._bounds.take, row)
        return take_runs(values, begins, ends - begins)


class _Words:
    """Which papers have which words, numbered in the order of their stems: what shares one stands together."""

    def __init__(self, words: Sequence[str], texts: Sequence[_Texts]) -> None:
        stems = stem_all(words)
        order = sorted(range(STOP_WORD + 1, len(words)), key=lambda number: (stems[number], words[number]))
        ranks = np.full(len(words), len(order), np.int32)  # stop words stand behind all others
        ranks[order] = np.arange(len(order))
        by_word, by_stem = sorted(order, key=words.__getitem__), [stems[number] for number in order]
        distinct = sorted(set(by_stem))
        bounds = np.array([*(bisect_left(by_stem, stem) for stem in distinct), len(order)])
        self._words = _Terms([words[number] for number in by_word], ranks[by_word], ranks[by_word] + 1)
        self._stems = _Terms(distinct, bounds[:-1], bounds[1:])
        self._columns: dict[Prefix, _Column] = {}
        for column, prefix in enumerate(TEXTS):
            found: list[NDArray[np.int32]] = []
            sizes: list[NDArray[np.int64]] = []
            for reading, (numbers, counts) in product((0, 1), texts):
                every = len(counts) // (2 * len(TEXTS))
                first = (2 * column + reading) * every
                sizes.append(counts[first : first + every])
                found.append(numbers[counts[:first].sum() :][: sizes[-1].sum()])
            self._columns[prefix] = _Column(ranks.take(np.concatenate(found)), np.concatenate(sizes), len(order))

    def find(self, condition: Condition) -> Marks:
        """Return which papers a condition on words means."""
        is_stemmed, column = condition.prefix in STEMMED, self._columns[condition.prefix]
        pattern = WordPattern.compile(condition, is_stemmed=is_stemmed)
        terms = self._stems if is_stemmed else self._words
        clauses = [
            [column.find_run(map(terms.find, run.terms), run.places) for run in runs] for runs in pattern.clauses
        ]
        if pattern.beginning:  # of the words, or of the stems of those that are stemmed
            clauses.append([column.find_run([one.find_begun(pattern.beginning)]) for one in (self._words, terms)])
        met: Marks = np.logical_and.reduce([column.everywhere, *map(np.logical_or.reduce, clauses)])
        return met


class _Column:
    """Where each word stands in one text of all papers.

    Args:
        words: the numbers of all words in order: of all texts read whole, and then of all read parted.
        sizes: how many words each of them has.
        count: how many numbers there are.
    """

    def __init__(self, words: NDArray[np.int32], sizes: NDArray[np.int64], count: int) -> None:
        self._size, self._length, self._rows = len(sizes) // 2, len(words), _Rows(words, count)
        self.everywhere = np.ones(self._size, np.bool_)
        self._starts = (np.cumsum(sizes) - sizes).astype(np.int32)
        papers = np.repeat(np.tile(np.arange(self._size, dtype=np.int32), 2), sizes)
        self._papers = papers.take(self._rows.places)

    def find_run(self, rows: Iterable[_Row], distances: Sequence[int] = (0,)) -> Marks:
        """Return which papers have a word of each row, so far behind the one of the first row."""
        first, *others = rows
        if not others:
            return mark(self._rows.take(self._papers, first), self._size)
        found = self._rows.take(self._rows.places, first)
        for row, distance in zip(others, distances[1:], strict=True):
            if len(found):
                is_there = mark(self._rows.take(self._rows.places, row), self._length + distance)
                found = found[is_there[found + distance]]
        texts, last = (np.searchsorted(self._starts, found + far, "right") for far in (0, distances[-1]))
        return mark((texts[texts == last] - 1) % max(self._size, 1), self._size)


class _Names:
    """Which papers are by whom: names by their parts, papers by their names; a name may have several numbers."""

    def __init__(self, parts: list[str], pieces: _Pieces, count: int) -> None:
        self._parts, self._count, (self._name_parts, sizes, names, papers) = parts, count, pieces
        self._bounds = np.concatenate(([0], np.cumsum(sizes)))
        self._rows = _Rows(self._name_parts.astype(np.int32), len(parts))
        self._names = np.repeat(np.arange(count, dtype=np.int32), sizes).take(self._rows.places)
        self._papers_of = Spreader(names, papers.astype(np.int32), count)
        spelled = sorted((one, number) for number, part in enumerate(parts) for one in list_spellings(part))
        numbers = np.array([number for _, number in spelled], np.int32)
        self._spellings = _Terms([one for one, _ in spelled], numbers, numbers + 1)

    def find(self, condition: Condition) -> NDArray[np.int32]:
        """Return the papers by those whom a condition means, some several times."""
        pattern = read_name(condition)
        if isinstance(pattern, PersonPattern):
            found = self._mark_names(pattern.endings) & self._mark_names([f"{pattern.initial}*"])
        else:
            given = (part if len(part) > 1 else f"{part}*" for part in pattern.given)
            wanted = (*pattern.anywhere, *pattern.last, *given)
            found = np.logical_and.reduce([self._mark_names([part]) for part in wanted])
        names = np.flatnonzero(found).astype(np.int32)
        if isinstance(pattern, PersonPattern) or pattern.last:  # which part stands where decides
            kept = [number for number in names.tolist() if pattern.find_parts(self._list_parts(number))]
            names = np.array(kept, np.int32)
        return self._papers_of.spread(names, names)[0]

    def _mark_names(self, parts: Iterable[str]) -> Marks:
        """Return which names have one of some parts; one that ends with a star may go on."""
        rows: list[_Row] = []
        for part in parts:
            begun = list_spellings(part[:-1]) if part.endswith("*") else ()
            rows += map(self._spellings.find_begun, begun) if begun else [self._spellings.find(part)]
        return mark(np.concatenate([self._rows.take(self._names, row) for row in rows]), self._count)

    def _list_parts(self, name: int) -> tuple[str, ...]:
        own = self._name_parts[self._bounds[name] : self._bounds[name + 1]]
        return tuple(self._parts[part] for part in own.tolist())


class _Values:
    """Which papers have which category, licence, id or DOI, and when each was submitted."""

    def __init__(self) -> None:
        self._papers: dict[Prefix, dict[str, list[int]]] = {prefix: {} for prefix in Prefix}
        self._minutes: list[int] = []
        self._any: Paper | None = None

    def read(self, papers: Sequence[Paper], first: int) -> None:
        for number, paper in enumerate(papers, first):
            ready, licence = analyse(paper), (spell_licence(paper.license),)
            values = {Prefix.CATEGORY: paper.categories, Prefix.LICENCE: licence, Prefix.ID: ready.ids}
            for prefix, own in (*values.items(), (Prefix.DOI, ready.dois)):
                for value in own:
                    self._papers[prefix].setdefault(value, []).append(number)
            self._minutes.append(int(ready.submitted_minute))
            self._any = self._any or replace(paper, title="", abstract="", authors=(), versions=())

    def find(self, condition: Condition, size: int) -> Marks:
        """Return which of so many papers a condition means."""
        if condition.prefix is Prefix.SUBMITTED:
            minutes, (start, end) = np.array(self._minutes, np.int64), split_range(condition.text)
            return (minutes >= int(start)) & (minutes <= int(end))
        papers, meant = self._papers[condition.prefix], [condition.text.casefold()]
        if condition.prefix is Prefix.CATEGORY and self._any:
            test, bare = compile_condition(condition), self._any
            meant = [name for name in papers if test(analyse(replace(bare, categories=(name,))))]
        return mark(np.array([number for value in meant for number in papers.get(value, ())], np.intp), size)
