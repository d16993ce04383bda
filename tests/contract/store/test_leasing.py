"""Claims in hand: kept by signs of life, given up in time, never used once they were lost."""

from __future__ import annotations

from sqlalchemy import update

from digest.deliver.dispatch import Leases
from digest.model.clock import SystemClock, monotonic
from digest.model.messages import Delivery, DeliveryState
from digest.store import Store, attempts, outbox, workers
from digest.store.outbox import CLAIM_LEASE
from digest.store.schema import deliveries
from tests.contract.store.made import MORNING, make_message, store_digest

ENOUGH = 0.6


def claim(store: Store, lease: float = 60.0) -> Delivery:
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=MORNING, lease_seconds=lease)
        attempts.begin(conn, delivery, make_message(), MORNING, lease_seconds=lease)
    return delivery


def test_a_living_process_keeps_what_it_is_sending_beyond_its_lease(store: Store) -> None:
    store_digest(store)
    delivery = claim(store, lease=0.3)
    leases = Leases(store, lease=0.3, margin=0.05)
    with workers.keep_calling(leases.renew, 0.05):
        leases.take([delivery], monotonic())
        SystemClock().sleep(ENOUGH)
        with store.begin() as conn:
            assert outbox.release_claims(conn, MORNING, only_expired=True) == (0, 0)
        assert leases.is_ours(delivery)
    SystemClock().sleep(ENOUGH)
    with store.begin() as conn:
        assert outbox.release_claims(conn, MORNING, only_expired=True) == (0, 1)


def test_a_claim_without_signs_of_life_is_given_up_before_anybody_can_take_it(store: Store) -> None:
    store_digest(store)
    asked_at = monotonic()
    delivery = claim(store)
    leases = Leases(store)
    leases.take([delivery], asked_at - CLAIM_LEASE + 10.5)
    assert leases.is_ours(delivery)
    leases.take([delivery], asked_at - CLAIM_LEASE + 10.0)
    assert not leases.is_ours(delivery)
    leases.renew()
    assert leases.is_ours(delivery)


def test_a_claim_that_somebody_else_has_is_not_held_any_more(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    leases = Leases(store)
    leases.take([delivery], monotonic())
    with store.begin() as conn:
        outbox.release_claims(conn, MORNING)
    leases.renew()
    assert not leases.is_ours(delivery)


def test_what_came_to_its_end_is_kept_no_longer(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    leases = Leases(store)
    leases.take([delivery], monotonic())
    leases.drop(delivery)
    assert not leases.is_ours(delivery)
    with store.begin() as conn:
        conn.execute(update(deliveries).values(lease_until=0.0))
    leases.renew()
    with store.begin() as conn:
        assert outbox.release_claims(conn, MORNING, only_expired=True) == (0, 1)
        assert attempts.claim_unknown(conn, MORNING)[0].delivery.state is DeliveryState.UNKNOWN
