"""A clock that ran ahead for a while, and what it left waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from digest.messages import DeliveryState
from digest.store import deliveries as outbox
from digest.store.clocks import put_right
from digest.store.schema import deliveries, destination_addresses
from tests.contract.store.made import MAIL, MORNING, SLACK, store_digest

if TYPE_CHECKING:
    from digest.store import Store

_FAR = MORNING + timedelta(days=30)


@pytest.mark.parametrize("state", [DeliveryState.READY, DeliveryState.UNKNOWN])
def test_what_waits_for_longer_than_a_day_is_due(store: Store, state: DeliveryState) -> None:
    store_digest(store, MAIL)
    with store.begin() as conn:
        conn.execute(deliveries.update().values(state=state, not_before=_FAR))
        assert put_right(conn, MORNING) == 1
        assert conn.execute(select(deliveries.c.not_before)).scalar_one() == MORNING
        assert put_right(conn, MORNING) == 0


def test_what_waits_as_long_as_somebody_may_ask_for_goes_on_waiting(store: Store) -> None:
    store_digest(store, MAIL, SLACK)
    tomorrow = MORNING + timedelta(hours=24)
    with store.begin() as conn:
        conn.execute(deliveries.update().values(not_before=tomorrow))
        outbox.block_destination(conn, SLACK, tomorrow)
        assert put_right(conn, MORNING) == 0
        assert set(conn.execute(select(deliveries.c.not_before)).scalars()) == {tomorrow}
        assert conn.execute(select(destination_addresses.c.blocked_until)).scalar_one() == tomorrow


def test_a_channel_left_alone_for_a_month_is_written_to_again(store: Store) -> None:
    store_digest(store, SLACK)
    with store.begin() as conn:
        outbox.block_destination(conn, SLACK, _FAR)
        put_right(conn, MORNING)
        assert len(outbox.claim(conn, owner="me", limit=5, now=MORNING)) == 1


def test_what_is_held_stays_held(store: Store) -> None:
    store_digest(store, MAIL)
    with store.begin() as conn:
        conn.execute(deliveries.update().values(state=DeliveryState.HELD, not_before=_FAR))
        assert put_right(conn, MORNING) == 0
