"""Works out which papers meet which nodes of a graph: rows of bits, a bit a paper.

Most queries match nothing on a day. So a summary comes first, one word a node: each of its 64 bits says
whether any paper of a share, a 64th of the batch, may meet the node. Only what a query needs whose summary is
not empty gets a whole row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from digest.query.index.lexicon import NOWHERE, LeafKind

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from digest.query.index.lexicon import Graph


_Number = TypeVar("_Number", bound=np.integer)

_BEHIND_ALL = b"\xff"
"""No word has it in UTF-8, and it stands behind whatever a beginning may go on with."""

_WIDEST = 48
"""Octets of words that are sorted and compared together; longer words are compared further."""

_SPREADING = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Numbers multiplied by it differ in their upper bits (Knuth, The Art of Computer Programming 3, section 6.4)."""

_WORD = 64
_SLOTS = 8
"""Slots for each pair that is known: to look into one is quicker than a search, and most pairs asked for are
not known."""


def take_runs(values: NDArray[_Number], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[_Number]:
    """Return runs of values one behind the other: of each, where it starts and how long it is."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return values.take(np.arange(total) + np.repeat(starts - ends + counts, counts))


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
    """Beginnings that words are searched for by.

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


WORD = 64
_BLOCK = 1_024
"""Rows worked on together: what comes between stays in the processor's own memory."""

_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_TOP = np.uint64(1)
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_SIZES = _BITS.sum(axis=1, dtype=np.uint8)
"""Octet -> how many of its bits are set."""
_PLACES = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint16).T.copy()
"""Which set bit it is, then octet -> its place; what follows the last set bit means nothing."""


class Unions(NamedTuple):
    """Leaves that are met also where any of several nodes is, which only this batch has.

    Attributes:
        leaves: leaves, as often as they have such nodes.
        nodes: these, counted on from the graph's own.
        size: how many such nodes there are.
    """

    leaves: NDArray[np.int32]
    nodes: NDArray[np.int32]
    size: int


class Detection(NamedTuple):
    """What a batch of papers was seen to meet; the same pair may come more than once.

    Attributes:
        leaves: leaves, or nodes of `unions`.
        papers: of each of them, a paper's index in the batch.
        unions: what is met together with nodes that only this batch has.
        shares: of each paper of the batch, which of its 64 shares it is in: papers that the same queries ask
            for are best in one.
    """

    leaves: NDArray[np.int32]
    papers: NDArray[np.int32]
    unions: Unions
    shares: NDArray[np.uint64]


class Rows(NamedTuple):
    """Papers by query, packed.

    Attributes:
        bounds: query -> where its papers begin in `papers`; one more at the end.
        papers: indexes of papers, in growing order within a query.
    """

    bounds: NDArray[np.int64]
    papers: NDArray[np.unsignedinteger]


class _Stage(NamedTuple):
    """The nodes of one level and one operator, those with most operands first.

    Attributes:
        is_and: whether they are ANDs.
        nodes: them.
        starts: where the operands of each begin in `operands`; one more at the end.
        operands: references.
    """

    is_and: bool
    nodes: NDArray[np.int32]
    starts: NDArray[np.int64]
    operands: NDArray[np.uint32]


