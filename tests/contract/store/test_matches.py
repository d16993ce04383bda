from __future__ import annotations

import pytest
from sqlalchemy import text

from digest.model.announcements import Kind, StoredChange
from digest.model.errors import StoreBusy
from digest.model.messages import Occasion, Seen
from digest.model.subscriptions import FILE
from digest.store import Store, backups, matches, papers, queries, subscriptions
from digest.store.matches import MatchRow
from digest.store.papers import MATCHED
from digest.store.schema import ACTIVE_DELIVERY, FIRST_DIGEST_TO_COME, UNPLANNED_FIRST_DIGEST
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    MORNING,
    NOW,
    make_digest,
    make_paper,
    make_subscription,
    plan,
    save_digest,
    store_match,
    store_papers,
    subscribe,
)


@pytest.fixture
def found(store: Store) -> tuple[StoredChange, ...]:
    """Four changes about three papers: the last is a new version of the first."""
    first = store_papers(store, [make_paper(1), make_paper(2), make_paper(3)])
    return (*first, *store_papers(store, [make_paper(1, version=2)], kind=Kind.REPLACEMENT))


def ids(found: tuple[StoredChange, ...], *positions: int) -> tuple[int, ...]:
    return tuple(found[position].id for position in positions)


def digest_of(
    store: Store, subscription_id: int, found: tuple[StoredChange, ...], run_id: int, slot: str
) -> int:
    with store.begin() as conn:
        digest_id = save_digest(
            conn,
            subscription_id,
            make_digest(found, slot=slot),
            plan(key=slot),
            consumed=[run_id],
            at=MORNING,
        )
    assert digest_id is not None
    return digest_id


def test_the_mark_moves_only_from_where_it_was_read(store: Store) -> None:
    with store.begin() as conn:
        matches.set_matched_mark(conn, 4, expected=0)
    with pytest.raises(StoreBusy), store.begin() as conn:
        matches.set_matched_mark(conn, 5, expected=0)
    with store.read() as conn:
        assert papers.load_mark(conn, MATCHED) == 4


