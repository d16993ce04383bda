"""Due times follow the data of the time zones, in one step and only when it is other data."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from digest.store.schema import installation
from digest.store.subscriptions import load_subscriptions, set_next_due
from digest.store.zones import follow_zone_data
from tests.contract.store.made import DAY, FEED, NOW, make_subscription, subscribe

if TYPE_CHECKING:
    from digest.planning import DueSubscription
    from digest.store import Store

HOUR = timedelta(hours=1)


def move_early_ones(due: DueSubscription, due_at: datetime) -> datetime:
    return due_at - HOUR if due.subscription.name == "early" else due_at


def follow(store: Store, zone_data: str) -> int:
    with store.begin() as conn:
        return follow_zone_data(conn, zone_data, move_early_ones)


def turns(store: Store) -> dict[str, datetime | None]:
    with store.read() as conn:
        return {due.subscription.name: due.next_due_at for due in load_subscriptions(conn)}


def test_due_times_are_moved_once_for_each_release_of_the_zones(store: Store) -> None:
    subscribe(store, make_subscription("early"), make_subscription("late"))
    assert follow(store, "2026a") == 1
    assert follow(store, "2026a") == 0
    assert turns(store) == {"early": NOW + DAY - HOUR, "late": NOW + DAY}
    assert follow(store, "2026b") == 1
    with store.read() as conn:
        assert conn.execute(select(installation.c.zone_data)).scalar_one() == "2026b"


def test_who_has_no_turn_gets_none(store: Store) -> None:
    ids = subscribe(store, make_subscription("early"), make_subscription("feed", destinations=(FEED,)))
    with store.begin() as conn:
        set_next_due(conn, ids["early"], None)
        set_next_due(conn, ids["feed"], None)
    assert follow(store, "2026a") == 0
    assert turns(store) == {"early": None, "feed": None}
