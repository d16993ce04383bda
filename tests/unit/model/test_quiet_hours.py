"""Hours in which nothing goes out, in every zone and when clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.cadences import Cadence, QuietHours, leave_quiet

BERLIN = Cadence.parse("daily at 09:00 Europe/Berlin")
NIGHT = QuietHours.parse("22:00-07:00")
ZONES = [
    "Europe/Berlin",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Pacific/Apia",
    "UTC",
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "free_at"),
    [
        ("2026-11-20T20:59:59", "2026-11-20T20:59:59"),
        ("2026-11-20T21:00", "2026-11-21T06:00"),
        ("2026-11-21T05:59", "2026-11-21T06:00"),
        ("2026-11-21T06:00", "2026-11-21T06:00"),
        ("2026-11-21T12:00", "2026-11-21T12:00"),
        ("2026-03-28T23:00", "2026-03-29T05:00"),
        ("2026-10-24T23:00", "2026-10-25T06:00"),
    ],
)
def test_what_would_go_out_in_quiet_hours_may_go_when_they_end(moment: str, free_at: str) -> None:
    assert leave_quiet(BERLIN, NIGHT, utc(moment)) == utc(free_at)


def test_hours_within_one_day_are_quiet_too() -> None:
    lunch = QuietHours.parse("12:00-13:30")
    assert leave_quiet(BERLIN, lunch, utc("2026-11-20T11:30")) == utc("2026-11-20T12:30")


def test_hours_with_a_zone_of_their_own_are_meant_there() -> None:
    quiet = QuietHours.parse("22:00-07:00 America/New_York")
    assert leave_quiet(Cadence.parse("at once"), quiet, utc("2026-11-20T04:00")) == utc(
        "2026-11-20T12:00"
    )


def test_without_quiet_hours_everything_may_go_at_once() -> None:
    assert leave_quiet(BERLIN, None, utc("2026-11-20T23:00")) == utc("2026-11-20T23:00")


def test_an_end_on_a_date_that_never_was_comes_with_the_next_date() -> None:
    samoa = Cadence.parse("daily at 09:00 Pacific/Apia")
    last_night = utc("2011-12-30T09:00")  # 23:00 on 29 December there; the 30th was left out
    assert leave_quiet(samoa, NIGHT, last_night) == utc("2011-12-30T17:00")


FIRST = datetime(2011, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone
LAST = datetime(2030, 1, 1)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


@given(
    zone=st.sampled_from(ZONES),
    moment=MOMENTS,
    begin=st.integers(0, 1439),
    length=st.integers(1, 1439),
)
def test_nothing_is_held_back_longer_than_a_day_or_let_go_within(
    zone: str, moment: datetime, begin: int, length: int
) -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    ends = (day + timedelta(minutes=begin), day + timedelta(minutes=begin + length))
    quiet = QuietHours(ends[0].time(), ends[1].time(), zone)
    free_at = leave_quiet(BERLIN, quiet, moment)
    assert moment <= free_at
    if length <= 20 * 60:  # a date left out, or an hour, fits between
        assert free_at - moment <= timedelta(hours=46)
        assert leave_quiet(BERLIN, quiet, free_at) == free_at
    local = moment.astimezone(ZoneInfo(zone))
    if free_at == moment and zone == "UTC":
        minute = local.hour * 60 + local.minute
        assert (minute - begin) % 1440 >= length
