from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from digest.model.errors import UnknownName
from digest.model.messages import TERMINAL_STATES, Delivery, DeliveryState, Message, Receipt, Share
from digest.model.said import Said
from digest.store import Store, outbox
from digest.store.attempts import (
    SETTLING_PAUSE,
    Attempt,
    claim_unknown,
    load_delivery,
    load_message,
    load_stored_deliveries,
    mark_sent,
    mark_unsent,
    settle_unknown,
)
from digest.store.attempts import begin as begin_sending
from digest.store.attempts import cancel as cancel_delivery
from digest.store.attempts import retry as retry_delivery
from digest.store.schema import attempts, deliveries
from tests.contract.store.made import MAIL, MORNING, SLACK, make_message, states, store_digest

LATER = MORNING + timedelta(minutes=5)
RECEIPT = Receipt("queued-as-1", "250 2.0.0 queued as 1")

Mark = tuple["Callable[[Connection, Delivery], bool]", DeliveryState, set[DeliveryState]]
MARKS: dict[str, Mark] = {
    "sent": (
        lambda conn, delivery: mark_sent(conn, delivery, RECEIPT, LATER),
        DeliveryState.SENT,
        {DeliveryState.SENDING, DeliveryState.UNKNOWN, DeliveryState.READY, DeliveryState.HELD},
    ),
    "retry": (
        lambda conn, delivery: mark_unsent(
            conn, delivery, DeliveryState.READY, Said.plain("451 later"), LATER, not_before=LATER
        ),
        DeliveryState.READY,
        {DeliveryState.CLAIMED, DeliveryState.SENDING},
    ),
    "unknown": (
        lambda conn, delivery: mark_unsent(
            conn, delivery, DeliveryState.UNKNOWN, Said.plain("no answer"), LATER, not_before=LATER
        ),
        DeliveryState.UNKNOWN,
        {DeliveryState.SENDING},
    ),
    "held": (
        lambda conn, one: mark_unsent(
            conn, one, DeliveryState.HELD, Said.plain("login refused"), LATER
        ),
        DeliveryState.HELD,
        {DeliveryState.CLAIMED, DeliveryState.SENDING},
    ),
    "dead": (
        lambda conn, delivery: mark_unsent(
            conn, delivery, DeliveryState.DEAD, Said.plain("550 no such mailbox"), LATER
        ),
        DeliveryState.DEAD,
        {DeliveryState.CLAIMED, DeliveryState.SENDING},
    ),
    "suppressed": (
        lambda conn, one: mark_unsent(
            conn, one, DeliveryState.SUPPRESSED, Said.plain("left"), LATER
        ),
        DeliveryState.SUPPRESSED,
        {DeliveryState.CLAIMED},
    ),
}
SETTLEMENTS: dict[str, tuple[Callable[[Connection, Delivery], bool], DeliveryState]] = {
    "ready": (
        lambda conn, mine: settle_unknown(
            conn, mine, DeliveryState.READY, Said.plain("not there"), LATER, is_missing=True
        ),
        DeliveryState.READY,
    ),
    "held": (
        lambda conn, mine: settle_unknown(
            conn, mine, DeliveryState.HELD, Said.plain("can't tell"), LATER, is_missing=False
        ),
        DeliveryState.HELD,
    ),
}


def claim(store: Store, *, now: Any = MORNING) -> Delivery:  # noqa: ANN401 - a datetime
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=now)
    return delivery


def begin(store: Store, delivery: Delivery, message: Message | None = None) -> DeliveryState:
    with store.begin() as conn:
        return begin_sending(conn, delivery, message or make_message(), MORNING)


def begun(store: Store) -> Delivery:
    """Plan a digest, and return its only delivery, which is on its way."""
    store_digest(store)
    delivery = claim(store)
    begin(store, delivery)
    return delivery


def row_of(store: Store, delivery_id: int) -> Any:  # noqa: ANN401 - a row
    with store.read() as conn:
        return conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one()


def put(store: Store, delivery: Delivery, state: DeliveryState) -> None:
    with store.begin() as conn:
        conn.execute(update(deliveries).where(deliveries.c.id == delivery.id).values(state=state))


def test_the_intent_keeps_the_bytes_and_counts_the_attempt_before_anything_is_sent(
    store: Store,
) -> None:
    store_digest(store)
    delivery = replace(claim(store), remote_address="C0FFEE")
    assert begin(store, delivery) is DeliveryState.SENDING
    row = row_of(store, delivery.id)
    assert (row.state, row.attempts, row.sending_at, row.remote_address) == (
        "sending",
        1,
        MORNING,
        "C0FFEE",
    )
    with store.read() as conn:
        stored = load_message(conn, delivery.id)
        (attempt,) = conn.execute(select(attempts)).all()
    assert stored == replace(make_message(), idempotency_key=delivery.idempotency_key)
    assert (attempt.number, attempt.outcome, attempt.ended_at) == (1, "sending", None)


