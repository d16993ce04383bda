"""How people say when digests are due, and when nothing goes out."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.cadences import (
    FIRST_FORTNIGHT,
    USUAL_WAIT,
    Cadence,
    CadenceKind,
    QuietHours,
    choose_zone,
    read_pause_end,
)
from digest.model.errors import ConfigurationError, UsageError

ZONES = sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC")
CLOCK_CADENCES = st.builds(
    Cadence,
    kind=st.just(CadenceKind.CLOCK),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    at=st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    zone=st.sampled_from(ZONES),
    wait=st.integers(0, 12 * 60).map(lambda minutes: timedelta(minutes=minutes)),
)
FORTNIGHTS = st.builds(
    lambda cadence, weekday, week: replace(
        cadence, days=frozenset([weekday]), fortnight=FIRST_FORTNIGHT + timedelta(weeks=week)
    ),
    CLOCK_CADENCES,
    st.integers(0, 6),
    st.integers(0, 10_000),
)
CADENCES = st.one_of(
    CLOCK_CADENCES,
    FORTNIGHTS,
    st.sampled_from([Cadence(CadenceKind.ANNOUNCEMENT), Cadence(CadenceKind.AT_ONCE)]),
)
WORDS = [
    *(
        "weekly",
        "not before",
        "at the latest",
        "Europe/Berlin",
        "every",
        "on",
        "and",
        "daily",
        "weekdays",
    ),
    *("mondays", "day", "at", "at once", "09:00", "25:61", "UTC", ",", "x"),
]


@given(CADENCES)
def test_a_cadence_reads_back_from_what_it_prints(cadence: Cadence) -> None:
    assert Cadence.parse(str(cadence)) == cadence


@given(CADENCES)
def test_case_and_white_space_do_not_change_a_cadence(cadence: Cadence) -> None:
    phrase = str(cadence)
    if cadence.kind is CadenceKind.CLOCK:
        days, _, rest = phrase.partition(" at ")
        phrase = f"  {days.upper()}\n AT  {rest} "
    assert Cadence.parse(phrase) == cadence


@pytest.mark.parametrize(
    ("phrase", "days", "at", "zone"),
    [
        ("weekdays at 09:00 Europe/Berlin", {0, 1, 2, 3, 4}, time(9), "Europe/Berlin"),
        ("every weekday at 9:00 Europe/Berlin", {0, 1, 2, 3, 4}, time(9), "Europe/Berlin"),
        ("daily at 07:30 UTC", {0, 1, 2, 3, 4, 5, 6}, time(7, 30), "UTC"),
        ("every day at 7.30 UTC", {0, 1, 2, 3, 4, 5, 6}, time(7, 30), "UTC"),
        ("mondays at 08:00 America/New_York", {0}, time(8), "America/New_York"),
        ("on Mondays and Thursdays at 08:00 UTC", {0, 3}, time(8), "UTC"),
        ("monday, wednesday, and friday at 23:59 Etc/GMT+5", {0, 2, 4}, time(23, 59), "Etc/GMT+5"),
        ("Saturdays at 00:00 UTC", {5}, time(0), "UTC"),
        ("weekly on monday at 09:00 Europe/Berlin", {0}, time(9), "Europe/Berlin"),
        ("weekly on fridays at 9:00 UTC", {4}, time(9), "UTC"),
        ("weekdays not before 09:00 Europe/Berlin", {0, 1, 2, 3, 4}, time(9), "Europe/Berlin"),
    ],
)
def test_a_phrase_people_write_names_days_a_time_and_a_zone(
    phrase: str, days: set[int], at: time, zone: str
) -> None:
    assert Cadence.parse(phrase) == Cadence(CadenceKind.CLOCK, frozenset(days), at, zone)


@given(FORTNIGHTS, st.dates(date(1900, 1, 1), date(2900, 1, 1)))
def test_every_second_week_has_one_day_in_fourteen_whatever_year_begins(
    cadence: Cadence, day: date
) -> None:
    days = [day + timedelta(days=number) for number in range(28)]
    first, second = (due for due in days if cadence.has_day(due))
    assert second - first == timedelta(days=14)
    assert {first.weekday()} == cadence.days


@pytest.mark.parametrize(
    ("phrase", "due"),
    [
        ("every second monday at 09:00 UTC", ["2026-12-07", "2026-12-21", "2027-01-04"]),
        (
            "every other monday from 2026-12-14 at 09:00 UTC",
            ["2026-12-14", "2026-12-28", "2027-01-11"],
        ),
        (
            "every second friday from 2027-01-01, at 09:00 UTC",
            ["2026-12-04", "2026-12-18", "2027-01-01"],
        ),
    ],
)
def test_a_year_of_53_weeks_does_not_shift_every_second_week(phrase: str, due: list[str]) -> None:
    days = [date(2026, 12, 1) + timedelta(days=number) for number in range(60)]
    cadence = Cadence.parse(phrase)
    assert [str(day) for day in days if cadence.has_day(day)][: len(due)] == due


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("every second weekday at 09:00 UTC", "every second week has one day"),
        ("every second monday from noon at 09:00 UTC", "'noon' is not a date"),
        ("every second monday from 2026-12-08 at 09:00 UTC", "2026-12-08 is a Tuesday"),
        ("mondays from 2026-12-07 at 09:00 UTC", "'from' is not a day"),
        ("", "is not a time when a digest can be due"),
        ("sometimes", "is not a time when a digest can be due"),
        ("daily at noon", "is not a time when a digest can be due"),
        ("at 09:00", "is not a time when a digest can be due"),
        ("daily at 24:00", "there is no 24:00 o'clock"),
        ("daily at 09:60", "there is no 9:60 o'clock"),
        ("daily at 09:00 Europe/Berlni", "no time zone called Europe/Berlni"),
        ("daily at 09:00 Europe", "no time zone called Europe"),
        ("daily at 09:00 /etc/passwd", "no time zone called /etc/passwd"),
        ("moondays at 09:00", "'moondays' is not a day"),
        ("every at 09:00", "does not name a day"),
        ("on and at 09:00", "does not name a day"),
        (", at 09:00", "does not name a day"),
        ("weekly at 09:00", "does not name a day"),
        ("daily at 09:00 localtime", "localtime is not a place"),
        ("daily at 09:00 right/Europe/Berlin", "right/Europe/Berlin is not a place"),
        ("daily at 09:00 UTC, at the latest 08:59", "08:59 is more than 12 hours after 09:00"),
        ("daily at 09:00 UTC, at the latest 24:00", "there is no 24:00 o'clock"),
        ("daily at 09:00 UTC, at the latest noon", "is not a time when a digest can be due"),
        (
            "daily at 09:00 UTC, at the latest 10:00 Europe/Berlin",
            "names two time zones, UTC and Europe/Berlin",
        ),
        ("on announcement, at the latest 10:00", "is not a time when a digest can be due"),
    ],
)
def test_a_phrase_that_says_no_time_is_refused_with_a_way_out(phrase: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        Cadence.parse(phrase)
    assert caught.value.hint or "o'clock" in words


@pytest.mark.parametrize(
    ("phrase", "hint"),
    [
        ("weekdays at 8 Europe/Berlin", "Write the time as 08:00."),
        ("daily at 8 pm UTC", "Write the time as 20:00."),
        ("daily at 12:30am", "Write the time as 00:30. Add a time zone: Europe/Berlin, or UTC."),
        ("daily at 09:00, at the latest 12", "Write the time as 12:00."),
        ("daily at 25", '"daily at 07:30 UTC"'),
        ("dialy at 09:00", "Did you mean 'daily'?"),
        ("moondays at 09:00", "Did you mean 'mondays'?"),
        ("feasts at 09:00", "Add a time zone"),
        ("weekly at 09:00", "second monday. Add a time zone"),
        ("weekdays at 8", "Write the time as 08:00. Add a time zone"),
    ],
)
def test_a_slip_in_a_time_or_a_day_is_answered_with_what_was_meant(phrase: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cadence.parse(phrase)
    assert hint in caught.value.hint


def test_a_time_without_a_zone_is_refused_and_one_zone_is_enough_for_both_times() -> None:
    with pytest.raises(ConfigurationError, match="does not name a time zone") as caught:
        Cadence.parse("daily at 09:00")
    assert '"daily at 09:00 Europe/Berlin"' in caught.value.hint
    assert Cadence.parse("daily at 09:00, at the latest 10:00 UTC").zone == "UTC"


def test_every_way_out_that_is_offered_can_be_taken() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cadence.parse("sometimes")
    offered = [Cadence.parse(phrase) for phrase in re.findall('"(.+?)"', caught.value.hint)]
    assert any(cadence.wait != USUAL_WAIT for cadence in offered)
    assert {len(cadence.days) for cadence in offered} == {1, 2, 5, 7}
    assert "weekly on " in caught.value.hint


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_any_phrase_gives_a_cadence_with_days_or_a_configuration_error(phrase: str) -> None:
    try:
        cadence = Cadence.parse(phrase)
    except ConfigurationError:
        return
    assert cadence.days
    assert Cadence.parse(str(cadence)) == cadence


@pytest.mark.parametrize(
    "phrase",
    [
        "weekdays at 09:00 Europe/Berlin, at the latest 12:00",
        "weekdays at 09:00, at the latest 12:00 Europe/Berlin",
        "weekdays not before 09:00, at the latest 12:00 Europe/Berlin",
        "weekdays, not before 09:00 Europe/Berlin at the latest at 12:00 Europe/Berlin",
    ],
)
def test_the_latest_moment_may_be_said_and_the_zone_at_either_time(phrase: str) -> None:
    cadence = Cadence.parse(phrase)
    assert cadence.wait == timedelta(hours=3)
    assert cadence.latest == time(12)
    assert str(cadence) == "weekdays at 09:00 Europe/Berlin, at the latest 12:00"


def test_a_digest_waits_ninety_minutes_for_its_announcement_where_nothing_else_is_said() -> None:
    assert Cadence.parse("weekdays at 09:00 UTC").wait == timedelta(minutes=90)
    assert (
        str(Cadence.parse("weekdays at 09:00 UTC, at the latest 10:30")) == "weekdays at 09:00 UTC"
    )


def test_the_latest_moment_may_lie_behind_midnight() -> None:
    cadence = Cadence.parse("daily at 23:00 UTC, at the latest 01:00")
    assert cadence.wait == timedelta(hours=2)
    assert cadence.latest == time(1)


QUIET_HOURS = st.tuples(st.times(), st.times(), st.sampled_from(["", *ZONES])).map(
    lambda parts: QuietHours(
        parts[0].replace(second=0, microsecond=0),
        parts[1].replace(second=0, microsecond=0),
        parts[2],
    )
)


@given(QUIET_HOURS.filter(lambda quiet: quiet.begin != quiet.end))
def test_quiet_hours_read_back_from_what_they_print(quiet: QuietHours) -> None:
    assert QuietHours.parse(str(quiet)) == quiet


@pytest.mark.parametrize("phrase", ["22:00-07:00", " 22:00 – 7:00 ", "22.00 to 07.00"])
def test_quiet_hours_are_two_times_of_day(phrase: str) -> None:
    assert QuietHours.parse(phrase) == QuietHours(time(22), time(7))


def test_quiet_hours_may_name_their_own_zone() -> None:
    assert QuietHours.parse("22:00-07:00 Europe/Berlin") == QuietHours(
        time(22), time(7), "Europe/Berlin"
    )


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("", "are not hours of a day"),
        ("nights", "are not hours of a day"),
        ("22:00", "are not hours of a day"),
        ("22:00-24:00", "there is no 24:00 o'clock"),
        ("22:00-22:00", "ends when it begins"),
        ("22:00-07:00 Europe/Berlni", "no time zone called Europe/Berlni"),
    ],
)
def test_hours_that_cannot_be_are_refused_with_a_way_out(phrase: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        QuietHours.parse(phrase)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-12-01", "2026-11-30T23:00"),
        ("2026-12-01T09:30", "2026-12-01T08:30"),
        ("2026-12-01T09:00-05:00", "2026-12-01T14:00"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00"),
    ],
)
def test_a_pause_ends_when_a_day_begins_or_at_a_moment(value: str, moment: str) -> None:
    assert read_pause_end(value, "Europe/Berlin") == datetime.fromisoformat(moment).replace(
        tzinfo=UTC
    )


@pytest.mark.parametrize("value", ["soon", "", "2026-13-01", "0001-01-01T00:00+14:00"])
def test_a_pause_ends_at_no_other_words(value: str) -> None:
    with pytest.raises(UsageError, match="is not a date"):
        read_pause_end(value, "UTC")


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59Z", "3000-01-01"])
def test_a_pause_that_ends_where_dates_do_is_refused_with_one_that_is_long_enough(
    value: str,
) -> None:
    with pytest.raises(UsageError, match="after the year 2999") as caught:
        read_pause_end(value, "UTC")
    assert "2999-12-31" in caught.value.hint


@pytest.mark.parametrize(
    ("phrase", "quiet", "zone"),
    [
        ("daily at 09:00 Asia/Tokyo", "22:00-07:00 Europe/Berlin", "Asia/Tokyo"),
        ("at once", "22:00-07:00 Europe/Berlin", "Europe/Berlin"),
        ("on announcement", "", "America/New_York"),
    ],
)
def test_a_day_begins_where_the_cadence_or_the_quiet_hours_lie_or_at_arxiv(
    phrase: str, quiet: str, zone: str
) -> None:
    assert choose_zone(Cadence.parse(phrase), QuietHours.parse(quiet) if quiet else None) == zone
