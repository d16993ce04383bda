"""Finds what a batch of papers meets of all that is searched for."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from digest.model import taxonomy
from digest.query.evaluation import analyse, read_name
from digest.query.index.batch import STOP_WORD
from digest.query.index.bitsets import (
    WORD,
    Beginnings,
    Detection,
    PairTable,
    Spreader,
    Unions,
    fill_up,
    mark,
    sort_distinct,
    take_runs,
)
from digest.query.index.lexicon import NOWHERE, STEMMED_COLUMNS, WORD_COLUMNS, Column
from digest.query.names import GENERATIONS, fold_umlauts
from digest.query.tree import spell_minute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from digest.model.papers import Paper
    from digest.query.index.batch import Batch, Values
    from digest.query.index.bitsets import Begun
    from digest.query.index.lexicon import Lexicon, TermLinks
    from digest.query.names import NamePattern, PersonPattern
    from digest.query.tree import Condition


Pairs: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32]]"


class Detector:
    """Finds which conditions of a lexicon papers meet; it may not see what is added later."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._words = WordTables(lexicon)
        self._names = NameTables(lexicon)

    def detect(self, batch: Batch) -> Detection:
        """Return which leaves which papers meet."""
        in_texts, unions = detect_in_texts(self._words, batch)
        found = (*in_texts, self._names.detect(batch), *_detect_others(self._lexicon, batch))
        leaves, papers = zip(*found, strict=True)
        return Detection(np.concatenate(leaves), np.concatenate(papers), unions, _share_out(batch.papers))


def _share_out(papers: Sequence[Paper]) -> NDArray[np.uint64]:
    """Return which 64th of a batch each paper is in, by category: most queries ask for some only."""
    order = sorted(range(len(papers)), key=lambda paper: papers[paper].primary_category)
    shares = np.empty(len(papers), np.uint64)
    shares[order] = np.arange(len(papers)) * WORD // len(papers)
    return shares


def _detect_others(lexicon: Lexicon, batch: Batch) -> Iterator[Pairs]:
    yield _find_categories(lexicon, batch.categories)
    ready = [analyse(paper) for paper in batch.papers]
    yield _look_up(lexicon, Column.ID, (paper.ids for paper in ready))
    yield _look_up(lexicon, Column.DOI, (paper.dois for paper in ready))
    yield from _find_ranges(lexicon, batch)
    for test, leaf in lexicon.tests.values():
        papers = np.array([index for index, paper in enumerate(ready) if test(paper)], np.int32)
        yield np.full(len(papers), leaf, np.int32), papers


def _find_categories(lexicon: Lexicon, categories: Values) -> Pairs:
    listed = [_list_category_leaves(lexicon, category) for category in categories.distinct]
    owners = np.repeat(np.arange(len(listed)), [len(leaves) for leaves in listed])
    leaves = np.fromiter(chain.from_iterable(listed), np.int32)
    return Spreader(owners, leaves, len(listed)).spread(categories.numbers, categories.papers)


def _list_category_leaves(lexicon: Lexicon, category: str) -> list[int]:
    names = taxonomy.names_of(category)
    folded = {name.casefold() for name in names}
    found = [_find_term(lexicon, Column.CATEGORY, name) for name in folded]
    found += [_find_term(lexicon, Column.ARCHIVE, name) for name in set(map(taxonomy.archive_of, names))]
    beginnings = lexicon.beginnings[Column.CATEGORY]
    begun = {name[:end] for name in folded for end in range(len(name) + 1)} if beginnings else ()
    found += [beginnings.get(beginning, NOWHERE) for beginning in begun]
    return [leaf for leaf in found if leaf != NOWHERE]


def _find_term(lexicon: Lexicon, column: Column, term: str) -> int:
    leaves = lexicon.leaves[column]
    number = lexicon.terms.get(term, len(leaves))
    return leaves[number] if number < len(leaves) else NOWHERE


