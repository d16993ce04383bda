from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.announcements import (
    EASTERN,
    NO_ANNOUNCEMENT_DAYS,
    alarm_moment,
    announcement_moment,
    announcements_between,
    earliest_announcement,
    estimate_announcements,
    has_announcement,
    latest_announcement,
    next_announcement,
)

FIRST = datetime(2026, 1, 5)  # noqa: DTZ001 - hypothesis adds the zone
LAST = datetime(2027, 12, 20)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


def eastern(year: int, month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=EASTERN).astimezone(UTC)


def test_after_the_announcement_of_thursday_19_november_2026_comes_that_of_sunday_22_november() -> (
    None
):
    thursday_evening = eastern(2026, 11, 19, 20, 1)
    assert latest_announcement(thursday_evening) == date(2026, 11, 19)
    assert next_announcement(thursday_evening) == date(2026, 11, 22)
    assert announcement_moment(date(2026, 11, 22)) == datetime(2026, 11, 23, 1, tzinfo=UTC)


def test_announcements_go_out_on_the_evenings_of_sunday_to_thursday() -> None:
    week = [date(2026, 11, 15) + timedelta(days=days) for days in range(7)]
    weekdays = [day.weekday() for day in week if has_announcement(day)]
    assert weekdays == [6, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("holiday", "following"),
    [
        (date(2026, 1, 1), date(2026, 1, 4)),
        (date(2026, 1, 19), date(2026, 1, 20)),
        (date(2026, 6, 19), date(2026, 6, 21)),
        (date(2026, 7, 3), date(2026, 7, 5)),
        (date(2026, 9, 7), date(2026, 9, 8)),
        (date(2026, 11, 26), date(2026, 11, 29)),
        (date(2026, 12, 25), date(2026, 12, 27)),
        (date(2026, 12, 29), date(2026, 12, 30)),
        (date(2026, 12, 31), date(2027, 1, 3)),
    ],
)
def test_on_each_holiday_of_2026_the_announcement_is_deferred_to_the_next_working_evening(
    holiday: date, following: date
) -> None:
    assert not has_announcement(holiday)
    an_hour_before = announcement_moment(holiday) - timedelta(hours=1)
    assert next_announcement(an_hour_before) == following


def test_every_holiday_of_2026_is_listed_once_and_no_other_day() -> None:
    assert len(NO_ANNOUNCEMENT_DAYS) == 9
    assert {day.year for day in NO_ANNOUNCEMENT_DAYS} == {2026}


def test_an_announcement_is_at_midnight_utc_in_summer_and_at_one_in_winter() -> None:
    in_summer = announcement_moment(date(2026, 7, 15))
    assert in_summer == datetime(2026, 7, 16, 0, tzinfo=UTC)
    in_winter = announcement_moment(date(2026, 12, 15))
    assert in_winter == datetime(2026, 12, 16, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("thursday_before", "hours_between"),
    [
        (date(2026, 3, 5), 71),  # clocks go forward on Sunday 8 March
        (date(2026, 10, 29), 73),  # clocks go back on Sunday 1 November
        (date(2027, 3, 11), 71),  # and forward again on Sunday 14 March 2027
        (date(2026, 10, 22), 72),
    ],
)
def test_an_announcement_keeps_its_eastern_hour_over_both_changes_of_the_clocks(
    thursday_before: date, hours_between: int
) -> None:
    before = announcement_moment(thursday_before)
    sunday = next_announcement(before)
    assert sunday.weekday() == 6
    after = announcement_moment(sunday)
    assert after - before == timedelta(hours=hours_between)


def test_an_announcement_counts_from_its_very_second() -> None:
    moment = announcement_moment(date(2026, 11, 18))
    assert latest_announcement(moment) == date(2026, 11, 18)
    assert next_announcement(moment) == date(2026, 11, 19)
    a_second_before = moment - timedelta(seconds=1)
    assert latest_announcement(a_second_before) == date(2026, 11, 17)
    assert next_announcement(a_second_before) == date(2026, 11, 18)


@given(MOMENTS)
def test_every_moment_lies_between_two_announcements_with_none_between_them(
    moment: datetime,
) -> None:
    last = latest_announcement(moment)
    following = next_announcement(moment)
    assert announcement_moment(last) <= moment < announcement_moment(following)
    days_between = (following - last).days
    between = [last + timedelta(days=days) for days in range(1, days_between)]
    assert not any(has_announcement(day) for day in between)
    assert has_announcement(last)
    assert has_announcement(following)


