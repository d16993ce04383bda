"""What the mails of a digest share is stored once, with what is each reader's own beside it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from sqlalchemy import func, select, text, update

from digest.model.destinations import Destination
from digest.model.messages import Delivery, DeliveryState, Message, Receipt
from digest.model.said import Said
from digest.store import Store, attempts, backups, outbox
from digest.store.schema import bodies, deliveries
from tests.contract.store.made import DAY, MATCHED_LATE, MORNING, make_message, store_digest

SHARED = b"To: %mark%\r\n\r\nHello, =\r\n%ma=\r\nrk%" + b"!" * 10_000
FIRST = Destination.parse("mailto:first@example.org")
SECOND = Destination.parse("mailto:second@example.org")


def share(value: str) -> Message:
    """Make a message that shares all but one word with others."""
    body = SHARED.replace(b"%mark%", value.encode())
    broken = f"{value[:3]}=\r\n{value[3:]}".encode()
    body = body.replace(b"%ma=\r\nrk%", broken)
    return replace(make_message(), body=body, shared=SHARED, own={"%mark%": value})


def send_two(store: Store) -> tuple[Delivery, Delivery]:
    """Begin to send a digest to two readers."""
    store_digest(store, FIRST, SECOND)
    with store.begin() as conn:
        first, second = outbox.claim(conn, owner="me", limit=2, now=MORNING)
    for one, value in ((first, "first!"), (second, "second")):
        with store.begin() as conn:
            state = attempts.begin(conn, one, share(value), MORNING)
        assert state is DeliveryState.SENDING
    return first, second


def count_bodies(store: Store) -> int:
    with store.read() as conn:
        assert {one.name for one in backups.load_violations(conn)} <= {MATCHED_LATE}
        return int(conn.execute(select(func.count()).select_from(bodies)).scalar_one())


def test_two_messages_share_a_body_and_each_is_read_as_it_was_sent(store: Store) -> None:
    sent = send_two(store)
    assert count_bodies(store) == 1
    with store.read() as conn:
        for one, value in zip(sent, ("first!", "second"), strict=True):
            stored = attempts.load_message(conn, one.id)
            assert stored == replace(share(value), idempotency_key=one.idempotency_key)
        sizes = conn.execute(select(func.length(deliveries.c.body))).scalars().all()
    assert max(sizes) < 100


def test_what_may_have_arrived_is_checked_by_the_bytes_it_was_sent_as(store: Store) -> None:
    first, _ = send_two(store)
    with store.begin() as conn:
        doubt = Said.plain("no answer")
        attempts.mark_unsent(conn, first, DeliveryState.UNKNOWN, doubt, MORNING, not_before=MORNING)
        (unknown,) = attempts.claim_unknown(conn, MORNING)
    assert unknown.message.body == share("first!").body


def test_an_intent_that_is_rolled_back_leaves_no_body(store: Store) -> None:
    store_digest(store, FIRST)
    with store.begin() as conn:
        (one,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
    with suppress(KeyboardInterrupt), store.begin() as conn:
        attempts.begin(conn, one, share("first!"), MORNING)
        raise KeyboardInterrupt
    assert count_bodies(store) == 0


def test_a_shared_body_goes_with_the_bytes_of_the_last_that_share_it(store: Store) -> None:
    first, second = send_two(store)
    with store.begin() as conn:
        attempts.mark_sent(conn, first, Receipt("ok"), MORNING)
    outbox.delete_expired(store, MORNING + 8 * DAY)
    assert count_bodies(store) == 1
    with store.begin() as conn:
        assert attempts.load_message(conn, first.id) is None
        stored = attempts.load_message(conn, second.id)
        assert stored is not None
        assert stored.body == share("second").body
        attempts.mark_sent(conn, second, Receipt("ok"), MORNING + 8 * DAY)
    outbox.delete_expired(store, MORNING + 16 * DAY)
    assert count_bodies(store) == 0


def test_bytes_that_were_stored_whole_before_are_read_as_they_are(store: Store) -> None:
    first, _ = send_two(store)
    with store.begin() as conn:
        whole = update(deliveries).where(deliveries.c.id == first.id)
        conn.execute(whole.values(body=b"{}", shared=None))
        stored = attempts.load_message(conn, first.id)
    assert stored is not None
    assert stored.body == b"{}"


def test_what_need_not_last_is_committed_without_waiting_for_the_disk(store: Store) -> None:
    asked = "PRAGMA synchronous" if store.dialect == "sqlite" else "SHOW synchronous_commit"
    levels = []
    for is_lasting in (False, True):
        with store.begin(is_lasting=is_lasting) as conn:
            levels.append(str(conn.execute(text(asked)).scalar()))
    assert levels in (["1", "2"], ["off", "on"])
