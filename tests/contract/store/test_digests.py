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
    run_id = store_match(store, {key: tuple(change.id for change in found)})
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
    texts = [StoredText(change.paper, change.text_key) for change in (first, second, third)]
    digest = make_digest([second])
    sequel = Sequel(Kind.REPLACEMENT, NOW.date(), texts[1], texts[2])
    entry = replace(digest.entries[0], before=texts[0], sequel=sequel)
    digest = replace(digest, entries=(entry,), group_by=Grouping.QUERY)
    with store.begin() as conn:
        digest_id = save_digest(conn, key, digest, plan(), consumed=[run_id], at=MORNING)
        assert digest_id is not None
        assert digests.load(conn, digest_id) == replace(digest, id=digest_id)
    assert second.previous_key == first.text_key, "what was stored before is known by its key"


def test_a_digest_stays_as_it_was_when_its_papers_change(store: Store) -> None:
    planned = store_digest(store)
    with store.read() as conn:
        before = digests.load(conn, planned.digest_id)
    store_papers(store, [replace(before.entries[0].paper, title="Edited")])
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
    (change,) = store_papers(store, [make_paper(77)])
    run_id = store_match(store, {planned.subscription_id: (change.id,)})
    again = make_digest([change], slot="2026-11-20")
    with store.begin() as conn:
        assert (
            save_digest(
                conn,
                planned.subscription_id,
                again,
                plan(key="again"),
                consumed=[run_id],
                at=MORNING,
            )
            is None
        )
        subscriptions.store_slots(
            conn, {planned.subscription_id: TurnState(MORNING + DAY, "2026-11-20")}
        )
    with store.read() as conn:
        assert [
            row.match_run_id for row in matches.load_pending(conn, planned.subscription_id)
        ] == [run_id]
        assert len(conn.execute(select(deliveries)).all()) == 1
        assert subscriptions.load(conn)[0].next_due_at == MORNING + DAY


def test_matches_another_process_has_planned_undo_the_whole_digest(store: Store) -> None:
    planned = store_digest(store, slot="2026-11-20")
    with store.read() as conn:
        (row,) = matches.load_for_feed(conn, planned.subscription_id, span=9 * DAY, at_least=1)
        digest = replace(digests.load(conn, planned.digest_id), slot="2026-11-21")
    with pytest.raises(StoreBusy), store.begin() as conn:
        save_digest(
            conn,
            planned.subscription_id,
            digest,
            plan(key="x"),
            consumed=[row.match_run_id],
            at=MORNING,
        )
    with store.read() as conn:
        assert conn.execute(select(digests_table.c.slot)).scalars().all() == ["2026-11-20"]
        assert len(conn.execute(select(deliveries)).all()) == 1


def test_a_quiet_digest_consumes_nothing_and_is_sent_all_the_same(store: Store) -> None:
    key = subscribe(store, make_subscription())["team"]
    with store.begin() as conn:
        digest_id = save_digest(conn, key, make_digest([]), plan(), consumed=[], at=MORNING)
        assert digest_id is not None
        assert digests.load(conn, digest_id).entries == ()
        assert len(conn.execute(select(deliveries)).all()) == 1


def test_what_subscriptions_had_since_a_moment_of_their_own_is_known_without_its_papers(
    store: Store,
) -> None:
    planned = store_digest(store)
    key = planned.subscription_id
    with store.begin() as conn:
        digest = replace(make_digest([], slot="2026-11-21"), planned_at=MORNING + DAY)
        save_digest(conn, key, digest, plan(key="quiet"), consumed=[], at=MORNING + DAY)
    with store.read() as conn:
        had = digests.load_earlier(conn, {key: MORNING, 999: NOW})
        assert [(one.planned_at, one.papers) for one in had[key]] == [
            (MORNING, 1),
            (MORNING + DAY, 0),
        ]
        assert {one.coverage.announcement for one in had[key]} == {NOW.date()}
        assert [
            one.papers for one in digests.load_earlier(conn, {key: MORNING + DAY, 999: NOW})[key]
        ] == [0]
        assert digests.load_earlier(conn, {key: MORNING + 2 * DAY}) == {}
        assert digests.load_earlier(conn, {}) == {}


def test_digests_are_listed_newest_first(store: Store) -> None:
    first = store_digest(store, slot="2026-11-20")
    second = store_digest(store, slot="2026-11-21")
    with store.read() as conn:
        listed = digests.load_summaries(conn)
        assert digests.load_summaries(conn, subscription_ids=[]) == []
        assert (
            digests.load_summaries(conn, subscription_ids=[first.subscription_id], limit=1)
            == listed[:1]
        )
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
