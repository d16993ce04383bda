from __future__ import annotations

from digest.model.messages import DayCount, DeliveryState, Occasion, Receipt
from digest.model.said import Said
from digest.store import Store, attempts, outbox, overview, papers, runs, subscriptions
from digest.store.engine import measure_size
from digest.store.gate import Breaker, load_breaker
from digest.store.outbox import Outbox
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    MORNING,
    NOW,
    SLACK,
    make_message,
    make_paper,
    make_subscription,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)


def test_an_empty_store_has_nothing_to_show(store: Store) -> None:
    with store.read() as conn:
        assert outbox.load(conn, NOW) == Outbox({}, None)
        assert overview.load_subscription_lines(conn, NOW, span=30 * DAY) == []
        assert load_breaker(conn) == Breaker(0.0, "", 0)
        assert papers.count_papers(conn) == 0
        assert runs.count_quarantined(conn) == 0
    assert measure_size(store) > 10_000


def test_the_outbox_is_counted_by_state_with_its_oldest_due(store: Store) -> None:
    store_digest(store, MAIL, SLACK, slot="1", at=MORNING - DAY)
    store_digest(store, MAIL, SLACK, slot="2", at=MORNING + DAY)
    with store.begin() as conn:
        first, second = outbox.claim(conn, owner="me", limit=9, now=MORNING)
        outbox.release_claim(conn, first)
        attempts.mark_unsent(conn, second, DeliveryState.HELD, Said.plain("login refused"), MORNING)
    with store.read() as conn:
        standing = outbox.load(conn, MORNING)
    assert standing.counts == {DeliveryState.READY: 3, DeliveryState.HELD: 1}
    assert standing.oldest_due == MORNING - DAY


def test_a_subscriptions_line_has_its_last_digest_its_next_turn_and_its_days(
    store: Store,
) -> None:
    planned = store_digest(store, MAIL, SLACK)
    with store.begin() as conn:
        for delivery in outbox.claim(conn, owner="me", limit=1, now=MORNING):
            attempts.begin(conn, delivery, make_message(), MORNING)
            attempts.mark_sent(conn, delivery, Receipt("1"), MORNING)
    key = planned.subscription_id
    first, second = store_papers(store, [make_paper(51), make_paper(52)])
    (sample,) = store_papers(store, [make_paper(41)])
    store_match(store, {key: (sample.id,)}, occasion=Occasion.FIRST_DIGEST)
    store_match(store, {key: (first.id, second.id)}, at=NOW + DAY)
    with store.read() as conn:
        (line,) = overview.load_subscription_lines(conn, MORNING, span=30 * DAY)
    assert line.settings.name == "team"
    assert line.settings.destinations == (MAIL, SLACK)
    assert line.state == "active"
    assert line.last_planned_at == MORNING
    assert line.last_papers == 1
    assert set(line.last_states) == {DeliveryState.SENT, DeliveryState.READY}
    assert line.next_due_at == NOW + DAY
    assert line.paused_until is None
    assert line.waiting == 3
    tomorrow = (NOW + DAY).date()
    assert line.days == (DayCount(NOW.date(), 1), DayCount(tomorrow, 2))


def test_old_days_are_not_shown_but_what_waits_is_counted_however_old(store: Store) -> None:
    by_feed = make_subscription("pulled", destinations=(FEED,))
    ids = subscribe(store, make_subscription(), by_feed)
    (change,) = store_papers(store, [make_paper()])
    matched = dict.fromkeys(ids.values(), (change.id,))
    store_match(store, matched)
    with store.begin() as conn:
        subscriptions.pause(conn, ids["team"], NOW + 90 * DAY)
        found = overview.load_subscription_lines(conn, NOW + 60 * DAY, span=30 * DAY)
    lines = {line.settings.name: line for line in found}
    team = lines["team"]
    assert team.waiting == 1
    assert team.days == ()
    assert team.state == "paused"
    assert team.paused_until == NOW + 90 * DAY
    assert lines["pulled"].waiting == 0, "nobody waits for a digest of a feed"
