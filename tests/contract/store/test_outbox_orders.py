"""What the operator orders for a delivery, what is kept of answers, and whose clock is asked."""

from __future__ import annotations

from datetime import timedelta

import pytest

from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Delivery, DeliveryState, Receipt
from digest.model.said import Said
from digest.store import Store, attempts, backups, outbox, subscribers
from digest.store.dialect import make_storable
from tests.contract.store.made import MAIL, MORNING, SLACK, states, store_digest
from tests.contract.store.test_deliveries import LATER, RECEIPT, begin, claim, put, row_of

FOLDER = Destination(DestinationKind.FILE, "site")


def be_in_doubt(store: Store, *, is_held: bool) -> Delivery:
    """Bring the first delivery into doubt; `is_held`: where nobody could be asked."""
    delivery = claim(store)
    begin(store, delivery)
    with store.begin() as conn:
        attempts.mark_unsent(
            conn,
            delivery,
            DeliveryState.UNKNOWN,
            Said.plain("no answer"),
            MORNING,
            not_before=MORNING,
        )
        if is_held:
            attempts.settle_unknown(
                conn,
                delivery,
                DeliveryState.HELD,
                Said.plain("can't tell"),
                MORNING,
                is_missing=False,
            )
    return delivery


@pytest.mark.parametrize("is_held", [False, True])
def test_the_operator_may_say_that_what_is_in_doubt_arrived_and_the_parts_behind_go_on(
    store: Store, *, is_held: bool
) -> None:
    store_digest(store, SLACK, parts=2)
    delivery = be_in_doubt(store, is_held=is_held)
    with store.begin() as conn:
        assert attempts.mark_arrived(conn, delivery.id, LATER)
        assert not attempts.mark_arrived(conn, delivery.id, LATER)
        _, (tried,) = attempts.load_delivery(conn, delivery.id)
        assert "what was sent was attempted" not in {
            one.name for one in backups.load_violations(conn)
        }
    assert states(store) == [DeliveryState.SENT, DeliveryState.READY]
    assert (tried.outcome, str(tried.detail)) == ("sent", "marked as sent by the operator")
    assert claim(store, now=LATER).part == 1


