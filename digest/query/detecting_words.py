"""Which words, beginnings of words and phrases the texts of a batch have."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from digest.query.lexicon import NOWHERE, STEMMED_COLUMNS, WORD_COLUMNS, Column
from digest.query.runs import take_runs
from digest.query.scanning import STOP_WORD

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from digest.query.lexicon import Lexicon, Links
    from digest.query.scanning import Batch

_BEHIND_ALL = "\U0010ffff"
"""No word holds it, so it stands behind whatever a beginning may go on with."""


class NumberedWords(NamedTuple):
    """The words of a batch as a lexicon numbers their terms.

    Attributes:
        unknown: the number of all terms that no query asks for, one above the others.
        terms: of each word, the number of its term: its stem in stemmed columns.
        texts: of each word, a number of its text.
        papers: of each word, its paper's index.
        columns: the words of each column.
    """

    unknown: int
    terms: NDArray[np.int32]
    texts: NDArray[np.int32]
    papers: NDArray[np.int32]
    columns: Mapping[Column, slice]


def number_words(lexicon: Lexicon, batch: Batch) -> NumberedWords:
    """Return a batch's words as a lexicon numbers them."""
    unknown, size = len(lexicon.terms), len(batch.papers)
    bounds = np.searchsorted(batch.texts, np.arange(len(WORD_COLUMNS) + 1) * size).tolist()
    columns = {column: slice(bounds[column], bounds[column + 1]) for column in WORD_COLUMNS}
    by_surface, by_stem = (_number(lexicon, words, unknown) for words in (batch.surfaces, batch.stems))
    terms = np.empty(len(batch.words), np.int32)
    for column, part in columns.items():
        terms[part] = (by_stem if column in STEMMED_COLUMNS else by_surface)[batch.words[part]]
    return NumberedWords(unknown, terms, batch.texts, batch.texts % size, columns)


def _number(lexicon: Lexicon, words: Sequence[str], unknown: int) -> NDArray[np.int32]:
    numbers = np.fromiter((lexicon.terms.get(word, unknown) for word in words), np.int32, len(words))
    numbers[STOP_WORD] = unknown
    return numbers


def _fill_up(table: array[int], size: int) -> NDArray[np.int32]:
    full = np.full(size, NOWHERE, np.int32)
    full[: len(table)] = table
    return full


def find_words(lexicon: Lexicon, words: NumberedWords) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield leaves of single terms and the papers that have them."""
    for column, part in words.columns.items():
        leaves = _fill_up(lexicon.leaves[column], words.unknown + 1)[words.terms[part]]
        found = np.flatnonzero(leaves != NOWHERE)
        yield leaves[found], words.papers[part][found]


def find_beginnings(
    lexicon: Lexicon, batch: Batch, words: NumberedWords
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield leaves of beginnings and the papers with words, or stems in stemmed columns, that begin so."""
    wanted = {beginning for column in WORD_COLUMNS for beginning in lexicon.beginnings[column]}
    if not wanted:
        return
    surfaces, stems = _Ordered(batch.surfaces, wanted), _Ordered(batch.stems, wanted)
    for column, part in words.columns.items():
        beginnings = lexicon.beginnings[column]
        lists = (surfaces, stems) if column in STEMMED_COLUMNS else (surfaces,)
        for ordered in lists if beginnings else ():
            leaves, begun = ordered.find(beginnings)
            by_word = np.argsort(begun, kind="stable")
            counts = np.bincount(begun, minlength=len(batch.surfaces))
            starts = np.cumsum(counts) - counts
            numbers = batch.words[part]
            yield (
                take_runs(leaves[by_word], starts[numbers], counts[numbers]),
                np.repeat(words.papers[part], counts[numbers]),
            )


class _Ordered:
    """Distinct words by a spelling of theirs, in its order, and where in it each beginning is met."""

    def __init__(self, spellings: Sequence[str], beginnings: Iterable[str]) -> None:
        order = sorted(range(STOP_WORD + 1, len(spellings)), key=spellings.__getitem__)
        ordered = [spellings[word] for word in order]
        self._order = np.array(order, np.int64)
        self._places = {
            beginning: (bisect_left(ordered, beginning), bisect_left(ordered, beginning + _BEHIND_ALL))
            for beginning in beginnings
        }

    def find(self, beginnings: Mapping[str, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return leaves, each with a word that begins so."""
        leaves = np.fromiter(beginnings.values(), np.int32, len(beginnings))
        places = np.array([self._places[beginning] for beginning in beginnings], np.int64).reshape(-1, 2)
        counts = places[:, 1] - places[:, 0]
        return np.repeat(leaves, counts), take_runs(self._order, places[:, 0], counts)


def find_phrases(lexicon: Lexicon, words: NumberedWords) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield leaves of phrases and the papers that have them, perhaps several times."""
    places = np.arange(len(words.terms))
    before = words.terms
    for links in lexicon.links:
        before, places = _follow(links, words, before, places)
        for column, part in words.columns.items():
            here = slice(*np.searchsorted(places, (part.start, part.stop)))
            leaves = _fill_up(links.leaves[column], len(links.before))[before[here]]
            found = np.flatnonzero(leaves != NOWHERE)
            yield leaves[found], words.papers[places[here][found]]


def _follow(
    links: Links, words: NumberedWords, before: NDArray[np.int32], places: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Go one word further in each phrase begun.

    Args:
        links: the steps there are.
        words: the texts.
        before: the steps gone so far, or the phrases' first words.
        places: where each phrase began, in growing order.

    Returns:
        The steps gone now, and where each phrase began, in growing order.
    """
    first, behind, last = (np.array(part, np.int64) for part in (links.before, links.places, links.terms))
    found_steps: list[NDArray[np.int32]] = []
    found_places: list[NDArray[np.int64]] = []
    for distance in np.unique(behind).tolist():
        steps = np.flatnonzero(behind == distance)
        is_first = np.zeros(max(int(first.max()), int(before.max(initial=0))) + 1, np.bool_)
        is_first[first[steps]] = True
        is_last = np.zeros(words.unknown + 1, np.bool_)
        is_last[last[steps]] = True
        within = slice(0, int(np.searchsorted(places, len(words.terms) - distance)))
        begun = np.flatnonzero(is_first[before[within]])
        begun = begun[is_last[words.terms[places[begun] + distance]]]
        begun = begun[words.texts[places[begun]] == words.texts[places[begun] + distance]]
        keys = first[steps] * (words.unknown + 1) + last[steps]
        order = np.argsort(keys)
        codes = before[begun].astype(np.int64) * (words.unknown + 1) + words.terms[places[begun] + distance]
        nearest = np.minimum(np.searchsorted(keys[order], codes), len(keys) - 1)
        is_met = keys[order][nearest] == codes
        found_steps.append(steps[order][nearest[is_met]].astype(np.int32))
        found_places.append(places[begun[is_met]])
    all_places = np.concatenate(found_places)
    by_place = np.argsort(all_places, kind="stable")
    return np.concatenate(found_steps)[by_place], all_places[by_place]
