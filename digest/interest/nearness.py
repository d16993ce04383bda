"""How near papers are to a library: by the words they share with its papers, rare words most.

    weights = Weights().count(stored)
    Interest(weights, near=library).measure(papers)

A paper is a vector with a number for each stem, and for each pair of stems with nothing but stop words between
them. Two papers are as near as the cosine of their vectors. Weights are rounded to integers once, and all that
follows is exact: two machines put papers in the same order.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from digest.query.index import read_words
from digest.query.words import PLACE_HOLDERS, cut_words, read_word, stem
from digest.tex import parse_words
from digest.tex.reader import EDGE

Numbers: TypeAlias = NDArray[np.int64]
PaperText: TypeAlias = tuple[str, str]
"""Title and abstract, as arXiv has them."""

_BUCKETS = 262_139
"""Stems and pairs are counted in that many buckets; a prime, so that they spread."""

_FINE, _UNIT = 2**7, 2**20
"""What 1 is as an integer: of a weight, and of a vector's length."""

_KEY_BITS, _SHIFT = 40, 8
"""A stem's key has 32 bits. A pair's has more, from both: the first is shifted, so that their order counts."""

_AT_ONCE = 64
"""Papers counted or compared at a time, so that little memory is held."""


class _Keys(dict[str, int]):
    """A word -> the key of its stem, 0 for a stop word."""

    def __missing__(self, word: str) -> int:
        self[word] = key = 0 if word in PLACE_HOLDERS else zlib.crc32(stem(word).encode())
        return key


def _cut(raw: str) -> list[str]:
    return cut_words("".join([piece.text for piece in parse_words(raw)]))


class Texts:
    """Titles and abstracts, read once: which stems and pairs each paper has.

    `papers`: of each paper the words of its title and abstract, as `PaperIndex.list_texts` yields them.

    Attributes:
        size: how many papers.
        papers, keys, times: of each entry the number of its paper (from 0 on, growing), the key of its stem or
            pair, and how often the paper has it.
    """

    def __init__(self, papers: Iterable[Iterable[Sequence[str]]]) -> None:
        find_key, keys, lengths = _Keys().__getitem__, list[int](), [0]
        for texts in papers:
            for words in texts:
                keys += [*filter(None, map(find_key, words)), 0]  # no pair bridges two texts
            lengths.append(len(keys))
        self.size = len(lengths) - 1
        stems, numbers = np.array(keys, np.int64), np.repeat(np.arange(self.size), np.diff(lengths))
        entries, pairs = (
            numbers << _KEY_BITS | stems,
            numbers[1:] << _KEY_BITS | stems[:-1] << _SHIFT ^ stems[1:],
        )
        is_word = stems > 0
        every = np.concatenate([entries[is_word], pairs[is_word[:-1] & is_word[1:]]])
        entries, self.times = np.unique(every, return_counts=True)
        self.papers, self.keys = entries >> _KEY_BITS, entries & 2**_KEY_BITS - 1

    @classmethod
    def read(cls, papers: Iterable[PaperText]) -> Texts:
        """Read titles and abstracts that no index has read."""
        words = read_words(chain.from_iterable(papers))
        return cls(zip(words, words, strict=True))


class Weights:
    """How much stems and pairs weigh: the more, the fewer of the counted papers have them."""

    def __init__(self, counts: Numbers | None = None) -> None:
        self._counts = np.zeros(_BUCKETS + 1, np.int64) if counts is None else counts
        self.papers = int(self._counts[-1])
        logs = [log((self.papers + 1) / (count + 1)) for count in range(self._counts.max() + 1)]
        self._weights = np.array([max(1, round(_FINE * (1 + one))) for one in logs])

    def count(self, papers: Iterable[PaperText]) -> Weights:
        """Return these weights with more papers counted."""
        coming, counts = iter(papers), self._counts.copy()
        while (texts := Texts.read(islice(coming, _AT_ONCE))).size:
            counts += np.bincount(texts.keys % _BUCKETS, minlength=_BUCKETS + 1)
            counts[-1] += texts.size
        return Weights(counts)

    def to_bytes(self) -> bytes:
        """Return what was counted, packed."""
        return zlib.compress(self._counts.astype("<u4").tobytes())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Weights:
        """Return the weights that were packed."""
        return cls(np.frombuffer(zlib.decompress(blob), "<u4").astype(np.int64))

    def weigh(self, texts: Texts) -> Numbers:
        """Return the number of each entry; each paper's vector is `_UNIT` long."""
        often = [log(times or 1) for times in range(int(texts.times.max(initial=0)) + 1)]
        numbers: Numbers = np.array([round(_FINE * (1 + one)) for one in often])[texts.times]
        numbers *= self._weights[self._counts[texts.keys % _BUCKETS]]
        squares = np.bincount(texts.papers, numbers * numbers, texts.size)  # below 2**53, so exact
        found: Numbers = numbers * _UNIT // np.sqrt(squares).astype(np.int64)[texts.papers]
        return found


