"""Which words, beginnings of words and phrases the texts of a batch have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from digest.query.arrays import Beginnings, PairTable, Spreader, fill_up, sort_distinct
from digest.query.lexicon import NOWHERE, STEMMED_COLUMNS, WORD_COLUMNS, Column
from digest.query.scanning import STOP_WORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from digest.query.lexicon import Lexicon, Links
    from digest.query.scanning import Batch

    Pairs: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]


class WordTables:
    """What a lexicon looks for in texts, as arrays; they do not see what is added to it later.

    Attributes:
        lexicon: whose it is.
        unknown: the number of all terms that no query asks for, one above the others.
        leaves: by column: term -> leaf, `NOWHERE` for none.
        steps: the steps of phrases, by depth.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
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
            behind = places[begun] + distance
            is_met = table.is_lower(words.terms[behind]) & (words.texts[behind] == words.texts[places[begun]])
            begun, behind = begun[is_met], behind[is_met]
            found, taken = table.find(before[begun], words.terms[behind])
            found_steps.append(steps[taken].astype(np.int32))
            found_places.append(places[begun[found]])
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


def detect_in_texts(tables: WordTables, batch: Batch) -> Iterator[Pairs]:
    """Yield leaves and the papers whose texts meet them, perhaps several times."""
    words = _number_words(tables, batch)
    for column, part in words.columns.items():
        yield _find_leaves(tables.leaves[column], words.terms[part], words.papers[part])
    yield from _find_beginnings(tables.lexicon, batch, words)
    before, places = words.terms, np.arange(len(words.terms))
    for steps in tables.steps:
        before, places = steps.follow(words, before, places)
        for column, part in words.columns.items():
            here = slice(*np.searchsorted(places, (part.start, part.stop)))
            yield _find_leaves(steps.leaves[column], before[here], words.papers[places[here]])


def _number_words(tables: WordTables, batch: Batch) -> NumberedWords:
    size = len(batch.papers)
    bounds = np.searchsorted(batch.texts, np.arange(len(WORD_COLUMNS) + 1) * size).tolist()
    columns = {column: slice(bounds[column], bounds[column + 1]) for column in WORD_COLUMNS}
    by_surface, by_stem = (_number(tables, words) for words in (batch.surfaces, batch.stems))
    terms = np.empty(len(batch.words), np.int32)
    for column, part in columns.items():
        terms[part] = (by_stem if column in STEMMED_COLUMNS else by_surface)[batch.words[part]]
    return NumberedWords(terms, batch.texts, batch.texts % size, columns)


def _number(tables: WordTables, words: Sequence[str]) -> NDArray[np.int32]:
    known = tables.lexicon.terms
    numbers = np.array([known.get(word, tables.unknown) for word in words], np.int32)
    numbers[STOP_WORD] = tables.unknown
    return numbers


def _find_leaves(table: NDArray[np.int32], numbers: NDArray[np.int32], papers: NDArray[np.int32]) -> Pairs:
    leaves = table[numbers]
    found = np.flatnonzero(leaves != NOWHERE)
    return leaves[found], papers[found]


def _find_beginnings(lexicon: Lexicon, batch: Batch, words: NumberedWords) -> Iterator[Pairs]:
    """Yield leaves of beginnings and the papers with words, or stems in stemmed columns, that begin so."""
    wanted = set().union(*(lexicon.beginnings[column] for column in WORD_COLUMNS))
    if not wanted:
        return
    surfaces, stems = (Beginnings(spellings, wanted, STOP_WORD + 1) for spellings in (batch.surfaces, batch.stems))
    for column, part in words.columns.items():
        leaves = lexicon.beginnings[column]
        ways = (surfaces, stems) if column in STEMMED_COLUMNS else (surfaces,)
        begun = sort_distinct(np.concatenate([way.find(leaves) for way in ways]))
        spreader = Spreader(begun >> 32, (begun & 0xFFFF_FFFF).astype(np.int32), len(batch.surfaces))
        yield spreader.spread(batch.words[part], words.papers[part])
