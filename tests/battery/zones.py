"""Turns in every time zone, around every change of its clocks: `python -m tests.battery.zones`.

For each zone that zoneinfo knows, each change of its offset from 2024 to 2037 and several times of
day, the turns of some days around the change are held against a wall clock that is read every five
minutes: no local date may have two turns, none may be left out that existed, and each turn must
come when that clock first shows its time, or a later one where it skips it.
"""

from __future__ import annotations

import time as timer
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import click

from digest.model.cadences import Cadence, CadenceKind
from digest.plan.slots import latest_slot, next_slot

FIRST = 2024
LAST = 2037
_STEP = timedelta(minutes=5)
_AROUND = timedelta(days=3)
_NEARBY = timedelta(minutes=30)
_EVERYDAY = (
    time(0, 0),
    time(0, 30),
    time(2, 0),
    time(2, 30),
    time(9, 0),
    time(12, 0),
    time(23, 30),
)
_DAY = timedelta(days=1)


@dataclass
class Tally:
    """What was tried and what was wrong; `never` holds zones with dates that they left out."""

    zones: int = 0
    transitions: int = 0
    cases: int = 0
    turns: int = 0
    moved: int = 0
    repeated: int = 0
    never: set[tuple[str, date]] = field(default_factory=set)
    findings: list[str] = field(default_factory=list)

    def describe(self) -> list[str]:
        never = ", ".join(f"{day} in {zone}" for zone, day in sorted(self.never)) or "none"
        return [
            (
                f"{self.zones} zones, {self.transitions:,} changes of their clocks, "
                f"{self.cases:,} cases"
            ),
            (
                f"{self.turns:,} turns, {self.moved:,} moved to a gap's end, "
                f"{self.repeated:,} at a time shown twice"
            ),
            f"dates that never existed: {never}",
            f"wrong: {len(self.findings)}",
        ]


def find_transitions(zone: str, first: int, last: int) -> Iterator[datetime]:
    """Yield the moments when a zone's offset changes, from the start of a year to another's end."""
    place = ZoneInfo(zone)
    moment = datetime(first, 1, 1, tzinfo=UTC)
    end = datetime(last + 1, 1, 1, tzinfo=UTC)
    while moment < end:
        later = moment + timedelta(hours=12)
        if moment.astimezone(place).utcoffset() != later.astimezone(place).utcoffset():
            yield _bisect(place, moment, later)
        moment = later


def _bisect(place: ZoneInfo, low: datetime, high: datetime) -> datetime:
    offset = low.astimezone(place).utcoffset()
    while high - low > timedelta(minutes=1):
        middle = low + (high - low) / 2
        middle -= timedelta(seconds=middle.second, microseconds=middle.microsecond)
        middle = middle if middle > low else low + timedelta(minutes=1)
        if middle.astimezone(place).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high


def try_zone(zone: str, tally: Tally, *, first: int = FIRST, last: int = LAST) -> None:
    """Hold the turns of one zone against its wall clock."""
    tally.zones += 1
    transitions = list(find_transitions(zone, first, last))
    for transition in transitions or [datetime(first, 7, 1, tzinfo=UTC)]:
        tally.transitions += bool(transitions)
        begin = transition.replace(minute=0, second=0, microsecond=0) - _AROUND
        steps = int(2 * _AROUND / _STEP)
        clock = [begin + step * _STEP for step in range(steps)]
        shown = [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for moment in clock]
        for at in sorted({*_EVERYDAY, *_times_around(transition, zone)}):
            tally.cases += 1
            _try_time(zone, at, list(zip(clock, shown, strict=True)), tally)


def _times_around(transition: datetime, zone: str) -> Iterator[time]:
    """Yield times of day just before, in and after what is skipped or repeated."""
    place = ZoneInfo(zone)
    for moment in (transition - timedelta(minutes=5), transition):
        local = moment.astimezone(place)
        yield from ((local + shift).time() for shift in (-_NEARBY, timedelta(0), _NEARBY))


def _try_time(zone: str, at: time, readings: list[tuple[datetime, datetime]], tally: Tally) -> None:
    expected = _read_turns(zone, at, readings, tally)
    cadence = Cadence(CadenceKind.CLOCK, at=at, zone=zone)
    found = {}
    moment = readings[0][0]
    while (slot := next_slot(cadence, None, moment)) is not None and slot.due_at <= readings[-1][0]:
        day = date.fromisoformat(slot.name)
        if day in found:
            tally.findings.append(f"{zone} {at}: {day} has two turns")
        if latest_slot(cadence, None, slot.due_at) != slot:
            tally.findings.append(
                f"{zone} {at}: the turn of {day} is another one seen from its own moment"
            )
        found[day] = slot.due_at
        moment = slot.due_at
    tally.turns += len(expected)
    for day, due_at in expected.items():
        if day not in found:
            tally.findings.append(f"{zone} {at}: {day} has no turn")
        elif found[day] != due_at:
            tally.findings.append(
                f"{zone} {at}: {day} has its turn at {found[day]}, not at {due_at}"
            )
    for earlier, later in pairwise(found):
        if later <= earlier:
            tally.findings.append(f"{zone} {at}: {later} comes after {earlier}")


def _read_turns(
    zone: str, at: time, readings: list[tuple[datetime, datetime]], tally: Tally
) -> dict[date, datetime]:
    """Return when the wall clock first shows a time of each date that lies within the readings."""
    days = Counter(shown.date() for _, shown in readings)
    first = min(days) + _DAY
    last = max(days) - _DAY
    turns: dict[date, datetime] = {}
    day = first
    while day <= last:
        wanted = datetime.combine(day, at)
        if day not in days:
            tally.never.add((zone, day))
        else:
            begin = next(
                number for number, (_, shown) in enumerate(readings) if shown.date() == day
            )
            turns[day], shown = next(
                reading for reading in readings[begin:] if reading[1] >= wanted
            )
            tally.moved += shown != wanted
            tally.repeated += [shown for _, shown in readings].count(wanted) > 1
        day += _DAY
    return turns


@click.command(help=__doc__)
@click.option("--first", type=int, default=FIRST, show_default=True)
@click.option("--last", type=int, default=LAST, show_default=True)
def main(*, first: int, last: int) -> None:
    """Try every zone, print what was tried, and exit with 1 where anything is wrong."""
    begun = timer.monotonic()
    tally = Tally()
    for zone in sorted(available_timezones()):
        if zone not in ("Factory", "localtime"):
            try_zone(zone, tally, first=first, last=last)
    click.echo(
        "\n".join((*tally.findings[:50], *tally.describe(), f"{timer.monotonic() - begun:.0f} s"))
    )
    raise SystemExit(bool(tally.findings))


if __name__ == "__main__":
    main()
