"""Walks through a search, newest first, and fetches papers by id.

Pages of a search move while they are read: papers come in at the top, and the order is not always
kept. So pages overlap by a few papers, what was seen is given out once, and having seen a paper is
never a reason to stop: only dates are, and only while they come in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from digest.arxiv.client import IDS_LIMIT, WALL, ShortPage
from digest.errors import ArxivRejected, ArxivShort

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from digest.arxiv.atom import AtomPage
    from digest.arxiv.client import ArxivClient, Fetched
    from digest.papers import ArxivId, Paper

OVERLAP: Final = 3
"""Papers of a page that are asked for again with the next one."""

SMALLEST_PAGE: Final = 10
_STEPS_BACK: Final = 3


class SearchTooWide(ArxivRejected):
    """A search has more results than arXiv gives out, and what was looked for lies beyond."""


@dataclass(slots=True)
class _Walk:
    """Where a walk stands: what it has given out, and whether the order of dates still holds."""

    size: int
    position: int = 0
    total: int = 0
    is_sorted: bool = True
    oldest: datetime | None = None
    first_total: int | None = None
    seen: set[ArxivId] = field(default_factory=set)
    unreadable: set[bytes] = field(default_factory=set)
    steps_back: int = 0

    @property
    def found(self) -> int:
        """How many different entries came, readable or not."""
        return len(self.seen) + len(self.unreadable)


def walk_search(
    client: ArxivClient, query: str, *, until: datetime, limit: int | None = None, size: int = 100
) -> Iterator[Fetched[AtomPage]]:
    """Fetch the pages of a search by date of the last version, newest first, each paper given out once.

    Args:
        client: asks.
        query: in arXiv's own query language.
        until: older papers are not wanted; the last page may hold some.
        limit: about so many papers are enough, in whole pages; None for no such limit.
        size: papers to a page, at least `SMALLEST_PAGE`.

    Raises:
        SearchTooWide: papers beyond arXiv's limit of results would be needed to get that far.
        ArxivShort: papers are missing, or the results move too fast to be read.
        ArxivError: as described in `digest.errors`.
    """
    walk = _Walk(max(size, SMALLEST_PAGE))
    while True:
        if walk.position >= WALL:
            raise SearchTooWide(
                f"{query[:80]!r} has {walk.total:,} papers, of which arXiv gives out {WALL:,}",
                hint="Narrow the search, for instance to fewer days.",
            )
        start = max(0, walk.position - OVERLAP)
        fetched = _fetch_page(client, query, start, walk)
        if not _has_joined(walk, fetched.page, start):
            continue
        yield _advance(walk, fetched, start)
        if walk.position >= walk.total or walk.found >= walk.total:
            _check_complete(walk, query)
            return
        if limit is not None and walk.found >= limit:
            return
        if walk.is_sorted and walk.oldest is not None and walk.oldest < until:
            return


def fetch_papers(client: ArxivClient, ids: Sequence[ArxivId]) -> Iterator[Fetched[AtomPage]]:
    """Fetch papers by id in their latest versions; those arXiv does not know are absent.

    Raises:
        ArxivError: as described in `digest.errors`.
    """
    distinct = [str(id_) for id_ in dict.fromkeys(ids)]
    for first in range(0, len(distinct), IDS_LIMIT):
        some = distinct[first : first + IDS_LIMIT]
        yield client.search("", ids=some, size=len(some))


def _fetch_page(client: ArxivClient, query: str, start: int, walk: _Walk) -> Fetched[AtomPage]:
    """Fetch a page, in smaller and smaller ones where none comes; a page cut short is taken as it is."""
    while True:
        try:
            return client.search(query, start=start, size=min(walk.size, WALL - start))
        except ShortPage as short:
            if any(paper.id not in walk.seen for paper in short.fetched.page.papers):
                return short.fetched
            if walk.size // 2 < SMALLEST_PAGE:
                raise
            walk.size //= 2


def _has_joined(walk: _Walk, page: AtomPage, start: int) -> bool:
    """Whether a page follows on those before; if not, the walk is taken back half a page."""
    if start == 0 or start >= page.total or any(paper.id in walk.seen for paper in page.papers):
        return True
    walk.steps_back += 1
    if walk.steps_back > _STEPS_BACK:
        raise ArxivShort(
            "the results moved while they were read, and what lay between two pages is not known",
            hint="Nothing was taken for complete: the next poll asks again.",
        )
    walk.position = max(0, start - walk.size // 2)
    return False


def _advance(walk: _Walk, fetched: Fetched[AtomPage], start: int) -> Fetched[AtomPage]:
    """Note what a page brought; return it with only those papers that were not given out before."""
    page = fetched.page
    fresh: list[Paper] = []
    for paper in page.papers:
        if paper.id not in walk.seen:
            walk.seen.add(paper.id)
            walk.is_sorted = walk.is_sorted and (walk.oldest is None or paper.updated <= walk.oldest)
            walk.oldest = paper.updated
            fresh.append(paper)
    walk.unreadable.update(entry.snippet for entry in page.quarantined)
    walk.total = page.total
    walk.first_total = page.total if walk.first_total is None else walk.first_total
    walk.position = start + page.entries
    return replace(fetched, page=replace(page, papers=tuple(fresh)))


def _check_complete(walk: _Walk, query: str) -> None:
    """Raise where papers are missing at the end, beyond those that came in at the top meanwhile."""
    missing = walk.total - walk.found
    if missing > max(0, walk.total - (walk.first_total or 0)):
        raise ArxivShort(
            f"{query[:80]!r} has {walk.total:,} papers, but {missing:,} of them never came",
            hint="Nothing was taken for complete: the next poll asks again.",
        )
