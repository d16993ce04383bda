from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, delete, func, select, update

from digest.compare import KnownBefore
from digest.match.rules import is_overtaken
from digest.model.announcements import Kind
from digest.model.messages import DeliveryState, Receipt
from digest.model.papers import ArxivId, Paper
from digest.model.subscriptions import QueryOutcome
from digest.poll.novelty import store_changes
from digest.store import Store, backups, gaps, outbox, subscriptions, words, workers
from digest.store.attempts import begin as begin_sending
from digest.store.attempts import mark_sent
from digest.store.changes import list_latest as list_latest_changes
from digest.store.changes import load_after as load_changes_after
from digest.store.matches import save_for_query as save_query_matches
from digest.store.papers import (
    assign_announcements,
    count_announced,
    count_papers,
    forget_unmatched,
    load_forgotten,
    load_known,
    load_newest_paper,
    load_unassigned,
    pack_forgotten,
)
from digest.store.schema import (
    attempts,
    changes,
    deliveries,
    digests,
    forgotten,
    marks,
    matches,
    papers,
    versions,
)
from digest.store.schema import forgotten_days as days_table
from digest.store.workers import Worker
from tests.contract.store.made import (
    DAY,
    MAIL,
    MATCHED_LATE,
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


def send_one(store: Store) -> None:
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
        assert begin_sending(conn, delivery, make_message(), MORNING) is DeliveryState.SENDING
        assert mark_sent(conn, delivery, Receipt("ok"), MORNING)


def count_kept(store: Store) -> dict[str, int]:
    bodies = select(func.count()).where(deliveries.c.body.is_not(None))
    with store.read() as conn:
        assert {violation.name for violation in backups.load_violations(conn)} <= {MATCHED_LATE}
        tables = (deliveries, attempts, digests, matches)
        kept = {table.name: count(conn, table) for table in tables}
        kept["bodies"] = conn.execute(bodies).scalar_one()
        return kept


def test_each_kind_goes_at_its_time_and_what_is_under_way_never(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.outbox.PORTION", 2)
    for slot in "123":
        store_digest(store, MAIL, slot=slot)
        send_one(store)
    store_digest(store, SLACK, MAIL, slot="4")  # one of them is sent, and goes with the other alone
    send_one(store)
    begun = {"deliveries": 5, "attempts": 4, "digests": 4, "matches": 4, "bodies": 4}
    with store.begin() as conn:
        (subscription,) = conn.execute(select(digests.c.subscription_id).distinct()).scalars()
        for age in range(3):
            moment = MORNING + age * DAY
            subscriptions.save_least(conn, moment.date(), {subscription: 1})
    assert count_kept(store) == begun

    outbox.delete_expired(store, MORNING + 7 * DAY)
    assert count_kept(store) == begun
    assert outbox.delete_expired(store, MORNING + 8 * DAY)["rendered bytes"] == 4
    assert outbox.delete_expired(store, MORNING + 181 * DAY) == {
        "rendered bytes": 0,
        "deliveries": 3,
        "top tenths of announcements": 1,
    }
    assert count_kept(store) == begun | {"deliveries": 2, "attempts": 1, "bodies": 0}


def count(conn: Connection, table: Table) -> int:
    rows = select(func.count()).select_from(table)
    return int(conn.execute(rows).scalar_one())


def mark_matched(conn: Connection, change: int) -> None:
    """Say that everything up to a change was matched."""
    matched = update(marks).where(marks.c.name == "matched")
    conn.execute(matched.values(value=change))


def forget(store: Store, days: int = 90) -> None:
    with store.begin() as conn:
        mark_matched(conn, 99)
    outbox.delete_expired(store, NOW + 91 * DAY, unmatched_days=days)


def forget_and_pack(store: Store) -> None:
    forget(store)
    newest = make_paper(99, datestamp=NOW.date())  # it keeps its row
    store_papers(store, [newest])
    outbox.delete_expired(store, NOW + 106 * DAY, unmatched_days=365)


def come_again(conn: Connection, paper: Paper) -> list[Kind]:
    known = KnownBefore(mark=(202610, 0))
    found = store_changes(conn, (paper,), lambda _: known, run_id=2, at=NOW, as_of=None)
    return [change.kind for change in found]


def test_papers_that_matched_nothing_are_forgotten_and_none_is_missing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.outbox.PORTION", 2)
    ids = subscribe(store, make_subscription())
    stored = store_papers(store, [make_paper(number) for number in range(1, 8)])
    store_match(store, {ids["team"]: (stored[2].id,)})
    gone = QueryOutcome(gone=(stored[4].id,))
    with store.begin() as conn:
        save_query_matches(conn, 1, {1: gone})
    store_papers(store, [make_paper(2, title="Edited")], at=NOW + 20 * DAY)
    every = [paper.paper.id for paper in stored]
    forget(store, 0)
    with store.read() as conn:
        assert len(load_known(conn, every)) == 7
    forget(store)
    forget(store)
    with store.read() as conn:
        kept_ids = sorted(load_known(conn, every))
        forgotten_ids = sorted(load_forgotten(conn, every))
        latest = words.load(conn, list_latest_changes(conn)).values()
        assert gaps.load_announced_numbers(conn) == {202611: {1, 2, 3, 4, 5, 6, 7}}
        assert count(conn, versions) == 4
        assert count(conn, changes) == 4
    assert [id_.number for id_ in kept_ids] == [2, 3, 5]
    assert [id_.number for id_ in forgotten_ids] == [1, 4, 6, 7]
    assert [paper.id.number for paper in latest] == [5, 3, 2]


@pytest.mark.parametrize("bring", [forget, forget_and_pack])
@pytest.mark.parametrize(
    ("again", "kinds"),
    [
        ({}, []),
        ({"version": 1}, []),
        ({"version": 3}, [Kind.REPLACEMENT]),
        ({"version": 3, "is_withdrawn": True}, [Kind.WITHDRAWAL]),
        ({"categories": ("cs.PF", "cs.DC", "cs.LG")}, [Kind.REPLACEMENT]),
        ({"datestamp": None, "license": ""}, [Kind.KNOWN]),
    ],
)
def test_a_forgotten_paper_comes_again_as_a_replacement_only_when_it_changed(
    store: Store, bring: Callable[[Store], None], again: dict[str, Any], kinds: list[Kind]
) -> None:
    paper = make_paper(1, 2, datestamp=NOW.date())
    store_papers(store, [paper])
    bring(store)
    returned = replace(paper, **again)
    with store.begin() as conn:
        assert count(conn, forgotten) == (bring is forget_and_pack)
        assert come_again(conn, returned) == kinds
        assert come_again(conn, returned) == []
        came_again = load_changes_after(conn, 1, 9)
        assert not any(is_overtaken(change, (202610, 0), None) for change in came_again)
        assert bool(load_known(conn, [paper.id])) is bool(kinds)
        assert bool(load_forgotten(conn, [paper.id])) is not bool(kinds)


IDS = (
    "2611.00001",
    "2611.00002",
    "2611.15000",
    "2611.0002",
    "1412.0001",
    "math/0309136",
    "hep-th/0309136",
)
PAPERS = st.builds(
    make_paper,
    st.just(1),
    st.integers(1, 300),
    id=st.sampled_from(IDS).map(ArxivId.parse),
    title=st.text("ab", max_size=2),
)


@given(st.lists(PAPERS, unique_by=lambda paper: paper.id, min_size=1), st.data())
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_packed_answers_as_its_row_did(
    store: Store, drawn: list[Paper], data: st.DataObject
) -> None:
    def ask(conn: Connection) -> tuple[Any, ...]:
        ids = [ArxivId.parse(id_) for id_ in IDS]
        gone = set()
        for id_, one in load_forgotten(conn, ids).items():
            gone.add((id_, one.version, one.begun_hash))
        newest = load_newest_paper(conn)
        order = newest and newest[0].announcement_order
        known = (count_papers(conn), gaps.load_announced_numbers(conn), order)
        counted = count_announced(conn, NOW.date(), NOW.date())
        return gone, known, counted

    def pack(conn: Connection) -> tuple[Any, ...]:
        mark_matched(conn, 999)
        forget_unmatched(conn, NOW + DAY, NOW, 99)
        as_rows = ask(conn)
        pack_forgotten(conn, NOW + DAY, 99)
        assert ask(conn) == as_rows
        return as_rows

    with store.begin() as conn:
        for table in (changes, versions, papers, forgotten, days_table):
            conn.execute(delete(table))
        conn.execute(update(marks).values(value=0))
    store_papers(store, drawn)
    with store.begin() as conn:
        days = dict.fromkeys(load_unassigned(conn), NOW.date())
        assign_announcements(conn, days)
        before = pack(conn)
        edited = [replace(paper, title="c") for paper in drawn if data.draw(st.booleans())]
        for paper in edited:
            assert come_again(conn, paper) == [Kind.KNOWN]
        edited_ids = [paper.id for paper in edited]
        assert load_forgotten(conn, edited_ids) == {}
        assert ask(conn)[1:] == before[1:]
        pack(conn)


def test_an_id_that_is_packed_is_not_missing(store: Store) -> None:
    store_papers(store, [make_paper(1), make_paper(3)])
    forget_and_pack(store)
    missing = [ArxivId(202611, number) for number in (1, 2, 4)]
    with store.begin() as conn:
        gaps.save(conn, missing, NOW)
        assert gaps.close_found(conn, NOW) == 1
        still_open = gaps.load_open(conn)
    assert [gap.id.number for gap in still_open] == [2, 4]


def test_nothing_is_packed_while_another_release_is_at_work(store: Store) -> None:
    store_papers(store, [make_paper(1)])
    with store.begin() as conn:
        workers.save(conn, Worker("old", "0.0.1", "lab", 11, NOW))
    for expected in (0, 1):
        forget_and_pack(store)
        with store.begin() as conn:
            assert count(conn, forgotten) == expected
            workers.remove(conn, "old")


def test_a_second_check_of_a_day_forgets_and_packs_nothing_more(store: Store) -> None:
    for number in range(24):
        found_at = NOW + number * DAY / 24
        store_papers(store, [make_paper(number + 1)], at=found_at)
    with store.begin() as conn:
        mark_matched(conn, 99)
    for day, hour, texts, rows in ((4, 0, 8, 24), (4, 23, 8, 24), (19, 1, 0, 8), (19, 23, 0, 8)):
        at = NOW.replace(hour=hour) + day * DAY
        outbox.delete_expired(store, at, unmatched_days=3)
        with store.read() as conn:
            assert count(conn, versions) == texts
            assert count(conn, papers) == rows


def test_a_paper_that_comes_again_while_it_is_packed_keeps_its_row(store: Store) -> None:
    first = make_paper(1)
    store_papers(store, [first, make_paper(2)])
    forget(store)
    new_version = make_paper(1, 2)
    with ThreadPoolExecutor(1) as pool:
        with store.begin() as conn:
            assert come_again(conn, new_version) == [Kind.REPLACEMENT]
            packing = pool.submit(outbox.delete_expired, store, NOW + 106 * DAY, unmatched_days=365)
            wait([packing], 0.5)
        packing.result()
    with store.read() as conn:
        known = load_known(conn, [first.id])
    assert known.keys() == {first.id}
