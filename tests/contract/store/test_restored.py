from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from digest.model.cadences import Cadence
from digest.model.messages import DeliveryState, Occasion
from digest.model.subscriptions import TurnState
from digest.plan.restored import record_all_as_sent, settle
from digest.store import Store, attempts, backups, digests, matches, outbox, subscriptions
from digest.store.schema import deliveries
from digest.store.schema import subscriptions as table
from tests.contract.store.filled import fill
from tests.contract.store.made import (
    DAY,
    MORNING,
    make_paper,
    make_subscription,
    store_match,
    store_papers,
    subscribe,
)

EVENING = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
"""The announcement of Thu 19 Nov, which brought what is found the next morning."""

FOUND = EVENING + timedelta(hours=2)
TURN = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
LATER = MORNING + timedelta(days=3)
_WAITING = (
    DeliveryState.READY,
    DeliveryState.CLAIMED,
    DeliveryState.SENDING,
    DeliveryState.UNKNOWN,
)


def count_states(store: Store, *wanted: DeliveryState) -> int:
    with store.read() as conn:
        found = conn.execute(select(deliveries.c.state)).scalars()
        return sum(state in wanted for state in found)


def settle_all(store: Store, until: datetime) -> int:
    with store.begin() as conn:
        settled = settle(conn, until, source="harvest", now=LATER)
    return settled.papers


def list_waiting(store: Store, key: int) -> list[tuple[int, ...]]:
    with store.read() as conn:
        rows = matches.load_pending(conn, key)
    return [row.changes for row in rows]


def test_what_waited_and_was_due_by_the_moment_counts_as_sent(store: Store) -> None:
    fill(store)
    with store.begin() as conn:
        attempts.retry(conn, 5, MORNING)
    before = count_states(store, DeliveryState.SUPPRESSED)
    waiting = count_states(store, *_WAITING)
    with store.begin() as conn:
        assert attempts.mark_taken_as_sent(conn, MORNING - timedelta(seconds=1), LATER) == 0
        assert attempts.mark_taken_as_sent(conn, MORNING, LATER) == waiting > 0
        assert backups.load_violations(conn) == []
        assert outbox.claim(conn, owner="worker", limit=9, now=LATER) == []
        assert attempts.claim_unknown(conn, LATER) == []
    assert count_states(store, *_WAITING) == 0
    assert count_states(store, DeliveryState.SUPPRESSED) == before + waiting


def test_what_was_held_for_the_operator_stays_held(store: Store) -> None:
    fill(store)
    held = count_states(store, DeliveryState.HELD)
    fifth = update(deliveries).where(deliveries.c.id == 5)
    with store.begin() as conn:
        conn.execute(fifth.values(state="held", ended_at=None))
        attempts.mark_taken_as_sent(conn, LATER, LATER)
    assert count_states(store, DeliveryState.HELD) == held + 1


def test_papers_in_the_backup_and_papers_found_only_later_count_as_sent_and_keep_their_history(
    store: Store,
) -> None:
    key = subscribe(store, make_subscription())["team"]
    first, second = store_papers(store, [make_paper(1), make_paper(2)], at=FOUND)
    store_match(store, {key: (first.id,)}, at=FOUND)
    assert settle_all(store, TURN) == 1
    store_match(store, {key: (second.id,)}, at=LATER)
    with store.begin() as conn:
        assert record_all_as_sent(conn, "harvest", LATER) == 1
        assert record_all_as_sent(conn, "harvest", LATER) == 0
        assert matches.load_pending(conn, key) == []
        both = [first.paper_key, second.paper_key]
        assert matches.load_seen_versions(conn, key, both).keys() == {*both}
        kept = digests.load_summaries(conn, subscription_ids=[key], limit=9)
        assert [one.occasion for one in kept] == [Occasion.ALREADY_SENT] * 2
        assert conn.execute(select(deliveries)).all() == []
        assert {one.name for one in backups.load_violations(conn)} <= {
            "matching has come as far as its mark says"
        }


