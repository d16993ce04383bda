from __future__ import annotations

import itertools
import math
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from digest.model.clock import GateOutcome, ManualClock, RequestOutcome, SystemClock, monotonic
from digest.model.errors import ArxivThrottled, StoreBusy, StoreError
from digest.store import Store, StoreGate, create_standalone
from digest.store.dialect import database_clock
from digest.store.gate import PASSER_BY, Breaker, free_gate, is_current, load_breaker
from digest.store.schema import gate as gate_table
from tests.contract.store.made import NOW

OK = GateOutcome(RequestOutcome.OK)
SPACING = 0.15


def elapsed(clock: ManualClock) -> float:
    return (clock.now() - NOW).total_seconds()


def breaker(store: Store, clock: ManualClock | None = None) -> Breaker:
    with store.read() as conn:
        return load_breaker(conn, clock)


def test_requests_keep_their_distance_from_the_end_of_one_to_the_start_of_the_next(
    store: Store,
) -> None:
    gate = StoreGate(store, SystemClock(), "me", spacing=SPACING)
    clock = SystemClock()
    released = None
    for _ in range(3):
        grant = gate.acquire()
        assert released is None or monotonic() - released >= SPACING
        clock.sleep(0.02)
        released = monotonic()
        gate.release(grant, OK)


def test_only_the_newest_grant_is_current(store: Store) -> None:
    gate = StoreGate(store, ManualClock(NOW), "me")
    first = gate.acquire()
    gate.release(first, OK)
    with store.begin() as conn:
        assert is_current(conn, first.token)
    second = gate.acquire()
    with store.begin() as conn:
        assert not is_current(conn, first.token)
        assert is_current(conn, second.token)