class Layout:
    """A graph made ready for evaluation; it does not see what is added to the graph later.

    Attributes:
        size: how many nodes there are.
        roots: the distinct references to queries' nodes.
        queries: of each query, its root's index in `roots`.
        stages: the nodes that join others, lower levels first.
    """

    def __init__(self, graph: Graph, roots: Collection[int]) -> None:
        self.size = len(graph)
        references = np.fromiter(roots, np.uint32, len(roots))
        self.roots, self.queries = np.unique(references, return_inverse=True)
        kinds = np.array(graph.kinds, np.uint8)
        levels = np.array(graph.levels, np.uint16)
        starts = np.array(graph.starts, np.int64)
        operands = np.array(graph.operands, np.uint32)
        counts = np.diff(starts)
        is_and = kinds == LeafKind.AND
        inner = np.flatnonzero(kinds != LeafKind.LEAF)
        inner = inner[np.lexsort((-counts[inner], is_and[inner], levels[inner]))]
        changes = np.flatnonzero(np.diff(levels[inner] * np.int64(2) + is_and[inner])) + 1
        self.stages = [
            _make_stage(nodes, starts[nodes], counts[nodes], operands, is_and=bool(is_and[nodes[0]]))
            for nodes in np.split(inner, changes)
            if len(nodes)
        ]

    def evaluate(self, detection: Detection) -> Rows:
        """Return which papers, at most 65,536, meet each root."""
        papers = len(detection.shares)
        size, stages = self.size + detection.unions.size, self.stages
        if detection.unions.size:
            stages = [_join_unions(detection.unions), *stages]
        leaves = detection.leaves.astype(np.intp)
        summaries = _summarise(stages, leaves, (_TOP << detection.shares).take(detection.papers), size)
        demanded = self._demand(stages, summaries)
        wanted = self.roots[demanded[self.roots >> 1] & (self.roots & 1 == 0)] >> 1
        demanded[wanted] = False
        others = np.flatnonzero(demanded)
        numbers = np.zeros(size, np.int32)
        numbers[wanted] = np.arange(1, len(wanted) + 1, dtype=np.int32)  # their rows lie side by side, in order
        numbers[others] = np.arange(len(wanted) + 1, len(wanted) + len(others) + 1, dtype=np.int32)
        rows = np.zeros((len(wanted) + len(others) + 1, -(-papers // WORD)), np.uint64)
        _fill(rows, numbers.take(leaves).astype(np.intp), detection.papers)
        rows[numbers[0]] = _ALL
        rows[0] = _NONE
        for stage in stages:
            _work_out(stage, rows, numbers)
        return self._extract(rows, numbers, papers)

    def _extract(self, rows: NDArray[np.uint64], numbers: NDArray[np.int32], papers: int) -> Rows:
        """Return the papers whose bits are set in the rows of the roots, or are not where these are negated."""
        is_negated = (self.roots & 1).astype(np.bool_)
        at = numbers.take(self.roots >> 1)
        owners = np.flatnonzero((at != 0) | is_negated)
        listed = []
        for first in range(0, len(owners), _BLOCK):
            block = owners[first : first + _BLOCK]
            found = rows.take(at.take(block), axis=0)
            found[is_negated.take(block)] ^= _ALL
            if papers % WORD:
                found[:, -1] &= _ALL >> np.uint64(WORD - papers % WORD)
            listed.append(_list_bits(found))
        bounds = np.zeros(len(self.roots) + 1, np.int64)
        bounds[owners + 1] = np.concatenate([np.zeros(0, np.int64), *(counts for counts, _ in listed)])
        return Rows(np.cumsum(bounds), np.concatenate([np.zeros(0, np.uint16), *(bits for _, bits in listed)]))

    def _demand(self, stages: Sequence[_Stage], summaries: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which nodes need a row: those a root depends on, but for those no paper can meet."""
        may_be = summaries != _NONE
        demanded = np.zeros(len(summaries), np.bool_)
        demanded[self.roots >> 1] = True
        demanded &= may_be
        for stage in reversed(stages):
            chosen = np.flatnonzero(demanded.take(stage.nodes))
            starts = stage.starts.take(chosen)
            nodes = take_runs(stage.operands, starts, stage.starts.take(chosen + 1) - starts) >> 1
            demanded[nodes[may_be.take(nodes)]] = True
        return demanded


def _make_stage(
    nodes: NDArray[np.integer],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    operands: NDArray[np.uint32],
    *,
    is_and: bool,
) -> _Stage:
    bounds = np.concatenate(([0], np.cumsum(counts)))
    return _Stage(is_and, nodes.astype(np.int32), bounds, take_runs(operands, starts, counts))


def _join_unions(unions: Unions) -> _Stage:
    own = sort_distinct(unions.leaves)  # papers may be listed under the leaves themselves
    leaves, joined = np.concatenate((unions.leaves, own)), np.concatenate((unions.nodes, own))
    order = np.argsort(leaves, kind="stable")
    nodes, counts = np.unique(leaves, return_counts=True)
    starts = np.cumsum(counts) - counts
    by_count = np.argsort(-counts, kind="stable")
    operands = joined[order].astype(np.uint32) * np.uint32(2)
    return _make_stage(nodes[by_count], starts[by_count], counts[by_count], operands, is_and=False)


def _summarise(
    stages: Sequence[_Stage], leaves: NDArray[np.intp], shares: NDArray[np.uint64], size: int
) -> NDArray[np.uint64]:
    """Return for each node in which shares of the batch papers may meet it; never too few.

    Args:
        stages: the nodes that join others.
        leaves: what papers meet.
        shares: of each of them, the share of the paper as a bit.
        size: how many nodes there are.
    """
    summaries = np.zeros(size, np.uint64)
    summaries[0] = _ALL
    np.bitwise_or.at(summaries, leaves, shares)
    for stage in stages:
        values = summaries.take(stage.operands >> 1)
        values[np.flatnonzero(stage.operands & 1)] = _ALL
        operator = np.bitwise_and if stage.is_and else np.bitwise_or
        summaries[stage.nodes] = operator.reduceat(values, stage.starts[:-1])
    return summaries


def _fill(rows: NDArray[np.uint64], at: NDArray[np.intp], papers: NDArray[np.int32]) -> None:
    """Set the bits of papers, each in the row it has a number of, if any."""
    has_row = np.flatnonzero(at)
    at, papers = at.take(has_row), papers.take(has_row)
    places = at * rows.shape[1] + (papers >> 6)
    bits = _TOP << (papers & (WORD - 1)).astype(np.uint64)
    np.bitwise_or.at(rows.reshape(-1), places, bits)


def _work_out(stage: _Stage, rows: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
    """Work out the rows of a stage's nodes: the first operands of all, then the second ones, and so on."""
    chosen = np.flatnonzero(numbers.take(stage.nodes))
    if not len(chosen):
        return
    nodes = stage.nodes.take(chosen)
    starts = stage.starts.take(chosen)
    counts = stage.starts.take(chosen + 1) - starts
    operands = take_runs(stage.operands, starts, counts)
    at, is_negated = numbers.take(operands >> 1), (operands & 1).astype(np.bool_)
    starts = np.cumsum(counts) - counts
    if not stage.is_and:  # operands no paper meets add nothing
        is_needed = (at != 0) | is_negated
        counts = np.add.reduceat(is_needed, starts, dtype=np.int64)
        at, is_negated = at[is_needed], is_negated[is_needed]
        order = np.argsort(-counts, kind="stable")
        starts, counts, nodes = (np.cumsum(counts) - counts)[order], counts[order], nodes[order]
    negations = is_negated if is_negated.any() else None
    operator = np.bitwise_and if stage.is_and else np.bitwise_or
    for first in range(0, len(nodes), _BLOCK):
        block = slice(first, first + _BLOCK)
        firsts, fewer = starts[block], -counts[block]
        result = _read(rows, at, firsts, negations)
        for place in range(1, -int(fewer[0])):
            count = int(np.searchsorted(fewer, -place))
            part = _read(rows, at, firsts[:count] + place, negations)
            operator(result[:count], part, out=result[:count])
        rows[numbers.take(nodes[block])] = result


def _read(
    rows: NDArray[np.uint64],
    at: NDArray[np.int32],
    operands: NDArray[np.int64],
    is_negated: NDArray[np.bool_] | None,
) -> NDArray[np.uint64]:
    """Return the rows of some operands, by where each is, and whether it is negated where any is."""
    found = rows.take(at.take(operands), axis=0, mode="clip")
    if is_negated is not None:
        negated = np.flatnonzero(is_negated.take(operands))
        found[negated] = ~found[negated]
    return found


def _list_bits(rows: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Return how many bits are set in each row, and of these the places, row by row."""
    count, width = rows.shape
    is_filled = rows != _NONE
    per_row = np.count_nonzero(is_filled, axis=1)
    filled = np.flatnonzero(is_filled)
    octets = rows.reshape(-1)[filled].astype("<u8", copy=False).view(np.uint8)
    places = np.flatnonzero(octets != 0)
    octets = octets.take(places)
    sizes = _SIZES.take(octets)
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    bounds = np.concatenate(([0], np.searchsorted(places, np.cumsum(per_row) * (WORD // 8))))
    columns = filled - np.repeat(np.arange(count) * width, per_row)
    first = (columns << 6).astype(np.uint16).take(places >> 3) + ((places & 7) << 3).astype(np.uint16)
    found = np.empty(ends[-1], np.uint16)
    at = ends[:-1]
    for number, set_bits in enumerate(_PLACES):
        found[at + number] = first + set_bits.take(octets)
        more = np.flatnonzero(sizes > number + 1)
        at, octets, first, sizes = at.take(more), octets.take(more), first.take(more), sizes.take(more)
    return np.diff(ends[bounds]), found


def join_rows(parts: Sequence[Rows], queries: int, size: int) -> Rows:
    """Return the papers of several batches as those of one.

    Args:
        parts: of each batch in order.
        queries: how many queries there are.
        size: how many papers each batch has; the last may have fewer.
    """
    if len(parts) == 1:
        return parts[0]
    counts = np.array([np.diff(part.bounds) for part in parts], np.int64).reshape(-1, queries)
    bounds = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    papers = np.zeros(bounds[-1], np.uint16 if len(parts) * size <= 1 << 16 else np.uint32)
    starts = bounds[:-1].copy()
    for number, (part, count) in enumerate(zip(parts, counts, strict=True)):
        shifts = np.repeat(starts - part.bounds[:-1], count)
        papers[np.arange(len(part.papers)) + shifts] = part.papers + papers.dtype.type(number * size)
        starts += count
    return Rows(bounds, papers)