def test_matches_wait_oldest_first_until_a_digest_takes_them(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    first = store_match(store, {key: ids(found, 2, 0, 3)})
    second = store_match(store, {key: ids(found, 1)}, at=NOW + DAY)
    with store.read() as conn:
        rows = matches.load_pending(conn, key)
        assert matches.load_pending(conn, key, plan_after=first) == rows[1:]
    assert rows == [
        MatchRow(first, Occasion.SCHEDULED, ids(found, 0, 2, 3), 2, NOW, None, ids(found, 0, 2, 3)),
        MatchRow(second, Occasion.SCHEDULED, ids(found, 1), 1, NOW + DAY, None, ids(found, 1)),
    ]
    digest_id = digest_of(store, key, found[:1], first, "2026-11-20")
    with store.read() as conn:
        assert [row.match_run_id for row in matches.load_pending(conn, key)] == [second]
        feed = matches.load_for_feed(conn, key, span=DAY, at_least=0)
    assert [(row.match_run_id, row.digest_id) for row in feed] == [
        (second, None),
        (first, digest_id),
    ]


def test_a_feed_reaches_back_for_a_time_and_for_a_number_of_papers_whichever_is_more(
    store: Store, found: tuple[StoredChange, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.matches._FEED_ROWS", 2)
    key = subscribe(store, make_subscription(destinations=(FEED,)))["team"]
    runs = [store_match(store, {key: ids(found, 0)}, at=NOW + day * DAY) for day in range(5)]

    def feed(days: int, at_least: int) -> list[int]:
        with store.read() as conn:
            rows = matches.load_for_feed(conn, key, span=days * DAY, at_least=at_least)
        return [row.match_run_id for row in rows]

    assert feed(1, 0) == [runs[4], runs[3]]
    assert feed(1, 4) == [runs[4], runs[3], runs[2], runs[1]]
    assert feed(0, 1) == [runs[4]]
    assert feed(4, 99) == runs[::-1]


def test_subscriptions_without_matches_get_no_row(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    keys = subscribe(store, make_subscription("a"), make_subscription("b"))
    store_match(store, {keys["a"]: ids(found, 0), keys["b"]: ()})
    with store.read() as conn:
        assert len(matches.load_pending(conn, keys["a"])) == 1
        assert matches.load_pending(conn, keys["b"]) == []


def test_what_was_matched_or_sent_before_is_known_by_subscription(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    keys = subscribe(store, make_subscription("team"), make_subscription("other"))
    first = store_match(store, {keys["team"]: ids(found, 0, 1), keys["other"]: ids(found, 2)})
    store_match(store, {keys["team"]: ids(found, 3)})
    digest_of(store, keys["team"], found[:2], first, "2026-11-20")
    every = ids(found, 0, 1, 2, 3)
    with store.read() as conn:
        assert matches.load_seen_changes(conn, keys["team"], every) == set(ids(found, 0, 1, 3))
        assert matches.load_seen_changes(conn, keys["team"], every, in_digest=True) == set(
            ids(found, 0, 1)
        )
        assert matches.load_seen_changes(conn, keys["team"], ids(found, 3)) == set(ids(found, 3))
        assert matches.load_seen_changes(conn, keys["other"], every) == set(ids(found, 2))
        assert matches.load_seen_changes(conn, keys["other"], []) == set()


def test_the_highest_version_a_reader_had_is_known_by_paper(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    papers = [change.paper_key for change in found]
    first = store_match(store, {key: ids(found, 0, 1)})
    second = store_match(store, {key: ids(found, 3)})
    digest_of(store, key, found[:2], first, "2026-11-20")
    with store.read() as conn:
        assert matches.load_seen_versions(conn, key, papers) == {
            change.paper_key: Seen(1, change.text_key) for change in found[:2]
        }
        assert matches.load_seen_versions(conn, key, []) == {}
    digest_of(store, key, found[3:], second, "2026-11-21")
    with store.read() as conn:
        assert matches.load_seen_versions(conn, key, papers)[papers[0]] == Seen(
            2, found[3].text_key
        )


def test_a_first_digest_is_given_once_by_one_process(store: Store) -> None:
    subscribe(store, make_subscription())
    with store.read() as conn:
        (look,) = matches.load_first_digests(conn)
    with store.begin() as conn:
        assert matches.close_first_digest(conn, look.subscription_id, 7)
    with store.begin() as conn:
        assert not matches.close_first_digest(conn, look.subscription_id, 8)
        assert matches.load_first_digests(conn) == []


def test_a_query_that_cannot_be_read_keeps_its_first_digest_for_later(store: Store) -> None:
    subscribe(store, make_subscription())
    with store.begin() as conn:
        queries.sync(conn, {"perf": ("all:(", "", "not closed")}, FILE, NOW)
        assert matches.load_first_digests(conn) == []
        queries.sync(conn, {"perf": ("all:x", "all:x", "")}, FILE, NOW)
        assert [look.revision.text for look in matches.load_first_digests(conn)] == ["all:x"]


def test_a_first_digest_waits_to_be_sent_where_somebody_is_there_to_read_it(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    keys = subscribe(
        store,
        make_subscription("mail", destinations=(MAIL,)),
        make_subscription("feed", destinations=(FEED,)),
        make_subscription("paused", destinations=(MAIL,)),
    )
    run_id = store_match(
        store, dict.fromkeys(keys.values(), ids(found, 0)), occasion=Occasion.FIRST_DIGEST
    )
    with store.begin() as conn:
        subscriptions.pause(conn, keys["paused"], None)
        assert matches.load_unplanned_first_digests(conn) == [keys["mail"]]
    digest_of(store, keys["mail"], found[:1], run_id, f"run:{run_id}")
    with store.read() as conn:
        assert matches.load_unplanned_first_digests(conn) == []


@pytest.mark.parametrize("database", ["sqlite"])
@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (
            f"SELECT subscription_id FROM matches WHERE {UNPLANNED_FIRST_DIGEST}",
            "ix_matches_first_digests",
        ),
        (
            f"SELECT subscription_id FROM subscription_queries WHERE {FIRST_DIGEST_TO_COME}",
            "ix_subscription_queries_first_digest",
        ),
        (
            f"SELECT id FROM deliveries WHERE {ACTIVE_DELIVERY} AND state = 'ready' ORDER BY not_before",
            "ix_deliveries_active",
        ),
        (
            "SELECT id FROM subscriptions WHERE next_due_at <= '2026'",
            "ix_subscriptions_next_due_at",
        ),
    ],
)
def test_what_every_tick_asks_for_is_found_by_an_index(
    store: Store, statement: str, index: str
) -> None:
    with store.read() as conn:
        steps = [row.detail for row in conn.execute(text(f"EXPLAIN QUERY PLAN {statement}"))]
    assert any(index in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)


def test_what_was_told_elsewhere_is_parted_from_what_was_not(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    mixed = store_match(store, {key: ids(found, 0, 1, 3)})
    wholly = store_match(store, {key: ids(found, 0)})
    untouched = store_match(store, {key: ids(found, 1)})
    with store.begin() as conn:
        matched_once = [
            one
            for one in backups.load_violations(conn)
            if one.name == "every change is matched once"
        ]
        told = matches.split_sent(conn, key, ids(found, 0, 3), matches.load_pending(conn, key))
        every = {row.match_run_id: row for row in matches.load_pending(conn, key)}
        assert sorted(told) == sorted({wholly, *every} - {mixed, untouched})
        assert sorted(every[run].changes for run in told) == [ids(found, 0), ids(found, 0, 3)]
        assert (every[mixed].changes, every[mixed].papers) == (ids(found, 1), 1)
        assert every[untouched].changes == ids(found, 1)
        (beside,) = {*told} - {wholly}
        assert every[mixed].brought == every[beside].brought == ids(found, 0, 1, 3)
        assert {row.matched_at for row in every.values()} == {NOW}
        assert matches.load_seen_changes(conn, key, ids(found, 0, 1, 3)) == set(ids(found, 0, 1, 3))
        assert set(matched_once) <= set(backups.load_violations(conn))


def test_what_is_let_go_waits_no_longer_and_what_was_told_stays(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    told = store_match(store, {key: ids(found, 0)})
    digest_of(store, key, found[:1], told, "2026-11-19")
    waiting = [
        store_match(store, {key: ids(found, 0, 1, 3)}),
        store_match(store, {key: ids(found, 0)}),
    ]
    with store.begin() as conn:
        rows = matches.load_pending(conn, key)
        matches.drop(conn, key, ids(found, 0, 3), rows)
        (kept,) = matches.load_pending(conn, key)
        assert (kept.match_run_id, kept.changes, kept.papers) == (waiting[0], ids(found, 1), 1)
        assert kept.brought == ids(found, 0, 1, 3)
        every = matches.load_for_feed(conn, key, span=9 * DAY, at_least=1)
        assert {row.match_run_id: row.changes for row in every}[told] == ids(found, 0)
