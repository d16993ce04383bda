"""Queries held against papers all at once: which papers each of many saved queries means.

    index = ReverseIndex()
    index.add("gpu", parse_query("cat:cs.PF AND abs:GPU"))
    index.match(papers)["gpu"]  # the indexes of its papers

What two queries have in common is stored, looked for and worked out once (`graph`, `lexicon`). A batch of
papers is read once (`scanning`), then it is told what it meets of all that is looked for (`detecting`), and
the graph is evaluated from there on (`bitsets`). The answer is that of `matches` for every pair.

numpy is imported by the first match; who only adds queries does without.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from digest.query.compaction import compact
from digest.query.indexing import Indexer
from digest.query.lexicon import Lexicon
from digest.query.queries import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from digest.papers import Paper
    from digest.query.bitsets import Layout, Rows
    from digest.query.detecting import Detector
    from digest.query.tree import Node

MOST_PAPERS: Final = 4_000
"""Papers evaluated together; more are split."""

FEWEST_REMOVED: Final = 1_000
"""Queries removed before it is worth throwing out what nobody asks for any more."""

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
        self._removed = 0
        self._prepared: _Prepared[Key] | None = None

    def __len__(self) -> int:
        return len(self._roots)

    def __contains__(self, key: object) -> bool:
        return key in self._roots

    def count_nodes(self) -> int:
        """Return how many conditions and expressions are stored, all that queries share counted once."""
        return len(self._lexicon.graph)

    def add(self, key: Key, query: Query | Node) -> None:
        """Take a query in, or another one in the place of that under the same key."""
        if key in self._roots:
            self.remove(key)
        self._roots[key] = self._indexer.find(query.tree if isinstance(query, Query) else query)
        self._prepared = None

    def remove(self, key: Key) -> None:
        """Take a query out.

        Raises:
            KeyError: there is none under this key.
        """
        del self._roots[key]
        self._prepared = None
        self._removed += 1
        if self._removed > max(FEWEST_REMOVED, len(self._roots)):
            self._lexicon, roots = compact(self._lexicon, self._roots.values())
            self._indexer = Indexer(self._lexicon)
            self._roots = dict(zip(self._roots, roots, strict=True))
            self._removed = 0

    def match(self, papers: Sequence[Paper]) -> Matches[Key]:
        """Hold papers against all queries."""
        from digest.query import bitsets, detecting, scanning  # noqa: PLC0415 - numpy takes its time to import

        if self._prepared is None:
            layout = bitsets.Layout(self._lexicon.graph, self._roots.values())
            self._prepared = _Prepared(list(self._roots), detecting.Detector(self._lexicon), layout)
        keys, detector, layout = self._prepared
        parts = []
        for start in range(0, len(papers), MOST_PAPERS):
            batch = scanning.scan(papers[start : start + MOST_PAPERS])
            parts.append(layout.evaluate(detector.detect(batch)))
        return Matches(keys, layout.queries, bitsets.join_rows(parts, len(layout.roots), MOST_PAPERS))
