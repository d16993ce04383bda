"""Tables and runs of numbers as numpy's arrays: what detecting and evaluating are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from digest.query.lexicon import NOWHERE

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.integer)

_BEHIND_ALL = b"\xff"
"""No word has it in UTF-8, and it stands behind whatever a beginning may go on with."""

_WIDEST = 48
"""Octets of words that are sorted and looked at together; what has more gets a closer look."""

_SPREADING = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Numbers multiplied by it differ in their upper bits (Knuth, The Art of Computer Programming 3, section 6.4)."""

_WORD = 64
_FEWEST_BITS = 10
_HALF = np.uint64(_WORD // 2)
_SLOTS = 8
"""Slots for each pair that is known: to look into one is quicker than a search, and most pairs asked for are
not known."""


def take_runs(values: NDArray[_Number], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[_Number]:
    """Return runs of values one behind the other: of each, where it starts and how long it is."""
    return values.take(list_runs(starts, counts))


def list_runs(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return runs of numbers that grow by one: of each, the first number and how many there are."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + counts, counts)


def number_distinct(columns: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number rows of numbers so that equal rows, and only these, have the same number.

    Every row puts its place into the slot of a table that its hash names. A row that finds an equal row's place
    there is settled; the others, whose slot some other row took, go on to another table. Each table settles some
    row, and of different ones as many as have slots of their own: two or three are enough as a rule.

    Args:
        columns: one at least; the first numbers of all rows, the second ones, and so on.

    Returns:
        Of each number a row that has it, in growing order; and of each row its number.
    """
    spread = columns[0] * _SPREADING
    for column in columns[1:]:
        spread = (spread ^ (spread >> _HALF) ^ column) * _SPREADING
    same = _meet(spread)
    waiting = _find_others(columns, [column.take(same) for column in columns])
    spread = spread.take(waiting)
    while len(waiting):
        spread *= _SPREADING
        met = waiting.take(_meet(spread))
        same[waiting] = met  # what is wrong of that, the next table sets right
        own, theirs = ([column.take(rows) for column in columns] for rows in (waiting, met))
        others = _find_others(own, theirs)
        waiting, spread = waiting.take(others), spread.take(others)
    is_first = same == np.arange(len(same))
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1).take(same)


def _meet(spread: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return of each row the place of the one that took the slot its hash names: its own, or some other's."""
    bits = max(len(spread).bit_length() - 2, _FEWEST_BITS)
    slots = (spread >> np.uint64(_WORD - bits)).view(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[slots] = np.arange(len(slots))
    return table.take(slots)


def _find_others(own: Sequence[NDArray[np.uint64]], theirs: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """Return which rows differ."""
    is_other = own[0] != theirs[0]
    for column, other in zip(own[1:], theirs[1:], strict=True):
        is_other |= column != other
    return np.flatnonzero(is_other)


def sort_distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the distinct values in growing order."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def fill_up(table: array[int], size: int) -> NDArray[np.int32]:
    """Return a table with `NOWHERE` in the places it is too short for."""
    full = np.full(size, NOWHERE, np.int32)
    full[: len(table)] = table
    return full


def mark(numbers: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """Return for each number below a size whether it is among these."""
    marked = np.zeros(size, np.bool_)
    marked[numbers] = True
    return marked


class Spreader:
    """Spreads what is known of distinct numbers over their occurrences.

    Args:
        owners: numbers.
        values: of each of them, something that is known of it; a number may have none or many.
        size: how many numbers there are.
    """

    def __init__(self, owners: NDArray[np.integer], values: NDArray[np.int32], size: int) -> None:
        order = np.argsort(owners, kind="stable")
        self._values = values[order]
        self._counts = np.bincount(owners, minlength=size)
        self._starts = np.cumsum(self._counts) - self._counts

    def spread(
        self, numbers: NDArray[np.int32], holders: NDArray[_Number]
    ) -> tuple[NDArray[np.int32], NDArray[_Number]]:
        """Return what is known of numbers, each with who holds the number."""
        found = np.flatnonzero(self._counts.take(numbers))
        numbers = numbers.take(found)
        counts = self._counts.take(numbers)
        return take_runs(self._values, self._starts.take(numbers), counts), np.repeat(holders.take(found), counts)


class PairTable:
    """Finds pairs of numbers.

    Args:
        upper: of each pair, the one number.
        lower: the other.
        sizes: how many numbers there are of either kind.
    """

    def __init__(self, upper: NDArray[np.int64], lower: NDArray[np.int64], sizes: tuple[int, int]) -> None:
        self._size = sizes[1]
        self._is_upper, self._is_lower = mark(upper, sizes[0]), mark(lower, sizes[1])
        keys = upper * self._size + lower
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._shift = np.uint64(_WORD - max(len(keys) * _SLOTS, 2).bit_length())
        self._may_be = mark(self._hash(keys), 1 << (_WORD - int(self._shift)))

    def _hash(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        return (keys.view(np.uint64) * _SPREADING >> self._shift).astype(np.intp)

    def is_upper(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which numbers are the upper one of any pair."""
        return self._is_upper.take(numbers)

    def is_lower(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which numbers are the lower one of any pair."""
        return self._is_lower.take(numbers)

    def find(
        self, upper: NDArray[np.integer], lower: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of pairs that are known, and which they are."""
        if not len(self._keys):
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        keys = upper.astype(np.int64) * self._size + lower
        likely = np.flatnonzero(self._may_be.take(self._hash(keys)))
        keys = keys.take(likely)
        nearest = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_found = self._keys.take(nearest) == keys
        return likely[is_found], self._order[nearest[is_found]]


class Beginnings:
    """Beginnings that words are looked for by.

    Args:
        tables: beginning -> leaf, each of a kind of its own.
    """

    def __init__(self, tables: Sequence[Mapping[str, int]]) -> None:
        distinct = list(set().union(*tables))
        numbering = dict(zip(distinct, range(len(distinct)), strict=True))
        spelled = _encode(distinct)
        self._long = {number: octets for number, octets in enumerate(spelled) if len(octets) >= _WIDEST}
        self._firsts = np.array(spelled, f"S{_WIDEST}")
        self._lasts = np.array([octets[: _WIDEST - 1] + _BEHIND_ALL for octets in spelled], f"S{_WIDEST}")
        self._tables = [
            (
                np.fromiter(map(numbering.__getitem__, table), np.int64, len(table)),
                np.fromiter(table.values(), np.int32, len(table)),
            )
            for table in tables
        ]

    def __len__(self) -> int:
        return len(self._firsts)

    def look_in(self, spellings: Sequence[str], words: NDArray[np.int64]) -> Begun:
        """Look for them in words, given as indexes of their spellings."""
        octets = _encode([spellings[word] for word in words.tolist()])
        spelled = np.array(octets, f"S{_WIDEST}")  # the octets of UTF-8 are ordered as the characters are
        order = np.argsort(spelled, kind="stable")
        ordered, words = spelled[order], words[order]
        starts, ends = np.searchsorted(ordered, self._firsts), np.searchsorted(ordered, self._lasts)
        counts = ends - starts
        for number, beginning in self._long.items():  # whose ends were cut off
            likely = range(np.searchsorted(ordered, beginning[: _WIDEST - 1]), ends[number])
            found = [place for place in likely if octets[order[place]].startswith(beginning)]
            starts[number], counts[number] = len(words), len(found)
            words = np.concatenate((words, words[found]))
        return Begun(words, starts, counts, self._tables)


class Begun(NamedTuple):
    """Words, and where in their order each of some beginnings is met.

    Attributes:
        words: ordered by their spellings.
        starts: of each beginning, where the words that begin so start.
        counts: and how many they are.
        tables: by kind, beginnings and their leaves.
    """

    words: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    tables: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]]

    def find(self, kind: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return words that begin so, each with the leaf of the beginning."""
        beginnings, leaves = self.tables[kind]
        counts = self.counts.take(beginnings)
        return take_runs(self.words, self.starts.take(beginnings), counts), np.repeat(leaves, counts)


def _encode(texts: Sequence[str]) -> list[bytes]:
    """Return texts in UTF-8, halves of surrogate pairs too."""
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:
        return [text.encode("utf-8", "surrogatepass") for text in texts]
