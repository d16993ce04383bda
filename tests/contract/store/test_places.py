from __future__ import annotations

from typing import TYPE_CHECKING

from digest.store import views
from digest.store.runs import quarantine_entries, start_run
from digest.store.subscribers import DestinationState, leave, load_places
from tests.contract.store.made import DAY, FEED, MAIL, NOW, SLACK, make_subscription, subscribe

if TYPE_CHECKING:
    from digest.store import Store


ODD = (0, "it has no title", b"<entry>")


def test_every_destination_a_subscription_had_is_told_in_its_order_with_what_became_of_it(store: Store) -> None:
    ids = subscribe(store, make_subscription("team", destinations=(SLACK, MAIL, FEED)))
    with store.begin() as conn:
        leave(conn, MAIL, "team", how="one-click", at=NOW + DAY)
    subscribe(store, make_subscription("team", destinations=(MAIL, FEED)))
    with store.read() as conn:
        places = {place.destination: place for place in load_places(conn, ids["team"])}
    assert list(places)[-1] == FEED
    assert places[MAIL].state is DestinationState.LEFT
    assert (places[MAIL].reason, places[MAIL].since) == ("one-click", NOW + DAY)
    assert places[SLACK].state is DestinationState.DISABLED
    assert places[FEED].state is DestinationState.ACTIVE


def test_entries_set_aside_can_be_counted_from_a_moment_on(store: Store) -> None:
    with store.begin() as conn:
        run = start_run(conn, source="harvest", at=NOW)
        quarantine_entries(conn, run, 0, [ODD], NOW)
        quarantine_entries(conn, run, 1, [ODD, ODD], NOW + DAY)
        assert views.count_quarantined(conn) == 3
        assert views.count_quarantined(conn, since=NOW + DAY) == 2
        assert views.count_quarantined(conn, since=NOW + 2 * DAY) == 0
