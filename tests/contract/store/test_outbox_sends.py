from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, select

from digest.model.messages import DeliveryState, Receipt
from digest.model.subscriptions import Destination, DestinationKind
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store import views
from digest.store.schema import attempts, deliveries, destination_addresses
from digest.store.subscribers import leave, remember_address
from tests.contract.store.made import MAIL, MORNING, SLACK, make_message, store_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from digest.model.messages import Delivery
    from digest.store import Store

READERS = [Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(6)]


def claim(store: Store) -> list[Delivery]:
    with store.begin() as conn:
        return outbox_module.claim(conn, owner="me", limit=100, now=MORNING)


def begin(store: Store, claimed: list[Delivery]) -> dict[int, DeliveryState]:
    with store.begin() as conn:
        sends = [(delivery, make_message(str(delivery.destination))) for delivery in claimed]
        return outbox.begin_sending_many(conn, sends, MORNING)


def mark(store: Store, claimed: list[Delivery]) -> frozenset[int]:
    with store.begin() as conn:
        answers = [(delivery, Receipt(f"ok {delivery.id}", "taken")) for delivery in claimed]
        return outbox.mark_sent_many(conn, answers, MORNING)


def test_many_are_begun_together_each_with_its_own_bytes(store: Store) -> None:
    store_digest(store, *READERS)
    claimed = claim(store)
    assert set(begin(store, claimed[::-1]).values()) == {DeliveryState.SENDING}
    with store.read() as conn:
        for delivery in claimed:
            kept = outbox.stored_message(conn, delivery.id)
            assert kept is not None
            assert kept.body == make_message(str(delivery.destination)).body
        tried = conn.execute(select(attempts.c.delivery_id, attempts.c.number, attempts.c.token)).all()
    assert sorted(tried) == [(delivery.id, 1, 1) for delivery in claimed]


def test_who_left_and_whose_claim_was_lost_are_told_from_the_others_begun_with_them(store: Store) -> None:
    store_digest(store, *READERS)
    first, second, *others = claim(store)
    with store.begin() as conn:
        conn.execute(
            deliveries.update().where(deliveries.c.id == second.id).values(token=second.token + 1)
        )  # somebody else has claimed it since
        leave(conn, READERS[5], "", how="page", at=MORNING)
        conn.execute(
            deliveries.update().where(deliveries.c.id == others[-1].id).values(state=DeliveryState.CLAIMED)
        )  # as where the leave came after the claim's own look at it
    outcome = begin(store, [first, second, *others])
    assert outcome[first.id] is DeliveryState.SENDING
    assert outcome[second.id] is DeliveryState.READY
    assert outcome[others[-1].id] is DeliveryState.SUPPRESSED
    with store.read() as conn:
        tried = set(conn.execute(select(attempts.c.delivery_id)).scalars())
    assert tried == {first.id, *(delivery.id for delivery in others[:-1])}


def test_many_answers_are_marked_together_but_never_those_of_a_lost_claim(store: Store) -> None:
    store_digest(store, *READERS)
    claimed = claim(store)
    begin(store, claimed)
    lost = claimed[2]
    with store.begin() as conn:
        conn.execute(deliveries.update().where(deliveries.c.id == lost.id).values(token=lost.token + 1))
    rest = {delivery.id for delivery in claimed} - {lost.id}
    assert mark(store, claimed) == rest
    with store.read() as conn:
        rows = conn.execute(select(deliveries)).all()
        said = dict(conn.execute(select(attempts.c.delivery_id, attempts.c.outcome)).all())
    assert {row.id for row in rows if row.state == DeliveryState.SENT} == rest
    assert all(row.remote_id == f"ok {row.id}" and row.ended_at == MORNING for row in rows if row.id in rest)
    assert {id_ for id_, outcome in said.items() if outcome == DeliveryState.SENT} == rest
    assert said[lost.id] == DeliveryState.SENDING
    assert mark(store, claimed) == frozenset()


def leave_traces(store: Store) -> list[tuple[object, ...]]:
    """Return what is told of every delivery, in the order of ids."""
    tried = select(attempts.c.token, attempts.c.outcome, attempts.c.ended_at, attempts.c.detail)
    place = select(destination_addresses.c.last_sent_at)
    with store.read() as conn:
        return [
            (
                (row.state, row.token, row.lease_until is None, row.last_error, row.ended_at, row.remote_id),
                conn.execute(tried.where(attempts.c.delivery_id == row.id).order_by(attempts.c.number)).all(),
                conn.execute(place.where(destination_addresses.c.destination == row.destination)).scalar(),
            )
            for row in conn.execute(select(deliveries).order_by(deliveries.c.id))
        ]


