"""When digests are due, as people write it: cadences, and the hours in which nothing goes out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from digest.model.errors import ConfigurationError, UsageError

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WORKING_DAYS = frozenset(range(5))
EVERY_DAY = frozenset(range(7))

USUAL_WAIT = timedelta(minutes=90)
"""How long a digest waits for an announcement that is not complete, if nothing else is said."""

LONGEST_WAIT = timedelta(hours=12)
"""The most that can be said: the wait of one day must be over well before the next day's begins."""

_TIME = r"(\d{1,2})[:.](\d{2})"
_ZONE = r"([A-Za-z0-9_+/-]+)"
_CLOCK_PHRASE = re.compile(
    rf"""
    (?P<days>[a-z,\ ]+?(?:\ from\ [^\s,]+)?),?               # every second monday from 2026-12-07
    \ (?:at|not\ before)\ {_TIME}(?:\ {_ZONE})?              # at 09:00 Europe/Berlin
    (?:\ ?,?\ at\ the\ latest(?:\ at)?\ {_TIME}(?:\ {_ZONE})?)?    # , at the latest 11:00
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FORTNIGHT_PHRASE = re.compile(
    r"(?:on\s+)?(?:every\s+)?(?:second|other)\s+([a-z]+?)(?:\s+from\s+([^\s,]+))?", re.IGNORECASE
)
_SPOKEN_TIME = re.compile(
    r"\b(?:at|before|latest)\s+(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?(?![\w:.])", re.IGNORECASE
)
_HALF_DAY = 12
_QUIET_PHRASE = re.compile(rf"{_TIME}\s*(?:-|–|to)\s*{_TIME}(?:\s+{_ZONE})?", re.IGNORECASE)

FIRST_FORTNIGHT = date(1970, 1, 5)
"""The Monday from which every second week is counted, if a phrase names no date of its own."""

LAST_YEAR = 2999
"""The last year a pause may end in: for turns after it there must be dates."""

_MACHINES_OWN = frozenset({"localtime", "posixrules", "Factory"})
_OTHER_COUNTS = ("posix/", "right/")
"""Folders of copies, `right/` with leap seconds counted: no zones of their own."""

_DAY_WORDS = ("daily", "weekdays", *(f"{day}s" for day in WEEKDAYS), *WEEKDAYS)
_DAYS_HINT = (
    "Days are daily, weekdays, names such as mondays and thursdays, or every second monday."
)
_RHYTHMS = ("second", "third", "fourth", "other", "fortnightly", "biweekly", "monthly")

_DAY = timedelta(days=1)


class CadenceKind(StrEnum):
    """What a digest waits for: a wall-clock time, the announcement being complete, or nothing."""

    CLOCK = "clock"
    ANNOUNCEMENT = "on announcement"
    AT_ONCE = "at once"


@dataclass(frozen=True, slots=True)
class Cadence:
    """When a subscription's digests are due, written and read back as a phrase.

    Attributes:
        days: weekdays, Monday being 0; only for `CLOCK`.
        at: local wall-clock time, not before which a digest goes out; only for `CLOCK`.
        zone: IANA name of the zone whose dates and times count.
        wait: how long after `at`, on the wall clock, it waits for an incomplete announcement at the
            latest.
        fortnight: the Monday of a week in which it is due, if it is due in every second week only.
    """

    kind: CadenceKind
    days: frozenset[int] = EVERY_DAY
    at: time = time(0, 0)
    zone: str = "UTC"
    wait: timedelta = USUAL_WAIT
    fortnight: date | None = None

    @classmethod
    def parse(cls, phrase: str) -> Self:
        """Read a phrase: `on announcement`, `daily at 09:00 Europe/Berlin, at the latest 11:00`."""
        text = " ".join(phrase.split())
        for kind in (CadenceKind.ANNOUNCEMENT, CadenceKind.AT_ONCE):
            if text.lower() == kind:
                return cls(kind)
        match = _CLOCK_PHRASE.fullmatch(text)
        if match is None:
            raise ConfigurationError(
                f"{phrase!r} is not a time when a digest can be due",
                hint=_suggest_time(text)
                or 'Write "on announcement", "at once", or days and a time: "daily at 07:30 UTC". '
                'Others are "weekdays at 09:00 Europe/Berlin, at the latest 12:00", "tuesdays and '
                'fridays at 08:00 UTC". Or "every second monday at 08:00 UTC", "weekly on monday '
                'at 08:00 America/New_York".',
            )
        days, hour, minute, zone, late_hour, late_minute, late_zone = match.groups()
        if zone and late_zone and zone != late_zone:
            raise ConfigurationError(
                f"{phrase!r} names two time zones, {zone} and {late_zone}",
                hint="Name one; it holds for both times.",
            )
        at = _read_time(hour, minute, phrase)
        wait = USUAL_WAIT
        if late_hour is not None:
            latest = _read_time(late_hour, late_minute, phrase)
            wait = _read_wait(at, latest, phrase)
        second = _FORTNIGHT_PHRASE.fullmatch(days)
        weekdays = _read_days(second[1] if second else days, phrase)
        fortnight = _read_fortnight(weekdays, second[2], phrase) if second else None
        if not (zone or late_zone):
            raise ConfigurationError(
                f"{phrase!r} does not name a time zone",
                hint=f'Write "{phrase} Europe/Berlin", or UTC.',
            )
        known_zone = _read_zone(zone or late_zone, phrase)
        return cls(CadenceKind.CLOCK, weekdays, at, known_zone, wait, fortnight)

    @property
    def latest(self) -> time:
        """The wall-clock time when it waits no longer; the next day's if it is not after `at`."""
        return (datetime.combine(date.min, self.at) + self.wait).time()

    def has_day(self, day: date) -> bool:
        """Whether a digest is due on a local date; only for `CLOCK`.

        Every second week is counted in days, so a year of 53 weeks changes nothing.
        """
        if day.weekday() not in self.days:
            return False
        if self.fortnight is None:
            return True
        weeks = (day - self.fortnight).days // 7
        return weeks % 2 == 0

    def __str__(self) -> str:
        if self.kind is not CadenceKind.CLOCK:
            return str(self.kind)
        phrase = f"{self._write_days()} at {self.at:%H:%M} {self.zone}"
        if self.wait == USUAL_WAIT:
            return phrase
        return f"{phrase}, at the latest {self.latest:%H:%M}"

    def _write_days(self) -> str:
        if self.fortnight is not None:
            (weekday,) = self.days
            days = f"every second {WEEKDAYS[weekday]}"
            if self.fortnight == FIRST_FORTNIGHT:
                return days
            return f"{days} from {self.fortnight + timedelta(days=weekday)}"
        if self.days == EVERY_DAY:
            return "daily"
        if self.days == WORKING_DAYS:
            return "weekdays"
        *names, last = [f"{WEEKDAYS[day]}s" for day in sorted(self.days)]
        return f"{', '.join(names)} and {last}" if names else last


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours of every day in which nothing goes out: what is due then is due when they end.

    Attributes:
        begin: local wall-clock time from which it is quiet.
        end: until when; the next day's if it is not after `begin`.
        zone: IANA name; "" for the cadence's own zone.
    """

    begin: time
    end: time
    zone: str = ""

    @classmethod
    def parse(cls, phrase: str) -> Self:
        """Read a phrase such as `22:00-07:00` or `22:00-07:00 Europe/Berlin`."""
        match = _QUIET_PHRASE.fullmatch(" ".join(phrase.split()))
        if match is None:
            raise ConfigurationError(
                f"{phrase!r} are not hours of a day",
                hint='Write "22:00-07:00", or with a time zone if `when` has none: '
                '"22:00-07:00 Europe/Berlin".',
            )
        begin_hour, begin_minute, end_hour, end_minute, zone = match.groups()
        begin = _read_time(begin_hour, begin_minute, phrase)
        end = _read_time(end_hour, end_minute, phrase)
        if begin == end:
            raise ConfigurationError(
                f"{phrase!r} ends when it begins: either all hours would be quiet, or none",
                hint='Write "" for no quiet hours.',
            )
        return cls(begin, end, _read_zone(zone, phrase) if zone else "")

    def __str__(self) -> str:
        hours = f"{self.begin:%H:%M}-{self.end:%H:%M}"
        return f"{hours} {self.zone}" if self.zone else hours


def choose_zone(cadence: Cadence, quiet: QuietHours | None, usual: str = "America/New_York") -> str:
    """Return the zone of a subscription's days: its cadence's, its quiet hours', or arXiv's."""
    if cadence.kind is CadenceKind.CLOCK:
        return cadence.zone
    return quiet.zone if quiet is not None and quiet.zone else usual


def read_pause_end(text: str, zone: str) -> datetime:
    """Return the moment at which a pause ends (UTC): the beginning of a day, or a time of it.

    Args:
        text: a date or a moment in ISO 8601; one that says no offset is the zone's own.
        zone: IANA name.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.year <= LAST_YEAR:
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=ZoneInfo(zone))
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a date",
            hint="Write year, month and day: 2026-11-30; with a time if it matters: "
            "2026-11-30T09:00.",
        ) from None
    raise UsageError(
        f"{text!r} is after the year {LAST_YEAR}, the last one a pause may end in",
        hint=f"Write {LAST_YEAR}-12-31 for a pause without an end. You can resume at any time.",
    )


