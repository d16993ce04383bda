"""Ids that are missing: arXiv numbers papers without holes, so an id between two stored ones exists, or is void.

Source: https://info.arxiv.org/help/arxiv_identifier.html; 999 of 999 consecutive ids of a real page were
papers. What a harvest lost between two pages, or an index has not filled in yet, is found this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.papers import ArxivId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

ASKED_AT = (timedelta(), timedelta(days=1), timedelta(days=2), timedelta(days=4), timedelta(days=7))
"""How long after it was missed an id is asked for; after the last time it is void."""

FIVE_DIGITS_SINCE = 2015_01
"""The month from which on numbers have five digits, as `YYYYMM`."""

SPARSE_FROM = 1_000
"""So many missing ids at once that are also most of their span are no gaps: whoever answers numbers otherwise."""

_ALONE = 2
"""So many ids are asked for one by one, of the interface that knows a paper first."""


@dataclass(frozen=True, slots=True)
class Gap:
    """An id that is missing.

    Attributes:
        id: it.
        missed_at: since when (UTC).
        asks: how often arXiv was asked for it.
        asked_at: when last (UTC); None where it was not yet.
    """

    id: ArxivId
    missed_at: datetime
    asks: int = 0
    asked_at: datetime | None = None


def find_missing(
    stored: Mapping[int, Collection[int]], mark: tuple[int, int], *, months: int = 2
) -> Iterator[ArxivId]:
    """Yield the ids that lie below the newest stored one of their month and are not stored, in order.

    Args:
        stored: numbers of the papers stored, by month (`YYYYMM`).
        mark: `ArxivId.announcement_order` of the newest paper when Digest first looked: what lies below is
            no business of ours.
        months: how many of the latest months are looked at.
    """
    for month in sorted(stored)[-months:]:
        numbers = frozenset(stored[month])
        if month < mark[0] or not numbers:
            continue
        first = mark[1] + 1 if month == mark[0] else 1
        digits = 5 if month >= FIVE_DIGITS_SINCE else 4
        for number in range(first, max(numbers)):
            if number not in numbers:
                yield ArxivId(month, number, digits=digits)


def is_sparse(stored: Mapping[int, Collection[int]], missing: Sequence[ArxivId], mark: tuple[int, int]) -> bool:
    """Whether ids are so thinly strewn that a missing one says nothing: an archive in part, or made up."""
    known = sum((month, number) > mark for month in sorted(stored)[-2:] for number in stored[month])
    return len(missing) >= SPARSE_FROM and len(missing) > 4 * known


def choose_due(gaps: Sequence[Gap], now: datetime) -> list[Gap]:
    """Return the gaps that arXiv is to be asked for now: those never asked for first, then the newest."""
    due = [gap for gap in gaps if gap.asks < len(ASKED_AT) and now - gap.missed_at >= ASKED_AT[gap.asks]]
    return sorted(due, key=lambda gap: (gap.asks > 0, tuple(-part for part in gap.id.announcement_order)))


def is_void(gap: Gap) -> bool:
    """Whether an id that arXiv has just not known again is given up for good."""
    return gap.asks >= len(ASKED_AT)


def asked_one_by_one(ids: Sequence[ArxivId], spare: int) -> bool:
    """Whether ids are so few that each is worth a request of its own."""
    return len(ids) <= min(_ALONE, spare)


SPARSE = "most numbers around it are missing as well: whoever answers does not number like arXiv"


def explain_void(gap: Gap) -> str:
    """Say why an id is given up."""
    asked = f"{gap.asks} times" if gap.asks > 1 else "once"
    until = f" to {gap.asked_at:%-d %b %Y}" if gap.asked_at else ""
    return f"arXiv knew no such paper, asked {asked} from {gap.missed_at:%-d %b}{until}"
