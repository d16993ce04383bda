"""Quiet hours: what would go out in them is due when they end, by the same rules for local time as slots."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.planning.localtime import resolve_local

if TYPE_CHECKING:
    from datetime import date, datetime

    from digest.cadences import Cadence, QuietHours

_DAY = timedelta(days=1)
_MOST_ENDS = 3
"""Where clocks are put forward over an end and the next beginning, two quiet times touch; never more than that."""


def leave_quiet(cadence: Cadence, quiet: QuietHours | None, moment: datetime) -> datetime:
    """Return the first moment from one on (UTC) at which something may go out: that one, or the quiet's end."""
    if quiet is None:
        return moment
    zone = quiet.zone or cadence.zone
    for _ in range(_MOST_ENDS):
        end = _find_end(quiet, zone, moment)
        if end is None:
            break
        moment = end
    return moment


def _find_end(quiet: QuietHours, zone: str, moment: datetime) -> datetime | None:
    """Return when the quiet time around a moment ends; None where there is none around it."""
    today = moment.astimezone(ZoneInfo(zone)).date()
    for day in (today - _DAY, today):
        begin = resolve_local(day, quiet.begin, zone)
        end = _resolve_end(quiet, day, zone)
        if begin is not None and begin <= moment < end:
            return end
    return None


def _resolve_end(quiet: QuietHours, day: date, zone: str) -> datetime:
    """Return when the quiet time that begins on a local date ends; a date that never was is passed over."""
    last = day if quiet.begin < quiet.end else day + _DAY
    while (end := resolve_local(last, quiet.end, zone)) is None:
        last += _DAY
    return end
