"""How near papers are to a library: by the words they share with its papers, rare words most.

    weights = Weights().count(stored)
    Interest(weights, near=library).measure(papers)

A paper is a vector with a number for each stem, and for each pair of stems with nothing but stop
words between them. Two papers are as near as the cosine of their vectors. Weights are rounded to
integers once, and all that follows is exact: two machines put papers in the same order.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, zip_longest
from math import log
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from digest.query.paper_words import read_words
from digest.query.words import PLACE_HOLDERS, cut_words, read_word, stem
from digest.tex import parse_words
from digest.tex.reader import EDGE

Numbers: TypeAlias = NDArray[np.int64]
PaperText: TypeAlias = tuple[str, str]
"""Title and abstract, as arXiv has them."""

_Key = TypeVar("_Key", int, Numbers)
"""The key of one stem, or an array with the keys of many."""

_BUCKETS = 262_139
"""Stems and pairs are counted in that many buckets; a prime, so that they spread."""

_WEIGHT_UNIT = 2**7
"""The integer for a weight of 1."""

_VECTOR_LENGTH = 2**20
"""The integer for the length of a paper's vector, which is 1."""

_PAIR_SHIFT = 8
"""Bits by which the key of a pair's first stem is shifted, so that the order of the two counts."""

_KEY_BITS = 32 + _PAIR_SHIFT
"""Bits that a key may have: a stem's has 32, and a pair's has those of the shift, too."""

_AT_ONCE = 64
"""Papers counted or compared at a time, so that little memory is held."""


@lru_cache(maxsize=2**16)  # as many as a month's papers have, but for those met once
def _find_key(word: str) -> int:
    """Return the key of a word's stem, 0 for a stop word."""
    return 0 if word in PLACE_HOLDERS else zlib.crc32(stem(word).encode())


def _list_words(raw: str) -> list[str]:
    """Return the words of a text as arXiv has it, as they are written."""
    texts = [piece.text for piece in parse_words(raw)]
    return cut_words("".join(texts))


def _make_pair_key(first: _Key, second: _Key) -> _Key:
    """Return the key of two stems, one after the other."""
    shifted = first << _PAIR_SHIFT
    return shifted ^ second


class Texts:
    """Titles and abstracts, read once: which stems and pairs each paper has.

    Attributes:
        size: how many papers.
        papers, keys, times: of each entry the number of its paper (from 0 on, growing), the key of
            its stem or pair, and how often the paper has it.
    """

    def __init__(self, papers: Iterable[Iterable[Sequence[str]]]) -> None:
        """Read the words of titles and abstracts, as `PaperIndex.list_texts` yields them."""
        keys: list[int] = []
        ends = [0]
        for texts in papers:
            for words in texts:
                keys += filter(None, map(_find_key, words))  # a pair bridges stop words
                keys.append(0)  # no pair bridges two texts
            ends.append(len(keys))
        self.size = len(ends) - 1
        stems = np.array(keys, np.int64)
        lengths = np.diff(ends)
        # An entry is one integer: the number of its paper, and below it the bits of its key.
        numbers = np.repeat(np.arange(self.size), lengths) << _KEY_BITS
        singles = numbers | stems
        pairs = numbers[1:] | _make_pair_key(stems[:-1], stems[1:])
        is_single = stems > 0
        is_pair = is_single[:-1] & is_single[1:]
        read = np.concatenate([singles[is_single], pairs[is_pair]])
        entries, self.times = np.unique(read, return_counts=True)
        self.papers = entries >> _KEY_BITS
        self.keys = entries & (2**_KEY_BITS - 1)

    @classmethod
    def read(cls, papers: Iterable[PaperText]) -> Texts:
        """Read titles and abstracts whose words are not known."""
        return cls(_read_papers(papers))


