from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from sqlalchemy import func, select

from digest.model.clock import SystemClock
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Delivery, DeliveryState, Receipt
from digest.store import Store, outbox, subscribers
from digest.store.attempts import begin as begin_sending
from digest.store.attempts import claim_unknown, mark_sent
from digest.store.schema import attempts, deliveries
from tests.contract.store.made import MAIL, MORNING, SLACK, make_message, store_digest
from tests.threads import do_together

MINUTE = timedelta(minutes=1)
OTHER = Destination(DestinationKind.MAIL, "other@example.org")


def claim(store: Store, limit: int = 10, owner: str = "me", lease: float = 60.0) -> list[Delivery]:
    with store.begin() as conn:
        return outbox.claim(conn, owner=owner, limit=limit, now=MORNING, lease_seconds=lease)


def send(store: Store, delivery: Delivery, remote_id: str = "ok-1") -> None:
    with store.begin() as conn:
        assert begin_sending(conn, delivery, make_message(), MORNING) is DeliveryState.SENDING
    with store.begin() as conn:
        assert mark_sent(conn, delivery, Receipt(remote_id), MORNING)


def state_of(store: Store, delivery_id: int) -> str:
    state = select(deliveries.c.state).where(deliveries.c.id == delivery_id)
    with store.read() as conn:
        return str(conn.execute(state).scalar_one())


def next_at(store: Store) -> timedelta | None:
    with store.read() as conn:
        moment = outbox.next_claimable_at(conn, MORNING)
    return None if moment is None else moment - MORNING


def test_a_claimed_delivery_is_loaded_in_full_and_nobody_else_gets_it(store: Store) -> None:
    planned = store_digest(store)
    (delivery,) = claim(store)
    assert delivery.digest_id == planned.digest_id
    assert delivery.destination == MAIL
    assert (delivery.part, delivery.parts) == (0, 1)
    assert delivery.state is DeliveryState.CLAIMED
    assert delivery.attempts == 0
    assert delivery.token == 1
    assert (delivery.not_before, delivery.created_at, delivery.remote_address) == (
        MORNING,
        MORNING,
        "",
    )
    assert claim(store, owner="another") == []


def test_nothing_is_claimed_before_its_time(store: Store) -> None:
    store_digest(store, at=MORNING + MINUTE)
    assert claim(store) == []
    assert next_at(store) == MINUTE
    with store.begin() as conn:
        claimed = outbox.claim(conn, owner="me", limit=1, now=MORNING + MINUTE)
    assert len(claimed) == 1
    assert next_at(store) is None


def test_the_longest_waiting_goes_first(store: Store) -> None:
    late = store_digest(store, slot="1", at=MORNING)
    early = store_digest(store, slot="2", at=MORNING - MINUTE)
    claimed = [*claim(store, limit=2), *claim(store, limit=2)]
    order = [delivery.digest_id for delivery in claimed]
    assert order == [early.digest_id, late.digest_id]


def test_parts_come_strictly_in_order_and_know_the_first_ones_answer(store: Store) -> None:
    store_digest(store, MAIL, OTHER, parts=3)
    first, other = claim(store)
    assert {first.destination, other.destination} == {MAIL, OTHER}
    assert first.part == other.part == 0
    assert claim(store) == []
    assert next_at(store) is None
    send(store, first, "1700000000.000100")
    (second,) = claim(store)
    assert (second.destination, second.part, second.parent_remote_id) == (
        MAIL,
        1,
        "1700000000.000100",
    )
    send(store, second, "1700000000.000200")
    (third,) = claim(store)
    assert (third.part, third.parent_remote_id) == (2, "1700000000.000100")


@pytest.mark.parametrize("destination", [SLACK, Destination(DestinationKind.SLACK_WEBHOOK, "team")])
def test_a_channel_gets_one_message_at_a_time(store: Store, destination: Destination) -> None:
    for slot in "12":
        store_digest(store, destination, slot=slot)
    (first,) = claim(store)
    assert claim(store, owner="another") == []
    send(store, first)
    assert len(claim(store)) == 1


def test_a_mailbox_may_get_several_at_once(store: Store) -> None:
    for slot in "12":
        store_digest(store, slot=slot)
    assert len(claim(store)) == 2


def test_a_destination_that_wants_a_pause_gets_one(store: Store) -> None:
    store_digest(store, SLACK, MAIL)
    with store.begin() as conn:
        subscribers.block_destination(conn, SLACK, MORNING)
        in_japan = (MORNING + 2 * MINUTE).astimezone(timezone(timedelta(hours=9)))
        subscribers.block_destination(conn, SLACK, in_japan)
        subscribers.block_destination(conn, SLACK, MORNING + MINUTE)
    assert [delivery.destination for delivery in claim(store)] == [MAIL]
    assert next_at(store) == 2 * MINUTE
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=9, now=MORNING + 2 * MINUTE)
    assert delivery.destination == SLACK


