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
_WEEK_SLOT = re.compile(r"\d{4}-W\d{2}")


def write_day(day: date) -> str:
    """Write a date as `Thu 19 Nov`."""
    return f"{_WEEKDAYS[day.weekday()][:_ABBREVIATED]} {write_day_of_month(day)}"


def write_long_day(day: date) -> str:
    """Write a date as `Thursday 19 November 2026`."""
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def write_day_of_month(day: date) -> str:
    """Write a date as `19 Nov`."""
    return f"{day.day} {_MONTHS[day.month - 1][:_ABBREVIATED]}"


def write_days(first: date, last: date, *, is_short: bool = False) -> str:
    """Write two dates and what lies between as `17–19 November`, short `17–19 Nov`, with what differs."""
    begun, ended = (_MONTHS[day.month - 1][: _ABBREVIATED if is_short else None] for day in (first, last))
    year = f" {last.year}" * (first.year != last.year)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{last.day} {ended}"
    return f"{first.day} {begun}{f' {first.year}' * bool(year)} – {last.day} {ended}{year}"


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

    The slot says which day is meant; only a digest of a `run:` slot goes by when it was planned. That of a week
    is called after the mailings it covers, `15–19 Nov`: the week in which it goes out is the next one, as a
    rule.
    """
    coverage = digest.coverage
    if _WEEK_SLOT.fullmatch(digest.slot) and coverage.mailing is not None and coverage.since is not None:
        days = write_days(coverage.since, coverage.mailing)
        year = "" if coverage.since.year != coverage.mailing.year else f" {coverage.mailing.year}"
        return write_days(coverage.since, coverage.mailing, is_short=True), f"{days}{year}"
    if _WEEK_SLOT.fullmatch(digest.slot) and coverage.mailing is not None:
        return write_day(coverage.mailing), write_long_day(coverage.mailing)
    if match := _DAY_SLOT.fullmatch(digest.slot):
        day = date.fromisoformat(match[1])
    else:
        day = digest.planned_at.astimezone(ZoneInfo(digest.zone)).date()
    return write_day(day), write_long_day(day)