@pytest.mark.parametrize("is_claimed_since", [False, True])
def test_a_mark_alone_does_what_one_among_many_does(store: Store, *, is_claimed_since: bool) -> None:
    places = [Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(18)]
    store_digest(store, *places)
    with store.begin() as conn:
        for place in places[:12]:
            remember_address(conn, place, "elsewhere", MORNING)
    claimed = sorted(claim(store), key=lambda delivery: delivery.id)
    begin(store, claimed)
    states = list(DeliveryState)
    pairs = list(zip(claimed[::2], claimed[1::2], strict=True))[: len(states)]
    assert len(pairs) == len(states)
    with store.begin() as conn:
        for state, pair in zip(states, pairs, strict=True):
            for delivery in pair:
                changed = deliveries.update().where(deliveries.c.id == delivery.id)
                conn.execute(changed.values(state=state, token=delivery.token + is_claimed_since))
                if is_claimed_since:
                    again = {"number": 2, "token": delivery.token + 1, "started_at": MORNING}
                    told = {"delivery_id": delivery.id, "outcome": DeliveryState.SENDING, "detail": ""}
                    conn.execute(attempts.insert(), again | told)
    taken = []
    for alone, among in pairs:
        receipt = Receipt(f"ok {among.id}", "taken")
        with store.begin() as conn:
            answers = [(among, receipt), (replace(among, id=10**9), receipt)]
            is_marked = among.id in outbox.mark_sent_many(conn, answers, MORNING)
        assert outbox.mark_sent_alone(store, alone, receipt, MORNING) is is_marked
        taken.append(is_marked)
    assert any(taken) is not is_claimed_since
    traces = leave_traces(store)
    for number, _ in enumerate(pairs):
        assert traces[2 * number] == traces[2 * number + 1]


def test_when_something_last_went_to_a_place_is_kept_where_the_place_is_known(store: Store) -> None:
    store_digest(store, MAIL, SLACK)
    with store.begin() as conn:
        remember_address(conn, SLACK, "C0FFEE", MORNING)
    claimed = claim(store)
    begin(store, claimed)
    mark(store, claimed)
    with store.read() as conn:
        rows = conn.execute(select(destination_addresses)).all()
    assert [(row.destination, row.last_sent_at) for row in rows] == [(str(SLACK), MORNING)]


def test_marks_and_signs_of_life_of_the_same_claims_never_wait_for_each_other(store: Store) -> None:
    store_digest(store, *READERS)
    claimed = claim(store)
    begin(store, claimed)
    failures: list[Exception] = []
    start = threading.Barrier(2)

    def renew() -> None:
        start.wait()
        try:
            for _ in range(20):
                with store.begin() as conn:
                    outbox_module.renew(conn, [(delivery.id, delivery.token) for delivery in claimed[::-1]])
        except Exception as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            failures.append(error)

    beating = threading.Thread(target=renew)
    beating.start()
    start.wait()
    for count in range(1, len(claimed) + 1):
        mark(store, claimed[::-1][:count])
    beating.join()
    assert failures == []


@pytest.mark.parametrize("together", [1, 6])
def test_what_is_claimed_begun_and_marked_is_found_without_a_look_at_all_that_was_ever_sent(
    store: Store, together: int
) -> None:
    if store.dialect != "sqlite":
        pytest.skip("PostgreSQL reads small tables from end to end whatever indexes they have")
    plans: list[str] = []

    def explain(conn: Connection, _: object, statement: str, values: Sequence[Any], *others: object) -> None:
        if statement.split(maxsplit=1)[0] in {"SELECT", "UPDATE", "INSERT", "WITH"}:
            session = conn.connection.driver_connection
            assert session is not None
            steps = session.execute(f"EXPLAIN QUERY PLAN {statement}", values[0] if others[-1] else values)
            plans.extend(f"{step[3]}: {statement}" for step in steps)

    store_digest(store, *READERS[:together])
    event.listen(store.engine, "before_cursor_execute", explain)
    try:
        claimed = claim(store)
        begin(store, claimed)
        assert len(mark(store, claimed)) == together
        with store.read() as conn:
            views.load_open(conn, MORNING)
    finally:
        event.remove(store.engine, "before_cursor_execute", explain)
    assert any(plan.startswith("SEARCH deliveries USING INTEGER PRIMARY KEY") for plan in plans)
    scans = [plan for plan in plans if re.match(r"SCAN (?:deliveries|attempts|digests)\b(?! USING INDEX)", plan)]
    assert not [plan for plan in scans if "ix_deliveries_" not in plan]