def _read_time(hour: str, minute: str, phrase: str) -> time:
    try:
        return time(int(hour), int(minute))
    except ValueError:
        raise ConfigurationError(
            f"{phrase!r}: there is no {int(hour)}:{minute} o'clock",
            hint="Times are 00:00 to 23:59; midnight is 00:00, of the day that begins with it.",
        ) from None


def _read_wait(at: time, latest: time, phrase: str) -> timedelta:
    """Return how long it is from one time to the other, past midnight if that comes first."""
    ahead = timedelta(hours=latest.hour - at.hour, minutes=latest.minute - at.minute)
    wait = ahead % _DAY
    if wait > LONGEST_WAIT:
        hours = LONGEST_WAIT.seconds // 3600
        raise ConfigurationError(
            f"{phrase!r}: {latest:%H:%M} is more than {hours} hours after {at:%H:%M}",
            hint="Write first the earliest time at which it goes out, then the latest.",
        )
    return wait


def _read_zone(zone: str, phrase: str) -> str:
    if zone in _MACHINES_OWN or zone.startswith(_OTHER_COUNTS):
        raise ConfigurationError(
            f"{phrase!r}: {zone} is not a place",
            hint="Use a name such as Europe/Berlin, America/New_York or UTC.",
        )
    try:
        return ZoneInfo(zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f"{phrase!r}: there is no time zone called {zone}",
            hint="Use a name such as Europe/Berlin, America/New_York or UTC.",
        ) from None


