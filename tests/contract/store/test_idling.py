from __future__ import annotations

from datetime import datetime

from digest.model.destinations import Destination
from digest.model.messages import DeliveryState, Occasion
from digest.model.said import Said
from digest.store import Store, attempts, outbox, subscriptions
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    MORNING,
    NOW,
    make_paper,
    make_subscription,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)

FILE = "file:feeds/Gpu.Atom"


def asks(store: Store, now: datetime = NOW) -> bool:
    with store.read() as conn:
        return subscriptions.has_due_slots(conn, now)


def make_waiting(
    store: Store, *destinations: Destination, occasion: Occasion = Occasion.SCHEDULED
) -> int:
    """Store a subscription that waits for no turn, its match in no digest; return its id."""
    ids = subscribe(store, make_subscription(destinations=destinations))
    (change,) = store_papers(store, [make_paper()])
    store_match(store, {ids["team"]: (change.id,)}, occasion=occasion)
    with store.begin() as conn:
        subscriptions.set_next_due(conn, ids["team"], None)
    return ids["team"]


def test_there_is_nothing_to_plan_before_the_first_turn_comes(store: Store) -> None:
    assert not asks(store)
    subscribe(store, make_subscription())
    assert (asks(store, NOW), asks(store, NOW + DAY)) == (False, True)


def test_who_is_paused_has_no_turn_until_the_pause_is_over(store: Store) -> None:
    ids = subscribe(store, make_subscription())
    with store.begin() as conn:
        subscriptions.pause(conn, ids["team"], NOW + 3 * DAY)
    assert [asks(store, NOW + days * DAY) for days in (2, 3)] == [False, True]


def test_news_that_wait_for_no_turn_are_found(store: Store) -> None:
    id_ = make_waiting(store, MAIL)
    assert asks(store)
    with store.begin() as conn:
        subscriptions.set_next_due(conn, id_, NOW + DAY)
    assert not asks(store), "they have a turn now"


def test_a_first_digest_is_found(store: Store) -> None:
    id_ = make_waiting(store, MAIL, occasion=Occasion.FIRST_DIGEST)
    with store.begin() as conn:
        subscriptions.set_next_due(conn, id_, NOW + DAY)
    assert asks(store)


def test_what_is_fetched_by_its_readers_keeps_nobody_busy(store: Store) -> None:
    make_waiting(store, FEED, FEED.parse(FILE), occasion=Occasion.FIRST_DIGEST)
    assert not asks(store)


def test_the_outbox_is_asked_for_only_while_something_is_in_it(store: Store) -> None:
    with store.read() as conn:
        assert not outbox.has_deliveries(conn, MORNING)
    store_digest(store, MAIL, at=MORNING + DAY)
    with store.read() as conn:
        assert outbox.has_deliveries(conn, MORNING), "its time is yet to come"
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=MORNING + DAY)
    with store.read() as conn:
        assert outbox.has_deliveries(conn, MORNING), "its process may die"
    with store.begin() as conn:
        assert attempts.mark_unsent(
            conn, delivery, DeliveryState.DEAD, Said.plain("nobody there"), MORNING
        )
    with store.read() as conn:
        assert not outbox.has_deliveries(conn, MORNING)
