"""What somebody must hear of, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.announcements import alarm_moment, latest_mailing, mailing_moment, next_mailing
from digest.config.zones import write_with_zone
from digest.messages import Coverage
from digest.planning.alarms import (
    LONGEST_HEADLINE,
    LONGEST_PAUSE,
    AlarmFacts,
    AlarmName,
    Limits,
    Overdue,
    choose_pause,
    does_its_work,
    find_alarms,
    find_due_mailing,
    find_owed,
    find_told_until,
    write_headline,
)
from digest.planning.slots import latest_slot, next_slot
from digest.planning.turns import Outcome, Rhythm, TurnFacts, decide_turn
from digest.subscriptions import Cadence, QuietDays

write = partial(write_with_zone, zone=UTC)

MAILING = date(2026, 11, 19)
OUT = mailing_moment(MAILING)
LIMITS = Limits(timedelta(hours=10), timedelta(hours=2), timedelta(hours=1))
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
SINCE = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


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


def miss(coverage: Coverage | None = None, *, asked_since: datetime | None = LONG_AGO) -> AlarmFacts:
    return AlarmFacts(coverage or cover(), asked_since=asked_since)


def names(facts: AlarmFacts, limits: Limits = LIMITS, now: datetime = NOW) -> list[AlarmName]:
    return [alarm.name for alarm in find_alarms(facts, limits, now, write)]


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
    assert names(miss(), limits, OUT + age) == ([AlarmName.MAILING] if age > limit else [])


def test_a_limit_that_is_none_raises_no_alarm() -> None:
    overdue = Overdue(1, "perf-team", NOW - timedelta(days=300))
    facts = AlarmFacts(cover(), overdue, overdue, overdue, asked_since=LONG_AGO)
    assert names(facts, Limits(None, None, None)) == []


def test_a_mailing_from_before_arxiv_was_first_asked_is_not_expected() -> None:
    for asked_since, found in (
        (None, []),
        (OUT + timedelta(seconds=1), []),
        (NOW, []),
        (OUT, [AlarmName.MAILING]),
        (NOW + timedelta(days=300), [AlarmName.MAILING]),  # by a clock that ran ahead
    ):
        assert names(miss(asked_since=asked_since)) == found


@given(st.timedeltas(timedelta(minutes=1), timedelta(days=15)), st.timedeltas(timedelta(0), timedelta(days=40)))
def test_the_last_mailing_whose_limit_has_passed_is_due_whatever_went_out_since(
    limit: timedelta, later: timedelta
) -> None:
    now = NOW + later
    due = find_due_mailing(limit, now)
    assert now - mailing_moment(due) > limit
    assert now - mailing_moment(next_mailing(mailing_moment(due))) <= limit
    facts = AlarmFacts(replace(cover(), mailing=due), asked_since=LONG_AGO)
    assert names(facts, Limits(limit, None, None), now) == [AlarmName.MAILING]


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (cover(failure="arXiv answered 503"), "the mailing of Thu 19 Nov is not taken in: arXiv answered 503"),
        (cover(is_awaited=True), "the mailing of Thu 19 Nov is not out yet"),
        (cover(), "the mailing of Thu 19 Nov is not taken in completely"),
    ],
)
def test_a_missing_mailing_says_whether_arxiv_or_the_looking_failed(coverage: Coverage, words: str) -> None:
    (alarm,) = find_alarms(miss(coverage), LIMITS, NOW, write)
    assert alarm.what == words
    assert alarm.remedy


def test_the_oldest_is_named_and_all_are_counted_the_most_urgent_first() -> None:
    facts = AlarmFacts(
        cover(),
        digests=Overdue(3, "perf-team", SINCE),
        deliveries=Overdue(1_200, "slack:#papers", SINCE),
        held=Overdue(2, "slack-webhook:ops", SINCE),
        dead=Overdue(2, "slack:#gone", SINCE, "archived"),
        asked_since=LONG_AGO,
    )
    assert [alarm.what for alarm in find_alarms(facts, LIMITS, NOW, write)] == [
        "1,200 deliveries have been waiting since Fri 20 Nov 08:00 UTC, the oldest to slack:#papers",
        "3 digests are due and not planned, that of perf-team since Fri 20 Nov 08:00 UTC",
        "2 deliveries are held for you, the oldest of Fri 20 Nov 08:00 UTC to slack-webhook:ops",
        "2 deliveries were given up since Fri 20 Nov 08:00 UTC, the last of them to slack:#gone: archived",
        "the mailing of Thu 19 Nov is not taken in completely",
    ]


def test_one_alone_is_told_as_one() -> None:
    one = Overdue(1, "mailto:a@b.example", SINCE)
    facts = AlarmFacts(None, digests=Overdue(1, "perf-team", SINCE), deliveries=one, held=one, dead=one)
    assert [alarm.what for alarm in find_alarms(facts, LIMITS, NOW, write)] == [
        "a delivery to mailto:a@b.example has been waiting since Fri 20 Nov 08:00 UTC",
        "the digest of perf-team has been due since Fri 20 Nov 08:00 UTC and is not planned",
        "a delivery of Fri 20 Nov 08:00 UTC to mailto:a@b.example is held for you",
        "the delivery to mailto:a@b.example was given up on Fri 20 Nov 08:00 UTC: nobody knows why",
    ]


def test_what_kept_planning_from_a_digest_is_said_with_it() -> None:
    facts = AlarmFacts(None, digests=Overdue(1, "perf-team", SINCE, "perf-team: digest.txt, line 1: no such name"))
    (alarm,) = find_alarms(facts, LIMITS, NOW, write)
    assert alarm.what == (
        "the digest of perf-team has been due since Fri 20 Nov 08:00 UTC and is not planned;"
        " planning failed: perf-team: digest.txt, line 1: no such name"
    )


def test_what_is_given_up_is_told_and_recalled_after_a_day_and_then_let_go() -> None:
    day, given_up = timedelta(days=1), NOW
    for now, since, told_at, is_told in (
        (NOW, None, None, True),
        (NOW + day, None, None, False),  # it was let go, or nobody looked for a day
        (NOW + 30 * day, NOW, None, True),  # nobody could be told
        (NOW + 30 * day, NOW, NOW + timedelta(minutes=1), True),  # nor reminded
        (NOW + day, NOW, NOW + day, False),
        (NOW, NOW + 300 * day, NOW + 300 * day, True),  # by a clock that ran ahead
    ):
        assert (given_up > find_told_until(now, since, told_at)) is is_told


def test_papers_that_wait_on_announcement_are_owed_from_the_morning_after_their_mailing() -> None:
    morning = alarm_moment(MAILING)
    for moment, owed in (
        (morning, morning),
        (morning - timedelta(seconds=1), OUT),
        (OUT, OUT),
        (OUT - timedelta(seconds=1), OUT - timedelta(seconds=1)),
    ):
        assert find_owed(moment) == owed


@given(
    later=st.timedeltas(timedelta(days=-20), timedelta(days=40)),
    since=st.timedeltas(timedelta(0), timedelta(days=5)),
    ago=st.timedeltas(timedelta(0), timedelta(days=9)),
    is_awaited=st.booleans(),
    source=st.sampled_from(["harvest", "query"]),
)
def test_what_is_owed_on_announcement_is_told_by_whoever_plans_however_little_of_a_mailing_is_there(
    *, later: timedelta, since: timedelta, ago: timedelta, is_awaited: bool, source: str
) -> None:
    now = NOW + later
    rhythm = Rhythm(Cadence.parse("on announcement"), None, QuietDays.SKIP)
    before = latest_slot(rhythm.cadence, None, now - since)
    due = next_slot(rhythm.cadence, None, before.due_at, before.name)
    assert due is not None
    coverage = Coverage(
        mailing=latest_mailing(now),
        is_complete=False,
        looked_at=0,
        matched=1,
        checked_at=now,
        source=source,
        is_awaited=is_awaited,
    )
    matched_at = now - ago
    if max(due.due_at, matched_at) < find_owed(now):
        facts = TurnFacts(due.due_at, before.name, now, coverage, 1, waiting_since=matched_at)
        assert decide_turn(rhythm, facts).outcome is Outcome.TELL


def test_beside_a_process_at_work_nobody_is_sent_to_digest_run_which_would_do_nothing() -> None:
    one = Overdue(1, "mailto:a@b.example", SINCE, delivery=3)
    facts = AlarmFacts(None, digests=Overdue(1, "perf-team", SINCE), deliveries=one)
    assert all("`digest run`" in alarm.remedy for alarm in find_alarms(facts, LIMITS, NOW, write))
    served = find_alarms(replace(facts, is_served=True), LIMITS, NOW, write)
    assert [alarm.remedy for alarm in served] == [
        "`digest delivery show 3` says what keeps it, `digest status --jobs` how the process at work stands.",
        "`digest status --jobs` and the log say why.",
    ]


def test_moments_are_told_in_the_zone_of_whoever_reads_them() -> None:
    facts = AlarmFacts(None, deliveries=Overdue(1, "mailto:a@b.example", SINCE, delivery=3))
    (alarm,) = find_alarms(facts, LIMITS, NOW, partial(write_with_zone, zone=ZoneInfo("Europe/Berlin")))
    assert alarm.what == "a delivery to mailto:a@b.example has been waiting since Fri 20 Nov 09:00 Berlin"
    assert "`digest delivery show 3`" in alarm.remedy


def test_of_a_restored_database_the_hold_is_told_and_not_all_that_it_holds_back() -> None:
    one = Overdue(1, "perf-team", SINCE)
    facts = AlarmFacts(cover(), one, one, one, is_restored=True, asked_since=LONG_AGO)
    assert names(facts) == [AlarmName.RESTORED, AlarmName.MAILING]
    assert find_alarms(facts, LIMITS, NOW, write)[0].what == (
        "the database was restored: nothing is sent until you call digest resume"
    )


def test_a_sign_of_life_hangs_on_the_work_and_not_on_single_messages() -> None:
    one = Overdue(1, "mailto:a@b.example", SINCE)
    for facts, does in (
        (AlarmFacts(None), True),
        (AlarmFacts(None, dead=one), True),
        (AlarmFacts(None, held=one), True),
        (AlarmFacts(None, deliveries=one), False),
        (AlarmFacts(None, digests=one), False),
        (AlarmFacts(None, dead=one, is_restored=True), False),
        (miss(), False),
    ):
        assert does_its_work(find_alarms(facts, LIMITS, NOW, write)) is does


def test_what_there_is_room_for_is_in_the_headline() -> None:
    assert write_headline(["one", "another"]) == "one; another"
    assert write_headline(["w" * 60, "x" * 40]) == f"{'w' * 60} (and 1 more)"
    assert write_headline(["word: " * 40, "x"]) == f"{'word: ' * 10}word … (and 1 more)"


@given(st.lists(st.text("ab ", min_size=1, max_size=200), min_size=1, max_size=20))
def test_a_headline_is_never_too_long_for_a_subject(about: list[str]) -> None:
    assert len(write_headline(about)) <= LONGEST_HEADLINE


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_telling_is_tried_again_after_growing_pauses_of_an_hour_at_most(attempts: int, jitter: float) -> None:
    pause = choose_pause(attempts, jitter)
    assert timedelta(seconds=30) <= pause <= LONGEST_PAUSE
    assert choose_pause(attempts + 1, jitter) >= pause
