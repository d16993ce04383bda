from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update

from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import UnknownName, UsageError
from digest.model.messages import DeliveryState
from digest.people.unsubscription import ONE_CLICK, PAGE, resubscribe_to, unsubscribe_from
from digest.store import Store, attempts, outbox, subscribers, subscriptions, tokens
from digest.store.schema import consents, deliveries
from digest.store.schema import subscribers as subscribers_table
from digest.store.subscribers import BY_OPERATOR
from digest.store.tokens import StoredToken, TokenPurpose
from tests.contract.store.made import (
    DAY,
    MAIL,
    MORNING,
    NOW,
    SLACK,
    make_message,
    make_paper,
    make_subscription,
    states,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)


def leave(store: Store, destination: Destination | str = MAIL, subscription: str = "team") -> bool:
    with store.begin() as conn:
        return subscribers.save_unsubscription(
            conn, destination, subscription, how=ONE_CLICK, at=NOW
        )


def resubscribe(store: Store, subscription: str = "team") -> bool:
    with store.begin() as conn:
        return subscribers.save_resubscription(conn, MAIL, subscription, how=PAGE, at=NOW + DAY)


def try_to_send(store: Store) -> dict[str, DeliveryState]:
    """Claim everything and record the intent; return what came of it by destination."""
    with store.begin() as conn:
        claimed = outbox.claim(conn, owner="me", limit=99, now=MORNING)
    outcome = {}
    for delivery in claimed:
        with store.begin() as conn:
            outcome[str(delivery.destination)] = attempts.begin(
                conn, delivery, make_message(), MORNING
            )
    return outcome


def events(store: Store) -> list[tuple[str, str, str]]:
    with store.read() as conn:
        return [
            (row.subscription, row.event, row.how)
            for row in conn.execute(select(consents).order_by(consents.c.id))
        ]


def test_an_address_in_the_file_counts_as_confirmed_and_is_logged_once(store: Store) -> None:
    for _ in range(2):
        with store.begin() as conn:
            subscribers.confirm_by_operator(conn, "Reader@Example.ORG", "team", NOW)
    assert events(store) == [("team", "confirmed", "operator")]
    with store.read() as conn:
        (row,) = conn.execute(select(subscribers_table)).all()
    assert (row.address, row.state, row.how, row.since) == (
        "reader@example.org",
        "confirmed",
        "operator",
        NOW,
    )


def test_leaving_beats_the_file(store: Store) -> None:
    store_digest(store)
    assert leave(store, subscription="")
    with store.begin() as conn:
        subscribers.confirm_by_operator(conn, MAIL.address, "team", NOW + DAY)
        assert conn.execute(select(subscribers_table.c.state)).scalar() == "unsubscribed"
    assert events(store) == [("team", "confirmed", "operator"), ("", "unsubscribed", "one-click")]


def test_leaving_twice_is_leaving_once(store: Store) -> None:
    store_digest(store)
    assert leave(store)
    assert not leave(store)
    assert events(store)[1:] == [("team", "unsubscribed", "one-click")]


@pytest.mark.parametrize("spelling", ["mailto:READER@example.org", "mailto:reader@EXAMPLE.org"])
def test_whoever_leaves_under_one_spelling_has_left_under_all(store: Store, spelling: str) -> None:
    store_digest(store)
    assert leave(store, spelling)
    assert states(store) == [DeliveryState.SUPPRESSED]


def test_what_waits_for_whoever_leaves_is_suppressed_and_the_rest_goes_on(store: Store) -> None:
    store_digest(store, MAIL, SLACK, parts=2)
    leave(store)
    assert states(store) == [DeliveryState.SUPPRESSED] * 2 + [DeliveryState.READY] * 2
    with store.read() as conn:
        assert subscriptions.load(conn)[0].subscription.destinations == (SLACK,)


def test_leaving_one_subscription_leaves_the_others(store: Store) -> None:
    subscribe(store, make_subscription("team"), make_subscription("other"))
    leave(store)
    with store.read() as conn:
        found = {
            one.subscription.name: one.subscription.destinations for one in subscriptions.load(conn)
        }
    assert found == {"team": (), "other": (MAIL,)}
    leave(store, subscription="")
    with store.read() as conn:
        assert {one.subscription.destinations for one in subscriptions.load(conn)} == {()}


def test_a_delivery_claimed_before_somebody_left_is_not_sent_after(store: Store) -> None:
    store_digest(store)
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
    leave(store)
    with store.begin() as conn:
        assert attempts.begin(conn, delivery, make_message(), MORNING) is not DeliveryState.SENDING
    assert states(store) == [DeliveryState.SUPPRESSED]


def _never_confirmed(conn: Any, _: int) -> None:  # noqa: ANN401 - a Connection
    conn.execute(update(subscribers_table).values(state="pending"))


def _ended(conn: Any, subscription_id: int) -> None:  # noqa: ANN401 - a Connection
    subscriptions.end(conn, subscription_id, NOW)
    conn.execute(update(deliveries).values(state="ready"))  # as if planned in the same moment


def _left_in_general(conn: Any, _: int) -> None:  # noqa: ANN401 - a Connection
    subscribers.save_unsubscription(conn, MAIL, "", how=PAGE, at=NOW)
    subscribers.save_unsubscription(conn, SLACK, "", how=PAGE, at=NOW)
    conn.execute(update(deliveries).values(state="ready"))  # as if planned in the same moment