def test_every_attempt_sends_the_bytes_of_the_first(store: Store) -> None:
    first = begun(store)
    with store.begin() as conn:
        mark_unsent(
            conn, first, DeliveryState.READY, Said.plain("451"), MORNING, not_before=MORNING
        )
    second = claim(store)
    begin(store, second, Message("text/plain", b"rendered anew", "key", "other.txt"))
    with store.read() as conn:
        stored = load_message(conn, second.id)
        tries = conn.execute(select(attempts).order_by(attempts.c.number)).all()
    assert stored == replace(make_message(), idempotency_key=first.idempotency_key)
    assert [(row.number, row.outcome, str(row.detail)) for row in tries] == [
        (1, "ready", "451"),
        (2, "sending", ""),
    ]
    assert second.attempts == 1


def test_an_intent_is_recorded_once(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    assert begin(store, delivery) is DeliveryState.SENDING
    assert begin(store, delivery) is DeliveryState.READY
    assert row_of(store, delivery.id).attempts == 1


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_moves_a_delivery_along_its_arrows_only(store: Store, name: str) -> None:
    mark, to, froms = MARKS[name]
    delivery = begun(store)
    for state in DeliveryState:
        put(store, delivery, state)
        with store.begin() as conn:
            assert mark(conn, delivery) is (state in froms)
        assert row_of(store, delivery.id).state == (to if state in froms else state)


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_of_a_lost_claim_changes_nothing(store: Store, name: str) -> None:
    store_digest(store)
    lost = claim(store)
    with store.begin() as conn:
        outbox.release_claims(conn, MORNING)
    held = claim(store)
    begin(store, held)
    before = row_of(store, held.id)
    with store.begin() as conn:
        assert not MARKS[name][0](conn, lost)
    assert row_of(store, held.id) == before


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_is_kept_with_its_words_and_closes_the_attempt(store: Store, name: str) -> None:
    mark, to, froms = MARKS[name]
    store_digest(store)
    delivery = claim(store)
    if DeliveryState.SENDING in froms:
        begin(store, delivery)
    with store.begin() as conn:
        mark(conn, delivery)
    row = row_of(store, delivery.id)
    assert (row.ended_at == LATER) is (to in TERMINAL_STATES)
    assert row.lease_until is None
    assert bool(row.last_error) is (to is not DeliveryState.SENT)
    with store.read() as conn:
        tries = conn.execute(select(attempts)).all()
    for attempt in tries:
        assert (attempt.outcome, attempt.ended_at) == (to, LATER)
        assert str(attempt.detail) == (str(row.last_error) or RECEIPT.detail)


@pytest.mark.parametrize("settled_as", ["ready", "held"])
def test_an_answer_counts_even_after_the_attempt_was_given_up_for_lost(
    store: Store, settled_as: str
) -> None:
    settle, _ = SETTLEMENTS[settled_as]
    delivery = begun(store)
    with store.begin() as conn:
        outbox.release_claims(conn, MORNING)
        assert settle(conn, delivery)
        assert mark_sent(conn, delivery, RECEIPT, LATER)
        _, tries = load_delivery(conn, delivery.id)
    assert states(store) == [DeliveryState.SENT]
    assert tries == [Attempt(1, MORNING, LATER, "sent", Said.plain(RECEIPT.detail))]


@pytest.mark.parametrize("name", SETTLEMENTS)
def test_what_was_found_out_about_one_attempt_says_nothing_of_the_next(
    store: Store, name: str
) -> None:
    settle, _ = SETTLEMENTS[name]
    first = begun(store)
    with store.begin() as conn:
        outbox.release_claims(conn, MORNING)
        settle_unknown(
            conn, first, DeliveryState.READY, Said.plain("not there"), MORNING, is_missing=True
        )
    second = claim(store)
    begin(store, second)
    with store.begin() as conn:
        outbox.release_claims(conn, MORNING)
        assert not settle(conn, first)
        assert settle(conn, second)


@pytest.mark.parametrize("name", ["dead", "suppressed"])
def test_a_part_that_is_not_sent_takes_those_behind_it_along(store: Store, name: str) -> None:
    mark, to, _ = MARKS[name]
    store_digest(store, MAIL, SLACK, parts=3)
    delivery = claim(store)
    with store.begin() as conn:
        mark(conn, delivery)
    assert states(store) == [to] * 3 + [DeliveryState.READY] * 3
    assert str(row_of(store, delivery.id + 2).last_error).startswith("part 1 was not sent: ")


def test_what_may_have_arrived_is_handed_out_with_its_bytes_to_one_at_a_time(store: Store) -> None:
    delivery = begun(store)
    with store.begin() as conn:
        mark_unsent(
            conn,
            delivery,
            DeliveryState.UNKNOWN,
            Said.plain("connection lost"),
            MORNING,
            not_before=LATER,
        )
        assert claim_unknown(conn, MORNING) == []
    with store.begin() as conn:
        (unknown,) = claim_unknown(conn, LATER)
        assert claim_unknown(conn, LATER) == []
        (again,) = claim_unknown(conn, LATER + SETTLING_PAUSE)
    assert unknown.message == replace(make_message(), idempotency_key=delivery.idempotency_key)
    assert (unknown.sending_at, unknown.delivery.state) == (MORNING, DeliveryState.UNKNOWN)
    assert again.delivery.id == unknown.delivery.id == delivery.id


@pytest.mark.parametrize("name", SETTLEMENTS)
def test_only_what_is_unknown_is_settled(store: Store, name: str) -> None:
    settle, to = SETTLEMENTS[name]
    delivery = begun(store)
    for state in DeliveryState:
        put(store, delivery, state)
        with store.begin() as conn:
            assert settle(conn, delivery) is (state is DeliveryState.UNKNOWN)
        assert row_of(store, delivery.id).state == (to if state is DeliveryState.UNKNOWN else state)


def test_the_operator_may_send_again_what_was_not_sent(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    for state in DeliveryState:
        put(store, delivery, state)
        may = state in {
            DeliveryState.READY,
            DeliveryState.HELD,
            DeliveryState.DEAD,
            DeliveryState.UNKNOWN,
        }
        with store.begin() as conn:
            assert (retry_delivery(conn, delivery.id, LATER) is DeliveryState.READY) is may
        row = row_of(store, delivery.id)
        assert row.state == (DeliveryState.READY if may else state)
        assert row.not_before == LATER


def test_the_parts_behind_a_dead_one_come_back_with_it(store: Store) -> None:
    store_digest(store, parts=3)
    delivery = claim(store)
    with store.begin() as conn:
        mark_unsent(conn, delivery, DeliveryState.DEAD, Said.plain("550"), LATER)
    with store.begin() as conn:
        assert retry_delivery(conn, delivery.id, LATER)
    assert states(store) == [DeliveryState.READY] * 3
    assert claim(store, now=LATER).part == 0


def test_the_operator_may_drop_what_is_not_on_its_way(store: Store) -> None:
    store_digest(store)
    delivery = claim(store)
    for state in DeliveryState:
        put(store, delivery, state)
        may = state in {
            DeliveryState.READY,
            DeliveryState.HELD,
            DeliveryState.UNKNOWN,
            DeliveryState.DEAD,
        }
        with store.begin() as conn:
            assert cancel_delivery(conn, delivery.id, LATER) is may
        assert states(store) == [DeliveryState.SUPPRESSED if may else state]


def test_deliveries_are_listed_newest_first_and_by_state(store: Store) -> None:
    store_digest(store, MAIL, SLACK, slot="2026-11-20")
    delivery = claim(store)
    with store.begin() as conn:
        mark_unsent(conn, delivery, DeliveryState.DEAD, Said.plain("550 no such mailbox"), LATER)
    with store.read() as conn:
        listed = load_stored_deliveries(conn)
        (dead,) = load_stored_deliveries(conn, (DeliveryState.DEAD,))
        assert load_stored_deliveries(conn, limit=1) == listed[:1]
    assert [stored.delivery.destination for stored in listed] == [SLACK, MAIL]
    assert (dead.subscription, dead.slot, dead.ended_at) == ("team", "2026-11-20", LATER)
    assert str(dead.delivery.last_error) == "550 no such mailbox"


@pytest.mark.parametrize(
    "ask",
    [
        lambda conn: load_delivery(conn, 99),
        lambda conn: retry_delivery(conn, 99, LATER),
        lambda conn: cancel_delivery(conn, 99, LATER),
    ],
    ids=["load", "retry", "drop"],
)
def test_a_delivery_that_there_is_not_is_named(
    store: Store, ask: Callable[[Connection], object]
) -> None:
    with pytest.raises(UnknownName, match="no delivery 99") as caught, store.begin() as conn:
        ask(conn)
    assert "digest delivery list" in caught.value.hint


def test_what_was_refused_for_its_size_waits_again_without_its_bytes_and_under_the_same_key(
    store: Store,
) -> None:
    store_digest(store, SLACK)
    refused = claim(store)
    begin(store, refused, make_message("long"))
    with store.begin() as conn:
        shorter = Share(0, 9, 4)
        assert mark_unsent(
            conn, refused, DeliveryState.READY, Said.plain("too long"), LATER, shorter=shorter
        )
        assert load_message(conn, refused.id) is None
    again = claim(store, now=LATER)
    assert (again.id, again.part, again.share) == (refused.id, refused.part, shorter)
    assert again.idempotency_key == refused.idempotency_key
    begin(store, again, make_message("short"))
    assert row_of(store, again.id).body == b"short"