def _read_papers(papers: Iterable[PaperText]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    words = read_words(chain.from_iterable(papers))
    return zip(words, words, strict=True)  # those of a title, then of its abstract


class Weights:
    """How much stems and pairs weigh: the more, the fewer of the counted papers have them."""

    def __init__(self, counts: Numbers | None = None) -> None:
        """Take how many papers have what is in each bucket, and at the end how many there are."""
        self._counts = np.zeros(_BUCKETS + 1, np.int64) if counts is None else counts
        self.papers = int(self._counts[-1])
        most = self._counts.max()
        self._by_count = np.array([self._weigh_stem(count) for count in range(most + 1)])

    def _weigh_stem(self, count: int) -> int:
        """Return the weight of a stem or pair that so many of the counted papers have."""
        rarity = log((self.papers + 1) / (count + 1))
        return max(1, round(_WEIGHT_UNIT * (1 + rarity)))

    def count(self, papers: Iterable[PaperText]) -> Weights:
        """Return these weights with more papers counted."""
        return self.count_words(_read_papers(papers))

    def count_words(self, papers: Iterable[Iterable[Sequence[str]]]) -> Weights:
        """Do as `count`, for the words of titles and abstracts as `Texts` takes them."""
        counts = self._counts.copy()
        rest = iter(papers)
        while True:
            texts = Texts(islice(rest, _AT_ONCE))
            if not texts.size:
                return Weights(counts)
            counts += np.bincount(texts.keys % _BUCKETS, minlength=_BUCKETS + 1)
            counts[-1] += texts.size

    def to_bytes(self) -> bytes:
        """Return what was counted, packed."""
        return zlib.compress(self._counts.astype("<u4").tobytes())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Weights:
        """Return the weights that were packed."""
        counts = np.frombuffer(zlib.decompress(blob), "<u4")
        return cls(counts.astype(np.int64))

    def weigh(self, texts: Texts) -> Numbers:
        """Return the number of each entry in its paper's vector, which is `_VECTOR_LENGTH` long."""
        most = int(texts.times.max(initial=0))
        logarithms = [log(times or 1) for times in range(most + 1)]
        by_times = np.array([round(_WEIGHT_UNIT * (1 + one)) for one in logarithms])
        counts = self._counts[texts.keys % _BUCKETS]
        numbers: Numbers = by_times[texts.times] * self._by_count[counts]
        squares = numbers * numbers
        sums = np.bincount(texts.papers, squares, texts.size)  # below 2**53, so exact
        lengths = np.sqrt(sums).astype(np.int64)
        scaled: Numbers = numbers * _VECTOR_LENGTH // lengths[texts.papers]
        return scaled


class _Shared(NamedTuple):
    """The entries of some papers whose stems and pairs the library has, too.

    Attributes:
        entries: their places among all entries of these papers.
        counts: how many entries of the library have the key of each of them.
        others: the places of those in the library: first all with the key of the first entry.
    """

    entries: Numbers
    counts: Numbers
    others: Numbers


class Interest:
    """What somebody cares about: the papers of a library.

    Papers of `unlike` count against it by half.
    """

    def __init__(
        self, weights: Weights, near: Sequence[PaperText], unlike: Sequence[PaperText] = ()
    ) -> None:
        texts = Texts.read([*near, *unlike])
        order = np.argsort(texts.keys, kind="stable")
        self._weights = weights
        self._near = len(near)
        self._size = texts.size
        self._keys = texts.keys[order]
        self._papers = texts.papers[order]
        self._numbers = weights.weigh(texts)[order]

    def measure(self, papers: Sequence[PaperText] | Texts) -> list[int]:
        """Return how near each paper is to the library, or to a part of it.

        The nearest paper of the library counts in full, the second by half, the third by a third,
        and so on.
        """
        texts = papers if isinstance(papers, Texts) else Texts.read(papers)
        measured: list[int] = []
        for alike in self.compare_in_parts(texts):
            more = _add_up(alike[:, : self._near])
            less = _add_up(alike[:, self._near :]) // 2
            measured += (more - less).tolist()
        return measured

    def find_nearest(self, paper: PaperText) -> int | None:
        """Return the number of the library's nearest paper; None if nothing is shared."""
        compared = self.compare(Texts.read([paper]))
        alike = compared[0, : self._near]
        return int(alike.argmax()) if alike.any() else None

    def explain(self, paper: PaperText) -> list[tuple[str, float]]:
        """Return the three words that carry the nearness to the three nearest papers.

        Each comes with its share of it, and as the paper first writes it. A pair of words takes the
        shares of both and may be one of three.
        """
        texts = Texts.read([paper])
        phrases = _list_phrases(paper, self._find_shares(texts))
        chosen: list[tuple[str, float]] = []
        taken: set[int] = set()
        for phrase in sorted(phrases, key=_get_share, reverse=True):
            if phrase.share and taken.isdisjoint(phrase.stems):
                taken.update(phrase.stems)
                chosen.append((phrase.written, phrase.share))
        return chosen[:3]

    def _find_shares(self, texts: Texts) -> dict[int, float]:
        """Return by how much each stem and pair of a paper carries it to its three nearest."""
        alike = self.compare(texts)[0, : self._near]
        nearest = np.argsort(-alike, kind="stable")[:3]
        shared = self._find_shared(texts, 0)
        is_nearest = np.isin(self._papers[shared.others], nearest)
        numbers = self._numbers[shared.others] * is_nearest
        entries = np.repeat(shared.entries, shared.counts)
        sums = np.bincount(entries, numbers, len(texts.keys))
        carried = self._weights.weigh(texts) * sums
        shares = carried / max(carried.sum(), 1)
        return dict(zip(texts.keys.tolist(), shares.tolist(), strict=True))

    def compare(self, texts: Texts) -> Numbers:
        """Return how near each paper is to each of `near`, then of `unlike`.

        That is the cosine, where 1 is `_VECTOR_LENGTH` squared.
        """
        no_rows = np.zeros((0, self._size), np.int64)
        return np.concatenate([no_rows, *self.compare_in_parts(texts)])

    def compare_in_parts(self, texts: Texts) -> Iterator[Numbers]:
        """Yield what `compare` returns for a few papers at a time: all may fill the memory."""
        numbers = self._weights.weigh(texts)
        for start in range(0, texts.size, _AT_ONCE):
            papers = min(_AT_ONCE, texts.size - start)
            shared = self._find_shared(texts, start)
            # A row for each of these papers, with a cell for each paper of the library.
            row_starts = (texts.papers[shared.entries] - start) * self._size
            cells = np.repeat(row_starts, shared.counts) + self._papers[shared.others]
            factors = np.repeat(numbers[shared.entries], shared.counts)
            products = factors * self._numbers[shared.others]
            alike = np.bincount(cells, products, papers * self._size)  # below 2**53, so exact
            yield alike.astype(np.int64).reshape((papers, self._size))

    def _find_shared(self, texts: Texts, start: int) -> _Shared:
        """Find what some papers, from the one numbered `start` on, share with the library."""
        first, end = np.searchsorted(texts.papers, (start, start + _AT_ONCE))
        keys = texts.keys[first:end]
        # The library's entries are sorted, so those with one key are from a begin to an end.
        begins = np.searchsorted(self._keys, keys)
        is_shared = np.append(self._keys, 0)[begins] == keys
        ends = np.searchsorted(self._keys, keys[is_shared], "right")
        counts = ends - begins[is_shared]
        # Numbers in a row, shifted so that those of each entry stop before its end.
        shifts = np.repeat(ends - np.cumsum(counts), counts)
        others = np.arange(counts.sum()) + shifts
        return _Shared(np.flatnonzero(is_shared) + first, counts, others)


class _Phrase(NamedTuple):
    """A word or a pair of words that a paper shares with others, and its share of nearness."""

    stems: tuple[int, ...]
    share: float
    written: str


def _get_share(phrase: _Phrase) -> float:
    return phrase.share


def _list_phrases(paper: PaperText, shares: Mapping[int, float]) -> list[_Phrase]:
    """Return each word and pair of words of a paper once, as it is written first."""
    found: dict[tuple[int, ...], _Phrase] = {}
    for text in paper:
        words = _list_words(text)
        keys = [_find_key(read_word(word)) for word in words]
        places = [place for place, key in enumerate(keys) if key]
        for place, after in zip_longest(places, places[1:]):
            stem_here = keys[place]
            single = _make_phrase((stem_here,), shares[stem_here], words[place])
            found.setdefault(single.stems, single)
            if after is None:
                continue
            stems = (stem_here, keys[after])
            share_of_pair = shares.get(_make_pair_key(*stems), 0)
            if share_of_pair:
                share = share_of_pair + sum([shares[key] for key in set(stems)])
                written = " ".join(words[place : after + 1])
                found.setdefault(stems, _make_phrase(stems, share, written))
    return list(found.values())


def _make_phrase(stems: tuple[int, ...], share: float, words: str) -> _Phrase:
    return _Phrase(stems, share, words.replace(EDGE, ""))


def _add_up(alike: Numbers) -> Numbers:
    """Add up how near papers are: the nearest in full, the second by half, and so on."""
    nearest_first = np.sort(alike, axis=1)[:, ::-1]
    parts = nearest_first // np.arange(1, alike.shape[1] + 1)
    total: Numbers = parts.sum(axis=1)
    return total


def find_least(measured: Sequence[int]) -> int:
    """Return the smallest nearness in the top tenth of an announcement: what has it is near.

    It is at least 1: what shares nothing is far.
    """
    if not measured:
        return 1
    last_of_tenth = (len(measured) - 1) // 10
    return max(1, sorted(measured, reverse=True)[last_of_tenth])


def measure_each_to_others(weights: Weights, papers: Sequence[PaperText]) -> list[int]:
    """Return how near each paper of a library is to the others."""
    measured: list[int] = []
    for alike in Interest(weights, papers).compare_in_parts(Texts.read(papers)):
        np.fill_diagonal(alike[:, len(measured) :], 0)  # no paper is near itself
        measured += _add_up(alike).tolist()
    return measured
