"""Wall-clock times in a zone as moments, each local date's time exactly once.

A time that does not exist (clocks go forward) moves to the end of the gap, even where that is the next
midnight, as in Nuuk; a repeated one (clocks go back) counts once, at its first occurrence; a date that
does not exist at all has no moment.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=4096)
def resolve_local(day: date, at: time, zone: str) -> datetime | None:
    """Return the UTC moment of a wall-clock time on a local date; None if the date does not exist.

    Answers are kept: a hundred thousand subscriptions share a few times a day. They hold as long as the
    process does, as what zoneinfo has read of a zone does.
    """
    place = ZoneInfo(zone)
    local = datetime.combine(day, at)
    early = local.replace(tzinfo=place, fold=0)
    moment = early.astimezone(UTC)
    if moment.astimezone(place).replace(tzinfo=None) == local:
        return moment
    end_of_gap = _find_transition(local.replace(tzinfo=place, fold=1).astimezone(UTC), moment, place)
    last_before = end_of_gap - timedelta(seconds=1)
    exists = day in {last_before.astimezone(place).date(), end_of_gap.astimezone(place).date()}
    return end_of_gap if exists else None


def _find_transition(low: datetime, high: datetime, place: ZoneInfo) -> datetime:
    """Return the first whole second between two moments at which the zone's offset is the later one."""
    offset = high.astimezone(place).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle <= low:
            break
        if middle.astimezone(place).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return high
