from __future__ import annotations

from digest.model.subscriptions import EVERYTHING
from digest.people.unsubscription import ONE_CLICK
from digest.store import Store, queries, subscribers, subscriptions
from digest.store.queries import SubscriptionFeed
from digest.store.subscribers import BY_OPERATOR
from tests.contract.store.made import (
    FEED,
    MAIL,
    NOW,
    SLACK,
    make_paper,
    make_subscription,
    store_match,
    store_papers,
    subscribe,
)

NOTHING = ("", "")


def places(store: Store) -> list[SubscriptionFeed]:
    with store.read() as conn:
        return queries.load_subscription_feeds(conn)


def test_feeds_are_listed_by_name_and_other_subscriptions_are_not(store: Store) -> None:
    zebra = make_subscription("zebra", destinations=(MAIL, FEED))
    ant = make_subscription("ant", destinations=(FEED,))
    mail_only = make_subscription("mail-only")
    ids = subscribe(store, zebra, ant, mail_only)
    feed_of_ant = SubscriptionFeed(ids["ant"], "ant", "Ant", 0, is_open=True, excluded=NOTHING)
    feed_of_zebra = SubscriptionFeed(
        ids["zebra"], "zebra", "Zebra", 0, is_open=True, excluded=NOTHING
    )
    assert places(store) == [feed_of_ant, feed_of_zebra]


def test_a_new_address_shows_as_a_new_generation_and_a_revoked_one_as_closed(store: Store) -> None:
    key = subscribe(store, make_subscription(destinations=(FEED,)))["team"]
    revoked = SubscriptionFeed(key, "team", "Team", 0, is_open=False, excluded=NOTHING)
    renewed = SubscriptionFeed(key, "team", "Team", 1, is_open=True, excluded=NOTHING)
    with store.begin() as conn:
        subscriptions.revoke_feed(conn, key, NOW)
    assert places(store) == [revoked]
    with store.begin() as conn:
        subscriptions.bump_feed_generation(conn, key)
    assert places(store) == [renewed]


def test_a_feed_closes_with_its_subscription_or_when_the_file_names_it_no_more(
    store: Store,
) -> None:
    ended = make_subscription("ended", destinations=(FEED,))
    unnamed = make_subscription("unnamed", destinations=(MAIL, FEED))
    ids = subscribe(store, ended, unnamed)
    with store.begin() as conn:
        subscriptions.end(conn, ids["ended"], NOW)
    subscribe(store, make_subscription("unnamed"))
    assert [place.is_open for place in places(store)] == [False, False]


def test_the_newest_match_run_is_none_at_first_and_then_moves_on(store: Store) -> None:
    (key,) = subscribe(store, make_subscription()).values()
    with store.read() as conn:
        assert queries.load_newest_match_run(conn) == 0
    (change,) = store_papers(store, [make_paper()])
    run = store_match(store, {key: (change.id,)})
    with store.read() as conn:
        assert queries.load_newest_match_run(conn) == run


def test_departures_name_what_one_destination_left_and_nothing_of_others(store: Store) -> None:
    one = make_subscription("one", destinations=(MAIL, SLACK))
    subscribe(store, one, make_subscription("two"))
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "one", how=ONE_CLICK, at=NOW)
        subscribers.save_unsubscription(conn, SLACK, EVERYTHING, how=BY_OPERATOR, at=NOW)
    with store.read() as conn:
        assert subscribers.load_unsubscribed(conn, MAIL) == {"one"}
        assert subscribers.load_unsubscribed(conn, "mailto:READER@example.org") == {"one"}
        assert subscribers.load_unsubscribed(conn, SLACK) == {EVERYTHING}
        assert subscribers.load_unsubscribed(conn, "mailto:other@example.org") == frozenset()
