"""Papers held against a few queries at once, batch by batch: for months of papers that need not be kept."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from digest.query.reverse_index import ReverseIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.papers import Paper
    from digest.query import Node, Query

BATCH: Final = 1_000
"""Papers in memory at once."""


def hold_papers(
    queries: Sequence[Query | Node], papers: Iterable[Paper]
) -> Iterator[tuple[Paper, frozenset[int]]]:
    """Yield each paper with the places of the queries it meets, in the order they come."""
    index: ReverseIndex[int] = ReverseIndex()
    for place, query in enumerate(queries):
        index.add(place, query)
    coming = iter(papers)
    while batch := list(islice(coming, BATCH)):
        met: list[set[int]] = [set() for _ in batch]
        for place, found in index.match(batch).items():
            for number in found.tolist():
                met[number].add(place)
        yield from zip(batch, map(frozenset, met), strict=True)