def _suggest_time(phrase: str) -> str:
    """Return how the time of a phrase is written that is an hour alone, or 8 pm; "" for none."""
    for hour_written, minute, half in _SPOKEN_TIME.findall(phrase):
        hour = int(hour_written)
        if half:
            hour %= _HALF_DAY
        if half.lower() == "pm":
            hour += _HALF_DAY
        if (half or not minute) and hour < 2 * _HALF_DAY:
            return f"Write the time as {hour:02}:{minute or '00'}.{_ask_zone(phrase)}"
    return ""


def _ask_zone(phrase: str) -> str:
    """Return what a hint adds if a phrase names no time zone either; "" else."""
    return "" if re.search(r"/|\bUTC\b", phrase) else " Add a time zone: Europe/Berlin, or UTC."


def _read_fortnight(days: frozenset[int], first: str | None, phrase: str) -> date:
    if len(days) > 1:
        raise ConfigurationError(
            f"{phrase!r}: every second week has one day", hint='Write "every second monday".'
        )
    if first is None:
        return FIRST_FORTNIGHT
    (weekday,) = days
    try:
        day = date.fromisoformat(first)
        monday = day - timedelta(days=weekday)
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"{phrase!r}: {first!r} is not a date", hint="Write year, month and day: 2026-12-07."
        ) from None
    if day.weekday() != weekday:
        raise ConfigurationError(
            f"{phrase!r}: {first} is a {WEEKDAYS[day.weekday()].title()}",
            hint=f"Name the date of a {WEEKDAYS[weekday].title()}.",
        )
    return monday


