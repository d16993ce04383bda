"""What somebody must hear of, and when."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.alarms import (
    ANNOUNCEMENT_LIMIT,
    can_send_heartbeat,
    find_alarms,
    find_due_announcement,
)
from digest.inspect.coverage import AnnouncementLine, AnnouncementState
from digest.model.announcements import (
    alarm_moment,
    announcement_moment,
    find_due_until,
    latest_announcement,
    next_announcement,
)
from digest.model.cadences import Cadence
from digest.model.clock import write_with_zone
from digest.model.messages import Coverage
from digest.model.said import Said
from digest.model.subscriptions import Timing, TurnState, WhenEmpty
from digest.plan.slots import SlotFacts, SlotOutcome, decide_slot, latest_slot, next_slot
from digest.store.alarms import Alarm, Overdue

ANNOUNCEMENT = date(2026, 11, 19)
OUT = announcement_moment(ANNOUNCEMENT)
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SINCE = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
ONE = Overdue(1, "mailto:a@b.example", SINCE, 3)


def look(state: AnnouncementState, failure: str = "") -> AnnouncementLine:
    return AnnouncementLine(
        ANNOUNCEMENT, state, new=0, checks=0, failed=0, checked_at=None, failure=Said.plain(failure)
    )


def find(
    announcement: AnnouncementLine | None = None,
    **facts: Any,  # noqa: ANN401 - as `find_alarms` takes
) -> tuple[Alarm, ...]:
    write_moment = partial(write_with_zone, zone=UTC, today=NOW)
    return tuple(find_alarms(write_moment, announcement, **facts))


def test_where_all_is_in_time_nothing_is_amiss() -> None:
    assert find() == ()
    complete = look(AnnouncementState.COMPLETE)
    assert find(complete) == ()


@given(st.timedeltas(timedelta(0), timedelta(days=40)))
def test_the_last_announcement_whose_limit_has_passed_is_due_whatever_went_out_since(
    later: timedelta,
) -> None:
    now = NOW + later
    due_at = announcement_moment(find_due_announcement(now))
    following_at = announcement_moment(next_announcement(due_at))
    assert now - due_at > ANNOUNCEMENT_LIMIT
    assert now - following_at <= ANNOUNCEMENT_LIMIT


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            look(AnnouncementState.INCOMPLETE, "503"),
            "the announcement of Thu 19 Nov was not fetched: 503",
        ),
        (look(AnnouncementState.LATE), "the announcement of Thu 19 Nov is not out yet"),
        (look(AnnouncementState.NOT_CHECKED), "the announcement of Thu 19 Nov was not checked"),
    ],
)
def test_a_missing_announcement_says_whether_arxiv_or_the_looking_failed(
    line: AnnouncementLine, words: str
) -> None:
    (alarm,) = find(line)
    assert str(alarm.what) == words


def test_one_is_named_and_all_are_counted_the_most_urgent_first() -> None:
    found = find(
        look(AnnouncementState.INCOMPLETE),
        digests=Overdue(3, "perf-team", SINCE, reason=Said.plain("perf-team: no such name")),
        deliveries=Overdue(1_200, "slack:#papers", SINCE),
        failed=Overdue(2, "slack:#gone", SINCE, 7, Said.plain("archived")),
        held=Overdue(3, "slack:#lab", SINCE, 8, Said.plain("not in the channel")),
    )
    assert [str(alarm.what) for alarm in found] == [
        (
            "1,200 messages have been waiting for more than an hour, "
            "the first since Fri 20 Nov 08:00 UTC"
        ),
        (
            "digests are due and not planned, that of perf-team since Fri 20 Nov 08:00 UTC; "
            "planning failed: perf-team: no such name"
        ),
        "2 messages failed in the last two days, the last of them to slack:#gone: archived",
        "a message to slack:#lab needs you: not in the channel",
        "the announcement of Thu 19 Nov was not fetched completely",
    ]


def test_one_alone_is_named_and_not_counted() -> None:
    found = find(digests=ONE, deliveries=ONE, failed=ONE, held=ONE)
    assert [str(alarm.what) for alarm in found] == [
        "a message to mailto:a@b.example has been waiting since Fri 20 Nov 08:00 UTC",
        (
            "the digest of mailto:a@b.example has been due since Fri 20 Nov 08:00 UTC "
            "and is not planned"
        ),
        "the message to mailto:a@b.example failed: nobody knows why",
        "a message to mailto:a@b.example needs you: ",
    ]


def test_a_sign_of_life_hangs_on_the_work_and_not_on_single_messages() -> None:
    late = look(AnnouncementState.LATE)
    for alarms in (find(), find(failed=ONE), find(held=ONE)):
        assert can_send_heartbeat(alarms)
    for alarms in (find(deliveries=ONE), find(digests=ONE), find(late)):
        assert not can_send_heartbeat(alarms)


def test_papers_that_wait_on_announcement_are_owed_from_the_morning_after_their_announcement() -> (
    None
):
    a_second = timedelta(seconds=1)
    morning = alarm_moment(ANNOUNCEMENT)
    assert find_due_until(morning) == morning
    assert find_due_until(morning - a_second) == OUT
    assert find_due_until(OUT) == OUT
    assert find_due_until(OUT - a_second) == OUT - a_second


@given(
    later=st.timedeltas(timedelta(days=-20), timedelta(days=40)),
    since=st.timedeltas(timedelta(0), timedelta(days=5)),
    ago=st.timedeltas(timedelta(0), timedelta(days=9)),
    is_awaited=st.booleans(),
    source=st.sampled_from(["harvest", "query"]),
)
def test_what_is_owed_on_announcement_is_planned_however_little_of_one_is_there(
    *, later: timedelta, since: timedelta, ago: timedelta, is_awaited: bool, source: str
) -> None:
    now = NOW + later
    rhythm = Timing(Cadence.parse("on announcement"), None, WhenEmpty.SKIP)
    before = latest_slot(rhythm.cadence, None, now - since)
    due = next_slot(rhythm.cadence, None, before.due_at, before.name)
    assert due is not None
    coverage = Coverage(
        announcement=latest_announcement(now),
        is_complete=False,
        compared=0,
        matched=1,
        checked_at=now,
        source=source,
        is_awaited=is_awaited,
    )
    matched_at = now - ago
    if max(due.due_at, matched_at) < find_due_until(now):
        facts = SlotFacts(
            due_at=due.due_at,
            state=TurnState(due.due_at, before.name),
            now=now,
            coverage=coverage,
            is_checked=False,
            newest_run=1,
            waiting_since=matched_at,
        )
        assert decide_slot(rhythm, facts).outcome is SlotOutcome.MAKE
