"""A sample of `.ci/battery zones`.

Turns around every change of the clocks, held against the wall clock itself.
"""

from zoneinfo import available_timezones

import pytest

from tests.battery.zones import Tally, try_zone
from tests.conftest import IS_NIGHTLY


@pytest.mark.parametrize(
    "zone",
    ["Europe/Berlin", "Africa/Cairo", "Australia/Lord_Howe", "America/Nuuk", "America/Santiago"],
)
def test_every_local_date_has_one_turn_when_its_clock_first_shows_the_time(zone: str) -> None:
    tally = Tally()
    try_zone(zone, tally, first=2026, last=2026)
    assert tally.findings == []
    assert tally.transitions == 2
    assert tally.moved > 0
    assert tally.repeated > 0


def test_a_date_that_was_left_out_is_the_only_one_without_a_turn() -> None:
    tally = Tally()
    try_zone("Pacific/Apia", tally, first=2011, last=2011)
    assert tally.findings == []
    assert [str(day) for _, day in tally.never] == ["2011-12-30"]


@pytest.mark.skipif(not IS_NIGHTLY, reason="some seconds: .ci/nightly sets DIGEST_NIGHTLY")
def test_every_zone_there_is_keeps_its_dates_this_year() -> None:
    tally = Tally()
    for zone in sorted(available_timezones() - {"Factory", "localtime"}):
        try_zone(zone, tally, first=2026, last=2026)
    assert tally.findings == []
    assert tally.never == set()
    assert tally.zones > 400
