from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.pipeline.resuming import recognise_copy
from digest.store import Store, migrate, open_store, provenance, stamps
from digest.store import deliveries as outbox
from digest.store.invariants import find_violations
from digest.store.schema import deliveries
from digest.store.stamps import Reach, Stamp, find_lost, judge_copy
from tests.contract.store.filled import fill
from tests.contract.store.made import MORNING

LATER = MORNING + timedelta(days=3)


def states(store: Store) -> list[str]:
    with store.read() as conn:
        return list(conn.execute(select(deliveries.c.state).order_by(deliveries.c.id)).scalars())


@pytest.fixture
def copy(store: Store) -> Store:
    """A store found to be a copy: one mail sent, one message in doubt, the rest waiting or gone."""
    fill(store)
    with store.begin() as conn:
        outbox.retry(conn, 5, MORNING)  # the file left its subscription out; here it is wanted all the same
        before = {row.id: row.state for row in conn.execute(select(deliveries))}
        assert provenance.enter_quarantine(conn, "another", LATER) == sum(
            state in ("ready", "claimed") for state in before.values()
        )
    return store


def test_nothing_is_taken_out_of_a_copy(copy: Store) -> None:
    with copy.begin() as conn:
        assert provenance.is_in_quarantine(conn)
        assert outbox.claim(conn, owner="worker", limit=9, now=LATER) == []
        assert outbox.take_unknown(conn, LATER) == []
        assert outbox.next_claimable_at(conn, LATER) is None
    assert DeliveryState.READY not in states(copy)
    assert DeliveryState.HELD in states(copy)
    assert DeliveryState.UNKNOWN in states(copy)


def test_also_what_somebody_makes_ready_meanwhile_waits(copy: Store) -> None:
    held = 1 + states(copy).index(DeliveryState.HELD)
    with copy.begin() as conn:
        assert outbox.retry(conn, held, LATER)
        assert outbox.claim(conn, owner="worker", limit=9, now=LATER) == []
        assert outbox.next_claimable_at(conn, LATER) is None


def test_what_a_copy_held_is_ready_once_it_is_released(copy: Store) -> None:
    with copy.begin() as conn:
        waiting = provenance.count_held_back(conn)
        released = provenance.release(conn)
        claimed = outbox.claim(conn, owner="worker", limit=9, now=LATER)
        doubtful = outbox.take_unknown(conn, LATER)
        assert not provenance.is_in_quarantine(conn)
        assert find_violations(conn) == []
    assert released == waiting - 1 > 0
    assert claimed
    assert len(doubtful) == 1


def test_what_was_due_by_the_moment_counts_as_sent(copy: Store) -> None:
    before = states(copy)
    with copy.begin() as conn:
        waiting = provenance.count_held_back(conn)
        assert provenance.list_held_back(conn, MORNING - timedelta(seconds=1)) == []
        due = provenance.list_held_back(conn, MORNING)
        assert len(due) == waiting
        provenance.take_as_sent(conn, due, LATER)
        assert provenance.release(conn) == 0
        assert outbox.claim(conn, owner="worker", limit=9, now=LATER) == []
        assert outbox.take_unknown(conn, LATER) == []
        assert find_violations(conn) == []
    assert states(copy).count("suppressed") == before.count("suppressed") + waiting


def test_what_was_held_for_other_reasons_stays_held(store: Store) -> None:
    fill(store)
    with store.begin() as conn:
        (unknown,) = outbox.take_unknown(conn, MORNING)
        assert outbox.settle_held(conn, unknown.delivery, MORNING, "nobody knows")
        provenance.enter_quarantine(conn, "another", LATER)
        assert unknown.delivery.id not in provenance.list_held_back(conn, LATER)
        provenance.release(conn)
    assert states(store)[unknown.delivery.id - 1] == "held"


def test_a_copy_that_is_copied_before_anybody_started_on_it_has_been_met_by_nobody(store: Store) -> None:
    with store.begin() as conn:
        provenance.enter_quarantine(conn, "another", MORNING)
        assert not provenance.load_provenance(conn).is_unmet
        provenance.mark_copy(conn, LATER)
        assert provenance.load_provenance(conn).is_unmet


def test_the_keys_of_a_copy_are_not_those_of_the_database_before(store: Store) -> None:
    with store.begin() as conn:
        assert provenance.name_line(conn) == ""
        provenance.enter_quarantine(conn, "another", MORNING)
        provenance.release(conn)
        assert provenance.name_line(conn) == "another"


@pytest.mark.parametrize(
    ("sendings", "digests", "stamp", "said"),
    [
        (7, 5, Stamp("a", 7), ""),
        (8, 5, Stamp("a", 7), ""),
        (None, 5, None, ""),
        (0, 0, Stamp("b", 0), ""),
        (0, 0, Stamp("b", 7), "it is not the database that last worked here"),
        (6, 5, Stamp("a", 7), "1 message more had been begun here than it knows of"),
        (None, 5, Stamp("a", 3), "3 messages more had been begun here than it knows of"),
        (9, 5, Stamp("b", 7), "it is not the database that last worked here"),
        (1, 0, Stamp("b", 7), "it is not the database that last worked here"),
        (0, 0, None, "the file that says how far it had come is not beside it"),
    ],
)
def test_a_copy_is_known_by_the_file_beside_it(
    sendings: int | None, digests: int, stamp: Stamp | None, said: str
) -> None:
    assert judge_copy("a", sendings, stamp, has_told=digests > 0) == said


