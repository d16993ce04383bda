from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from digest.model.errors import UsageError
from digest.model.messages import DeliveryState
from digest.serve.resume import Resumed, resume
from digest.store import Store, database
from digest.store import outbox as outbox_module
from digest.store import outbox_sends as outbox
from digest.store.database import load_violations
from digest.store.matches import load_stored_mark
from digest.store.runs import move_cursor, start_run
from digest.store.schema import deliveries, marks
from tests.contract.store.filled import fill
from tests.contract.store.made import MORNING

LATER = MORNING + timedelta(days=3)


def count_states(store: Store, *wanted: DeliveryState) -> int:
    with store.read() as conn:
        return sum(state in wanted for state in conn.execute(select(deliveries.c.state)).scalars())


def count_waiting(store: Store) -> int:
    return count_states(
        store, DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.SENDING, DeliveryState.UNKNOWN
    )


@pytest.fixture
def copy(store: Store) -> Store:
    """A restored store: one mail sent, one message in doubt, the rest waiting or gone."""
    fill(store)
    with store.begin() as conn:
        outbox.retry(conn, 5, MORNING)  # the file left its subscription out; here it is wanted all the same
        database.mark_copy(conn, MORNING)
    return store


def test_nothing_is_taken_out_of_a_restored_database(copy: Store) -> None:
    with copy.begin() as conn:
        assert database.is_restored(conn)
        assert outbox_module.claim(conn, owner="worker", limit=9, now=LATER) == []
        assert outbox.take_unknown(conn, LATER) == []
        assert outbox_module.next_claimable_at(conn, LATER) is None


def test_what_waited_is_sent_once_it_is_resumed(copy: Store) -> None:
    waiting = count_waiting(copy)
    with copy.begin() as conn:
        assert resume(conn, "harvest", LATER) == Resumed(waiting, 0, 0)
        assert not database.is_restored(conn)
        assert outbox_module.claim(conn, owner="worker", limit=9, now=LATER)
        assert len(outbox.take_unknown(conn, LATER)) == 1
        assert load_violations(conn) == []
    with copy.begin() as conn, pytest.raises(UsageError, match="sending is not stopped"):
        resume(conn, "harvest", LATER)


def test_what_was_due_by_the_moment_counts_as_sent(copy: Store) -> None:
    before, waiting = count_states(copy, DeliveryState.SUPPRESSED), count_waiting(copy)
    with copy.begin() as conn:
        assert database.take_as_sent(conn, MORNING - timedelta(seconds=1), LATER) == 0
        assert database.take_as_sent(conn, MORNING, LATER) == waiting > 0
        assert load_violations(conn) == []
    assert count_waiting(copy) == 0
    assert count_states(copy, DeliveryState.SUPPRESSED) == before + waiting


def test_before_arxiv_was_looked_at_nobody_knows_what_was_due(copy: Store) -> None:
    with copy.begin() as conn, pytest.raises(UsageError, match="not been checked since the restore"):
        resume(conn, "harvest", LATER, since=MORNING)
    with copy.begin() as conn:
        move_cursor(conn, source="harvest", run_id=start_run(conn, source="harvest", at=LATER), started_at=LATER)
        conn.execute(update(marks).where(marks.c.name == "matched").values(value=load_stored_mark(conn)))
        assert resume(conn, "harvest", LATER, since=MORNING).dropped


def test_what_was_held_for_the_operator_stays_held(copy: Store) -> None:
    held = count_states(copy, DeliveryState.HELD)
    with copy.begin() as conn:
        conn.execute(update(deliveries).where(deliveries.c.id == 5).values(state="held", ended_at=None))
        database.take_as_sent(conn, LATER, LATER)
    assert count_states(copy, DeliveryState.HELD) == held + 1


def test_the_keys_of_a_resumed_database_are_not_those_of_the_one_before(store: Store) -> None:
    with store.begin() as conn:
        assert database.name_line(conn) == ""
        database.mark_copy(conn, MORNING)
        database.resume(conn, LATER)
        assert database.name_line(conn) == LATER.isoformat()
