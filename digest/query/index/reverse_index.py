"""Holds many saved queries against papers at once.

    index = ReverseIndex()
    index.add("gpu", parse_query("cat:cs.PF AND abs:GPU"))
    index.match(papers)["gpu"]  # the indexes of its papers

What two queries have in common is stored, searched for and worked out once (`graph`, `lexicon`). A batch of
papers is read once (`scanning`), then what it meets of all that is searched for is found (`detecting`), and
the graph is evaluated from there on (`bitsets`). The answer is that of `matches` for every pair.

numpy is imported by the first match; who only adds queries does without.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from digest.model.errors import QueryError
from digest.query.evaluation import analyse
from digest.query.index.lexicon import Indexer, Lexicon
from digest.query.parser import parse_query
from digest.query.queries import Query, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from digest.model.papers import Paper
    from digest.query.index.bitsets import Layout, Rows
    from digest.query.index.detection import Detector
    from digest.query.tree import Node


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


MOST_PAPERS: Final = 4_000
"""Papers evaluated together; more are split."""

FEWEST_REMOVED: Final = 1_000
"""Queries removed before it is worth reading the others anew, for the room that those go on taking."""

Key = TypeVar("Key", bound=Hashable)


class Matches(Mapping[Key, "NDArray[np.unsignedinteger]"]):
    """Which papers each query means: key -> their indexes in growing order, only where there are any.

    What a key is looked up to is part of one array that all share, and not to be changed.
    """

    def __init__(self, keys: Sequence[Key], roots: NDArray[np.intp], rows: Rows) -> None:
        self._keys = keys
        self._roots = roots
        self._rows = rows

    @cached_property
    def _places(self) -> dict[Key, tuple[int, int]]:
        starts = self._rows.bounds[self._roots].tolist()
        ends = self._rows.bounds[self._roots + 1].tolist()
        entries = zip(self._keys, starts, ends, strict=True)
        return {key: (start, end) for key, start, end in entries if start < end}

    def __getitem__(self, key: Key) -> NDArray[np.unsignedinteger]:
        start, end = self._places[key]
        return self._rows.papers[start:end]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class _Prepared(NamedTuple, Generic[Key]):
    """What the queries held now come to; made by the first match after any was added or removed."""

    keys: Sequence[Key]
    detector: Detector
    layout: Layout


class ReverseIndex(Generic[Key]):
    """Saved queries under keys of the caller's, to be held against papers by the thousand.

    It keeps neither queries nor papers.
    """

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._indexer = Indexer(self._lexicon)
        self._roots: dict[Key, int] = {}
        self._prepared: _Prepared[Key] | None = None

    def __len__(self) -> int:
        return len(self._roots)

    def __contains__(self, key: object) -> bool:
        return key in self._roots

    def add(self, key: Key, query: Query | Node) -> None:
        """Take a query in, or another one in the place of that under the same key."""
        self._roots[key] = self._indexer.find(query.tree if isinstance(query, Query) else query)
        self._prepared = None

    def remove(self, key: Key) -> None:
        """Take a query out; what it searched for goes on taking room.

        Raises:
            KeyError: there is none under this key.
        """
        del self._roots[key]
        self._prepared = None

    def match(self, papers: Sequence[Paper]) -> Matches[Key]:
        """Hold papers against all queries."""
        from digest.query.index import batch as scanning  # noqa: PLC0415 - numpy takes its time to import
        from digest.query.index import bitsets, detection  # noqa: PLC0415 - numpy takes its time to import

        if self._prepared is None:
            layout = bitsets.Layout(self._lexicon.graph, self._roots.values())
            self._prepared = _Prepared(list(self._roots), detection.Detector(self._lexicon), layout)
        keys, detector, layout = self._prepared
        parts = []
        for start in range(0, len(papers), MOST_PAPERS):
            batch = scanning.scan(papers[start : start + MOST_PAPERS])
            parts.append(layout.evaluate(detector.detect(batch)))
        return Matches(keys, layout.queries, bitsets.join_rows(parts, len(layout.roots), MOST_PAPERS))


FEWEST_PAIRS: Final = 2_000
"""Papers times queries from which on all together are worth importing numpy for."""


class StandingQueries:
    """Queries under their canonical texts; what was kept before and still is costs nothing to keep.

    Of many queries only the index is in memory, about a kilobyte each.
    """

    def __init__(self) -> None:
        self._index: ReverseIndex[str] = ReverseIndex()
        self._known: dict[str, bool] = {}
        """Canonical text -> whether it can be read, and so is in the index."""
        self._few: dict[str, Query] = {}
        self._removed = 0

    def keep(self, texts: Mapping[str, str]) -> None:
        """Keep exactly these: canonical text -> the text to read. One that can't be read meets no paper."""
        removed = self._known.keys() - texts.keys()
        self._removed += len(removed)
        if self._removed > max(FEWEST_REMOVED, len(texts)):
            self._index, self._known, self._few, self._removed = ReverseIndex(), {}, {}, 0
            removed = set()
        for gone in removed:
            if self._known.pop(gone):
                self._index.remove(gone)
                self._few.pop(gone, None)
        for canonical, text in texts.items():
            if canonical not in self._known:
                self._known[canonical] = self._add(canonical, text)

    def _add(self, canonical: str, text: str) -> bool:
        try:
            query = parse_query(text)
        except QueryError:
            return False  # kept as the revision's `problem` when it was stored
        self._index.add(canonical, query)
        if len(self._few) < FEWEST_PAIRS:
            self._few[canonical] = query
        return True

    def hold(self, papers: Sequence[Paper]) -> Iterator[tuple[str, Sequence[int]]]:
        """Yield the texts that mean any of some papers, with their indexes in growing order."""
        is_whole = len(self._few) == len(self._index)
        if not is_whole or len(self._index) * len(papers) >= FEWEST_PAIRS:
            for canonical, row in self._index.match(papers).items():
                yield canonical, row.tolist()
            return
        ready = list(map(analyse, papers))
        for canonical, query in self._few.items():
            if met := [place for place, paper in enumerate(ready) if matches(query, paper)]:
                yield canonical, met