@pytest.mark.parametrize(
    ("stamp", "is_said", "found"),
    [
        (None, False, Reach()),
        (Stamp("a", 8, LATER, MORNING), False, Reach(LATER, MORNING)),
        (Stamp("a", 7, LATER, MORNING), False, Reach(LATER, MORNING)),
        (Stamp("a", 6, LATER, MORNING), False, Reach()),
        (Stamp("a", 8, LATER, MORNING), True, Reach(LATER, MORNING)),
        (Stamp("a", 7, LATER, MORNING), True, Reach()),
        (Stamp("b", 8, LATER, MORNING), False, Reach()),
        (Stamp("b", 8, lost=Reach(LATER, MORNING), copied="a"), False, Reach(LATER, MORNING)),
        (Stamp("b", 9, LATER, None, Reach(MORNING, MORNING), "a"), False, Reach(LATER, MORNING)),
    ],
)
def test_a_file_tells_of_the_lost_database_only_where_it_knows_more_than_the_copy(
    stamp: Stamp | None,
    is_said: bool,  # noqa: FBT001 - one of a row's values
    found: Reach,
) -> None:
    assert find_lost("a", 7, stamp, is_said=is_said) == found


def test_what_the_release_before_did_not_write_is_not_known(tmp_path: Path) -> None:
    said = {"generation": "a", "sendings": 7, "sent_at": MORNING.isoformat(), "lost_at": ""}
    stamps.stamp_path(tmp_path / "digest.db").write_text(json.dumps(said))
    assert stamps.read_stamp(tmp_path / "digest.db") == Stamp("a", 7, MORNING)


def test_when_nothing_was_left_outlives_what_is_sent_later_and_has_room_in_the_file(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'digest.db'}", create=True)
    stamps.begin_counting(store)
    with store.begin() as conn:
        first = stamps.count_sending(conn, MORNING, 3)
        later = stamps.count_sending(conn, LATER)
    store.close()
    assert first is not None
    stamps.write_stamp(store, Stamp(first.generation, lost=Reach(LATER, LATER), copied="b" * 16))
    stamps.keep_stamp(store, first)
    stamps.note_clear(store, "another", LATER)
    stamps.note_clear(store, first.generation, MORNING.replace(microsecond=123456))
    stamps.keep_stamp(store, later)
    clear_at = MORNING.replace(microsecond=123456)
    assert stamps.load_stamp(store) == Stamp(first.generation, 4, LATER, clear_at, Reach(LATER, LATER), "b" * 16)
    assert stamps.stamp_path(tmp_path / "digest.db").stat().st_size == 512


def test_the_file_says_what_was_counted_and_never_less(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'digest.db'}", create=True)
    stamps.begin_counting(store)
    with store.begin() as conn:
        first = stamps.count_sending(conn, MORNING)
        second = stamps.count_sending(conn, LATER)
    stamps.keep_stamp(store, second)
    stamps.keep_stamp(store, first)  # a slower thread comes later
    assert stamps.load_stamp(store) == second
    assert second is not None
    assert (second.sendings, second.sent_at) == (2, LATER)
    assert stamps.stamp_path(tmp_path / "digest.db").stat().st_size == 512
    with store.read() as conn:
        assert stamps.find_copy(conn, store) == ""
    stamps.stamp_path(tmp_path / "digest.db").write_text("{")
    with store.read() as conn:
        assert "not beside it" in stamps.find_copy(conn, store)
    store.close()


@pytest.mark.parametrize("left", [None, b""])
def test_where_a_database_that_has_sent_is_gone_none_is_made_anew(tmp_path: Path, left: bytes | None) -> None:
    path = tmp_path / "digest.db"
    url = f"sqlite:///{path}"
    store = open_store(url, create=True)
    stamps.begin_counting(store)
    store.close()
    path.unlink()
    open_store(url, create=True).close()  # it had sent nothing: nobody misses it
    stamps.write_stamp(store, Stamp("a", 2))
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    for make in (partial(open_store, url, create=True), partial(migrate, url)):
        with pytest.raises(StoreError, match="the database that worked here is gone") as caught:
            make()
        assert "digest restore FILE" in caught.value.hint
        assert path.exists() is (left is not None)
    stamps.stamp_path(path).unlink()
    open_store(url, create=True).close()


def test_the_first_worker_on_a_marked_copy_holds_all_and_the_next_one_finds_it_done(store: Store) -> None:
    fill(store)
    if store.path is not None:
        stamps.stamp_path(store.path).unlink(missing_ok=True)  # of a store that was here before
    assert not recognise_copy(store, MORNING), "where nothing says that it is a copy, it is none"
    with store.begin() as conn:
        outbox.retry(conn, 5, MORNING)
        provenance.mark_copy(conn, MORNING)
    assert recognise_copy(store, LATER)
    assert "ready" not in states(store)
    with store.read() as conn:
        met = provenance.load_provenance(conn)
    assert (met.quarantined_at, met.restored_at, met.is_unmet) == (MORNING, LATER, False)
    assert recognise_copy(store, LATER + timedelta(days=1))
    with store.begin() as conn:
        assert provenance.load_provenance(conn) == met
        provenance.release(conn)
    assert not recognise_copy(store, LATER)
    assert "ready" in states(store)