def _read_days(words: str, phrase: str) -> frozenset[int]:
    text = words.strip().lower()
    days: set[int] = set()
    for word in re.split(r"\s*,\s*|\s+and\s+|\s+", text):
        singular = word.removesuffix("s")
        if word == "daily" or (singular == "day" and text == "every day"):
            days |= EVERY_DAY
        elif singular in ("weekday", "workday"):
            days |= WORKING_DAYS
        elif singular in WEEKDAYS:
            days.add(WEEKDAYS.index(singular))
        elif word not in ("every", "on", "and", "weekly", ""):
            hint = _suggest_day(word) + _ask_zone(phrase)
            raise ConfigurationError(f"{phrase!r}: {word!r} is not a day of the week", hint=hint)
    if not days:
        hint = _DAYS_HINT + _ask_zone(phrase)
        raise ConfigurationError(f"{phrase!r} does not name a day", hint=hint)
    return frozenset(days)


def _suggest_day(word: str) -> str:
    """Return a hint with the day that a misspelt word means; all forms if it means a rhythm."""
    if word in _RHYTHMS:
        return _DAYS_HINT
    near = get_close_matches(word, _DAY_WORDS, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else _DAYS_HINT


@lru_cache(maxsize=4096)
def resolve_local(day: date, at: time, zone: str) -> datetime | None:
    """Return the UTC moment of a wall-clock time on a local date; None if the date does not exist.

    Answers are kept: a hundred thousand subscriptions share a few times a day. They hold as long as
    the process does, as what zoneinfo has read of a zone does.
    """
    place = ZoneInfo(zone)
    local = datetime.combine(day, at)
    moment = local.replace(tzinfo=place).astimezone(UTC)
    while moment.astimezone(place).replace(tzinfo=None) != local:
        local += timedelta(minutes=1)  # clocks are put forward over it
        moment = local.replace(tzinfo=place).astimezone(UTC)
    last_before = (moment - timedelta(seconds=1)).astimezone(place).date()
    return moment if day in (local.date(), last_before) else None


def leave_quiet(cadence: Cadence, quiet: QuietHours | None, moment: datetime) -> datetime:
    """Return the first moment from one on (UTC) outside the quiet hours: that one, or their end."""
    if quiet is None:
        return moment
    zone = quiet.zone or cadence.zone
    today = moment.astimezone(ZoneInfo(zone)).date()
    for day in (today - _DAY, today):
        begin = resolve_local(day, quiet.begin, zone)
        end = _resolve_end(quiet, day, zone)
        if begin is not None and begin <= moment < end:
            # If clocks are put forward over its end, the next quiet time begins at once.
            return leave_quiet(cadence, quiet, end)
    return moment


def _resolve_end(quiet: QuietHours, day: date, zone: str) -> datetime:
    """Return when the quiet time of a local date ends; a date that never was is passed over."""
    last = day if quiet.begin < quiet.end else day + _DAY
    end = resolve_local(last, quiet.end, zone)
    while end is None:
        last += _DAY
        end = resolve_local(last, quiet.end, zone)
    return end
