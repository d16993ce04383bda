"""Slots and due times: wall-clock times in the subscription's zone, each local date at most once.

A time that does not exist (clocks go forward) moves to the end of the gap; a repeated one (clocks go
back) counts once, at its first occurrence; a date that does not exist at all has no slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from digest.announcements import mailing_moment, next_mailing
from digest.subscriptions import Cadence, CadenceKind

_DAYS_AHEAD = 15
"""More than a week and a date line crossing: some day of any cadence lies within."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One turn of a cadence: its unique name within the subscription, and when it is due (UTC)."""

    name: str
    due_at: datetime


def resolve_local(day: date, at: time, zone: str) -> datetime | None:
    """Return the UTC moment of a wall-clock time on a local date; None if the date does not exist."""
    place = ZoneInfo(zone)
    local = datetime.combine(day, at)
    early = local.replace(tzinfo=place, fold=0)
    moment = early.astimezone(UTC)
    if moment.astimezone(place).replace(tzinfo=None) == local:
        return moment
    end_of_gap = _find_transition(local.replace(tzinfo=place, fold=1).astimezone(UTC), moment, place)
    return end_of_gap if end_of_gap.astimezone(place).date() == day else None


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


def next_due(cadence: Cadence, after: datetime) -> datetime | None:
    """Return when a cadence is due next after a moment (UTC); None where only an event makes it due."""
    if cadence.kind is CadenceKind.AT_ONCE:
        return None
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        return mailing_moment(next_mailing(after))
    today = after.astimezone(ZoneInfo(cadence.zone)).date()
    for days in range(-1, _DAYS_AHEAD):
        day = today + timedelta(days=days)
        moment = resolve_local(day, cadence.at, cadence.zone) if day.weekday() in cadence.days else None
        if moment is not None and moment > after:
            return moment
    raise AssertionError(f"no day of {cadence} within {_DAYS_AHEAD} days")


def slot_of(cadence: Cadence, due_at: datetime) -> Slot:
    """Return the slot a due moment belongs to.

    Cadences of one weekday count in ISO weeks (`2026-W47`), others in local dates (`2026-11-20`), an
    announcement in mailings (`mailing:2026-11-19`).
    """
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        day = next_mailing(due_at - timedelta(seconds=1))
        return Slot(f"mailing:{day.isoformat()}", due_at)
    local = due_at.astimezone(ZoneInfo(cadence.zone)).date()
    if cadence.kind is CadenceKind.CLOCK and len(cadence.days) == 1:
        year, week, _ = local.isocalendar()
        return Slot(f"{year}-W{week:02d}", due_at)
    return Slot(local.isoformat(), due_at)


def latest_slot(cadence: Cadence, due_at: datetime, now: datetime) -> Slot:
    """Return the last slot that has come due by `now`, from a first missed one on.

    After downtime one digest stands for all that were missed, under the latest slot's name.
    """
    current = due_at
    while (following := next_due(cadence, current)) is not None and following <= now:
        current = following
    return slot_of(cadence, current)