def _look_up(lexicon: Lexicon, column: Column, values: Iterable[Iterable[str]]) -> Pairs:
    """Return which papers meet leaves of a column, from what each says there."""
    found: list[tuple[int, int]] = []
    if lexicon.leaves[column]:
        for paper, terms in enumerate(values):
            found += [(leaf, paper) for term in terms if (leaf := _find_term(lexicon, column, term)) != NOWHERE]
    both = np.array(found, np.int32).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _find_ranges(lexicon: Lexicon, batch: Batch) -> Iterator[Pairs]:
    if not lexicon.ranges:
        return
    minutes = [spell_minute(paper.published) for paper in batch.papers]
    order = sorted(range(len(minutes)), key=minutes.__getitem__)
    ordered = np.array([minutes[paper] for paper in order])
    starts = np.searchsorted(ordered, np.array([start for start, _ in lexicon.ranges]), side="left")
    ends = np.searchsorted(ordered, np.array([end for _, end in lexicon.ranges]), side="right")
    counts = np.maximum(ends - starts, 0)
    leaves = np.fromiter(lexicon.ranges.values(), np.int32)
    yield np.repeat(leaves, counts), take_runs(np.array(order, np.int32), starts, counts)


if TYPE_CHECKING:
    PairsDetectingNames: TypeAlias = tuple[NDArray[np.int32], NDArray[np.intp]]
    """Leaves, each with the name that meets it: its index among the distinct ones."""


_OF_LEAVES, _TO_LOOK_AT = 0, 1
"""Beginnings of parts: those that are leaves, and those of names to check more closely."""


@lru_cache(maxsize=2**14)
def _read_name(condition: Condition) -> NamePattern | PersonPattern:
    return read_name(condition)