def test_a_claim_may_ask_for_some_ways_out_only(store: Store) -> None:
    hook = Destination(DestinationKind.SLACK_WEBHOOK, "team")
    store_digest(store, MAIL, SLACK, hook)
    later = MORNING + 3 * MINUTE
    with store.begin() as conn:
        for destination, wait in ((MAIL, 3), (SLACK, 2), (hook, 1)):
            subscribers.block_destination(conn, destination, MORNING + wait * MINUTE)
        assert outbox.next_claimable_at(conn, MORNING) == MORNING + MINUTE
        waits = {}
        for kind in DestinationKind:
            at = outbox.next_claimable_at(conn, MORNING, kinds=[kind])
            if at is not None:
                waits[kind] = at - MORNING
        assert waits == {
            DestinationKind.MAIL: 3 * MINUTE,
            DestinationKind.SLACK: 2 * MINUTE,
            DestinationKind.SLACK_WEBHOOK: MINUTE,
        }
        assert outbox.next_claimable_at(conn, MORNING, kinds=()) is None
        assert outbox.claim(conn, owner="me", limit=9, now=later, kinds=()) == []
        (post,) = outbox.claim(conn, owner="me", limit=9, now=later, kinds=[DestinationKind.SLACK])
        rest = outbox.claim(
            conn,
            owner="me",
            limit=9,
            now=later,
            kinds={DestinationKind.SLACK_WEBHOOK, DestinationKind.MAIL},
        )
    assert post.destination == SLACK
    assert [delivery.destination for delivery in rest] == [MAIL, hook]


def test_an_address_once_resolved_comes_with_later_claims(store: Store) -> None:
    store_digest(store, SLACK)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, "C0FFEE")
        subscribers.block_destination(conn, SLACK, MORNING)
        assert subscribers.load_known_address(conn, SLACK) == "C0FFEE"
        assert subscribers.load_known_address(conn, MAIL) == ""
    (delivery,) = claim(store)
    assert delivery.remote_address == "C0FFEE"


def test_a_claim_given_back_can_be_claimed_at_once_and_the_old_one_is_worth_nothing(
    store: Store,
) -> None:
    store_digest(store)
    (delivery,) = claim(store)
    with store.begin() as conn:
        assert outbox.release_claim(conn, delivery)
        assert not outbox.release_claim(conn, delivery)
    (again,) = claim(store, owner="another")
    assert again.token == delivery.token + 1
    with store.begin() as conn:
        assert begin_sending(conn, delivery, make_message(), MORNING) is DeliveryState.READY
        assert not outbox.release_claim(conn, delivery)


def test_a_lapsed_claim_is_ready_again_and_a_lapsed_attempt_is_unknown(store: Store) -> None:
    store_digest(store, MAIL, OTHER)
    began, idle = claim(store, lease=-1.0)
    with store.begin() as conn:
        begin_sending(conn, began, make_message(), MORNING, lease_seconds=-1.0)
    with store.begin() as conn:
        waits = {DestinationKind.MAIL: MINUTE}
        assert outbox.release_claims(conn, MORNING, only_expired=True, settle=waits) == (1, 1)
        assert outbox.release_claims(conn, MORNING, only_expired=True) == (0, 0)
    assert state_of(store, idle.id) == DeliveryState.READY
    assert state_of(store, began.id) == DeliveryState.UNKNOWN
    with store.begin() as conn:
        (row,) = conn.execute(select(attempts)).all()
        assert claim_unknown(conn, MORNING) == []
    assert (row.outcome, row.ended_at) == (DeliveryState.UNKNOWN, MORNING)


def test_a_claim_that_was_lost_is_not_renewed(store: Store) -> None:
    store_digest(store, MAIL, OTHER)
    began, idle = claim(store)
    with store.begin() as conn:
        begin_sending(conn, began, make_message(), MORNING)
        outbox.release_claims(conn, MORNING)
        lost = [(mine.id, mine.token) for mine in (began, idle)]
        assert outbox.renew_claims(conn, lost) == frozenset()
        assert outbox.renew_claims(conn, []) == frozenset()
    (again,) = claim(store, owner="another")
    assert again.id == idle.id
    with store.begin() as conn:
        assert outbox.renew_claims(conn, [(idle.id, idle.token)]) == frozenset()


def test_how_long_the_other_side_is_left_alone_goes_by_the_way_out(store: Store) -> None:
    store_digest(store, MAIL, SLACK)
    for delivery in claim(store):
        with store.begin() as conn:
            begin_sending(conn, delivery, make_message(), MORNING, lease_seconds=-1.0)
    waits = {DestinationKind.MAIL: 2 * MINUTE, DestinationKind.SLACK: MINUTE}
    with store.begin() as conn:
        assert outbox.release_claims(conn, MORNING, only_expired=True, settle=waits) == (0, 2)
        assert claim_unknown(conn, MORNING) == []
        (post,) = claim_unknown(conn, MORNING + MINUTE)
        (mail,) = claim_unknown(conn, MORNING + 2 * MINUTE)
    assert (post.delivery.destination, mail.delivery.destination) == (SLACK, MAIL)


def test_a_process_that_knows_itself_alone_takes_back_everything(store: Store) -> None:
    store_digest(store, MAIL, OTHER)
    began, _ = claim(store)
    with store.begin() as conn:
        begin_sending(conn, began, make_message(), MORNING)
    with store.begin() as conn:
        assert outbox.release_claims(conn, MORNING) == (1, 1)


def test_no_delivery_is_claimed_twice_by_workers_at_once(store: Store) -> None:
    ways = [
        Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(40)
    ]
    store_digest(store, *ways)
    taken: list[Delivery] = []

    def work(number: int) -> None:
        while claimed := claim(store, limit=3, owner=f"worker {number}"):
            taken.extend(claimed)
            SystemClock().sleep(0.001)

    do_together(range(4), work)
    ids = [delivery.id for delivery in taken]
    assert len(ids) == len({*ids}) == 40
    with store.read() as conn:
        assert conn.execute(select(func.sum(deliveries.c.token))).scalar() == 40
