"""When a digest is due, and what its turn is called."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.cadences import Cadence, QuietHours, resolve_local
from digest.model.subscriptions import Subscription
from digest.plan.slots import (
    find_covered_until,
    is_taken,
    latest_slot,
    nearest_slot,
    next_slot,
    take_slot,
)

BERLIN = "Europe/Berlin"
ZONES = [
    BERLIN,
    *(
        "America/New_York",
        "Africa/Cairo",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "America/Santiago",
    ),
    *("America/Nuuk", "UTC"),
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("local", "zone", "moment"),
    [
        ("2026-11-20T09:00", BERLIN, "2026-11-20T08:00"),
        # a time that does not exist moves to the end of the gap, within its day
        ("2026-03-29T02:30", BERLIN, "2026-03-29T01:00"),
        ("2026-03-08T02:15", "America/New_York", "2026-03-08T07:00"),
        ("2024-04-26T00:00", "Africa/Cairo", "2024-04-25T22:00"),
        # a repeated one counts at its first occurrence
        ("2026-10-25T02:30", BERLIN, "2026-10-25T00:30"),
        # a date that does not exist has no moment
        ("2011-12-30T09:00", "Pacific/Apia", None),
    ],
)
def test_a_time_on_the_wall_is_resolved_in_its_zone(
    local: str, zone: str, moment: str | None
) -> None:
    asked = datetime.fromisoformat(local)
    assert resolve_local(asked.date(), asked.time(), zone) == (moment and utc(moment))


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
    slot = next_slot(Cadence.parse(phrase), None, utc(after))
    assert slot is not None
    assert slot.due_at == utc(due)


@pytest.mark.parametrize(
    ("phrase", "due", "slot"),
    [
        ("weekdays at 09:00 Europe/Berlin", "2026-11-20T08:00", "2026-11-20"),
        ("daily at 00:30 Europe/Berlin", "2026-11-19T23:30", "2026-11-20"),
        ("mondays at 09:00 Europe/Berlin", "2026-11-16T08:00", "2026-W47"),
        ("on announcement", "2026-11-20T01:00", "mailing:2026-11-19"),
    ],
)
def test_a_slot_is_named_after_the_local_date_the_week_or_the_announcement(
    phrase: str, due: str, slot: str
) -> None:
    assert latest_slot(Cadence.parse(phrase), None, utc(due)).name == slot


def test_after_downtime_one_slot_stands_for_all_that_were_missed() -> None:
    cadence = Cadence.parse("weekdays at 09:00 Europe/Berlin")
    assert latest_slot(cadence, None, utc("2026-11-20T07:59")).name == "2026-11-19"
    assert latest_slot(cadence, None, utc("2026-11-20T08:00")).name == "2026-11-20"
    assert latest_slot(cadence, None, utc("2026-11-23T07:59")).name == "2026-11-20"


@pytest.mark.parametrize(
    ("phrase", "latest"),
    [
        ("daily at 09:00 Europe/Berlin", "2026-11-20T09:30"),
        ("daily at 09:00 Europe/Berlin, at the latest 12:00", "2026-11-20T11:00"),
        ("daily at 09:00 Europe/Berlin, at the latest 09:00", "2026-11-20T08:00"),
        ("daily at 23:00 Europe/Berlin, at the latest 01:00", "2026-11-20T00:00"),
    ],
)
def test_a_turn_waits_until_the_latest_moment_its_phrase_names(phrase: str, latest: str) -> None:
    assert latest_slot(Cadence.parse(phrase), None, utc("2026-11-20T08:30")).latest_at == utc(
        latest
    )


def test_a_turn_in_quiet_hours_is_due_when_they_end_under_its_own_name() -> None:
    cadence = Cadence.parse("daily at 23:00 Europe/Berlin")
    quiet = QuietHours.parse("22:00-07:00")
    slot = next_slot(cadence, quiet, utc("2026-11-19T12:00"))
    assert slot is not None
    assert (slot.name, slot.due_at) == ("2026-11-19", utc("2026-11-20T06:00"))
    assert latest_slot(cadence, quiet, utc("2026-11-20T05:59")).name == "2026-11-18"
    assert latest_slot(cadence, quiet, utc("2026-11-20T06:00")).name == "2026-11-19"


def test_a_name_once_taken_is_given_to_no_other_turn_of_its_kind() -> None:
    evening = Cadence.parse("daily at 17:00 UTC")
    slot = next_slot(evening, None, utc("2026-11-20T10:00"), taken="2026-11-20")
    assert slot is not None
    assert slot.name == "2026-11-21"
    fridays = next_slot(
        Cadence.parse("fridays at 17:00 UTC"), None, utc("2026-11-17T10:00"), taken="2026-W47"
    )
    assert fridays is not None
    assert fridays.name == "2026-W48"


def test_the_last_name_of_each_kind_is_remembered() -> None:
    taken = ""
    for name in ("2026-11-19", "mailing:2026-11-18", "run:7", "2026-W47", "2026-11-20", "run:12"):
        taken = take_slot(taken, name)
    assert sorted(taken.split()) == ["2026-11-20", "2026-W47", "mailing:2026-11-18", "run:12"]
    assert is_taken(taken, "2026-11-19")
    assert is_taken(taken, "2026-W47")
    assert not is_taken(taken, "mailing:2026-11-19")
    assert not is_taken("", "2026-11-19")


@pytest.mark.parametrize(
    ("phrase", "taken", "until"),
    [
        ("daily at 09:00 UTC", "mailing:2026-11-20 2026-11-19", "2026-11-19T10:30"),
        ("fridays at 09:00 UTC", "2026-W47", "2026-11-20T10:30"),
        ("on announcement", "mailing:2026-11-19", "2026-11-20T01:00"),
        ("daily at 09:00 UTC", "2026-W47 run:3", ""),
        ("at once", "run:3", ""),
    ],
)
def test_the_turn_taken_last_is_found_again_by_its_name(
    phrase: str, taken: str, until: str
) -> None:
    assert find_covered_until(Subscription("team", (), (), Cadence.parse(phrase)), taken) == (
        utc(until) if until else None
    )


def test_a_due_time_of_old_quiet_hours_stays_the_same_turn_whichever_way_it_moves() -> None:
    cadence = Cadence.parse("daily at 09:00 Europe/Berlin")
    for hours in (-3, -1, 1, 3):
        slot = nearest_slot(cadence, None, utc("2026-11-20T08:00") + timedelta(hours=hours))
        assert slot is not None
        assert slot.name == "2026-11-20"
    taken = nearest_slot(cadence, None, utc("2026-11-20T08:00"), taken="2026-11-20")
    assert taken is not None
    assert taken.name == "2026-11-21"


FIRST = datetime(2024, 1, 1)  # noqa: DTZ001 - made aware below
LAST = datetime(2030, 1, 1)  # noqa: DTZ001 - the same


@given(
    zone=st.sampled_from(ZONES),
    start=st.datetimes(FIRST, LAST),
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0)),
)
def test_every_local_date_that_exists_gets_exactly_one_turn(
    zone: str, start: datetime, at: time
) -> None:
    cadence = Cadence.parse(f"daily at {at:%H:%M} {zone}")
    moment = start.replace(tzinfo=UTC)
    slots = []
    for _ in range(12):
        slot = next_slot(cadence, None, moment)
        assert slot is not None
        assert slot.due_at > moment
        assert latest_slot(cadence, None, slot.due_at) == slot
        slots.append(date.fromisoformat(slot.name))
        moment = slot.due_at
    gaps = {later - earlier for earlier, later in pairwise(slots)}
    assert gaps <= {timedelta(days=1)}
