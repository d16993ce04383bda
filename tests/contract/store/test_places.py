from __future__ import annotations

import os
from typing import TYPE_CHECKING

from digest.store import hold_worker, overview
from digest.store.pages import quarantine_entries
from digest.store.places import load_places
from digest.store.presence import find_holder
from digest.store.runs import start_run
from digest.store.subscribers import DestinationState, leave
from tests.contract.store.made import DAY, FEED, MAIL, NOW, SLACK, make_subscription, subscribe

if TYPE_CHECKING:
    from pathlib import Path

    from digest.store import Store


class Odd:
    """An entry that could not be read."""

    position = 0
    snippet = b"<entry>"
    error = "it has no title"


def test_every_destination_a_subscription_had_is_told_in_its_order_with_what_became_of_it(store: Store) -> None:
    ids = subscribe(store, make_subscription("team", destinations=(SLACK, MAIL, FEED)))
    with store.begin() as conn:
        leave(conn, MAIL, "team", how="one-click", at=NOW + DAY)
    subscribe(store, make_subscription("team", destinations=(MAIL, FEED)))
    with store.read() as conn:
        places = {place.destination: place for place in load_places(conn, ids["team"])}
    assert list(places)[-1] == FEED
    assert places[MAIL].state is DestinationState.LEFT
    assert (places[MAIL].reason, places[MAIL].since) == ("one-click", NOW + DAY)
    assert places[SLACK].state is DestinationState.DISABLED
    assert places[FEED].state is DestinationState.ACTIVE


def test_entries_set_aside_can_be_counted_from_a_moment_on(store: Store) -> None:
    with store.begin() as conn:
        run = start_run(conn, source="harvest", at=NOW)
        quarantine_entries(conn, run, 0, [Odd()], NOW)
        quarantine_entries(conn, run, 1, [Odd(), Odd()], NOW + DAY)
        assert overview.count_quarantined(conn) == 3
        assert overview.count_quarantined(conn, since=NOW + DAY) == 2
        assert overview.count_quarantined(conn, since=NOW + 2 * DAY) == 0


def test_no_worker_is_seen_where_none_works_or_the_kernel_does_not_tell(store: Store, tmp_path: Path) -> None:
    assert find_holder(store) is None
    with hold_worker(store):
        assert find_holder(store, tmp_path / "no such list") is None


def test_a_worker_is_told_from_other_locks_and_from_those_who_wait(store: Store, tmp_path: Path) -> None:
    if store.path is None:
        assert find_holder(store) is None  # any number may work
        return
    lock = store.path.with_name(store.path.name + ".lock")
    lock.touch()
    device, inode = lock.stat().st_dev, lock.stat().st_ino
    place = f"{os.major(device):02x}:{os.minor(device):02x}"
    locks = tmp_path / "locks"
    others = f"1: POSIX  ADVISORY  WRITE 11 {place}:{inode} 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 {place}:1 0 EOF\n"
    waiting = f"3: -> FLOCK  ADVISORY  WRITE 13 {place}:{inode} 0 EOF\n"
    locks.write_text(others + waiting, encoding="ascii")
    assert find_holder(store, locks) is None
    locks.write_text(f"{others}4: FLOCK  ADVISORY  WRITE 14 {place}:{inode} 0 EOF\n", encoding="ascii")
    worker = find_holder(store, locks)
    assert worker is not None
    assert worker.pid == 14
