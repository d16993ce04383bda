"""When a machine elsewhere starts runs, so that each turn is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.cadences import Cadence, resolve_local
from digest.plan.slots import plan_starts, plan_starts_in_utc
from tests.unit.model.test_cadences import CADENCES, CLOCK_CADENCES

WEEK = 7 * 24 * 60
ANNOUNCED = Cadence.parse(
    "sundays, mondays, tuesdays, wednesdays and thursdays at 23:15 America/New_York"
)


def read_numbers(text: str, usual: range) -> list[int]:
    """Return the numbers that a field of a cron line stands for."""
    numbers: list[int] = []
    for part in text.split(","):
        if part == "*":
            numbers += usual
        else:
            first, _, last = part.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    return numbers


def expand(lines: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Return the zone of each start, and its minute of the week, as cron reads the lines.

    The week begins with Monday.
    """
    starts = []
    for cron, zone in lines:
        minutes, hours, *dates, weekdays = cron.split()
        assert dates == ["*", "*"]
        days = [(day - 1) % 7 for day in read_numbers(weekdays, range(7))]
        times = product(days, read_numbers(hours, range(24)), read_numbers(minutes, range(60)))
        starts += [(zone, count_minutes(*time)) for time in times]
    return starts


def count_minutes(day: int, hour: int, minute: int) -> int:
    """Return the minute of the week."""
    return day * 1440 + hour * 60 + minute


@given(st.lists(CADENCES, min_size=1, max_size=4))
def test_each_turn_has_its_starts_and_no_other_start_is_there(cadences: list[Cadence]) -> None:
    starts = expand(plan_starts(cadences))
    expected = set()
    for cadence in cadences:
        turn = ANNOUNCED if str(cadence) in ("on announcement", "at once") else cadence
        for day in turn.days:
            turn_at = count_minutes(day, turn.at.hour, turn.at.minute)
            for later in (0, 90):
                start = turn_at + later - 25
                if start % 15 == 0:  # when most machines start something
                    start -= 1
                expected.add((turn.zone, start % WEEK))
    assert len(starts) == len(expected)
    assert set(starts) == expected
    minutes_of_hour = {minute % 60 for _, minute in starts}
    assert not minutes_of_hour & {0, 15, 30, 45}


@given(st.lists(CLOCK_CADENCES, min_size=1, max_size=3), st.integers(0, 360))
def test_where_no_zone_can_be_named_each_turn_has_a_start_in_summer_and_in_winter(
    cadences: list[Cadence], number: int
) -> None:
    lines = plan_starts_in_utc(cadences, 2026)
    starts = {minute for _, minute in expand(lines)}
    day = datetime(2026, 1, 1, tzinfo=UTC).date() + timedelta(days=number)
    for cadence in cadences:
        moment = resolve_local(day, cadence.at, cadence.zone)
        if moment is None or not cadence.has_day(day):
            continue
        local = moment.astimezone(ZoneInfo(cadence.zone))
        is_plain = local.time() == cadence.at  # no hour that a change of the clocks left out
        if is_plain:
            turn_at = count_minutes(moment.weekday(), moment.hour, moment.minute)
            for later in (0, 90):
                possible = {(turn_at + later - early) % WEEK for early in (25, 26)}
                assert starts & possible


@pytest.mark.parametrize(
    ("phrases", "lines"),
    [
        (
            ["weekdays at 09:00 Europe/Berlin"],
            ["35 8 * * 1-5 Europe/Berlin", "5 10 * * 1-5 Europe/Berlin"],
        ),
        (["mondays at 00:10 Asia/Tokyo"], ["14 1 * * 1 Asia/Tokyo", "44 23 * * 0 Asia/Tokyo"]),
        (["daily at 12:25 UTC"], ["59 11 * * * UTC", "29 13 * * * UTC"]),
        (["on announcement"], ["20 0 * * 1-5 America/New_York", "50 22 * * 0-4 America/New_York"]),
        (
            ["weekdays at 09:00 UTC", "saturdays and sundays at 09:00 UTC", "daily at 13:00 UTC"],
            ["35 8,12 * * * UTC", "5 10,14 * * * UTC"],
        ),
    ],
)  # fmt: skip
def test_the_lines_are_few(phrases: list[str], lines: list[str]) -> None:
    cadences = [Cadence.parse(phrase) for phrase in phrases]
    written = [" ".join(line) for line in plan_starts(cadences)]
    assert written == lines
