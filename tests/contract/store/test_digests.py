from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from digest.model.announcements import Kind
from digest.model.errors import StoreBusy, UnknownName
from digest.model.messages import Occasion, Sequel, StoredText
from digest.model.subscriptions import Grouping, TurnState
from digest.store import Store, digests, matches, subscriptions
from digest.store.digests import DigestSummary
from digest.store.schema import deliveries
from digest.store.schema import digests as digests_table
from tests.contract.store.made import (
    DAY,
    MAIL,
    MORNING,
    NOW,
    SLACK,
    make_digest,
    make_paper,
    make_subscription,
    plan,
    save_digest,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)


def test_a_digest_is_loaded_exactly_as_it_was_frozen(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    found = store_papers(store, [make_paper(1), make_paper(2)])
    change_ids = tuple(change.id for change in found)
    run_id = store_match(store, {key: change_ids})
    digest = make_digest(found)
    with store.begin() as conn:
        digest_id = save_digest(conn, key, digest, plan(), consumed=[run_id], at=MORNING)
        assert digest_id is not None
        loaded = digests.load(conn, digest_id)
    assert loaded == replace(digest, id=digest_id)


def test_what_a_paper_is_held_against_and_what_became_of_it_come_back_with_the_digest(
    store: Store,
) -> None:
    key = subscribe(store, make_subscription())["team"]
    (first,) = store_papers(store, [make_paper(1)])
    (second,) = store_papers(store, [make_paper(1, version=2)], kind=Kind.REPLACEMENT)
    (third,) = store_papers(store, [make_paper(1, version=3)], kind=Kind.REPLACEMENT)
    run_id = store_match(store, {key: (second.id,)})
    first_text, second_text, third_text = (
        StoredText(change.paper, change.text_key) for change in (first, second, third)
    )
    digest = make_digest([second])
    sequel = Sequel(Kind.REPLACEMENT, NOW.date(), second_text, third_text)
    entry = replace(digest.entries[0], before=first_text, sequel=sequel)
    digest = replace(digest, entries=(entry,), group_by=Grouping.QUERY)
    with store.begin() as conn:
        digest_id = save_digest(conn, key, digest, plan(), consumed=[run_id], at=MORNING)
        assert digest_id is not None
        loaded = digests.load(conn, digest_id)
    assert loaded == replace(digest, id=digest_id)
    assert second.previous_key == first.text_key, "what was stored before is known by its key"


def test_a_digest_stays_as_it_was_when_its_papers_change(store: Store) -> None:
    planned = store_digest(store)
    with store.read() as conn:
        before = digests.load(conn, planned.digest_id)
    edited = replace(before.entries[0].paper, title="Edited")
    store_papers(store, [edited])
    with store.read() as conn:
        assert digests.load(conn, planned.digest_id) == before


def test_a_digest_its_deliveries_and_its_matches_are_one_decision(store: Store) -> None:
    planned = store_digest(store, MAIL, SLACK, parts=2)
    with store.read() as conn:
        rows = conn.execute(select(deliveries).order_by(deliveries.c.id)).all()
        assert matches.load_pending(conn, planned.subscription_id) == []
    assert [(row.destination, row.part, row.parts, row.state) for row in rows] == [
        ("mailto:reader@example.org", 0, 2, "ready"),
        ("mailto:reader@example.org", 1, 2, "ready"),
        ("slack:#papers", 0, 2, "ready"),
        ("slack:#papers", 1, 2, "ready"),
    ]
    assert {row.not_before for row in rows} == {row.created_at for row in rows} == {MORNING}


def test_a_slot_has_one_digest_and_what_came_later_waits_for_the_next(store: Store) -> None:
    planned = store_digest(store, slot="2026-11-20")
    key = planned.subscription_id
    (change,) = store_papers(store, [make_paper(77)])
    run_id = store_match(store, {key: (change.id,)})
    again = make_digest([change], slot="2026-11-20")
    plans = plan(key="again")
    turn = TurnState(MORNING + DAY, "2026-11-20")
    with store.begin() as conn:
        digest_id = save_digest(conn, key, again, plans, consumed=[run_id], at=MORNING)
        assert digest_id is None
        subscriptions.store_slots(conn, {key: turn})
    with store.read() as conn:
        (pending,) = matches.load_pending(conn, key)
        (subscription,) = subscriptions.load(conn)
    assert pending.match_run_id == run_id
    assert subscription.next_due_at == MORNING + DAY
    assert count_deliveries(store) == 1


def count_deliveries(store: Store) -> int:
    with store.read() as conn:
        return len(conn.execute(select(deliveries)).all())


def test_matches_another_process_has_planned_undo_the_whole_digest(store: Store) -> None:
    planned = store_digest(store, slot="2026-11-20")
    with store.read() as conn:
        (row,) = matches.load_for_feed(conn, planned.subscription_id, span=9 * DAY, at_least=1)
        first = digests.load(conn, planned.digest_id)
    second = replace(first, slot="2026-11-21")
    plans = plan(key="x")
    taken = [row.match_run_id]
    with pytest.raises(StoreBusy), store.begin() as conn:
        save_digest(conn, planned.subscription_id, second, plans, consumed=taken, at=MORNING)
    with store.read() as conn:
        slots = conn.execute(select(digests_table.c.slot)).scalars().all()
    assert slots == ["2026-11-20"]
    assert count_deliveries(store) == 1


def test_a_quiet_digest_consumes_nothing_and_is_sent_all_the_same(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    quiet = make_digest([])
    with store.begin() as conn:
        digest_id = save_digest(conn, key, quiet, plan(), consumed=[], at=MORNING)
        assert digest_id is not None
        loaded = digests.load(conn, digest_id)
    assert loaded.entries == ()
    assert count_deliveries(store) == 1


def test_what_subscriptions_had_since_a_moment_of_their_own_is_known_without_its_papers(
    store: Store,
) -> None:
    planned = store_digest(store)
    key = planned.subscription_id
    next_morning = MORNING + DAY
    quiet = replace(make_digest([], slot="2026-11-21"), planned_at=next_morning)
    plans = plan(key="quiet")
    with store.begin() as conn:
        save_digest(conn, key, quiet, plans, consumed=[], at=next_morning)
    with store.read() as conn:
        both = digests.load_earlier(conn, {key: MORNING, 999: NOW})[key]
        (last,) = digests.load_earlier(conn, {key: next_morning, 999: NOW})[key]
        assert [(one.planned_at, one.papers) for one in both] == [(MORNING, 1), (next_morning, 0)]
        assert {one.coverage.announcement for one in both} == {NOW.date()}
        assert last.papers == 0
        assert digests.load_earlier(conn, {key: MORNING + 2 * DAY}) == {}
        assert digests.load_earlier(conn, {}) == {}


def test_digests_are_listed_newest_first(store: Store) -> None:
    first = store_digest(store, slot="2026-11-20")
    second = store_digest(store, slot="2026-11-21")
    with store.read() as conn:
        listed = digests.load_summaries(conn)
        assert digests.load_summaries(conn, subscription_ids=[]) == []
        of_team = digests.load_summaries(conn, subscription_ids=[first.subscription_id], limit=1)
    assert of_team == listed[:1]
    assert [found.id for found in listed] == [second.digest_id, first.digest_id]
    assert listed[1] == DigestSummary(
        first.digest_id,
        "team",
        "The team's papers",
        "2026-11-20",
        Occasion.SCHEDULED,
        MORNING,
        1,
        1,
    )


def test_a_digest_that_there_is_not_is_named(store: Store) -> None:
    with pytest.raises(UnknownName, match="no digest 99"), store.read() as conn:
        digests.load(conn, 99)
