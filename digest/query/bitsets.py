"""Which papers meet which nodes of a graph: rows of bits, a bit a paper, worked out level by level.

Most queries match nothing on a day. So a summary comes first, one word a node: each of its 64 bits says
whether any paper of a share, a 64th of the batch, may meet the node. Only what a query needs whose summary is
not empty gets a whole row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from digest.query.arrays import sort_distinct, take_runs
from digest.query.graph import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from digest.query.graph import Graph

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
        is_and = kinds == Kind.AND
        inner = np.flatnonzero(kinds != Kind.LEAF)
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
