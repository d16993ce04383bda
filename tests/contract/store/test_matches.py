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
    papers = [make_paper(number) for number in (1, 2, 3)]
    changes = store_papers(store, papers)
    new_version = make_paper(1, version=2)
    replacements = store_papers(store, [new_version], kind=Kind.REPLACEMENT)
    return (*changes, *replacements)


def ids(found: tuple[StoredChange, ...], *positions: int) -> tuple[int, ...]:
    return tuple(found[position].id for position in positions)


def digest_of(
    store: Store, subscription_id: int, found: tuple[StoredChange, ...], run_id: int, slot: str
) -> int:
    digest = make_digest(found, slot=slot)
    plans = plan(key=slot)
    with store.begin() as conn:
        digest_id = save_digest(conn, subscription_id, digest, plans, consumed=[run_id], at=MORNING)
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
    three = ids(found, 0, 2, 3)
    one = ids(found, 1)
    first = store_match(store, {key: ids(found, 2, 0, 3)})
    second = store_match(store, {key: one}, at=NOW + DAY)
    with store.read() as conn:
        rows = matches.load_pending(conn, key)
        assert matches.load_pending(conn, key, plan_after=first) == rows[1:]
    oldest = MatchRow(first, Occasion.SCHEDULED, three, 2, NOW, None, three)
    newest = MatchRow(second, Occasion.SCHEDULED, one, 1, NOW + DAY, None, one)
    assert rows == [oldest, newest]
    digest_id = digest_of(store, key, found[:1], first, "2026-11-20")
    with store.read() as conn:
        pending = matches.load_pending(conn, key)
        feed = matches.load_for_feed(conn, key, span=DAY, at_least=0)
    assert [row.match_run_id for row in pending] == [second]
    assert [(row.match_run_id, row.digest_id) for row in feed] == [
        (second, None),
        (first, digest_id),
    ]


def test_a_feed_reaches_back_for_a_time_and_for_a_number_of_papers_whichever_is_more(
    store: Store, found: tuple[StoredChange, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.matches._FEED_ROWS", 2)
    by_feed = make_subscription(destinations=(FEED,))
    key = subscribe(store, by_feed)["team"]
    matched = {key: ids(found, 0)}
    runs = [store_match(store, matched, at=NOW + day * DAY) for day in range(5)]

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
    team = keys["team"]
    other = keys["other"]
    first = store_match(store, {team: ids(found, 0, 1), other: ids(found, 2)})
    store_match(store, {team: ids(found, 3)})
    digest_of(store, team, found[:2], first, "2026-11-20")
    every = ids(found, 0, 1, 2, 3)
    last = ids(found, 3)
    with store.read() as conn:
        matched = matches.load_seen_changes(conn, team, every)
        sent = matches.load_seen_changes(conn, team, every, in_digest=True)
        assert matches.load_seen_changes(conn, team, last) == set(last)
        matched_for_other = matches.load_seen_changes(conn, other, every)
        assert matches.load_seen_changes(conn, other, []) == set()
    assert matched == set(ids(found, 0, 1, 3))
    assert sent == set(ids(found, 0, 1))
    assert matched_for_other == set(ids(found, 2))


def test_the_highest_version_a_reader_had_is_known_by_paper(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    papers = [change.paper_key for change in found]
    first = store_match(store, {key: ids(found, 0, 1)})
    second = store_match(store, {key: ids(found, 3)})
    digest_of(store, key, found[:2], first, "2026-11-20")
    with store.read() as conn:
        seen = matches.load_seen_versions(conn, key, papers)
        assert matches.load_seen_versions(conn, key, []) == {}
    assert seen == {change.paper_key: Seen(1, change.text_key) for change in found[:2]}
    digest_of(store, key, found[3:], second, "2026-11-21")
    with store.read() as conn:
        seen = matches.load_seen_versions(conn, key, papers)
    assert seen[papers[0]] == Seen(2, found[3].text_key)


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
        (look,) = matches.load_first_digests(conn)
    assert look.revision.text == "all:x"


def test_a_first_digest_waits_to_be_sent_where_somebody_is_there_to_read_it(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    by_mail = make_subscription("mail", destinations=(MAIL,))
    by_feed = make_subscription("feed", destinations=(FEED,))
    paused = make_subscription("paused", destinations=(MAIL,))
    keys = subscribe(store, by_mail, by_feed, paused)
    matched = dict.fromkeys(keys.values(), ids(found, 0))
    run_id = store_match(store, matched, occasion=Occasion.FIRST_DIGEST)
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
            (
                f"SELECT id FROM deliveries WHERE {ACTIVE_DELIVERY} AND state = 'ready'"
                " ORDER BY not_before"
            ),
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
    explanation = text(f"EXPLAIN QUERY PLAN {statement}")
    with store.read() as conn:
        steps = [row.detail for row in conn.execute(explanation)]
    assert any(index in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)


def test_what_was_sent_elsewhere_is_split_from_what_was_not(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    three = ids(found, 0, 1, 3)
    sent_elsewhere = ids(found, 0, 3)
    mixed = store_match(store, {key: three})
    wholly = store_match(store, {key: ids(found, 0)})
    untouched = store_match(store, {key: ids(found, 1)})
    with store.begin() as conn:
        violations = backups.load_violations(conn)
        matched_once = [one for one in violations if one.name == "every change is matched once"]
        pending = matches.load_pending(conn, key)
        told = matches.split_sent(conn, key, sent_elsewhere, pending)
        every = {row.match_run_id: row for row in matches.load_pending(conn, key)}
        assert matches.load_seen_changes(conn, key, three) == set(three)
        assert set(matched_once) <= set(backups.load_violations(conn))
    assert sorted(told) == sorted({wholly, *every} - {mixed, untouched})
    assert sorted(every[run].changes for run in told) == [ids(found, 0), sent_elsewhere]
    rest = every[mixed]
    assert rest.changes == ids(found, 1)
    assert rest.papers == 1
    assert every[untouched].changes == ids(found, 1)
    (beside,) = {*told} - {wholly}
    assert rest.brought == every[beside].brought == three
    assert {row.matched_at for row in every.values()} == {NOW}


def test_what_is_dropped_waits_no_longer_and_what_was_sent_stays(
    store: Store, found: tuple[StoredChange, ...]
) -> None:
    key = subscribe(store, make_subscription())["team"]
    told = store_match(store, {key: ids(found, 0)})
    digest_of(store, key, found[:1], told, "2026-11-19")
    three = ids(found, 0, 1, 3)
    waiting = store_match(store, {key: three})
    store_match(store, {key: ids(found, 0)})
    with store.begin() as conn:
        rows = matches.load_pending(conn, key)
        matches.drop(conn, key, ids(found, 0, 3), rows)
        (kept,) = matches.load_pending(conn, key)
        every = matches.load_for_feed(conn, key, span=9 * DAY, at_least=1)
    assert kept.match_run_id == waiting
    assert kept.changes == ids(found, 1)
    assert kept.papers == 1
    assert kept.brought == three
    changes = {row.match_run_id: row.changes for row in every}
    assert changes[told] == ids(found, 0)
