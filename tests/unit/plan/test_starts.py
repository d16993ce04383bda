"""When a machine elsewhere starts runs, so that each turn is waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
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


def expand(lines: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Return the zone of each start, and its minute of a week that begins with Monday, as cron reads the lines."""

    def read(text: str, usual: range) -> Iterator[int]:
        for part in text.split(","):
            first, _, last = part.partition("-")
            yield from usual if part == "*" else range(int(first), int(last or first) + 1)

    starts = []
    for cron, zone in lines:
        minutes, hours, *dates, weekdays = cron.split()
        assert dates == ["*", "*"]
        starts += [
            (zone, (day - 1) % 7 * 1440 + hour * 60 + minute)
            for day in read(weekdays, range(7))
            for hour in read(hours, range(24))
            for minute in read(minutes, range(60))
        ]
    return starts


@given(st.lists(CADENCES, min_size=1, max_size=4))
def test_each_turn_has_its_starts_and_no_other_start_is_there(cadences: list[Cadence]) -> None:
    starts = expand(plan_starts(cadences))
    expected = set()
    for cadence in cadences:
        turn = ANNOUNCED if str(cadence) in ("on announcement", "at once") else cadence
        for day in turn.days:
            for later in (0, 90):
                at = day * 1440 + turn.at.hour * 60 + turn.at.minute + later - 25
                expected.add((turn.zone, (at - (at % 15 == 0)) % WEEK))
    assert len(starts) == len(expected)
    assert set(starts) == expected
    assert not {minute % 60 for _, minute in starts} & {0, 15, 30, 45}


@given(st.lists(CLOCK_CADENCES, min_size=1, max_size=3), st.integers(0, 360))
def test_where_no_zone_can_be_named_each_turn_has_a_start_in_summer_and_in_winter(
    cadences: list[Cadence], number: int
) -> None:
    starts = {minute for _, minute in expand(plan_starts_in_utc(cadences, 2026))}
    day = datetime(2026, 1, 1, tzinfo=UTC).date() + timedelta(days=number)
    for cadence in cadences:
        moment = resolve_local(day, cadence.at, cadence.zone)
        is_plain = (
            moment is not None and moment.astimezone(ZoneInfo(cadence.zone)).time() == cadence.at
        )
        if moment is not None and is_plain and cadence.has_day(day):
            minute = moment.weekday() * 1440 + moment.hour * 60 + moment.minute
            for later in (0, 90):
                assert starts & {(minute + later - early) % WEEK for early in (25, 26)}


@pytest.mark.parametrize(
    ("phrases", "lines"),
    [
        (["weekdays at 09:00 Europe/Berlin"], ["35 8 * * 1-5 Europe/Berlin", "5 10 * * 1-5 Europe/Berlin"]),
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
    assert [" ".join(line) for line in plan_starts(map(Cadence.parse, phrases))] == lines
