from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select, update

from digest.compare import KnownBefore
from digest.match.rules import is_overtaken
from digest.model.announcements import Kind
from digest.model.messages import DeliveryState, Receipt
from digest.model.subscriptions import QueryOutcome
from digest.poll.record import store_changes
from digest.store import Store
from digest.store.attempts import begin_sending, mark_sent
from digest.store.backups import load_violations
from digest.store.changes import load_changes_after, load_latest_changes
from digest.store.gaps import load_announced_numbers
from digest.store.matches import save_query_matches
from digest.store.outbox import claim_deliveries, delete_expired
from digest.store.papers import load_forgotten, load_known
from digest.store.schema import attempts, changes, deliveries, digests, marks, matches, versions
from digest.store.subscriptions import save_least
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
        (delivery,) = claim_deliveries(conn, owner="me", limit=1, now=MORNING)
        assert begin_sending(conn, delivery, make_message(), MORNING) is DeliveryState.SENDING
        assert mark_sent(conn, delivery, Receipt("ok"), MORNING)


def count_kept(store: Store) -> dict[str, int]:
    bodies = select(func.count()).where(deliveries.c.body.is_not(None))
    with store.read() as conn:
        assert {violation.name for violation in load_violations(conn)} <= {MATCHED_LATE}
        tables = (deliveries, attempts, digests, matches)
        kept = {table.name: conn.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}
        return {**kept, "bodies": conn.execute(bodies).scalar_one()}


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
            save_least(conn, (MORNING + age * DAY).date(), {subscription: 1})
    assert count_kept(store) == begun

    delete_expired(store, MORNING + 7 * DAY)
    assert count_kept(store) == begun
    assert delete_expired(store, MORNING + 8 * DAY)["rendered bytes"] == 4
    assert delete_expired(store, MORNING + 181 * DAY) == {
        "rendered bytes": 0,
        "deliveries": 3,
        "top tenths of announcements": 1,
    }
    assert count_kept(store) == begun | {"deliveries": 2, "attempts": 1, "bodies": 0}


def forget(store: Store, days: int = 90) -> None:
    with store.begin() as conn:
        conn.execute(update(marks).where(marks.c.name == "matched").values(value=99))
    delete_expired(store, NOW + 91 * DAY, unmatched_days=days)


def test_papers_that_matched_nothing_are_forgotten_and_none_is_missing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.outbox.PORTION", 2)
    ids = subscribe(store, make_subscription())
    stored = store_papers(store, [make_paper(number) for number in range(1, 8)])
    store_match(store, {ids["team"]: (stored[2].id,)})
    with store.begin() as conn:
        save_query_matches(conn, 1, {1: QueryOutcome(gone=(stored[4].id,))})
    store_papers(store, [make_paper(2, title="Edited")], at=NOW + 20 * DAY)
    every = [paper.paper.id for paper in stored]
    forget(store, 0)
    with store.read() as conn:
        assert len(load_known(conn, every)) == 7
    forget(store)
    forget(store)
    with store.read() as conn:
        assert [id_.number for id_ in sorted(load_known(conn, every))] == [2, 3, 5]
        assert [id_.number for id_ in sorted(load_forgotten(conn, every))] == [1, 4, 6, 7]
        assert load_announced_numbers(conn) == {202611: {1, 2, 3, 4, 5, 6, 7}}
        assert [change.paper.id.number for change in load_latest_changes(conn)] == [5, 3, 2]
        for table, kept in ((versions, 4), (changes, 4)):
            assert conn.execute(select(func.count()).select_from(table)).scalar_one() == kept


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
    store: Store, again: dict[str, Any], kinds: list[Kind]
) -> None:
    paper = make_paper(1, 2, datestamp=NOW.date())
    store_papers(store, [paper])
    forget(store)
    came = (replace(paper, **again),)
    with store.begin() as conn:
        found = [
            store_changes(conn, came, lambda _: KnownBefore(mark=(202610, 0)), run_id=2, at=NOW, as_of=None)
            for _ in range(2)
        ]
        assert [[change.kind for change in changes] for changes in found] == [kinds, []]
        came_again = load_changes_after(conn, 1, 9)
        assert not any(is_overtaken(change, (202610, 0), None) for change in came_again)
        assert bool(load_known(conn, [paper.id])) is bool(kinds)
        assert bool(load_forgotten(conn, [paper.id])) is not bool(kinds)
