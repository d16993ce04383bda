from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select

from digest.model.messages import DeliveryState
from digest.model.subscriptions import TurnState
from digest.people.unsubscription import PAGE
from digest.store import Store, matches, subscribers, subscriptions
from digest.store.schema import deliveries
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    NOW,
    SLACK,
    make_subscription,
    recording,
    store_digest,
    subscribe,
)

SECOND = timedelta(seconds=1)


def due(store: Store, now: datetime, limit: int = 10) -> list[str]:
    with store.read() as conn:
        return [turn.name for turn in matches.load_due_slots(conn, now, limit)]


def test_a_subscription_is_due_from_its_moment_on_and_the_longest_waiting_comes_first(
    store: Store,
) -> None:
    ids = subscribe(
        store, make_subscription("late"), make_subscription("early"), make_subscription("later")
    )
    with store.begin() as conn:
        subscriptions.store_slots(conn, {ids["early"]: TurnState(NOW, "2026-11-18")})
        subscriptions.set_next_due(conn, ids["later"], NOW + 2 * DAY)
    assert due(store, NOW - SECOND) == []
    assert due(store, NOW) == ["early"]
    assert due(store, NOW + DAY) == ["early", "late"]
    assert due(store, NOW + DAY, limit=1) == ["early"]
    with store.read() as conn:
        (found,) = subscriptions.load(conn, [ids["early"]])
    assert found.last_slot == "2026-11-18"


def test_a_subscription_waits_out_its_pause_and_then_counts_again(store: Store) -> None:
    ids = subscribe(store, make_subscription())
    with store.begin() as conn:
        assert subscriptions.pause(conn, ids["team"], NOW + 5 * DAY)
    assert due(store, NOW + 4 * DAY) == []
    assert due(store, NOW + 5 * DAY) == ["team"]
    with store.begin() as conn:
        assert subscriptions.resume(conn, ids["team"], NOW + 3 * DAY, NOW)
        assert not subscriptions.resume(conn, ids["team"], NOW, NOW)
    assert due(store, NOW + 3 * DAY) == ["team"]


def test_a_pause_without_end_lasts_until_it_is_ended(store: Store) -> None:
    ids = subscribe(store, make_subscription())
    with store.begin() as conn:
        subscriptions.pause(conn, ids["team"], None)
        (found,) = subscriptions.load(conn)
    assert found.state == "paused", "it still collects"
    assert due(store, NOW + 1000 * DAY) == []


def test_an_ended_subscription_is_neither_due_nor_listed_nor_ended_twice(store: Store) -> None:
    planned = store_digest(store)
    with store.begin() as conn:
        assert subscriptions.end(conn, planned.subscription_id, NOW)
        assert not subscriptions.end(conn, planned.subscription_id, NOW)
        assert not subscriptions.pause(conn, planned.subscription_id, None)
        assert subscriptions.load(conn) == []
        assert len(subscriptions.load(conn, include_ended=True)) == 1
        assert conn.execute(select(deliveries.c.state)).scalar() == DeliveryState.SUPPRESSED
    assert due(store, NOW + 9 * DAY) == []


def test_an_event_makes_subscriptions_due_unless_they_are_due_before(store: Store) -> None:
    ids = subscribe(store, make_subscription("a"), make_subscription("b"), make_subscription("c"))
    with store.begin() as conn:
        subscriptions.set_next_due(conn, ids["a"], None)
        subscriptions.set_next_due(conn, ids["b"], NOW - DAY)
        subscriptions.pause(conn, ids["c"], None)
        assert subscriptions.make_due(conn, ids.values(), NOW) == 1
        assert subscriptions.make_due(conn, ids.values(), NOW) == 0
    assert due(store, NOW) == ["b", "a"]


def test_a_subscription_everybody_left_is_not_due_any_more(store: Store) -> None:
    subscribe(
        store,
        make_subscription(destinations=(MAIL, FEED)),
        make_subscription("both", destinations=(MAIL, SLACK)),
    )
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "", how=PAGE, at=NOW)
        found = {one.subscription.name: one for one in subscriptions.load(conn)}
    assert found["team"].next_due_at is None
    assert due(store, NOW + DAY) == ["both"]


def test_loading_no_ids_loads_nothing(store: Store) -> None:
    subscribe(store, make_subscription())
    with store.read() as conn:
        assert subscriptions.load(conn, []) == []


def test_a_hundred_subscriptions_are_loaded_in_as_many_statements_as_one(store: Store) -> None:
    subscribe(store, *(make_subscription(f"team-{number}") for number in range(100)))
    with recording(store) as statements, store.read() as conn:
        assert len(subscriptions.load(conn)) == 100
    reads = [statement for statement in statements if statement.startswith("SELECT")]
    assert len(reads) == 3


def test_turns_are_taken_together_with_the_slots_they_had(store: Store) -> None:
    ids = subscribe(store, make_subscription("a"), make_subscription("b"))
    with store.begin() as conn:
        locked = matches.load_due_slots(conn, NOW + DAY, 10, lock=True)
        turn_of_a = TurnState(NOW + 2 * DAY, "2026-11-20")
        turn_of_b = TurnState(None, "run:7 2026-11-19")
        subscriptions.store_slots(conn, {ids["a"]: turn_of_a, ids["b"]: turn_of_b})
        found = {one.subscription.name: one for one in subscriptions.load(conn)}
    assert sorted(turn.name for turn in locked) == ["a", "b"]
    a = found["a"]
    assert a.next_due_at == NOW + 2 * DAY
    assert a.last_slot == "2026-11-20"
    b = found["b"]
    assert b.next_due_at is None
    assert b.last_slot == "run:7 2026-11-19"
