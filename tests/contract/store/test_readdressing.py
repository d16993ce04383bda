"""One channel has one pace by all its names; a digest for a mistyped one follows the name when it is mended."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from digest.model.messages import DeliveryState
from digest.model.subscriptions import Destination
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store import subscribers, views
from digest.store.subscriptions import FRESH, follow_mended_names
from tests.contract.store.made import MAIL, MORNING, SLACK, store_digest
from tests.contract.store.test_deliveries import LATER, claim
from tests.contract.store.test_outbox_splits import send

if TYPE_CHECKING:
    from datetime import datetime

    from digest.store import Store

BY_ID = Destination.parse("slack:C024BE7LR")
MENDED = "slack:#perf-papers"
SECOND = timedelta(seconds=1)


def claim_all(store: Store, now: datetime) -> list[str]:
    with store.begin() as conn:
        return [str(one.destination) for one in outbox_module.claim(conn, owner="me", limit=9, now=now)]


def test_a_claim_takes_one_message_to_a_channel_by_whichever_name(store: Store) -> None:
    store_digest(store, SLACK, BY_ID, MAIL)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, BY_ID.address, MORNING)
    assert claim_all(store, LATER) == [str(SLACK), str(MAIL)]


def test_a_pause_that_a_channel_asked_for_holds_for_all_its_names_and_ends_for_all(store: Store) -> None:
    store_digest(store, SLACK, BY_ID)
    with store.begin() as conn:
        subscribers.remember_address(conn, SLACK, BY_ID.address, MORNING)
        subscribers.block_destination(conn, BY_ID, LATER + SECOND)
    assert claim_all(store, LATER) == []
    with store.read() as conn:
        assert outbox_module.next_claimable_at(conn, LATER) == LATER + SECOND
    with store.begin() as conn:
        subscribers.unblock_destination(conn, SLACK, LATER)
    assert claim_all(store, LATER) == [str(SLACK)]


def follow(store: Store, subscription_id: int, *, dropped: str = str(SLACK), added: str = MENDED) -> int:
    with store.begin() as conn:
        return follow_mended_names(conn, subscription_id, [dropped, str(MAIL)], [added], LATER)


@pytest.mark.parametrize("state", ["dead", "held"])
def test_what_never_found_its_channel_follows_the_mended_name(store: Store, state: str) -> None:
    planned = store_digest(store, SLACK, parts=2)
    delivery = claim(store)
    with store.begin() as conn:
        assert outbox.mark_unsent(
            conn, delivery, DeliveryState(state), "there is no channel #papers that the app can see", MORNING
        )
    assert follow(store, planned.subscription_id) == 2
    with store.read() as conn:
        found = [one.delivery for one in views.list_deliveries(conn)]
    assert {(str(one.destination), one.state, one.last_error) for one in found} == {
        (MENDED, DeliveryState.READY, "")
    }
    assert follow(store, planned.subscription_id) == 0


def test_a_channel_that_was_ever_reached_was_no_slip(store: Store) -> None:
    planned = store_digest(store, SLACK)
    send(store, claim(store))
    store_digest(store, SLACK, subscription="other")
    assert follow(store, planned.subscription_id) == 0
    resolved = Destination.parse("slack:#known")
    other = store_digest(store, resolved, subscription="third")
    with store.begin() as conn:
        subscribers.remember_address(conn, resolved, "C1", MORNING)
    assert follow(store, other.subscription_id, dropped=str(resolved)) == 0


def test_neither_old_news_nor_another_kind_of_place_nor_what_is_being_worked_on_follows(store: Store) -> None:
    old = store_digest(store, SLACK)
    assert follow(store, old.subscription_id, added="mailto:b@example.org") == 0
    with store.begin() as conn:
        late = LATER + FRESH + SECOND
        assert follow_mended_names(conn, old.subscription_id, [str(SLACK)], [MENDED], late) == 0
    claim(store)
    assert follow(store, old.subscription_id) == 0
