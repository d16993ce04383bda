"""A part that was too large, and the smaller ones in its place: one step, in order, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.model.messages import DeliveryState, Receipt, Share
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store import views
from digest.store.database import load_violations
from tests.contract.store.made import MATCHED_LATE, SLACK, store_digest
from tests.contract.store.test_deliveries import LATER, begin, claim, row_of

if TYPE_CHECKING:
    from digest.model.messages import Delivery
    from digest.store import Store

HALVES = (Share(5, 9), Share(9, 14))


def send(store: Store, delivery: Delivery) -> None:
    begin(store, delivery)
    with store.begin() as conn:
        assert outbox.mark_sent(conn, delivery, Receipt(f"ts {delivery.id}"), LATER)


def supersede(store: Store, delivery: Delivery, *shares: Share) -> tuple[int, ...]:
    with store.begin() as conn:
        return outbox.supersede(conn, delivery, shares, "msg_blocks_too_long", LATER)


def list_parts(store: Store) -> list[tuple[int, int, int, str]]:
    with store.read() as conn:
        found = [one.delivery for one in views.list_deliveries(conn)]
    return sorted((one.part, one.parts, one.id, one.state.value) for one in found)


def test_smaller_parts_come_in_place_of_one_and_what_is_behind_it_waits_for_them(store: Store) -> None:
    store_digest(store, SLACK, parts=3)
    send(store, claim(store))
    refused = claim(store, now=LATER)
    begin(store, refused)
    assert supersede(store, refused, *HALVES) == (4, 5)
    assert list_parts(store) == [
        (0, 4, 1, "sent"),
        (1, 4, 4, "ready"),
        (2, 4, 5, "ready"),
        (3, 4, 3, "ready"),
        (4, 4, 2, "superseded"),
    ]
    told = []
    for _ in range(3):
        delivery = claim(store, now=LATER)
        told.append((delivery.id, delivery.share, delivery.replaces, delivery.parent_remote_id))
        send(store, delivery)
    assert told == [(4, HALVES[0], 2, "ts 1"), (5, HALVES[1], 2, "ts 1"), (3, None, 0, "ts 1")]
    with store.read() as conn:
        assert {one.name for one in load_violations(conn)} <= {MATCHED_LATE}
        assert outbox.load_replacements(conn, 2) == (4, 5)
        (stored, (tried,)) = views.load_delivery(conn, 2)
    assert (stored.ended_at, tried.outcome, tried.detail) == (LATER, "superseded", "msg_blocks_too_long")


def test_the_first_part_stays_the_one_whose_thread_the_others_are_in(store: Store) -> None:
    store_digest(store, SLACK, parts=2)
    refused = claim(store)
    begin(store, refused)
    assert supersede(store, refused, Share(0, 2), Share(2, 5)) == (3, 4)
    again = claim(store, now=LATER)
    assert (again.id, again.part, again.share) == (3, 0, Share(0, 2))
    begin(store, again)
    assert supersede(store, again, Share(0, 1), Share(1, 2)) == (5, 6)
    for expected in (5, 6, 4, 2):
        delivery = claim(store, now=LATER)
        assert (delivery.id, delivery.parent_remote_id) == (expected, "" if expected == 5 else "ts 5")
        send(store, delivery)
    assert [row[2:] for row in list_parts(store)][4:] == [(1, "superseded"), (3, "superseded")]
    with store.read() as conn:
        assert {one.name for one in load_violations(conn)} <= {MATCHED_LATE}


def test_whoever_lost_the_claim_replaces_nothing(store: Store) -> None:
    store_digest(store, SLACK)
    mine = claim(store)
    begin(store, mine)
    with store.begin() as conn:
        outbox_module.adopt_orphans(conn, LATER)
        (unknown,) = outbox.take_unknown(conn, LATER)
        outbox.settle_ready(conn, unknown.delivery, LATER, "not there")
    begin(store, claim(store, now=LATER))
    assert supersede(store, mine, *HALVES) == ()
    assert list_parts(store) == [(0, 1, 1, "sending")]


def test_the_keys_of_the_smaller_parts_follow_from_the_first_ones(store: Store) -> None:
    store_digest(store, SLACK)
    refused = claim(store)
    with store.begin() as conn:
        undone = conn.begin_nested()
        first = outbox.supersede(conn, refused, HALVES, "too long", LATER)
        keys = [views.load_delivery(conn, id_)[0].delivery.idempotency_key for id_ in first]
        undone.rollback()
    assert row_of(store, 1).state == DeliveryState.CLAIMED
    assert [row_of(store, id_).idempotency_key for id_ in supersede(store, refused, *HALVES)] == keys
    assert len({refused.idempotency_key, *keys}) == 3


def test_a_superseded_part_can_neither_be_tried_again_nor_dropped(store: Store) -> None:
    store_digest(store, SLACK)
    supersede(store, claim(store), *HALVES)
    with store.begin() as conn:
        assert outbox.retry(conn, 1, LATER) is None
        assert not outbox.drop(conn, 1, LATER)
        assert outbox.load_obstacle(conn, 2) is None