@given(MOMENTS, st.integers(-14, 14))
def test_an_announcement_is_the_same_from_whichever_zone_it_is_asked_for(
    moment: datetime, hours: int
) -> None:
    zone = timezone(timedelta(hours=hours))
    elsewhere = moment.astimezone(zone)
    assert next_announcement(elsewhere) == next_announcement(moment)
    assert latest_announcement(elsewhere) == latest_announcement(moment)


@pytest.mark.parametrize(
    ("submitted", "announcement"),
    [
        (eastern(2026, 11, 16, 13, 59), date(2026, 11, 16)),
        (eastern(2026, 11, 16, 14, 1), date(2026, 11, 17)),
        (eastern(2026, 11, 18, 14, 1), date(2026, 11, 19)),
        (eastern(2026, 11, 19, 14, 1), date(2026, 11, 22)),
        (eastern(2026, 11, 20, 13, 59), date(2026, 11, 22)),
        (eastern(2026, 11, 20, 14, 1), date(2026, 11, 23)),
        (eastern(2026, 11, 22, 23, 0), date(2026, 11, 23)),
        (eastern(2026, 11, 25, 15, 0), date(2026, 11, 29)),  # Thanksgiving has none
    ],
)
def test_a_paper_comes_with_the_announcement_whose_deadline_it_met_at_the_earliest(
    submitted: datetime, announcement: date
) -> None:
    assert earliest_announcement(submitted) == announcement


@given(MOMENTS)
def test_no_paper_comes_out_before_it_is_submitted(submitted: datetime) -> None:
    earliest = earliest_announcement(submitted)
    assert has_announcement(earliest)
    assert announcement_moment(earliest) > submitted


def test_an_announcement_is_late_from_six_the_next_morning_eastern_time_all_year() -> None:
    in_winter = alarm_moment(date(2026, 11, 19))
    assert in_winter == datetime(2026, 11, 20, 11, tzinfo=UTC)
    in_summer = alarm_moment(date(2026, 7, 16))
    assert in_summer == datetime(2026, 7, 17, 10, tzinfo=UTC)


def test_the_announcements_between_two_moments_leave_out_evenings_that_have_none() -> None:
    before = eastern(2026, 11, 24, 20)
    after = eastern(2026, 11, 29, 20)
    between = list(announcements_between(before, after))
    assert between == [date(2026, 11, 25), date(2026, 11, 29)]
    assert list(announcements_between(after, after)) == []


def test_papers_of_several_announcements_are_told_apart_by_their_order_though_some_were_held() -> (
    None
):
    days = [date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 18)]
    submitted = []
    came_on = []
    for day in days:
        for number in range(100):
            moment = eastern(2026, 11, day.day, 1, number % 60)
            if number % 13 == 5:  # one in thirteen came two weeks earlier
                moment -= timedelta(days=14)
            submitted.append(moment)
            came_on.append(day)
    estimates = estimate_announcements(submitted, days)
    wrong = [one for one, day in zip(estimates, came_on, strict=True) if one != day]
    assert len(wrong) <= 6, "an estimate: only at the seams"


@pytest.mark.parametrize("size", [1, 2, 3, 6, 15])
def test_small_announcements_caught_up_with_together_are_told_apart_too(size: int) -> None:
    days = [date(2026, 11, day) for day in (16, 17, 18)]
    submitted = []
    came_on = []
    for day in days:
        submitted += [eastern(2026, 11, day.day, 10, number) for number in range(size)]
        came_on += [day] * size
    assert estimate_announcements(submitted, days) == came_on


@given(st.lists(MOMENTS, max_size=60), st.integers(1, 5))
def test_a_later_id_is_never_said_to_have_come_with_an_earlier_announcement(
    submitted: list[datetime], announcements: int
) -> None:
    first = announcement_moment(date(2026, 11, 15)) - timedelta(seconds=1)
    of_two_weeks = list(announcements_between(first, first + timedelta(days=14)))
    candidates = of_two_weeks[:announcements]
    estimates = estimate_announcements(submitted, candidates)
    assert estimates == sorted(estimates)
    assert len(estimates) == len(submitted)
    assert set(estimates) <= set(candidates)