class NameTables:
    """What a lexicon searches for in names, as arrays; they do not see what is added later."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._unknown = len(lexicon.terms)
        size = self._unknown + 1
        self._leaves = fill_up(lexicon.leaves[Column.NAME_PART], size)
        sizes = (size, *(len(links.before) for links in lexicon.parts))
        self._steps = [
            (_make_table(links, (befores, size)), fill_up(links.leaves[0], len(links.before)))
            for links, befores in zip(lexicon.parts, sizes, strict=False)
        ]
        begun = lexicon.begun_names
        self._closer = list(begun.values())
        numbers = dict(zip(begun, range(len(begun)), strict=True))
        self._beginnings = Beginnings([lexicon.beginnings[Column.NAME_PART], numbers])
        packed = np.fromiter(lexicon.signatures, np.int64, len(lexicon.signatures))
        self._signatures = PairTable(packed >> 32, packed & 0xFFFF_FFFF, (size, size))
        self._signature_leaves = np.fromiter(lexicon.signatures.values(), np.int32, len(lexicon.signatures))

    def detect(self, batch: Batch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return leaves and the papers by someone whose name meets them, perhaps several times."""
        leaves, names = zip(*self._find_leaves(batch), strict=True)
        spreader = Spreader(np.concatenate(names), np.concatenate(leaves), len(batch.names.distinct))
        return spreader.spread(batch.names.numbers, batch.names.papers)

    def _find_leaves(self, batch: Batch) -> Iterator[PairsDetectingNames]:
        names = np.repeat(np.arange(len(batch.names.distinct)), np.diff(batch.part_bounds))
        known = self._lexicon.terms
        keys = list(map(fold_umlauts, batch.parts))
        terms = np.fromiter(map(known.get, keys, repeat(self._unknown)), np.int32, len(keys))
        leaves = self._leaves[terms].take(batch.name_parts)
        found = np.flatnonzero(leaves != NOWHERE)
        yield leaves[found], names[found]
        yield from self._find_parts(terms[batch.name_parts], names)
        yield from self._find_signatures(batch, terms)
        begun = self._find_beginnings(batch.parts, keys)
        yield self._find_begun(batch, begun, names)
        yield self._look_closer(batch, begun, names, keys)

    def _find_parts(self, terms: NDArray[np.int32], names: NDArray[np.intp]) -> Iterator[PairsDetectingNames]:
        """Yield names that have several parts, in whatever order."""
        size = self._unknown + 1
        packed = sort_distinct((names * size + terms)[terms != self._unknown])
        names, terms = packed // size, (packed % size).astype(np.int32)
        before, places = terms, np.arange(len(terms))
        for table, leaves in self._steps:
            before, places = _follow(table, before, places, terms, names)
            found = np.flatnonzero(leaves[before] != NOWHERE)
            yield leaves[before[found]], names[places[found]]

    def _find_signatures(self, batch: Batch, terms: NDArray[np.int32]) -> Iterator[PairsDetectingNames]:
        """Yield names of a last name, and a first one or its initial."""
        if not len(self._signature_leaves):
            return
        starts, last = batch.part_bounds[:-1], batch.part_bounds[1:] - 1
        is_name = np.flatnonzero(last > starts)
        starts, last = starts[is_name], last[is_name]
        is_generation = np.fromiter(map(GENERATIONS.__contains__, batch.parts), np.bool_, len(batch.parts))
        while len(behind := np.flatnonzero(is_generation[batch.name_parts[last]] & (last > starts))):
            last[behind] -= 1
        firsts = [part[:1] for part in batch.parts]
        initials = np.fromiter(map(self._lexicon.terms.get, firsts, repeat(self._unknown)), np.int32, len(firsts))
        named = np.flatnonzero(last > starts)
        last_terms = terms[batch.name_parts[last[named]]]
        for given in (terms, initials):
            found, signatures = self._signatures.find(last_terms, given[batch.name_parts[starts[named]]])
            yield self._signature_leaves[signatures], is_name[named[found]]

    def _find_beginnings(self, parts: Sequence[str], keys: Sequence[str]) -> Begun:
        """Search for beginnings in parts under both of their spellings."""
        twice = [number for number, (part, key) in enumerate(zip(parts, keys, strict=True)) if part != key]
        spellings = [*parts, *(keys[number] for number in twice)]
        begun = self._beginnings.look_in(spellings, np.arange(len(spellings)))
        return begun._replace(words=np.array([*range(len(parts)), *twice], np.int64).take(begun.words))

    def _find_begun(self, batch: Batch, begun: Begun, names: NDArray[np.intp]) -> PairsDetectingNames:
        parts, leaves = begun.find(_OF_LEAVES)
        return Spreader(parts, leaves, len(batch.parts)).spread(batch.name_parts, names)

    def _look_closer(
        self, batch: Batch, begun: Begun, names: NDArray[np.intp], keys: Sequence[str]
    ) -> PairsDetectingNames:
        """Show names to the patterns of conditions that ask for a part they have."""
        asked = enumerate(map(self._lexicon.names.get, keys))
        entries = {part: list(some) for part, some in asked if some}
        for part, number in zip(*(found.tolist() for found in begun.find(_TO_LOOK_AT)), strict=True):
            entries.setdefault(part, []).extend(self._closer[number])
        found: list[tuple[int, int]] = []
        is_asked = mark(np.fromiter(entries, np.int64, len(entries)), len(batch.parts))
        for place in np.flatnonzero(is_asked[batch.name_parts]).tolist():
            name = int(names[place])
            own = batch.list_parts(name)
            for condition, leaf in entries[int(batch.name_parts[place])]:
                if _read_name(condition).find_parts(own):
                    found.append((leaf, name))
        both = np.array(found, np.int32).reshape(-1, 2)
        return both[:, 0], both[:, 1].astype(np.intp)


def _make_table(links: TermLinks, sizes: tuple[int, int]) -> PairTable:
    return PairTable(np.array(links.before, np.int64), np.array(links.terms, np.int64), sizes)