def test_processes_at_once_never_come_too_close_nor_overlap(url: str) -> None:
    worker = (
        "import sys\n"
        "from digest.model.clock import SystemClock, monotonic\n"
        "from digest.model.clock import GateOutcome, RequestOutcome\n"
        "from digest.store import StoreGate, open_store\n"
        "store, clock = open_store(sys.argv[1]), SystemClock()\n"
        "gate = StoreGate(store, clock, sys.argv[2], spacing=0.1)\n"
        "for _ in range(3):\n"
        "    grant = gate.acquire()\n"
        "    begun = monotonic()\n"
        "    clock.sleep(0.01)\n"
        "    ended = monotonic()\n"
        "    gate.release(grant, GateOutcome(RequestOutcome.OK))\n"
        "    print(grant.token, begun, ended, flush=True)\n"
    )
    running = [
        subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
            [sys.executable, "-c", worker, url, f"process {number}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    requests = []
    tokens = set()
    for process in running:
        output, _ = process.communicate(timeout=60)
        for line in output.splitlines():
            token, begun_text, ended_text = line.split()
            tokens.add(token)
            requests.append((float(begun_text), float(ended_text)))
    assert [process.returncode for process in running] == [0, 0]
    assert len(requests) == 6
    assert len(tokens) == 6
    requests.sort()
    for (_, ended), (begun, _) in itertools.pairwise(requests):
        assert begun - ended >= 0.1


def test_a_process_that_died_holds_the_gate_no_longer_than_its_lease(store: Store) -> None:
    clock = ManualClock(NOW)
    StoreGate(store, clock, "dead", lease=270).acquire()
    StoreGate(store, clock, "alive").acquire()
    assert 270 <= elapsed(clock) < 290


def test_a_lost_grant_frees_nothing_but_still_asks_for_patience(store: Store) -> None:
    clock = ManualClock(NOW)
    slow = StoreGate(store, clock, "slow", lease=1)
    quick = StoreGate(store, clock, "quick")
    lost = slow.acquire()
    held = quick.acquire()
    slow.release(lost, GateOutcome(RequestOutcome.THROTTLED))
    with store.begin() as conn:
        row = conn.execute(select(gate_table)).one()
    assert row.token == held.token
    assert row.lease_until > clock.now().timestamp() + 200
    assert breaker(store, clock).seconds == pytest.approx(60)


def test_the_breaker_doubles_with_every_refusal_up_to_an_hour_and_an_answer_resets_it(
    store: Store,
) -> None:
    clock = ManualClock(NOW)
    gate = StoreGate(store, clock, "me", patience=10**6)
    pauses = []
    for _ in range(8):
        gate.release(gate.acquire(), GateOutcome(RequestOutcome.THROTTLED))
        pauses.append(round(breaker(store, clock).seconds))
    assert pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert breaker(store, clock).failures == 8
    gate.release(gate.acquire(), OK)
    assert breaker(store, clock) == Breaker(0.0, "", 0)


def test_arxivs_own_wish_counts_where_it_is_a_wish_at_all(store: Store) -> None:
    wishes = [
        (None, 60),
        (0.0, 60),
        (0.5, 60),
        (30.0, 60),
        (300.0, 300),
        (7200.0, 7200),
        (1e9, 86400),
    ]
    for asked_for, pause in wishes:
        clock = ManualClock(NOW)
        with store.begin() as conn:
            conn.execute(
                update(gate_table).values(
                    breaker_until=0, breaker_failures=0, next_at=0, lease_until=0
                )
            )
        gate = StoreGate(store, clock, "me")
        gate.release(gate.acquire(), GateOutcome(RequestOutcome.THROTTLED, asked_for))
        assert round(breaker(store, clock).seconds) == pause


def test_the_back_off_is_spread_and_never_above_an_hour(store: Store) -> None:
    clock = ManualClock(NOW)
    gate = StoreGate(store, clock, "me", jitter=lambda seconds: seconds * 100)
    gate.release(gate.acquire(), GateOutcome(RequestOutcome.THROTTLED))
    assert round(breaker(store, clock).seconds) == 3600


def test_a_robot_block_closes_the_gate_for_hours_and_says_so(store: Store) -> None:
    clock = ManualClock(NOW)
    gate = StoreGate(store, clock, "me")
    gate.release(gate.acquire(), GateOutcome(RequestOutcome.REFUSED))
    with pytest.raises(ArxivThrottled, match=r"blocked this client.*240 min") as caught:
        StoreGate(store, clock, "another").acquire()
    assert caught.value.retry_after == pytest.approx(4 * 3600, abs=1)
    clock.advance(timedelta(hours=4))
    gate.acquire()


def test_a_short_pause_is_waited_for(store: Store) -> None:
    clock = ManualClock(NOW)
    gate = StoreGate(store, clock, "me", patience=100)
    gate.release(gate.acquire(), GateOutcome(RequestOutcome.THROTTLED))
    gate.acquire()
    assert 60 <= elapsed(clock) < 70


def test_patience_ends_when_others_keep_the_gate_and_they_are_named(store: Store) -> None:
    clock = ManualClock(NOW)
    StoreGate(store, clock, "the other one", lease=1000).acquire()
    with pytest.raises(StoreBusy, match="the other one asked arXiv for longer than 50 s"):
        StoreGate(store, clock, "me", patience=50).acquire()
    assert 45 <= elapsed(clock) <= 60


def test_stopping_ends_the_wait(store: Store) -> None:
    clock = SystemClock()
    gate = StoreGate(store, clock, "me", spacing=30)
    gate.release(gate.acquire(), OK)
    clock.wake()
    begun = monotonic()
    with pytest.raises(StoreBusy, match="stopped while waiting"):
        gate.acquire()
    assert monotonic() - begun < 5


def test_what_was_granted_so_late_that_it_could_outlive_the_lease_says_so(store: Store) -> None:
    assert (
        StoreGate(store, ManualClock(NOW), "tester", spacing=0, lease=0).acquire().good_until
        == math.inf
    )
    begun = monotonic()
    grant = StoreGate(store, SystemClock(), "me", lease=20, deadline=15).acquire()
    assert begun + 5 <= grant.good_until <= monotonic() + 5


def test_a_clock_put_forward_brings_our_own_requests_no_nearer(store: Store) -> None:
    gate = StoreGate(store, SystemClock(), "me", spacing=0.6)
    grant = gate.acquire()
    ended = monotonic()
    gate.release(grant, OK)
    with store.begin() as conn:  # to the database's clock, hours later, all of it is long over
        conn.execute(update(gate_table).values(next_at=0.0, lease_until=0.0))
    gate.acquire()
    assert monotonic() - ended >= 0.6


def test_a_standalone_gate_keeps_its_pace_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "state" / "digest" / "pace.db"
    clock = ManualClock(NOW)
    for _ in range(2):
        alone = create_standalone(path)
        gate = StoreGate(alone, clock, "try")
        gate.release(gate.acquire(), OK)
        alone.close()
    assert elapsed(clock) >= 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_standalone_gate_that_cannot_be_kept_says_where(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="state"):
        create_standalone(tmp_path / "state" / "pace.db")


def test_a_new_databases_first_request_waits_for_what_was_asked_before_there_was_one(
    store: Store,
) -> None:
    with store.begin() as conn:
        free_gate(conn, SystemClock())
        waits = conn.execute(select(gate_table.c.next_at - database_clock())).scalar_one()
    assert 2 < waits <= 3


def test_a_clock_that_was_put_back_delays_no_request_by_more_than_the_spacing(store: Store) -> None:
    clock = ManualClock(NOW + timedelta(hours=3))
    gate = StoreGate(store, clock, "host:1:dead")
    gate.release(gate.acquire(), OK)
    clock.set(NOW)
    with store.begin() as conn:
        free_gate(conn, clock)
    StoreGate(store, clock, "host:2:alive").acquire()
    assert timedelta(seconds=3) <= clock.now() - NOW < timedelta(seconds=5)


def test_a_dead_workers_gate_is_freed_at_the_next_start_and_a_passer_bys_is_not(
    store: Store,
) -> None:
    clock = ManualClock(NOW)
    for holder, is_freed in (("host:1:dead", True), (f"{PASSER_BY}17", False)):
        StoreGate(store, clock, holder, spacing=0.0).acquire()
        with store.begin() as conn:
            free_gate(conn, clock, spacing=0.0)
            lease_until = conn.execute(select(gate_table.c.lease_until)).scalar_one()
        assert (lease_until <= clock.now().timestamp()) == is_freed
        clock.advance(timedelta(hours=1))
