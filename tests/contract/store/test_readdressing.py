"""One channel has one pace by all its names."""

from __future__ import annotations

from datetime import datetime, timedelta

from digest.model.destinations import Destination
from digest.store import Store, outbox, subscribers
from tests.contract.store.made import MAIL, SLACK, store_digest
from tests.contract.store.test_deliveries import LATER

BY_ID = Destination.parse("slack:C024BE7LR")
SECOND = timedelta(seconds=1)


def claim_all(store: Store, now: datetime) -> list[str]:
    with store.begin() as conn:
        return [str(one.destination) for one in outbox.claim(conn, owner="me", limit=9, now=now)]


def test_a_claim_takes_one_message_to_a_channel_by_whichever_name(store: Store) -> None:
    store_digest(store, SLACK, BY_ID, MAIL)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, BY_ID.address)
    assert claim_all(store, LATER) == [str(SLACK), str(MAIL)]


def test_a_pause_that_a_channel_asked_for_holds_for_all_its_names_and_ends_for_all(
    store: Store,
) -> None:
    store_digest(store, SLACK, BY_ID)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, BY_ID.address)
        subscribers.block_destination(conn, BY_ID, LATER + SECOND)
    assert claim_all(store, LATER) == []
    with store.read() as conn:
        assert outbox.next_claimable_at(conn, LATER) == LATER + SECOND
    with store.begin() as conn:
        subscribers.unblock_destination(conn, SLACK, LATER)
    assert claim_all(store, LATER) == [str(SLACK)]
