"""Saved queries kept ready from batch to batch: each text is read once, however many papers come.

    standing = StandingQueries()
    standing.keep({query.canonical: query.text for query in saved})
    dict(standing.hold(papers))  # canonical text -> the indexes of its papers

All of them lie in one reverse index, which numpy evaluates. For a few queries and a few papers that is not
worth the time numpy takes to import: these are held against each other one by one, with the same outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from digest.errors import QueryError
from digest.query.analysis import analyse
from digest.query.parsing import parse_query
from digest.query.queries import matches
from digest.query.reverse_index import ReverseIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from digest.papers import Paper
    from digest.query.queries import Query

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

    def keep(self, texts: Mapping[str, str]) -> None:
        """Keep exactly these: canonical text -> the text to read. One that can't be read meets no paper."""
        for gone in self._known.keys() - texts.keys():
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
