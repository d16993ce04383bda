"""Dates and times in words, the same whatever the machine's language."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.announcements import EASTERN

if TYPE_CHECKING:
    from datetime import datetime

    from digest.messages import Digest

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_ABBREVIATED = 3
_DAY_SLOT = re.compile(r"(?:mailing:)?(\d{4}-\d{2}-\d{2})")
_WEEK_SLOT = re.compile(r"(\d{4})-W(\d{2})")


def write_day(day: date) -> str:
    """Write a date as `Thu 19 Nov`."""
    return f"{_WEEKDAYS[day.weekday()][:_ABBREVIATED]} {write_day_of_month(day)}"


def write_long_day(day: date) -> str:
    """Write a date as `Thursday 19 November 2026`."""
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def write_day_of_month(day: date) -> str:
    """Write a date as `19 Nov`."""
    return f"{day.day} {_MONTHS[day.month - 1][:_ABBREVIATED]}"


def write_days(first: date, last: date) -> str:
    """Write two dates and what lies between as `17–19 November`, with what differs."""
    month, year = f" {_MONTHS[last.month - 1]}", f" {last.year}" * (first.year != last.year)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{last.day}{month}"
    return f"{first.day} {_MONTHS[first.month - 1]}{f' {first.year}' * bool(year)} – {last.day}{month}{year}"


def write_moment(moment: datetime) -> str:
    """Write a moment as RFC 3339 in UTC to the second, `2026-11-19T20:00:00Z`."""
    return f"{moment.astimezone(ZoneInfo('UTC')):%Y-%m-%dT%H:%M:%SZ}"


def name_zone(local: datetime) -> str:
    """Return what a moment's zone is called there and then: `ET`, as arXiv has it, `CET`, `UTC`, `UTC+5:45`."""
    if local.tzinfo == EASTERN:
        return "ET"
    name, offset = local.tzname() or "", local.utcoffset() or timedelta(0)
    if name.isalpha():
        return name
    hours, minutes = divmod(round(abs(offset).total_seconds() / 60), 60)
    return f"UTC{'-' if offset < timedelta(0) else '+'}{hours}" + (f":{minutes:02}" if minutes else "")


def name_slot(digest: Digest) -> tuple[str, str]:
    """Return a digest's date, short (`Thu 19 Nov`) and long (`Thursday 19 November 2026`).

    The slot says which day is meant; only a digest of a `run:` slot goes by when it was planned.
    """
    if week := _WEEK_SLOT.fullmatch(digest.slot):
        return f"week {int(week[2])}", f"Week {int(week[2])} of {week[1]}"
    if match := _DAY_SLOT.fullmatch(digest.slot):
        day = date.fromisoformat(match[1])
    else:
        day = digest.planned_at.astimezone(ZoneInfo(digest.zone)).date()
    return write_day(day), write_long_day(day)
