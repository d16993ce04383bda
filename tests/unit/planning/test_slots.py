"""When a digest is due, and what its turn is called."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.planning import latest_slot, next_due, resolve_local, slot_of
from digest.subscriptions import Cadence

BERLIN = "Europe/Berlin"
ZONES = [
    BERLIN,
    "America/New_York",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Santiago",
    "UTC",
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_wall_clock_time_is_resolved_in_its_zone() -> None:
    assert resolve_local(date(2026, 11, 20), time(9, 0), BERLIN) == utc("2026-11-20T08:00")


def test_a_time_that_does_not_exist_moves_to_the_end_of_the_gap() -> None:
    assert resolve_local(date(2026, 3, 29), time(2, 30), BERLIN) == utc("2026-03-29T01:00")
    assert resolve_local(date(2026, 3, 8), time(2, 15), "America/New_York") == utc("2026-03-08T07:00")


def test_a_midnight_that_does_not_exist_still_belongs_to_its_day() -> None:
    moment = resolve_local(date(2024, 4, 26), time(0, 0), "Africa/Cairo")
    assert moment is not None
    assert moment.astimezone(ZoneInfo("Africa/Cairo")).isoformat() == "2024-04-26T01:00:00+03:00"


def test_a_repeated_time_counts_at_its_first_occurrence() -> None:
    assert resolve_local(date(2026, 10, 25), time(2, 30), BERLIN) == utc("2026-10-25T00:30")


def test_a_date_that_does_not_exist_has_no_moment() -> None:
    assert resolve_local(date(2011, 12, 30), time(9, 0), "Pacific/Apia") is None


@pytest.mark.parametrize(
    ("phrase", "after", "due"),
    [
        ("weekdays at 09:00 Europe/Berlin", "2026-11-20T08:00", "2026-11-23T08:00"),
        ("weekdays at 09:00 Europe/Berlin", "2026-11-20T07:59:59", "2026-11-20T08:00"),
        ("daily at 07:30 Europe/Berlin", "2026-11-20T08:00", "2026-11-21T06:30"),
        ("mondays at 08:00 America/New_York", "2026-11-20T08:00", "2026-11-23T13:00"),
        ("daily at 23:59 Pacific/Apia", "2026-11-20T11:00", "2026-11-21T10:59"),
        ("on announcement", "2026-11-20T08:00", "2026-11-23T01:00"),
        ("on announcement", "2026-11-26T00:00", "2026-11-26T01:00"),
        ("on announcement", "2026-11-26T02:00", "2026-11-30T01:00"),
    ],
)
def test_the_next_due_time_follows_the_phrase(phrase: str, after: str, due: str) -> None:
    assert next_due(Cadence.parse(phrase), utc(after)) == utc(due)


def test_at_once_is_made_due_by_matches_and_never_by_the_clock() -> None:
    assert next_due(Cadence.parse("at once"), utc("2026-11-20T08:00")) is None


@pytest.mark.parametrize(
    ("phrase", "due", "slot"),
    [
        ("weekdays at 09:00 Europe/Berlin", "2026-11-20T08:00", "2026-11-20"),
        ("daily at 00:30 Europe/Berlin", "2026-11-19T23:30", "2026-11-20"),
        ("mondays at 09:00 Europe/Berlin", "2026-11-16T08:00", "2026-W47"),
        ("on announcement", "2026-11-20T01:00", "mailing:2026-11-19"),
    ],
)
def test_a_slot_is_named_after_the_local_date_the_week_or_the_mailing(phrase: str, due: str, slot: str) -> None:
    assert slot_of(Cadence.parse(phrase), utc(due)).name == slot


def test_after_downtime_one_slot_stands_for_all_that_were_missed() -> None:
    cadence = Cadence.parse("weekdays at 09:00 Europe/Berlin")
    assert latest_slot(cadence, utc("2026-11-16T08:00"), utc("2026-11-20T07:00")).name == "2026-11-19"
    assert latest_slot(cadence, utc("2026-11-16T08:00"), utc("2026-11-16T08:00")).name == "2026-11-16"


@given(
    zone=st.sampled_from(ZONES),
    start=st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2030, 1, 1)),  # noqa: DTZ001 - made aware below
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0)),
)
def test_every_local_date_that_exists_gets_exactly_one_turn(zone: str, start: datetime, at: time) -> None:
    cadence = Cadence.parse(f"daily at {at:%H:%M} {zone}")
    moment, slots = start.replace(tzinfo=UTC), []
    for _ in range(12):
        due = next_due(cadence, moment)
        assert due is not None
        assert due > moment
        slots.append(date.fromisoformat(slot_of(cadence, due).name))
        moment = due
    gaps = {later - earlier for earlier, later in pairwise(slots)}
    assert gaps <= {timedelta(days=1)}