def _follow(
    table: PairTable,
    before: NDArray[np.int32],
    places: NDArray[np.intp],
    terms: NDArray[np.int32],
    names: NDArray[np.intp],
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Go from parts of names to all later parts of the same names.

    Args:
        table: the steps there are.
        before: the steps gone so far, or terms.
        places: where among all parts each of them led.
        terms: all parts of names, those of each name in growing order.
        names: whose they are.

    Returns:
        The steps gone now, and where each led.
    """
    begun = np.flatnonzero(table.is_upper(before))
    found_steps, found_places = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    distance = 0
    while len(begun):
        distance += 1
        begun = begun[places[begun] < len(terms) - distance]
        behind = places[begun] + distance
        is_same = names[behind] == names[places[begun]]
        begun, behind = begun[is_same], behind[is_same]
        found, steps = table.find(before[begun], terms[behind])
        found_steps.append(steps)
        found_places.append(behind[found])
    return np.concatenate(found_steps).astype(np.int32), np.concatenate(found_places)


if TYPE_CHECKING:
    PairsDetectingWords: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]

_RARE = 4
"""How often a word may be there for its papers to be listed under each of its beginnings."""


class WordTables:
    """What a lexicon searches for in texts, as arrays; they do not see what is added later.

    Attributes:
        lexicon: whose it is.
        nodes: how many nodes its graph has.
        beginnings: what words begin with, by column.
        unknown: the number of all terms that no query asks for, one above the others.
        leaves: by column: term -> leaf, `NOWHERE` for none.
        steps: the steps of phrases, by depth.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.nodes = len(lexicon.graph)
        self.beginnings = Beginnings([lexicon.beginnings[column] for column in WORD_COLUMNS])
        self.unknown = len(lexicon.terms)
        self.leaves = [fill_up(lexicon.leaves[column], self.unknown + 1) for column in WORD_COLUMNS]
        sizes = (self.unknown + 1, *(len(links.before) for links in lexicon.phrases))
        self.steps = [
            _Steps(links, (size, self.unknown + 1)) for links, size in zip(lexicon.phrases, sizes, strict=False)
        ]


class _Steps:
    """The steps of phrases at one depth.

    Attributes:
        leaves: by column: step -> the leaf of the phrase that ends with it, `NOWHERE` for none.
    """

    def __init__(self, links: TermLinks, sizes: tuple[int, int]) -> None:
        self.leaves = [fill_up(table, len(links.before)) for table in links.leaves]
        before, terms, places = (np.array(part, np.int64) for part in (links.before, links.terms, links.places))
        self._by_distance: list[tuple[int, NDArray[np.intp], PairTable]] = []
        for distance in np.unique(places).tolist():
            steps = np.flatnonzero(places == distance)
            self._by_distance.append((distance, steps, PairTable(before[steps], terms[steps], sizes)))

    def follow(
        self, words: NumberedWords, before: NDArray[np.int32], places: NDArray[np.intp]
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Go one word further in each phrase begun.

        Args:
            words: the texts.
            before: the steps gone so far, or the phrases' first words.
            places: where each phrase began, in growing order.

        Returns:
            The steps gone now, and where each phrase began, in growing order.
        """
        found_steps: list[NDArray[np.int32]] = []
        found_places: list[NDArray[np.intp]] = []
        for distance, steps, table in self._by_distance:
            within = int(np.searchsorted(places, len(words.terms) - distance))
            begun = np.flatnonzero(table.is_upper(before[:within]))
            terms = words.terms.take(places.take(begun) + distance)
            is_met = np.flatnonzero(table.is_lower(terms))
            begun, terms = begun.take(is_met), terms.take(is_met)
            found, taken = table.find(before.take(begun), terms)
            begun = places.take(begun.take(found))
            is_same = words.texts.take(begun) == words.texts.take(begun + distance)
            found_steps.append(steps[taken[is_same]].astype(np.int32))
            found_places.append(begun[is_same])
        all_places = np.concatenate(found_places)
        order = np.argsort(all_places, kind="stable")
        return np.concatenate(found_steps)[order], all_places[order]


class NumberedWords(NamedTuple):
    """The words of a batch as a lexicon numbers their terms.

    Attributes:
        terms: of each word, the number of its term: its stem in stemmed columns.
        texts: of each word, a number of its text.
        papers: of each word, its paper's index.
        columns: the words of each column.
    """

    terms: NDArray[np.int32]
    texts: NDArray[np.int32]
    papers: NDArray[np.int32]
    columns: Mapping[Column, slice]


def detect_in_texts(tables: WordTables, batch: Batch) -> tuple[list[PairsDetectingWords], Unions]:
    """Return leaves, or nodes of the unions returned with them, and the papers whose texts meet them."""
    words = _number_words(tables, batch)
    begun, unions = _find_beginnings(tables, batch, words)
    whole = (
        _find_leaves(tables.leaves[column], words.terms[part], words.papers[part])
        for column, part in words.columns.items()
    )
    return [*whole, *begun, *_find_phrases(tables, words)], unions


def _find_phrases(tables: WordTables, words: NumberedWords) -> Iterator[PairsDetectingWords]:
    places = np.flatnonzero(words.terms != tables.unknown)
    before = words.terms.take(places)
    for steps in tables.steps:
        before, places = steps.follow(words, before, places)
        for column, part in words.columns.items():
            here = slice(*np.searchsorted(places, (part.start, part.stop)))
            yield _find_leaves(steps.leaves[column], before[here], words.papers[places[here]])


def _number_words(tables: WordTables, batch: Batch) -> NumberedWords:
    size = len(batch.papers)
    bounds = np.searchsorted(batch.texts, np.arange(len(WORD_COLUMNS) + 1) * 2 * size).tolist()  # read twice
    columns = {column: slice(bounds[column], bounds[column + 1]) for column in WORD_COLUMNS}
    by_surface, by_stem = (_number(tables, words) for words in (batch.surfaces, batch.stems))
    terms = np.empty(len(batch.words), np.int32)
    for column, part in columns.items():
        terms[part] = (by_stem if column in STEMMED_COLUMNS else by_surface).take(batch.words[part])
    return NumberedWords(terms, batch.texts, batch.texts % size, columns)


def _number(tables: WordTables, words: Sequence[str]) -> NDArray[np.int32]:
    known = tables.lexicon.terms
    numbers = np.fromiter(map(known.get, words, repeat(tables.unknown)), np.int32, len(words))
    numbers[STOP_WORD] = tables.unknown
    return numbers


def _find_leaves(
    table: NDArray[np.int32], numbers: NDArray[np.int32], papers: NDArray[np.int32]
) -> PairsDetectingWords:
    leaves = table.take(numbers)
    found = np.flatnonzero(leaves != NOWHERE)
    return leaves.take(found), papers.take(found)


def _find_beginnings(
    tables: WordTables, batch: Batch, words: NumberedWords
) -> tuple[list[PairsDetectingWords], Unions]:
    """Return the papers with words that begin as is searched for, or whose stems in stemmed columns do.

    Each such word is a node of this batch, and each beginning the union of its words: papers are listed
    once a word, however many beginnings it has. A rare word is not worth a node.
    """
    if not len(tables.beginnings):
        return [], Unions(np.zeros(0, np.int32), np.zeros(0, np.int32), 0)
    surfaces, stems = batch.surfaces, batch.stems
    is_odd = np.fromiter(map(str.startswith, surfaces, stems), np.bool_, len(surfaces)) == 0
    every = np.arange(STOP_WORD + 1, len(surfaces))
    by_surface = tables.beginnings.look_in(surfaces, every)
    by_stem = tables.beginnings.look_in(stems, np.flatnonzero(is_odd))  # the others begin as their stems do
    found: list[PairsDetectingWords] = []
    leaves: list[NDArray[np.int32]] = []
    nodes: list[NDArray[np.int32]] = []
    size = 0
    for column, part in words.columns.items():
        ways = (by_surface, by_stem) if column in STEMMED_COLUMNS else (by_surface,)
        here, papers = batch.words[part], words.papers[part]
        counts = np.bincount(here, minlength=len(surfaces))
        begun, theirs = map(np.concatenate, zip(*(way.find(column) for way in ways), strict=True))
        is_there = counts.take(begun) > 0
        begun, theirs = begun[is_there], theirs[is_there]
        is_rare = counts.take(begun) <= _RARE
        found.append(Spreader(begun[is_rare], theirs[is_rare], len(surfaces)).spread(here, papers))
        begun, theirs = begun[~is_rare], theirs[~is_rare]
        is_begun = mark(begun, len(surfaces))
        numbers = np.where(is_begun, tables.nodes + size - 1 + np.cumsum(is_begun), NOWHERE).astype(np.int32)
        found.append(_find_leaves(numbers, here, papers))
        leaves.append(theirs)
        nodes.append(numbers[begun])
        size += int(np.count_nonzero(is_begun))
    return found, Unions(np.concatenate(leaves), np.concatenate(nodes), size)
