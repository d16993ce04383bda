from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from digest.model.announcements import alarm_moment
from digest.model.cadences import Cadence, QuietHours
from digest.model.messages import DeliveryState, Occasion
from digest.model.said import Said, Saying
from digest.people.unsubscription import ONE_CLICK
from digest.store import Store, alarms, attempts, outbox, subscribers
from digest.store.alarms import CLAIM, Alarm, AlarmName, Overdue, StoredAlarm
from digest.store.schema import deliveries, subscriptions
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    MORNING,
    NOW,
    SLACK,
    make_paper,
    make_subscription,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
LOOK = Said.of(Saying.SHOW_COVERAGE)
LATE = Alarm(AlarmName.ANNOUNCEMENT, Said.of(Saying.NOT_OUT, "it"), LOOK)
STUCK = Alarm(AlarmName.OUTBOX, Said.of(Saying.MESSAGE_WAITS, "a", "b"), LOOK)


def keep(store: Store, *found: Alarm, at: datetime) -> list[StoredAlarm]:
    """Keep what is amiss at a moment; return what is to be told."""
    with store.begin() as conn:
        alarms.save_alarms(conn, found, at)
        return alarms.claim(conn, found, at)


def report(store: Store, *found: Alarm, at: datetime) -> list[str]:
    """Keep what is amiss, and tell it; return the names."""
    claimed = keep(store, *found, at=at)
    with store.begin() as conn:
        for alarm in claimed:
            alarms.mark_notified(conn, alarm, at)
    return [write_name(alarm) for alarm in claimed]


def write_name(alarm: StoredAlarm) -> str:
    return f"{alarm.name} over" if alarm.ended_at else alarm.name


def test_an_alarm_is_reported_once_and_once_more_when_it_is_over(store: Store) -> None:
    assert sorted(report(store, LATE, STUCK, at=NOW)) == ["announcement", "outbox"]
    assert report(store, LATE, STUCK, at=NOW + 3 * DAY) == []
    assert report(store, STUCK, at=NOW + 4 * DAY) == ["announcement over"]
    assert report(store, STUCK, at=NOW + 5 * DAY) == []
    with store.read() as conn:
        (stored,) = alarms.load_stored(conn)
    assert stored.name == "outbox"


def test_what_one_process_reports_no_other_reports_until_that_had_its_time(store: Store) -> None:
    assert len(keep(store, LATE, at=NOW)) == 1
    assert keep(store, LATE, at=NOW + MINUTE) == []
    assert len(keep(store, LATE, at=NOW + CLAIM)) == 1, "it failed, or died"


def test_what_is_over_before_it_was_reported_is_forgotten(store: Store) -> None:
    keep(store, LATE, at=NOW)
    assert keep(store, at=NOW + HOUR) == []


def test_what_comes_back_before_its_end_was_reported_goes_on(store: Store) -> None:
    report(store, LATE, at=NOW)
    (over,) = keep(store, at=NOW + MINUTE)
    assert keep(store, LATE, at=NOW + HOUR) == []
    with store.begin() as conn:
        alarms.mark_notified(conn, over, NOW + HOUR)
        (stored,) = alarms.load_stored(conn)
    assert stored.since == NOW
    assert stored.detail == LATE.detail


def test_messages_that_fail_later_are_reported_after_an_hour_and_their_end_is_not(
    store: Store,
) -> None:
    def fail(at: datetime) -> Alarm:
        return Alarm(AlarmName.FAILED, Said.of(Saying.MESSAGE_FAILED, "a", "b"), LOOK, at)

    assert report(store, fail(NOW), at=NOW) == ["failed"]
    assert report(store, fail(NOW + MINUTE), at=NOW + MINUTE) == []
    assert report(store, fail(NOW + MINUTE), at=NOW + 2 * HOUR) == ["failed"]
    assert report(store, fail(NOW + MINUTE), at=NOW + DAY) == []
    assert report(store, at=NOW + 2 * DAY) == []
    assert report(store, fail(NOW + 3 * DAY), at=NOW + 3 * DAY) == ["failed"]