def test_of_one_match_only_what_was_due_by_the_moment_counts_as_sent(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    (early,) = store_papers(store, [make_paper(1)], at=FOUND)
    (late,) = store_papers(store, [make_paper(2)], at=FOUND + 3 * DAY)
    store_match(store, {key: (early.id, late.id)}, at=FOUND + 3 * DAY)
    assert settle_all(store, TURN + timedelta(hours=2)) == 1
    assert list_waiting(store, key) == [(late.id,)]


@pytest.mark.parametrize("when", ["mondays at 08:00 UTC", "daily at 09:00 UTC"])
def test_what_had_no_turn_by_the_moment_still_waits(store: Store, when: str) -> None:
    wanted = make_subscription(cadence=Cadence.parse(when))
    key = subscribe(store, wanted)["team"]
    (change,) = store_papers(store, [make_paper(1)], at=FOUND)
    store_match(store, {key: (change.id,)}, at=FOUND)
    assert settle_all(store, TURN + timedelta(minutes=30)) == 0
    assert list_waiting(store, key) == [(change.id,)]


def test_a_first_digest_that_was_ready_counts_as_sent_and_one_made_later_does_not(
    store: Store,
) -> None:
    key = subscribe(store, make_subscription())["team"]
    first, second = store_papers(store, [make_paper(1), make_paper(2)], at=FOUND)
    store_match(store, {key: (first.id,)}, at=FOUND, occasion=Occasion.FIRST_DIGEST)
    store_match(store, {key: (second.id,)}, at=LATER, occasion=Occasion.FIRST_DIGEST)
    assert settle_all(store, TURN) == 1
    assert list_waiting(store, key) == [(second.id,)]


def test_a_pause_that_lasts_longer_keeps_what_waits_also_after_its_end(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    (change,) = store_papers(store, [make_paper(1)], at=FOUND)
    store_match(store, {key: (change.id,)}, at=FOUND)
    with store.begin() as conn:
        subscriptions.pause(conn, key, None)
    assert settle_all(store, LATER - DAY) == 0
    with store.begin() as conn:
        assert subscriptions.resume(conn, key, LATER, LATER)
        assert record_all_as_sent(conn, "harvest", LATER) == 0
    assert list_waiting(store, key) == [(change.id,)]


def test_a_pause_that_was_over_by_the_moment_has_ended_and_what_it_kept_counts_as_sent(
    store: Store,
) -> None:
    key = subscribe(store, make_subscription())["team"]
    (change,) = store_papers(store, [make_paper(1)], at=FOUND)
    store_match(store, {key: (change.id,)}, at=FOUND)
    with store.begin() as conn:
        subscriptions.pause(conn, key, TURN + DAY)
    assert settle_all(store, TURN + DAY) == 1
    assert list_waiting(store, key) == []


def test_turns_that_had_come_by_the_moment_were_taken(store: Store) -> None:
    mondays = Cadence.parse("mondays at 08:00 UTC")
    weekly = make_subscription("weekly", cadence=mondays)
    ids = subscribe(store, make_subscription(), weekly)
    has_come = TurnState(TURN - DAY, "2026-11-18")
    to_come = TurnState(TURN + 3 * DAY, "")
    with store.begin() as conn:
        subscriptions.store_slots(conn, {ids["team"]: has_come})
        subscriptions.store_slots(conn, {ids["weekly"]: to_come})
    settle_all(store, TURN + timedelta(hours=1))
    with store.read() as conn:
        rows = conn.execute(select(table)).all()
    turns = {row.name: (row.last_slot, row.next_due_at) for row in rows}
    assert turns == {"team": ("2026-11-20", TURN + DAY), "weekly": ("", TURN + 3 * DAY)}


def test_a_database_that_was_never_restored_takes_nothing_as_sent(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    (change,) = store_papers(store, [make_paper(1)], at=FOUND)
    store_match(store, {key: (change.id,)}, at=FOUND)
    with store.begin() as conn:
        assert backups.load_sent_until(conn) is None
        assert record_all_as_sent(conn, "harvest", LATER) == 0
    assert list_waiting(store, key) == [(change.id,)]
