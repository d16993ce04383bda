"""Slots: the turns of a cadence, each with a name that is used once, and the moments they are due at.

A turn is due at its wall-clock time or its mailing's moment, or at the end of the quiet hours that
fall on it; local time follows `digest.planning.localtime`. Names are local dates (`2026-11-20`), ISO
weeks for cadences of one weekday (`2026-W47`), and mailings (`mailing:2026-11-19`). Within a kind
they sort as time goes, and one that was taken, with a digest or without, is never given out again:
`taken` is the last of each kind, with blanks between.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.announcements import has_mailing, latest_mailing, mailing_moment
from digest.planning.localtime import resolve_local
from digest.planning.quiet import leave_quiet
from digest.subscriptions import CadenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.subscriptions import Cadence, QuietHours

_KEPT = 4096
"""Answers kept: a hundred thousand subscriptions that are due at one moment share a few."""

_DAY = timedelta(days=1)

_MAILING = "mailing:"
_RUN = "run:"


@dataclass(frozen=True, slots=True)
class Slot:
    """One turn of a cadence.

    Attributes:
        name: unique within the subscription.
        due_at: when it is due (UTC).
        latest_at: until when it waits for an incomplete mailing at most (UTC), not before `due_at`; an
            announcement's own turn has no such moment, and stands here for itself.
    """

    name: str
    due_at: datetime
    latest_at: datetime


@lru_cache(maxsize=_KEPT)
def next_slot(cadence: Cadence, quiet: QuietHours | None, after: datetime, taken: str = "") -> Slot | None:
    """Return the first turn due after a moment whose name was not taken; None where only an event makes it due."""
    if cadence.kind is CadenceKind.AT_ONCE:
        return None
    turns = _count_up(cadence, quiet, _day_of(cadence, after) - 2 * _DAY)
    return next(slot for slot in turns if slot.due_at > after and not is_taken(taken, slot.name))


@lru_cache(maxsize=_KEPT)
def latest_slot(cadence: Cadence, quiet: QuietHours | None, now: datetime) -> Slot:
    """Return the last turn that has come due by a moment; not for `at once`.

    After downtime one digest stands for all that were missed, under this name.
    """
    return next(slot for slot in _count_down(cadence, quiet, _day_of(cadence, now) + _DAY) if slot.due_at <= now)


def nearest_slot(cadence: Cadence, quiet: QuietHours | None, due_at: datetime, taken: str = "") -> Slot | None:
    """Return the turn that a due moment of old is now, after the quiet hours have changed.

    That is the turn due nearest to it; the next one where that was taken, and None where only an event
    makes it due.
    """
    if cadence.kind is CadenceKind.AT_ONCE:
        return None
    before = latest_slot(cadence, quiet, due_at)
    following = next_slot(cadence, quiet, due_at, taken)
    if following is None or is_taken(taken, before.name):
        return following
    return min(before, following, key=lambda slot: abs(slot.due_at - due_at))


def take_slot(taken: str, name: str) -> str:
    """Return the names taken last, one of each kind, after another was taken."""
    kind = _kind_of(name)
    return " ".join([*(one for one in taken.split() if _kind_of(one) != kind), name])


def is_taken(taken: str, name: str) -> bool:
    """Tell whether a turn was taken already, or passed over for a later one of its kind."""
    kind = _kind_of(name)
    return any(name <= one for one in taken.split() if _kind_of(one) == kind)


def find_taken(cadence: Cadence, quiet: QuietHours | None, taken: str) -> Slot | None:
    """Return the last turn of this cadence that was taken, as it would lie now; None where there is none."""
    for name in taken.split():
        day = _read_day(cadence, name)
        if day is not None:
            return _make_slot(cadence, quiet, day)
    return None


def _kind_of(name: str) -> str:
    if name.startswith((_MAILING, _RUN)):
        return name.partition(":")[0]
    return "week" if "-W" in name else "day"


def _day_of(cadence: Cadence, moment: datetime) -> date:
    """Return the date a moment falls on, as the cadence counts dates."""
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        return latest_mailing(moment)
    return moment.astimezone(ZoneInfo(cadence.zone)).date()


def _count_up(cadence: Cadence, quiet: QuietHours | None, day: date) -> Iterator[Slot]:
    while True:
        if (slot := _make_slot(cadence, quiet, day)) is not None:
            yield slot
        day += _DAY


def _count_down(cadence: Cadence, quiet: QuietHours | None, day: date) -> Iterator[Slot]:
    while True:
        if (slot := _make_slot(cadence, quiet, day)) is not None:
            yield slot
        day -= _DAY


def _make_slot(cadence: Cadence, quiet: QuietHours | None, day: date) -> Slot | None:
    """Return the turn of a date; None where the cadence has none then, or there is no such date."""
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        if not has_mailing(day):
            return None
        due_at = leave_quiet(cadence, quiet, mailing_moment(day))
        return Slot(f"{_MAILING}{day.isoformat()}", due_at, due_at)
    moment = resolve_local(day, cadence.at, cadence.zone) if day.weekday() in cadence.days else None
    if moment is None:
        return None
    due_at = leave_quiet(cadence, quiet, moment)
    return Slot(_name_day(cadence, day), due_at, max(due_at, _find_latest(cadence, day, moment)))


def _find_latest(cadence: Cadence, day: date, moment: datetime) -> datetime:
    """Return the latest moment of a date's turn: by the wall clock, where that date exists."""
    last = day if cadence.latest >= cadence.at else day + _DAY
    return resolve_local(last, cadence.latest, cadence.zone) or moment + cadence.wait


def _name_day(cadence: Cadence, day: date) -> str:
    if len(cadence.days) > 1:
        return day.isoformat()
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def _read_day(cadence: Cadence, name: str) -> date | None:
    """Return the date of a turn of this cadence by its name; None for a name that this cadence gives to none."""
    kind = _kind_of(name)
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        return date.fromisoformat(name.removeprefix(_MAILING)) if kind == "mailing" else None
    if cadence.kind is CadenceKind.CLOCK and len(cadence.days) == 1 and kind == "week":
        year, week = name.split("-W")
        return date.fromisocalendar(int(year), int(week), min(cadence.days) + 1)
    if cadence.kind is CadenceKind.CLOCK and len(cadence.days) > 1 and kind == "day":
        return date.fromisoformat(name)
    return None
