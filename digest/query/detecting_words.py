"""Which words, beginnings of words and phrases the texts of a batch have."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from digest.query.arrays import Beginnings, PairTable, Spreader, fill_up, mark
from digest.query.bitsets import Unions
from digest.query.lexicon import NOWHERE, STEMMED_COLUMNS, WORD_COLUMNS, Column
from digest.query.scanning import STOP_WORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from digest.query.lexicon import Lexicon, Links
    from digest.query.scanning import Batch

    Pairs: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]

_RARE = 4
"""How often a word may be there for its papers to be listed under each of its beginnings."""


class WordTables:
    """What a lexicon looks for in texts, as arrays; they do not see what is added to it later.

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

    def __init__(self, links: Links, sizes: tuple[int, int]) -> None:
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


def detect_in_texts(tables: WordTables, batch: Batch) -> tuple[list[Pairs], Unions]:
    """Return leaves, or nodes of the unions returned with them, and the papers whose texts meet them."""
    words = _number_words(tables, batch)
    begun, unions = _find_beginnings(tables, batch, words)
    whole = (
        _find_leaves(tables.leaves[column], words.terms[part], words.papers[part])
        for column, part in words.columns.items()
    )
    return [*whole, *begun, *_find_phrases(tables, words)], unions


def _find_phrases(tables: WordTables, words: NumberedWords) -> Iterator[Pairs]:
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


def _find_leaves(table: NDArray[np.int32], numbers: NDArray[np.int32], papers: NDArray[np.int32]) -> Pairs:
    leaves = table.take(numbers)
    found = np.flatnonzero(leaves != NOWHERE)
    return leaves.take(found), papers.take(found)


def _find_beginnings(tables: WordTables, batch: Batch, words: NumberedWords) -> tuple[list[Pairs], Unions]:
    """Return the papers with words that begin as is looked for, or whose stems in stemmed columns do.

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
    found: list[Pairs] = []
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
