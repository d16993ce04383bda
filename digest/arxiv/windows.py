"""Spans of submission dates by which a search is cut into parts that arXiv gives out whole.

Of no search arXiv gives out more than its first 10,000 results. The date of the first version never changes,
so by it every paper belongs to one part and stays there while the others are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC)
"""Before every paper: some carry dates older than arXiv itself, which began in August 1991."""

_MINUTE = timedelta(minutes=1)
_FORMAT = "%Y%m%d%H%M"


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time in which first versions were submitted, in whole minutes (UTC).

    Neighbours share the minute between them: whether arXiv reads a last minute to its end or only to its
    beginning, no paper falls between two, and one that two of them have is known by its id.
    """

    first: datetime
    last: datetime

    def confine(self, query: str) -> str:
        """Return a search in arXiv's query language, for no more than what was submitted within."""
        return f"({query}) AND submittedDate:[{self.first:{_FORMAT}} TO {self.last:{_FORMAT}}]"

    def divide(self, parts: int) -> list[Window]:
        """Cut it into so many parts of about one length, the latest first; fewer where minutes do not suffice."""
        minutes = (self.last - self.first) // _MINUTE
        parts = max(1, min(parts, minutes))
        edges = [self.first + _MINUTE * (minutes * number // parts) for number in range(parts + 1)]
        return [Window(first, last) for first, last in pairwise(edges)][::-1]


def cut_at(moment: datetime, end: datetime) -> list[Window]:
    """Return what was submitted since a moment, up to an end, and before it, the latter last."""
    end = max(_floor(end), EARLIEST + _MINUTE)
    edge = min(_floor(moment), end - _MINUTE)
    if edge <= EARLIEST:
        return [Window(EARLIEST, end)]
    return [Window(edge, end), Window(EARLIEST, edge)]


def _floor(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)
