from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, event

from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import Refusal
from digest.model.messages import Delivery, DeliveryState, Receipt
from digest.model.said import Said
from digest.store import Store, attempts, outbox, subscribers
from digest.store.subscribers import REFUSED
from tests.contract.store.made import MORNING, make_message, store_digest

READERS = [Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(6)]


def claim(store: Store) -> list[Delivery]:
    with store.begin() as conn:
        return outbox.claim(conn, owner="me", limit=100, now=MORNING)


def begin(store: Store, claimed: list[Delivery]) -> list[DeliveryState]:
    with store.begin() as conn:
        return [
            attempts.begin(conn, delivery, make_message(str(delivery.destination)), MORNING)
            for delivery in claimed
        ]


def mark(store: Store, claimed: list[Delivery]) -> list[bool]:
    with store.begin() as conn:
        return [
            attempts.mark_sent(conn, one, Receipt(f"ok {one.id}", "taken"), MORNING)
            for one in claimed
        ]


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
                    outbox.renew_claims(
                        conn, [(delivery.id, delivery.token) for delivery in claimed[::-1]]
                    )
        except Exception as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            failures.append(error)

    beating = threading.Thread(target=renew)
    beating.start()
    start.wait()
    for count in range(1, len(claimed) + 1):
        mark(store, claimed[::-1][:count])
    beating.join()
    assert failures == []


def test_what_is_claimed_begun_and_marked_is_found_without_a_look_at_all_that_was_ever_sent(
    store: Store,
) -> None:
    if store.dialect != "sqlite":
        pytest.skip("PostgreSQL reads small tables from end to end whatever indexes they have")
    plans: list[str] = []

    def explain(
        conn: Connection, _: object, statement: str, values: Sequence[Any], *others: object
    ) -> None:
        if statement.split(maxsplit=1)[0] in {"SELECT", "UPDATE", "INSERT", "WITH"}:
            session = conn.connection.driver_connection
            assert session is not None
            steps = session.execute(
                f"EXPLAIN QUERY PLAN {statement}", values[0] if others[-1] else values
            )
            plans.extend(f"{step[3]}: {statement}" for step in steps)

    store_digest(store, *READERS)
    event.listen(store.engine, "before_cursor_execute", explain)
    try:
        claimed = claim(store)
        begin(store, claimed)
        assert all(mark(store, claimed))
        with store.read() as conn:
            outbox.load_open(conn, MORNING)
            outbox.has_deliveries(conn, MORNING)
    finally:
        event.remove(store.engine, "before_cursor_execute", explain)
    assert any(plan.startswith("SEARCH deliveries USING INTEGER PRIMARY KEY") for plan in plans)
    scans = [
        plan
        for plan in plans
        if re.match(r"SCAN (?:deliveries|attempts|digests)\b(?! USING INDEX)", plan)
    ]
    assert not [plan for plan in scans if "ix_deliveries_" not in plan]


def test_what_an_address_was_refused_for_is_known_and_who_is_left_out_for_it(store: Store) -> None:
    store_digest(store, *READERS[:2])
    claimed = claim(store)
    begin(store, claimed)
    with store.begin() as conn:
        for one in claimed:
            assert attempts.mark_unsent(
                conn, one, DeliveryState.DEAD, Said.plain("no"), MORNING, refusal=Refusal.READER
            )
        assert subscribers.load_last_refusals(conn, claimed[0].id, 3) == ("team", [Refusal.READER])
        subscribers.save_unsubscription(
            conn, claimed[0].destination, "team", how=REFUSED, at=MORNING
        )
        assert subscribers.load_refused(conn) == [("team", claimed[0].destination)]
