from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import select, update

from digest.planning.alarms import REMIND_EVERY, Alarm, AlarmName
from digest.store import Store, alarms, overview
from digest.store import deliveries as outbox
from digest.store.schema import deliveries, subscriptions
from digest.subscriptions import Cadence
from tests.contract.store.made import DAY, MORNING, NOW, SLACK, make_subscription, store_digest, subscribe

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LATE = Alarm(AlarmName.MAILING, "the mailing is not out yet", "Wait.")
STUCK = Alarm(AlarmName.OUTBOX, "a delivery waits", "Look.")


def test_an_alarm_is_told_once_and_again_after_a_day(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        alarms.sync_alarms(conn, [LATE], NOW)
        (claimed,) = alarms.claim_alarms(conn, NOW)
        assert (claimed.name, claimed.detail, claimed.since) == (
            "mailing",
            "the mailing is not out yet. Wait.",
            NOW,
        )
        alarms.mark_told(conn, claimed, NOW)
        assert alarms.claim_alarms(conn, NOW + REMIND_EVERY - MINUTE) == []
        (again,) = alarms.claim_alarms(conn, NOW + REMIND_EVERY)
        assert again.told_at == NOW


def test_what_one_process_tells_of_no_other_tells_meanwhile(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        assert len(alarms.claim_alarms(conn, NOW)) == 1
        assert alarms.claim_alarms(conn, NOW + MINUTE) == []


def test_what_a_dead_process_meant_to_tell_is_told_by_the_next(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        alarms.claim_alarms(conn, NOW)
    with store.begin() as conn:
        (left,) = alarms.claim_alarms(conn, NOW + alarms.CLAIM)
        assert left.attempts == 2


def test_the_end_of_what_was_told_is_told_and_then_forgotten(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE, STUCK], NOW)
        for alarm in alarms.claim_alarms(conn, NOW):
            alarms.mark_told(conn, alarm, NOW)
        alarms.sync_alarms(conn, [STUCK], NOW + MINUTE)
        (over,) = alarms.claim_alarms(conn, NOW + MINUTE)
        assert (over.name, over.ended_at) == ("mailing", NOW + MINUTE)
        alarms.mark_told(conn, over, NOW + MINUTE)
        assert [alarm.name for alarm in alarms.list_alarms(conn)] == ["outbox"]


def test_what_is_over_before_anybody_was_told_is_forgotten(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        alarms.sync_alarms(conn, [], NOW + MINUTE)
        assert alarms.list_alarms(conn) == []


def test_what_comes_back_before_its_end_was_told_is_a_new_alarm(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        (told,) = alarms.claim_alarms(conn, NOW)
        alarms.mark_told(conn, told, NOW)
        alarms.sync_alarms(conn, [], NOW + MINUTE)
        alarms.sync_alarms(conn, [LATE], NOW + 2 * MINUTE)
        (again,) = alarms.claim_alarms(conn, NOW + 2 * MINUTE)
        assert (again.since, again.told_at, again.ended_at) == (NOW + 2 * MINUTE, None, None)
        alarms.mark_told(conn, told, NOW + 2 * MINUTE)
        (kept,) = alarms.list_alarms(conn)
        assert kept.told_at is None, "the answer to the earlier alarm counts for that one only"


def test_what_a_clock_that_ran_ahead_has_told_or_put_off_is_told_when_it_is_put_right(store: Store) -> None:
    for far in (1000 * DAY, DAY):
        with store.begin() as conn:
            alarms.sync_alarms(conn, [LATE, STUCK], NOW + far)
            told, untold = alarms.claim_alarms(conn, NOW + far)
            alarms.mark_told(conn, told, NOW + far)
            alarms.put_off(conn, untold, NOW + far, lambda _: HOUR)
            alarms.sync_alarms(conn, [LATE, STUCK], NOW)
            again = alarms.claim_alarms(conn, NOW)
            assert [(alarm.name, alarm.since, alarm.told_at) for alarm in again] == [
                ("mailing", NOW, None),
                ("outbox", NOW, None),
            ]
            alarms.sync_alarms(conn, [LATE, STUCK], NOW - HOUR)
            assert alarms.claim_alarms(conn, NOW) == [], "a clock put back by an hour tells nothing twice"
            alarms.sync_alarms(conn, [], NOW)


def test_what_nobody_could_be_told_waits_for_its_pause(store: Store) -> None:
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        (claimed,) = alarms.claim_alarms(conn, NOW)
        alarms.put_off(conn, claimed, NOW, lambda attempts: attempts * HOUR)
        assert alarms.claim_alarms(conn, NOW + HOUR - MINUTE) == []
        assert len(alarms.claim_alarms(conn, NOW + HOUR)) == 1


def test_unfinished_held_and_given_up_deliveries_are_found_with_the_oldest_named(store: Store) -> None:
    with store.read() as conn:
        assert alarms.find_overdue_deliveries(conn, NOW) is None
        assert alarms.find_dead_deliveries(conn, NOW) is None
    store_digest(store, SLACK, parts=4)
    with store.begin() as conn:
        ids = conn.execute(select(deliveries.c.id).order_by(deliveries.c.id)).scalars().all()
        for number, (id_, state) in enumerate(zip(ids, ("ready", "held", "sent", "dead"), strict=True)):
            values = {"state": state, "created_at": NOW - number * HOUR, "last_error": f"reason {number}"}
            ended = NOW if state in ("sent", "dead") else None
            conn.execute(update(deliveries).where(deliveries.c.id == id_).values(values | {"ended_at": ended}))
        overdue = alarms.find_overdue_deliveries(conn, NOW + MINUTE)
        assert overdue is not None
        assert (overdue.number, overdue.due_at) == (1, NOW)
        assert alarms.find_overdue_deliveries(conn, NOW) is None
        held = alarms.find_overdue_holds(conn, NOW)
        assert held is not None
        assert (held.number, held.due_at) == (1, NOW - HOUR)
        assert alarms.find_overdue_holds(conn, NOW - HOUR) is None
        dead = alarms.find_dead_deliveries(conn, NOW - HOUR)
        assert dead is not None
        assert (dead.number, dead.oldest, dead.reason) == (1, str(SLACK), "reason 3")
        assert alarms.find_dead_deliveries(conn, NOW + MINUTE) is None


def test_parts_behind_one_that_is_held_are_told_of_with_it_alone(store: Store) -> None:
    store_digest(store, SLACK, parts=3)
    with store.begin() as conn:
        (first,) = outbox.claim(conn, owner="me", limit=9, now=MORNING)
        assert outbox.mark_held(conn, first, "no token", MORNING)
    with store.read() as conn:
        assert alarms.find_overdue_deliveries(conn, MORNING + HOUR) is None
        assert overview.load_open(conn, MORNING + HOUR).oldest_due is None
        held = alarms.find_overdue_holds(conn, MORNING + HOUR)
    assert held is not None
    assert (held.number, held.delivery) == (1, first.id)


def test_only_turns_by_the_clock_of_active_subscriptions_can_be_overdue(store: Store) -> None:
    store_digest(store)
    with store.begin() as conn:
        due = {"next_due_at": NOW, "cadence": "daily at 09:00 UTC"}
        conn.execute(update(subscriptions).values(due))
        overdue = alarms.find_overdue_digests(conn, NOW + MINUTE)
        assert overdue is not None
        assert overdue.due_at == NOW
        assert alarms.find_overdue_digests(conn, NOW) is None
        for change in ({"cadence": "on announcement"}, due | {"state": "paused"}):
            conn.execute(update(subscriptions).values(change))
            assert alarms.find_overdue_digests(conn, NOW + MINUTE) is None


def test_a_digest_that_may_wait_longer_for_its_mailing_is_overdue_by_so_much_later(store: Store) -> None:
    patient = Cadence.parse("daily at 08:00 UTC, at the latest 12:00")  # two and a half hours more than usual
    subscribe(store, make_subscription("patient", cadence=patient), make_subscription("usual"))
    with store.read() as conn:
        early = alarms.find_overdue_digests(conn, NOW + DAY + 2 * HOUR)
        late = alarms.find_overdue_digests(conn, NOW + DAY + 3 * HOUR)
    assert early is not None
    assert late is not None
    assert [(one.number, one.oldest, one.due_at) for one in (early, late)] == [
        (1, "usual", NOW + DAY),
        (2, "patient", NOW + DAY),
    ]


def test_what_was_told_is_kept_in_the_words_it_was_told_in(store: Store) -> None:
    changed = replace(LATE, what="other words")
    with store.begin() as conn:
        alarms.sync_alarms(conn, [LATE], NOW)
        (alarm,) = alarms.claim_alarms(conn, NOW)
        alarms.sync_alarms(conn, [changed], NOW)
        assert [one.detail for one in alarms.list_alarms(conn)] == [changed.detail], "nobody was told yet"
        alarms.mark_told(conn, alarm, NOW)
        alarms.sync_alarms(conn, [changed], NOW)
        assert [one.detail for one in alarms.list_alarms(conn)] == [LATE.detail]
        alarms.sync_alarms(conn, [], NOW)
        assert [one.detail for one in alarms.claim_alarms(conn, NOW)] == [LATE.detail]