@pytest.mark.parametrize(
    ("meanwhile", "may_still_go"),
    [(_never_confirmed, {"slack:#papers"}), (_ended, set()), (_left_in_general, set())],
)
def test_the_intent_to_send_asks_whether_it_may(
    store: Store,
    meanwhile: Any,  # noqa: ANN401 - one of the functions above
    may_still_go: set[str],
) -> None:
    planned = store_digest(store, MAIL, SLACK)
    with store.begin() as conn:
        meanwhile(conn, planned.subscription_id)
    outcome = try_to_send(store)
    assert {
        where for where, state in outcome.items() if state is DeliveryState.SENDING
    } == may_still_go
    assert {state for where, state in outcome.items() if where not in may_still_go} == {
        DeliveryState.SUPPRESSED
    }


def test_coming_back_starts_with_what_is_matched_from_then_on(store: Store) -> None:
    planned = store_digest(store)
    leave(store)
    run_id = store_match(store, {planned.subscription_id: (1,)})
    assert resubscribe(store)
    assert not resubscribe(store)
    with store.read() as conn:
        (found,) = subscriptions.load(conn)
    assert (found.plan_after, found.subscription.destinations) == (run_id, (MAIL,))
    assert events(store)[1:] == [
        ("team", "unsubscribed", "one-click"),
        ("team", "returned", "page"),
    ]
    store_digest(store, slot="2026-11-21")
    assert try_to_send(store) == {str(MAIL): DeliveryState.SENDING}


def test_coming_back_does_not_move_a_subscription_that_others_kept_reading(store: Store) -> None:
    planned = store_digest(store, MAIL, SLACK)
    with store.read() as conn:
        before = subscriptions.load(conn)[0].plan_after
    leave(store)
    store_match(store, {planned.subscription_id: (1,)})
    resubscribe(store)
    with store.read() as conn:
        assert subscriptions.load(conn)[0].plan_after == before


def test_coming_back_to_everything_leaves_out_what_was_left_by_itself(store: Store) -> None:
    ids = subscribe(store, make_subscription("team"), make_subscription("other"))
    store_papers(store, [make_paper(1)])
    leave(store)
    leave(store, subscription="")
    run_id = store_match(store, {ids["team"]: (1,), ids["other"]: (1,)})
    assert resubscribe(store, "")
    with store.read() as conn:
        found = {one.subscription.name: one for one in subscriptions.load(conn)}
        assert subscribers.load_singly_unsubscribed(conn, MAIL) == ["team"]
    assert {name: one.subscription.destinations for name, one in found.items()} == {
        "team": (),
        "other": (MAIL,),
    }
    assert (found["other"].plan_after, found["team"].plan_after) == (run_id, 0)
    assert resubscribe(store)
    with store.read() as conn:
        assert {one.subscription.destinations for one in subscriptions.load(conn)} == {(MAIL,)}
        assert subscribers.load_singly_unsubscribed(conn, MAIL) == []


def test_taking_back_one_leave_brings_nobody_back_who_left_everything(store: Store) -> None:
    subscribe(store, make_subscription("team"))
    leave(store)
    leave(store, subscription="")
    assert resubscribe(store)
    with store.read() as conn:
        assert subscriptions.load(conn)[0].subscription.destinations == ()
        assert conn.execute(select(subscribers_table.c.state)).scalars().all() == ["unsubscribed"]


def test_what_nobody_knows_or_left_or_left_with_all_else_is_refused_by_its_name(
    store: Store,
) -> None:
    subscribe(store, make_subscription("team"))
    with store.begin() as conn:
        with pytest.raises(UnknownName, match="there is no subscription teem"):
            unsubscribe_from(conn, MAIL, "teem", how=BY_OPERATOR, at=NOW)
        with pytest.raises(UsageError, match="has not unsubscribed from team"):
            resubscribe_to(conn, MAIL, "team", how=BY_OPERATOR, at=NOW)
    assert leave(store)
    assert leave(store, subscription="")
    with (
        store.begin() as conn,
        pytest.raises(UsageError, match="unsubscribed from everything, not only from team"),
    ):
        resubscribe_to(conn, MAIL, "team", how=BY_OPERATOR, at=NOW)


def test_a_channel_can_be_left_too(store: Store) -> None:
    store_digest(store, SLACK)
    assert leave(store, SLACK)
    assert states(store) == [DeliveryState.SUPPRESSED]
    assert events(store) == []


def test_an_odd_address_is_still_one_address() -> None:
    odd = Destination(DestinationKind.MAIL, "Odd One@@Example")
    assert subscribers.destination_key(odd) == subscribers.destination_key(
        "mailto:odd one@@example"
    )


def test_a_token_is_found_by_its_hash_and_stays_as_it_was_kept_first(store: Store) -> None:
    with store.begin() as conn:
        for name in ("team", "other"):
            row = tokens.make_row("f00d", "unsubscribe", destination=str(MAIL), subscription=name)
            tokens.save(conn, [row], at=NOW)
        assert tokens.load(conn, "f00d") == StoredToken(
            TokenPurpose.UNSUBSCRIBE, str(MAIL), "team", None
        )
        assert tokens.load(conn, "beef") is None


def test_the_installations_secret_stays_the_same(store: Store) -> None:
    with store.read() as conn:
        secret = tokens.load_secret(conn)
        assert len(secret) >= 32
        assert tokens.load_secret(conn) == secret
