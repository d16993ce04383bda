from __future__ import annotations

from digest.model.papers import ArxivId
from digest.people.unsubscription import ONE_CLICK
from digest.store import Store, runs, subscribers
from digest.store.subscribers import DestinationState
from tests.contract.store.made import DAY, FEED, MAIL, NOW, SLACK, make_subscription, subscribe

ODD = (0, "it has no title", b"<entry>")
HARVESTED = (
    1,
    "no title",
    b"<record><header><identifier>oai:arXiv.org:math/0309136</identifier><x>1</x>",
)
FOUND = (2, "no title", b"<entry><id>http://arxiv.org/abs/math/0309136v2</id>")


def test_every_destination_a_subscription_had_is_told_in_its_order_with_what_became_of_it(
    store: Store,
) -> None:
    ids = subscribe(store, make_subscription("team", destinations=(SLACK, MAIL, FEED)))
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "team", how=ONE_CLICK, at=NOW + DAY)
    subscribe(store, make_subscription("team", destinations=(MAIL, FEED)))
    with store.read() as conn:
        places = {
            place.destination: place for place in subscribers.load_statuses(conn, ids["team"])
        }
    assert list(places)[-1] == FEED
    assert places[MAIL].state is DestinationState.UNSUBSCRIBED
    assert (places[MAIL].reason, places[MAIL].since) == (ONE_CLICK, NOW + DAY)
    assert places[SLACK].state is DestinationState.DISABLED
    assert places[FEED].state is DestinationState.ACTIVE


def test_entries_set_aside_can_be_counted_from_a_moment_on(store: Store) -> None:
    with store.begin() as conn:
        run = runs.start(conn, source="harvest", at=NOW)
        runs.quarantine_entries(conn, run, 0, [ODD], NOW)
        runs.quarantine_entries(conn, run, 1, [ODD, ODD], NOW + DAY)
        assert runs.count_quarantined(conn) == runs.count_quarantined(conn, since=NOW + DAY) == 1
        assert runs.count_quarantined(conn, since=NOW + 2 * DAY) == 0


def test_an_entry_set_aside_by_several_checks_counts_once_until_it_can_be_read(
    store: Store,
) -> None:
    id_ = ArxivId.parse("math/0309136")
    with store.begin() as conn:
        run = runs.start(conn, source="harvest", at=NOW)
        for entries in ([HARVESTED], [FOUND, HARVESTED], [ODD, FOUND]):
            runs.quarantine_entries(conn, run, 0, entries, NOW)
        assert [entry.position for entry in runs.load_quarantined(conn, 9)] == [2, 0]
        runs.quarantine_entries(conn, run, 1, [], NOW, readable=[id_, id_])
        assert [entry.position for entry in runs.load_quarantined(conn, 9)] == [0]