def test_unfinished_and_failed_deliveries_are_found(store: Store) -> None:
    with store.read() as conn:
        assert alarms.load_overdue_deliveries(conn, NOW) is None
        assert alarms.load_failed_deliveries(conn, NOW) is None
    store_digest(store, SLACK, parts=4)
    in_order = select(deliveries.c.id).order_by(deliveries.c.id)
    with store.begin() as conn:
        ids = conn.execute(in_order).scalars().all()
        for number, state in enumerate(("ready", "held", "sent", "dead")):
            values = {
                "state": state,
                "created_at": NOW - number * HOUR,
                "last_error": Said.plain(f"reason {number}"),
                "ended_at": NOW if state in ("sent", "dead") else None,
            }
            delivery = update(deliveries).where(deliveries.c.id == ids[number])
            conn.execute(delivery.values(values))
        ready, held, _, dead = ids
        overdue = alarms.load_overdue_deliveries(conn, NOW + MINUTE)
        failed = alarms.load_failed_deliveries(conn, NOW - HOUR)
        waiting = alarms.load_held_deliveries(conn)
        assert alarms.load_overdue_deliveries(conn, NOW) is None
        assert alarms.load_failed_deliveries(conn, NOW) is None
    place = str(SLACK)
    assert overdue == Overdue(1, place, NOW, ready)
    assert failed == Overdue(1, place, NOW, dead, Said.plain("reason 3"))
    assert waiting == Overdue(1, place, NOW - HOUR, held, Said.plain("reason 1"))


def test_parts_behind_one_that_is_held_are_reported_with_it_alone(store: Store) -> None:
    store_digest(store, SLACK, parts=3)
    with store.begin() as conn:
        (first,) = outbox.claim(conn, owner="me", limit=9, now=MORNING)
        assert attempts.mark_unsent(
            conn, first, DeliveryState.HELD, Said.plain("no token"), MORNING
        )
    with store.read() as conn:
        assert alarms.load_overdue_deliveries(conn, MORNING + HOUR) is None
        assert outbox.load_open(conn, MORNING + HOUR).oldest_due is None
        held = alarms.load_held_deliveries(conn)
        assert alarms.load_failed_deliveries(conn, MORNING - HOUR) is None
    assert held is not None
    assert held.count == 1
    assert held.delivery == first.id


def test_only_turns_by_the_clock_of_active_subscriptions_can_be_overdue(store: Store) -> None:
    store_digest(store)
    with store.begin() as conn:
        due = {"next_due_at": NOW, "cadence": "daily at 09:00 UTC"}
        conn.execute(update(subscriptions).values(due))
        overdue = alarms.load_overdue_digests(conn, NOW + MINUTE)
        assert overdue is not None
        assert overdue.due_at == NOW
        assert alarms.load_overdue_digests(conn, NOW) is None
        for change in ({"cadence": "on announcement"}, due | {"state": "paused"}):
            conn.execute(update(subscriptions).values(change))
            assert alarms.load_overdue_digests(conn, NOW + MINUTE) is None


EVENING = datetime(2026, 11, 19, 1, 0, tzinfo=UTC)
"""Wed 18 Nov, 20:00 Eastern time: an announcement goes out."""


def announce(
    store: Store,
    *,
    due_at: datetime = EVENING,
    at: datetime = EVENING,
    cadence: str = "on announcement",
) -> int:
    """Store a subscription on announcement, whose turn has come, and a paper that waits for it.

    Return the subscription's id.
    """
    wanted = make_subscription(cadence=Cadence.parse(cadence))
    key = subscribe(store, wanted)["team"]
    (change,) = store_papers(store, [make_paper()])
    store_match(store, {key: (change.id,)}, at=at)
    with store.begin() as conn:
        conn.execute(update(subscriptions).values(next_due_at=due_at))
    return key


def find_overdue(store: Store, before: datetime) -> Overdue | None:
    with store.read() as conn:
        return alarms.load_overdue_digests(conn, before)


def test_papers_on_announcement_are_overdue_once_their_announcement_no_longer_holds_them_back(
    store: Store,
) -> None:
    announce(store, at=EVENING + 3 * HOUR)
    morning = alarm_moment(date(2026, 11, 18))
    assert find_overdue(store, morning - MINUTE) is None, (
        "the rest of the announcement is waited for"
    )
    for later in (morning, morning + 10 * HOUR, morning + 16 * HOUR, morning + 5 * DAY):
        assert find_overdue(store, later) == Overdue(1, "team", EVENING + 3 * HOUR)