def test_what_was_never_on_its_way_did_not_arrive(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    with store.begin() as conn:
        attempts.mark_unsent(conn, delivery, DeliveryState.HELD, Said.plain("no token"), LATER)
        assert not attempts.mark_arrived(conn, delivery.id, LATER)
    assert states(store) == [DeliveryState.HELD]


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize(
    ("to", "anyway"),
    [(SLACK, False), (SLACK, True), (FOLDER, False), (FOLDER, True), (MAIL, False)],
)
def test_a_retry_of_what_is_in_doubt_has_it_looked_for_where_the_other_side_can_be_asked(
    store: Store, to: Destination, *, anyway: bool, is_held: bool
) -> None:
    store_digest(store, to)
    delivery = be_in_doubt(store, is_held=is_held)
    is_asked = to is not MAIL and not anyway
    with store.begin() as conn:
        assert attempts.may_have_arrived(conn, delivery.id)
        went = attempts.retry(conn, delivery.id, LATER, anyway=anyway)
        assert went is (DeliveryState.UNKNOWN if is_asked else DeliveryState.READY)
        found = attempts.claim_unknown(conn, LATER)
        assert [unknown.delivery.id for unknown in found] == [delivery.id] * is_asked
        for unknown in found:
            assert attempts.mark_sent(conn, unknown.delivery, RECEIPT, LATER)
        _, (tried,) = attempts.load_delivery(conn, delivery.id)
    outcome = "in doubt" if is_held else "ready"
    if is_asked:
        outcome = "sent"
    assert tried.outcome == outcome


@pytest.mark.parametrize("to", [SLACK, FOLDER, MAIL])
def test_what_is_held_in_doubt_needs_a_word_unless_the_other_side_can_be_asked(
    store: Store, to: Destination
) -> None:
    store_digest(store, to)
    delivery = be_in_doubt(store, is_held=True)
    with store.read() as conn:
        held = attempts.load_held(conn)
    assert held.ids == (delivery.id,)
    assert held.doubtful == ((delivery.id,) if to is MAIL else ())


def test_a_retry_of_what_was_refused_for_certain_sends_it(store: Store) -> None:
    store_digest(store, SLACK)
    delivery = claim(store)
    begin(store, delivery)
    with store.begin() as conn:
        attempts.mark_unsent(
            conn, delivery, DeliveryState.HELD, Said.plain("invalid_auth"), MORNING
        )
        assert not attempts.may_have_arrived(conn, delivery.id)
        assert attempts.retry(conn, delivery.id, LATER) is DeliveryState.READY


def test_a_retry_does_not_wait_until_the_far_moment_the_other_side_once_asked_for(
    store: Store,
) -> None:
    store_digest(store, SLACK)
    delivery = claim(store)
    with store.begin() as conn:
        attempts.mark_unsent(
            conn, delivery, DeliveryState.READY, Said.plain("429"), MORNING, not_before=LATER
        )
        subscribers.block_destination(conn, SLACK, MORNING + timedelta(days=1))
    with store.begin() as conn:
        attempts.retry(conn, delivery.id, LATER)
        assert outbox.claim(conn, owner="me", limit=1, now=LATER) == []  # Slack's pace is kept
        assert outbox.claim(conn, owner="me", limit=1, now=LATER + timedelta(seconds=1))


def test_dropping_what_was_given_up_drops_the_parts_behind_it_and_leaves_its_channel_alone_still(
    store: Store,
) -> None:
    store_digest(store, SLACK, parts=2)
    store_digest(store, SLACK, slot="2026-11-21")
    delivery = claim(store)
    with store.begin() as conn:
        attempts.mark_unsent(conn, delivery, DeliveryState.DEAD, Said.plain("too late"), MORNING)
        subscribers.block_destination(conn, SLACK, LATER)
        assert attempts.cancel(conn, delivery.id, MORNING)
        assert outbox.next_claimable_at(conn, MORNING) == LATER
    assert states(store) == [
        DeliveryState.SUPPRESSED,
        DeliveryState.SUPPRESSED,
        DeliveryState.READY,
    ]


def test_a_part_names_the_one_before_it_that_will_not_go_by_itself(store: Store) -> None:
    store_digest(store, SLACK, parts=3)
    delivery = claim(store)
    for state in DeliveryState:
        put(store, delivery, state)
        with store.read() as conn:
            obstacle = attempts.load_obstacle(conn, delivery.id + 2)
        is_final = state in {"held", "dead", "suppressed"}
        assert (obstacle is not None and obstacle.id == delivery.id) is is_final


@pytest.mark.parametrize("said", ["bad \x00 here", "bad \ud800 here"])
def test_a_mark_takes_whatever_words_the_other_side_finds(store: Store, said: str) -> None:
    store_digest(store, MAIL, SLACK, Destination(DestinationKind.MAIL, "b@example.org"))
    first, second, third = (claim(store) for _ in range(3))
    begin(store, second)
    begin(store, third)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, said)
        assert attempts.mark_unsent(conn, first, DeliveryState.DEAD, Said.plain(said), LATER)
        assert attempts.mark_unsent(
            conn, second, DeliveryState.UNKNOWN, Said.plain(said), LATER, not_before=MORNING
        )
        assert attempts.mark_sent(conn, second, Receipt(said, said), LATER)
        assert attempts.mark_sent(conn, third, Receipt(said, said), LATER)
    for id_, word in ((first.id, "last_error"), (second.id, "remote_id"), (third.id, "remote_id")):
        assert str(getattr(row_of(store, id_), word)) in {"bad \ufffd here", "bad ? here"}


def test_words_that_any_database_takes_are_kept_as_they_are() -> None:
    assert make_storable("Pınar’s nine 𝛼") == "Pınar’s nine 𝛼"
    assert make_storable("plain") == "plain"
