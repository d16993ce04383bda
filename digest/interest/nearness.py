"""How near papers are to a library: by the words they share with its papers, rare words most.

    weights = Weights().count(stored)
    interest = Interest(weights, near=library)
    interest.measure(papers)

A paper is a vector: one number for each stem of its title and abstract, and for each pair of neighbouring stems.
How near two papers are is the cosine of their vectors. Weights are rounded to integers once, and all that follows
is exact, so that two machines put papers in the same order.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil, log
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from digest.query.index import read_texts
from digest.query.words import PLACE_HOLDERS, cut_words, read_word, stem
from digest.tex import parse_words
from digest.tex.parting import EDGE

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]
    Keys: TypeAlias = npt.NDArray[np.uint64]

PaperText: TypeAlias = tuple[str, str]
"""Title and abstract, as arXiv has them."""

NEAREST: Final = 3
"""So many papers of a library tell how near it is: it holds several interests, and a paper meets one of them."""

TOP: Final = 10
"""One paper in so many of an announcement is near: its top tenth."""

_TOLD: Final = 3
_BITS: Final = 18
"""Stems and pairs are counted in two to the power of so many buckets."""

_FINE, _UNIT = 2**7, 2**20
"""What 1 is as an integer: of a weight, and of a vector's length."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_AT_ONCE: Final = 256
"""Papers compared at a time, so that little memory is held."""


class _Stems(dict[str, int]):
    """A word as it is compared -> the key of its stem, 0 for a stop word."""

    def __missing__(self, word: str) -> int:
        self[word] = key = 0 if word in PLACE_HOLDERS else zlib.crc32(stem(word).encode()) | 1 << 32
        return key


class Texts:
    """Titles and abstracts, read once: which stems and pairs each paper has.

    Args:
        papers: of each paper the words of its title and abstract, from `read_texts` or `PaperIndex.list_texts`.

    Attributes:
        size: how many papers.
        papers: of each entry, the number of its paper, from 0 on, in growing order.
        keys: of each entry, the key of its stem or pair.
        times: of each entry, how often the paper has it.
    """

    def __init__(self, papers: Iterable[Iterable[Sequence[str]]]) -> None:
        stems, found, lengths = _Stems(), list[int](), [0]
        for texts in papers:
            for words in texts:
                found.extend(map(stems.__getitem__, words))
                found.append(0)  # no pair bridges two texts
            lengths.append(len(found))
        self.size = len(lengths) - 1
        every = np.array(found, np.uint64)
        numbers = np.repeat(np.arange(self.size), np.diff(lengths))
        is_word = every > 0
        is_pair = is_word[:-1] & is_word[1:]
        keys = np.concatenate([every[is_word], _pair(every[:-1], every[1:])[is_pair]])
        distinct, places = np.unique(keys, return_inverse=True)
        width = max(len(distinct), 1)
        places += np.concatenate([numbers[is_word], numbers[:-1][is_pair]]) * width
        entries, self.times = np.unique(places, return_counts=True)
        self.papers: Numbers = entries // width
        self.keys: Keys = distinct[entries % width]

    @classmethod
    def read(cls, papers: Iterable[PaperText]) -> Texts:
        """Read titles and abstracts that no index has read."""
        return cls(read_texts(papers))


def _pair(first: Keys, second: Keys) -> Keys:
    return first * _SPREAD + second


class Weights:
    """How much each stem and pair weighs: the fewer stored papers have it, the more.

    Args:
        papers: how many papers were counted; as long as it is 0, all weigh alike.
        counts: how many of them have a stem or pair of each bucket.
    """

    def __init__(self, papers: int = 0, counts: Numbers | None = None) -> None:
        self.papers = papers
        self._counts = np.zeros(2**_BITS, np.int64) if counts is None else counts
        rarest = range(int(self._counts.max()) + 1)
        logs = [log((papers + 1) / (count + 1)) for count in rarest]
        self._weights = np.array([max(_FINE, round(_FINE * (1 + one))) for one in logs])

    def count(self, papers: Iterable[PaperText]) -> Weights:
        """Return these weights with more papers counted."""
        texts = Texts.read(papers)
        return Weights(
            self.papers + texts.size, self._counts + np.bincount(_find_buckets(texts.keys), minlength=2**_BITS)
        )

    def to_bytes(self) -> bytes:
        """Return what was counted, packed."""
        return zlib.compress(np.append(self._counts, self.papers).astype("<u4").tobytes())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Weights:
        """Return the weights that were packed."""
        *_, papers = counts = np.frombuffer(zlib.decompress(blob), "<u4").astype(np.int64)
        return cls(int(papers), counts[:-1])

    def weigh(self, texts: Texts) -> Numbers:
        """Return the number of each entry; each paper's vector is `_UNIT` long."""
        most = int(texts.times.max(initial=0))
        often = np.array([0, *(round(_FINE * (1 + log(times))) for times in range(1, most + 1))])
        numbers = often[texts.times] * self._weights[self._counts[_find_buckets(texts.keys)]]
        squares = np.bincount(texts.papers, numbers * numbers, texts.size)  # below 2**53, so exact
        found: Numbers = numbers * _UNIT // np.sqrt(squares).astype(np.int64)[texts.papers]
        return found


def _find_buckets(keys: Keys) -> Numbers:
    return (keys * _SPREAD >> np.uint64(64 - _BITS)).astype(np.int64)