class Interest:
    """What somebody cares about: papers of a library, and `unlike` them others that count against, by half."""

    def __init__(
        self, weights: Weights, near: Sequence[PaperText], unlike: Sequence[PaperText] = ()
    ) -> None:
        texts = Texts.read([*near, *unlike])
        order = np.argsort(texts.keys, kind="stable")
        self._weights, self._near, self._size = weights, len(near), texts.size
        self._keys, self._papers, self._numbers = (
            column[order] for column in (texts.keys, texts.papers, weights.weigh(texts))
        )

    def measure(self, papers: Sequence[PaperText] | Texts) -> list[int]:
        """Return how near each paper is, to one of several interests or to many papers of the library.

        Its nearest paper counts in full, the second by half, the third by a third, and so on.
        """
        texts = papers if isinstance(papers, Texts) else Texts.read(papers)
        measured: list[int] = []
        for alike in self.compare_in_parts(texts):
            less = _add_up(alike[:, self._near :]) // 2
            measured += map(int, _add_up(alike[:, : self._near]) - less)
        return measured

    def find_nearest(self, paper: PaperText) -> int | None:
        """Return the number of the library's nearest paper; None if nothing is shared."""
        alike = self.compare(Texts.read([paper]))[0, : self._near]
        return int(alike.argmax()) if alike.any() else None

    def explain(self, paper: PaperText) -> list[tuple[str, float]]:
        """Return the three words that carry the nearness to the three nearest papers, and their shares of it.

        They are as the paper first writes them. A pair of words takes the shares of both and may be one of three.
        """
        texts = Texts.read([paper])
        nearest = np.argsort(-self.compare(texts)[0, : self._near], kind="stable")[:3]
        entries, counts, others = self._join(texts, 0)
        numbers = self._numbers[others] * np.isin(self._papers[others], nearest)
        carried = self._weights.weigh(texts) * np.bincount(
            np.repeat(entries, counts), numbers, len(texts.keys)
        )
        share = dict(
            zip(texts.keys.tolist(), (carried / max(carried.sum(), 1)).tolist(), strict=True)
        )
        shares, find_key = dict[tuple[int, ...], tuple[float, str]](), _Keys().__getitem__
        for words in map(_cut, paper):
            keys = [
                (place, key)
                for place, word in enumerate(words)
                if (key := find_key(read_word(word)))
            ]
            for (place, first), (after, second) in pairwise([*keys, (0, 0)]):
                shares.setdefault((first,), (share[first], words[place]))
                if both := share.get(first << _SHIFT ^ second, 0):
                    both += sum(share[key] for key in {first, second})
                    shares.setdefault((first, second), (both, " ".join(words[place : after + 1])))
        best, taken = list[tuple[str, float]](), set[int]()
        for stems, (carries, written) in sorted(shares.items(), key=lambda one: -one[1][0]):
            if carries and taken.isdisjoint(stems):
                best.append((written.replace(EDGE, ""), carries))
                taken.update(stems)
        return best[:3]

    def compare(self, texts: Texts) -> Numbers:
        """Return how near each paper is to each of `near`, then of `unlike`: the cosine, 1 as `_UNIT` squared."""
        none = np.zeros((0, self._size), np.int64)
        return np.concatenate([none, *self.compare_in_parts(texts)])

    def compare_in_parts(self, texts: Texts) -> Iterator[Numbers]:
        """Yield what `compare` returns for a few papers at a time: for all of them it may fill the memory."""
        numbers = self._weights.weigh(texts)
        for start in range(0, texts.size, _AT_ONCE):
            shape = (min(_AT_ONCE, texts.size - start), self._size)
            entries, counts, others = self._join(texts, start)
            cells = (
                np.repeat((texts.papers[entries] - start) * self._size, counts)
                + self._papers[others]
            )
            products = np.repeat(numbers[entries], counts) * self._numbers[others]
            alike = np.bincount(cells, products, shape[0] * shape[1])  # below 2**53, so exact
            yield alike.astype(np.int64).reshape(shape)

    def _join(self, texts: Texts, start: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return of some papers the entries that the library has too, how often, and in order which those are."""
        first, last = np.searchsorted(texts.papers, (start, start + _AT_ONCE))
        keys = texts.keys[first:last]
        places = np.searchsorted(self._keys, keys)
        is_shared = np.append(self._keys, 0)[places] == keys
        ends = np.searchsorted(self._keys, keys[is_shared], "right")
        counts = ends - places[is_shared]
        others = np.arange(counts.sum()) + np.repeat(ends - np.cumsum(counts), counts)
        return np.flatnonzero(is_shared) + first, counts, others


def _add_up(alike: Numbers) -> Numbers:
    total: Numbers = (np.sort(alike, axis=1)[:, ::-1] // np.arange(1, alike.shape[1] + 1)).sum(
        axis=1
    )
    return total


def find_least(measured: Sequence[int]) -> int:
    """Return the smallest nearness in the top tenth of an announcement; at least 1: what shares nothing is far."""
    return max(1, sorted(measured, reverse=True)[(len(measured) - 1) // 10]) if measured else 1


def measure_each_without(weights: Weights, papers: Sequence[PaperText]) -> list[int]:
    """Return how near each paper of a library is to the others."""
    measured: list[int] = []
    for alike in Interest(weights, papers).compare_in_parts(Texts.read(papers)):
        np.fill_diagonal(alike[:, len(measured) :], 0)
        measured += map(int, _add_up(alike))
    return measured
