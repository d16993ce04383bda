"""What a year is made of, and what was done in it: who wanted what and when, and what came in between."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time

from tests.battery.year_installation import Wanted
from tests.battery.year_papers import QUERIES

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "Asia/Tokyo",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Nuuk",
    "Africa/Cairo",
    "Pacific/Honolulu",
    "UTC",
)
_DAYS = ("daily", "daily", "weekdays", "mondays", "weekly on thursday", "tuesdays and fridays")
_NIGHTS = ("", "", "22:00-07:00", "23:30-06:15", "12:00-13:30", "20:00-09:00")
_WITHOUT_CLOCK = ("on announcement", "at once")


@dataclass(frozen=True)
class Plan:
    """What a year is made of.

    Attributes:
        seed: where chance comes from.
        first, last: Eastern dates of its first and last mailing.
        subscriptions: how many there are at the beginning.
        a_mailing: how many papers each mailing brings on average.
        a_week: how many changes are made to subscriptions in a week.
        downtimes: how often nobody works, for hours or days.
        outages: how often arXiv fails, for hours or days.
        longest_pause: days a subscription rests at most; it all goes on for as long afterwards, and a week more.
    """

    seed: int
    first: date = date(2026, 1, 4)
    last: date = date(2026, 12, 30)
    subscriptions: int = 32
    a_mailing: int = 8
    a_week: int = 6
    downtimes: int = 14
    outages: int = 14
    longest_pause: int = 20


@dataclass
class Diary:
    """What was done to whom and when: what the oracle judges by; moments are UTC.

    Attributes:
        wanted: of each subscription, how the file had it from which moment on.
        ended: when each was gone again.
        shaken: moments up to which digests may have been late: edits, ends of pauses, downtimes and outages.
        pauses: of each subscription, from when until when nothing may go out.
        counts: how often what was done.
    """

    wanted: dict[str, list[tuple[datetime, Wanted]]] = field(default_factory=dict)
    ended: dict[str, datetime] = field(default_factory=dict)
    shaken: list[tuple[datetime, str]] = field(default_factory=list)
    pauses: dict[str, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def note_wanted(self, at: datetime, wanted: Wanted) -> None:
        """Note how the file has a subscription from a moment on."""
        self.wanted.setdefault(wanted.name, []).append((at, wanted))
        self.shake(at, wanted.name)

    def note_pause(self, name: str, begin: datetime, end: datetime) -> None:
        """Note that nothing of a subscription may go out for a while."""
        self.pauses.setdefault(name, []).append((begin, end))
        self.shake(end, name)

    def shake(self, until: datetime, name: str = "") -> None:
        """Note that digests may be late up to a moment; of one subscription, or of all."""
        self.shaken.append((until, name))

    def wanted_at(self, name: str, moment: datetime) -> Wanted:
        """Return how the file had a subscription at a moment."""
        return [wanted for at, wanted in self.wanted[name] if at <= moment][-1]


def make_wanted(name: str, rng: random.Random) -> Wanted:
    """Make a subscription up."""
    kinds = ("new", "cross-listed", "replaced") if rng.random() < 1 / 4 else ("new", "cross-listed")
    queries = tuple(rng.sample(sorted(QUERIES), rng.randint(1, 3)))
    when_empty = rng.choice(("skip", "skip", "note", "always"))
    made = Wanted(name, queries, choose_cadence(rng), kinds=kinds, when_empty=when_empty)
    return replace(made, quiet_hours=choose_night(made.when, rng))


def change_wanted(wanted: Wanted, rng: random.Random) -> Wanted:
    """Give a subscription another cadence, zone, or quiet hours."""
    draw = rng.random()
    if draw < 1 / 3:
        return replace(wanted, quiet_hours=choose_night(wanted.when, rng))
    when = choose_cadence(rng)
    if draw < 2 / 3 and wanted.when not in _WITHOUT_CLOCK:
        when = _move(wanted.when, rng.choice(ZONES))
    is_right = bool(wanted.quiet_hours) and (" " in wanted.quiet_hours or when not in _WITHOUT_CLOCK)
    return replace(wanted, when=when, quiet_hours=wanted.quiet_hours if is_right else choose_night(when, rng))


def choose_cadence(rng: random.Random) -> str:
    """Return when digests are due."""
    draw = rng.random()
    if draw < 1 / 5:
        return "on announcement"
    if draw < 3 / 10:
        return "at once"
    at = time(rng.randrange(24), rng.choice((0, 0, 15, 30, 45)))
    latest = time((at.hour + rng.randint(1, 9)) % 24, at.minute)
    zone = rng.choice(ZONES)
    late = f", at the latest {latest:%H:%M}" if rng.random() < 1 / 3 else ""
    return f"{rng.choice(_DAYS)} at {at:%H:%M} {zone}{late}"


def choose_night(when: str, rng: random.Random) -> str:
    """Return quiet hours that go with a cadence, "" for none."""
    night = rng.choice(_NIGHTS)
    return f"{night} {rng.choice(ZONES)}" if night and when in _WITHOUT_CLOCK else night


def _move(when: str, zone: str) -> str:
    """Return the same cadence in another zone."""
    phrase, comma, late = when.partition(",")
    return f"{phrase.rpartition(' ')[0]} {zone}{comma}{late}"