class Interest:
    """What somebody cares about.

    Args:
        weights: what stems and pairs weigh.
        near: title and abstract of each paper of the library.
        unlike: the same of papers that count against, by half of their nearness.
    """

    def __init__(self, weights: Weights, near: Sequence[PaperText], unlike: Sequence[PaperText] = ()) -> None:
        texts = Texts.read([*near, *unlike])
        order = np.argsort(texts.keys, kind="stable")
        self._weights, self._near, self._size = weights, len(near), texts.size
        self._papers, self._numbers = texts.papers[order], weights.weigh(texts)[order]
        self._keys, self._counts = np.unique(texts.keys, return_counts=True)
        self._starts = np.cumsum(self._counts) - self._counts

    def measure(self, papers: Sequence[PaperText] | Texts) -> list[int]:
        """Return how near each paper is: the mean over the three nearest, less half of that of what is unlike."""
        alike = self._compare(papers)
        measured = _average(alike[:, : self._near]) - _average(alike[:, self._near :]) // 2
        return [int(one) for one in measured]

    def find_nearest(self, paper: PaperText) -> int | None:
        """Return the number of the library's nearest paper; None if nothing is shared."""
        alike = self._compare([paper])[0, : self._near]
        return int(alike.argmax()) if alike.any() else None

    def explain(self, paper: PaperText) -> list[tuple[str, float]]:
        """Return the three words that carry the nearness to the nearest papers, and their shares.

        They are as the paper first writes them. Two words may be one: a pair takes the shares of its words.
        """
        texts = Texts.read([paper])
        nearest = np.argsort(-self._compare(texts)[0, : self._near], kind="stable")[:NEAREST]
        entries, others, products = self._join(texts, self._weights.weigh(texts), 0)
        carried = np.bincount(entries, products * np.isin(others, nearest), len(texts.keys))
        share = dict(zip(texts.keys.tolist(), (carried / max(carried.sum(), 1)).tolist(), strict=True))
        told: dict[tuple[int, ...], tuple[str, float]] = {}
        for (first, word), (second, next_word) in _list_written(paper):
            told.setdefault((first,), (word, share.get(first, 0)))
            both = share.get(int(_pair(np.array([first], np.uint64), np.array([second], np.uint64))[0]), 0)
            if both:
                words = share[first] + share[second] * (first != second)
                told.setdefault((first, second), (f"{word} {next_word}", both + words))
        best, taken = list[tuple[str, float]](), set[int]()
        for stems, (written, value) in sorted(told.items(), key=lambda one: -one[1][1]):
            if value and len(best) < _TOLD and taken.isdisjoint(stems):
                best.append((written, value))
                taken.update(stems)
        return best

    def _compare(self, papers: Sequence[PaperText] | Texts) -> Numbers:
        """Return how near each paper is to each of `near`, then of `unlike`: the cosine, 1 as `_UNIT` squared."""
        texts = papers if isinstance(papers, Texts) else Texts.read(papers)
        numbers = self._weights.weigh(texts)
        alike = np.zeros((texts.size, self._size), np.int64)
        for start in range(0, texts.size, _AT_ONCE):
            part = alike[start : start + _AT_ONCE]
            entries, others, products = self._join(texts, numbers, start)
            cells = (texts.papers[entries] - start) * self._size + others
            part[:] = np.bincount(cells, products, part.size).reshape(part.shape)  # below 2**53, so exact
        return alike

    def _join(self, texts: Texts, numbers: Numbers, start: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return of some papers each entry that a paper of the library has too, that paper, and the product."""
        first, last = np.searchsorted(texts.papers, (start, start + _AT_ONCE))
        places = np.searchsorted(self._keys, texts.keys[first:last])
        is_shared = np.append(self._keys, 0)[places] == texts.keys[first:last]
        entries, places = np.flatnonzero(is_shared) + first, places[is_shared]
        counts = self._counts[places]
        before = np.cumsum(counts) - counts
        others = np.arange(counts.sum()) + np.repeat(self._starts[places] - before, counts)
        entries = np.repeat(entries, counts)
        return entries, self._papers[others], numbers[entries] * self._numbers[others]


def _average(alike: Numbers) -> Numbers:
    """Return the mean over the nearest `NEAREST` of each row, or over all if there are fewer."""
    counted = min(NEAREST, alike.shape[1])
    nearest = np.sort(alike, axis=1)[:, alike.shape[1] - counted :]
    mean: Numbers = nearest.sum(axis=1) // max(counted, 1)
    return mean


def _list_written(paper: PaperText) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Yield each word that is no stop word, the key of its stem before it, with the word after it."""
    stems = _Stems()
    for raw in paper:
        words = cut_words("".join([piece.text for piece in parse_words(raw)]))
        written = [(stems[read_word(word)], word.replace(EDGE, "")) for word in words]
        yield from (both for both in pairwise([*written, (0, "")]) if both[0][0])


def find_least(scores: Sequence[int]) -> int:
    """Return the smallest nearness in the top tenth of an announcement; at least 1: what shares nothing is far."""
    return max(1, sorted(scores, reverse=True)[ceil(len(scores) / TOP) - 1]) if scores else 1


def leave_out(weights: Weights, papers: Sequence[PaperText]) -> list[int]:
    """Return how near each paper of a library is to the others."""
    alike = Interest(weights, papers)._compare(papers)  # noqa: SLF001 - of this module
    others = alike[~np.eye(len(papers), dtype=bool)].reshape(len(papers), -1)
    return [int(one) for one in _average(others)]