def test_papers_that_came_too_late_for_their_announcement_are_owed_by_the_next_ones_turn(
    store: Store,
) -> None:
    next_evening = EVENING + DAY
    announce(store, at=EVENING + 12 * HOUR, due_at=next_evening)
    assert find_overdue(store, next_evening) is None
    assert find_overdue(store, next_evening + 9 * HOUR) is None
    next_morning = alarm_moment(date(2026, 11, 19))
    assert find_overdue(store, next_morning) == Overdue(1, "team", next_evening)


def test_what_is_sent_at_once_is_overdue_from_the_moment_it_was_made_due(store: Store) -> None:
    announce(store, cadence="at once")
    assert find_overdue(store, EVENING) is None
    assert find_overdue(store, EVENING + MINUTE) == Overdue(1, "team", EVENING)


@pytest.mark.parametrize("cadence", ["on announcement", "at once", "daily at 08:00 UTC"])
def test_who_rests_or_is_written_to_nowhere_misses_no_digest(store: Store, cadence: str) -> None:
    later = EVENING + 5 * DAY
    id_ = announce(store, cadence=cadence)
    assert find_overdue(store, later) is not None
    paused: dict[str, Any] = {"state": "paused"}
    not_yet = {"state": "active", "next_due_at": later + HOUR}
    never = {"next_due_at": None}
    for values in (paused, not_yet, never):
        with store.begin() as conn:
            conn.execute(update(subscriptions).values(values))
        assert find_overdue(store, later) is None
    of_team = update(subscriptions).where(subscriptions.c.id == id_)
    with store.begin() as conn:
        conn.execute(update(subscriptions).values(next_due_at=EVENING))
        subscribers.save_unsubscription(conn, MAIL, "team", how=ONE_CLICK, at=NOW)
        conn.execute(of_team.values(next_due_at=EVENING))
    assert find_overdue(store, later) is None


def test_a_digest_that_may_wait_longer_for_its_announcement_is_overdue_by_so_much_later(
    store: Store,
) -> None:
    # Two and a half hours more than usual.
    until_noon = Cadence.parse("daily at 08:00 UTC, at the latest 12:00")
    patient = make_subscription("patient", cadence=until_noon)
    subscribe(store, patient, make_subscription("usual"))
    with store.read() as conn:
        early = alarms.load_overdue_digests(conn, NOW + DAY + 2 * HOUR)
        late = alarms.load_overdue_digests(conn, NOW + DAY + 3 * HOUR)
    assert early is not None
    assert late is not None
    assert (early.count, early.named) == (1, "usual")
    assert (late.count, late.named) == (2, "patient")
    assert early.due_at == late.due_at == NOW + DAY


def test_a_first_digest_that_is_not_planned_is_overdue_though_its_subscription_has_no_turn_for_days(
    store: Store,
) -> None:
    weekly = Cadence.parse("mondays at 09:00 UTC")
    by_mail = make_subscription(cadence=weekly)
    by_feed = make_subscription("fed", destinations=(FEED,), cadence=weekly)
    ids = subscribe(store, by_mail, by_feed)
    (change,) = store_papers(store, [make_paper()])
    matched = dict.fromkeys(ids.values(), (change.id,))
    store_match(store, matched, at=EVENING, occasion=Occasion.FIRST_DIGEST)
    with store.begin() as conn:
        conn.execute(update(subscriptions).values(next_due_at=EVENING + 9 * DAY))
    assert find_overdue(store, EVENING) is None
    assert find_overdue(store, EVENING + MINUTE) == Overdue(1, "team", EVENING)
    later = EVENING + 2 * DAY
    paused: dict[str, Any] = {"state": "paused"}
    planned_later = {"state": "active", "plan_after": 99}
    for held in (paused, planned_later):
        with store.begin() as conn:
            conn.execute(update(subscriptions).values(held))
        assert find_overdue(store, later) is None


def test_a_first_digest_that_quiet_hours_held_back_is_late_from_their_end_on(store: Store) -> None:
    night = QuietHours.parse("00:00-07:00 UTC")
    ids = subscribe(store, make_subscription(quiet_hours=night))
    (change,) = store_papers(store, [make_paper()])
    store_match(store, {ids["team"]: (change.id,)}, at=EVENING, occasion=Occasion.FIRST_DIGEST)
    with store.begin() as conn:
        conn.execute(update(subscriptions).values(next_due_at=EVENING + 9 * DAY))
    assert find_overdue(store, EVENING + 6 * HOUR) is None
    assert find_overdue(store, EVENING + 7 * HOUR) == Overdue(1, "team", EVENING + 6 * HOUR)
