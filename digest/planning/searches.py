"""How far the next search looks back: for one saved query, and for many together."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.planning.polls import (
    SEARCH_LOOKBACK,
    SEARCH_LOOKBACKS,
    SEARCHED_ONE_BY_ONE,
    choose_reach,
    search_until,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

JOINT_LOOKBACKS = (*SEARCH_LOOKBACKS, (SEARCH_LOOKBACK, timedelta(hours=20)))
"""As for one query, but the eight days are looked through once a day: for many they take many requests."""

JOINT_LOOKBACK = 4
"""So far the other looks for many reach: from a Sunday evening's mailing to its earliest papers, and a day."""


@dataclass(frozen=True, slots=True)
class SearchPast:
    """What has been looked for so far on behalf of a saved query, in whichever way; moments are in UTC.

    Attributes:
        complete: when the last complete look started; None before the first.
        reaching: by days, when the last complete look started that reached back so many days or more.
    """

    complete: datetime | None = None
    reaching: Mapping[int, datetime | None] = field(default_factory=dict)


def is_asked_together(texts: Collection[str]) -> bool:
    """Whether so many distinct saved queries are asked for by one search."""
    return len(texts) > SEARCHED_ONE_BY_ONE


def join_pasts(pasts: Sequence[SearchPast]) -> SearchPast:
    """Return what has been looked for on behalf of each of several queries: as far as the least of them."""
    complete = [past.complete for past in pasts if past.complete is not None]
    days = {days for past in pasts for days in past.reaching}
    return SearchPast(
        complete=min(complete) if complete and len(complete) == len(pasts) else None,
        reaching={some: _find_earliest([past.reaching.get(some) for past in pasts]) for some in days},
    )


def _find_earliest(moments: Sequence[datetime | None]) -> datetime | None:
    there = [moment for moment in moments if moment is not None]
    return min(there) if len(there) == len(moments) else None


def plan_search(past: SearchPast, now: datetime) -> tuple[int, datetime]:
    """Return how many days the next search for one query reaches back, and until when (UTC).

    The first one reaches as far as any: what it does not meet is news when it comes.
    """
    days = choose_reach(SEARCH_LOOKBACKS, SEARCH_LOOKBACK, past.reaching, now)
    return days, search_until(past.complete, now, days)


def plan_joint_search(pasts: Sequence[SearchPast], now: datetime) -> tuple[int, datetime]:
    """Return how many days the next search for several queries reaches back, and until when (UTC).

    Args:
        pasts: of those queries that have been looked for before. Without any, the first search is as
            narrow as a usual one: by its newest paper it tells what is news later.
        now: the moment (UTC).
    """
    if not pasts:
        return SEARCH_LOOKBACK, search_until(None, now, SEARCH_LOOKBACK)
    past = join_pasts(pasts)
    days = choose_reach(JOINT_LOOKBACKS, JOINT_LOOKBACK, past.reaching, now)
    return days, search_until(past.complete, now, days)
