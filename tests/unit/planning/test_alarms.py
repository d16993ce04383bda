"""What somebody must hear of, and when."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.announcements import mailing_moment
from digest.messages import Coverage
from digest.planning.alarms import (
    LONGEST_PAUSE,
    AlarmFacts,
    AlarmName,
    Limits,
    Overdue,
    choose_pause,
    find_alarms,
)

MAILING = date(2026, 11, 19)
OUT = mailing_moment(MAILING)
LIMITS = Limits(timedelta(hours=10), timedelta(hours=2), timedelta(hours=1))
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def cover(*, is_complete: bool = False, is_awaited: bool = False, failure: str = "") -> Coverage:
    return Coverage(
        mailing=MAILING,
        is_complete=is_complete,
        looked_at=0,
        matched=0,
        checked_at=None,
        source="harvest",
        failure=failure,
        is_awaited=is_awaited,
    )


def names(facts: AlarmFacts, limits: Limits = LIMITS, now: datetime = NOW) -> list[AlarmName]:
    return [alarm.name for alarm in find_alarms(facts, limits, now)]


def test_where_all_is_in_time_nothing_is_amiss() -> None:
    assert names(AlarmFacts(None)) == []
    assert names(AlarmFacts(cover(is_complete=True))) == []


@given(st.timedeltas(timedelta(0), timedelta(days=2)), st.timedeltas(timedelta(minutes=1), timedelta(days=1)))
def test_an_alarm_is_raised_once_its_limit_has_passed_and_not_before(age: timedelta, limit: timedelta) -> None:
    limits = Limits(limit, limit, limit)
    overdue = Overdue(1, "perf-team", NOW - age)
    for facts, name in (
        (AlarmFacts(None, digests=overdue), AlarmName.DIGEST),
        (AlarmFacts(None, deliveries=overdue), AlarmName.OUTBOX),
        (AlarmFacts(None, held=overdue), AlarmName.HELD),
    ):
        assert names(facts, limits) == ([name] if age > limit else [])
    assert names(AlarmFacts(cover()), limits, OUT + age) == ([AlarmName.MAILING] if age > limit else [])


def test_a_limit_that_is_none_raises_no_alarm() -> None:
    overdue = Overdue(1, "perf-team", NOW - timedelta(days=300))
    assert names(AlarmFacts(cover(), overdue, overdue, held=overdue), Limits(None, None, None)) == []


def test_a_missing_mailing_is_missed_until_one_has_come_and_not_until_the_next_is_expected() -> None:
    soon = OUT + timedelta(hours=1)
    assert names(AlarmFacts(cover(), is_mailing_missed=True), now=soon) == [AlarmName.MAILING]
    assert names(AlarmFacts(cover(is_complete=True), is_mailing_missed=True), now=soon) == []


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (cover(failure="arXiv answered 503"), "the mailing of Thu 19 Nov is not taken in: arXiv answered 503"),
        (cover(is_awaited=True), "the mailing of Thu 19 Nov is not out yet"),
        (cover(), "the mailing of Thu 19 Nov is not taken in completely"),
    ],
)
def test_a_missing_mailing_says_whether_arxiv_or_the_looking_failed(coverage: Coverage, words: str) -> None:
    (alarm,) = find_alarms(AlarmFacts(coverage), LIMITS, NOW)
    assert alarm.what == words
    assert alarm.remedy


def test_the_oldest_is_named_and_all_are_counted_the_most_urgent_first() -> None:
    since = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    facts = AlarmFacts(
        cover(),
        digests=Overdue(3, "perf-team", since),
        deliveries=Overdue(1_200, "slack:#papers", since),
        held=Overdue(1, "slack-webhook:lab", since),
        dead=Overdue(1, "to mailto:a@b.example: no such user", since),
    )
    assert [alarm.what for alarm in find_alarms(facts, LIMITS, NOW)] == [
        "1,200 deliveries wait since Fri 20 Nov 08:00 UTC, the oldest to slack:#papers",
        "3 digests are, perf-team's first, due since Fri 20 Nov 08:00 UTC and not planned",
        "a delivery is held for you since Fri 20 Nov 08:00 UTC, the oldest to slack-webhook:lab",
        "a delivery was given up since Fri 20 Nov 08:00 UTC, the last one to mailto:a@b.example: no such user",
        "the mailing of Thu 19 Nov is not taken in completely",
    ]


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_telling_is_tried_again_after_growing_pauses_of_an_hour_at_most(attempts: int, jitter: float) -> None:
    pause = choose_pause(attempts, jitter)
    assert timedelta(seconds=30) <= pause <= LONGEST_PAUSE
    assert choose_pause(attempts + 1, jitter) >= pause
