"""Threads that write to one SQLite file: one at a time, and an awaited answer before everything else."""

from __future__ import annotations

import threading

import pytest

from digest.store import queueing
from digest.store.queueing import WriterQueue

LONG = 10.0


@pytest.fixture
def courteous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "COURTESY", LONG)


def write_beside(queue: WriterQueue, written: list[str]) -> threading.Thread:
    """Let another thread write something that is no answer; return when it has asked to."""
    asked = threading.Event()

    def write() -> None:
        asked.set()
        with queue.write(is_answer=False, timeout=LONG) as is_mine:
            assert is_mine
            written.append("claim")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    assert asked.wait(LONG)
    return thread


@pytest.mark.usefixtures("courteous")
def test_whoever_has_something_else_to_write_holds_back_for_an_answer() -> None:
    queue, written = WriterQueue(), list[str]()
    with queue.awaiting_answer():
        other = write_beside(queue, written)
        with queue.write(is_answer=True, timeout=LONG):
            written.append("answer")
    other.join(LONG)
    assert written == ["answer", "claim"]


def test_an_answer_that_does_not_come_is_waited_for_a_moment_only() -> None:
    queue, written = WriterQueue(), list[str]()
    with queue.awaiting_answer():
        write_beside(queue, written).join(LONG)
        assert written == ["claim"]


def test_one_writes_at_a_time_and_whoever_waits_too_long_is_told() -> None:
    queue = WriterQueue()
    with queue.write(is_answer=False, timeout=0) as is_first:
        with queue.write(is_answer=True, timeout=0) as is_second:
            assert (is_first, is_second) == (True, False)
        with queue.write(is_answer=False, timeout=0) as is_third:
            assert not is_third, "who was refused has freed nothing"
    with queue.write(is_answer=False, timeout=0) as is_fourth:
        assert is_fourth
