"""Due times follow the data of the time zones, in one step and only when it is other data."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from digest.store.schema import installation, subscriptions
from digest.store.subscriptions import load_subscriptions, read_cadence, read_quiet_hours, set_next_due
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


def test_a_zone_that_is_no_more_keeps_nobody_from_their_turns(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    read_cadence.cache_clear()
    read_quiet_hours.cache_clear()
    ids = subscribe(store, make_subscription("early"), make_subscription("gone"))
    words = {
        "cadence": "mondays and fridays at 09:00 Atlantis/Old-Town, at the latest 09:10",
        "quiet_hours": "22:00-07:00 Mu/Capital",
    }
    with store.begin() as conn:
        conn.execute(update(subscriptions).where(subscriptions.c.id == ids["gone"]).values(words))
    assert follow(store, "2026a") == 1
    with store.read() as conn:
        _, found = load_subscriptions(conn)
    assert str(found.subscription.cadence) == "mondays and fridays at 09:00 UTC, at the latest 09:10"
    assert str(found.subscription.quiet_hours) == "22:00-07:00 UTC"
    assert "there is no time zone called Atlantis/Old-Town; UTC stands in for it" in caplog.text
    assert "there is no time zone called Mu/Capital; UTC stands in for it" in caplog.text


def test_who_has_no_turn_gets_none(store: Store) -> None:
    ids = subscribe(store, make_subscription("early"), make_subscription("feed", destinations=(FEED,)))
    with store.begin() as conn:
        set_next_due(conn, ids["early"], None)
        set_next_due(conn, ids["feed"], None)
    assert follow(store, "2026a") == 0
    assert turns(store) == {"early": None, "feed": None}
