"""Threads that write to one SQLite file: one at a time, and an awaited answer before everything else."""

from __future__ import annotations

import threading

import pytest

from digest.store import dialect
from digest.store.dialect import WriterQueue

LONG = 10.0


@pytest.fixture
def courteous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "COURTESY", LONG)


def write_beside(queue: WriterQueue, written: list[str]) -> threading.Thread:
    """Let another thread write something that is no answer; return when it has asked to."""
    asked = threading.Event()

    def write() -> None:
        asked.set()
        with queue.write(is_answer=False) as is_mine:
            assert is_mine
            written.append("claim")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    assert asked.wait(LONG)
    return thread


@pytest.mark.usefixtures("courteous")
def test_whoever_has_something_else_to_write_holds_back_for_an_answer() -> None:
    queue, written = WriterQueue(LONG), list[str]()
    with queue.awaiting_answer():
        other = write_beside(queue, written)
        with queue.write(is_answer=True):
            written.append("answer")
    other.join(LONG)
    assert written == ["answer", "claim"]


def test_an_answer_that_does_not_come_is_waited_for_a_moment_only() -> None:
    queue, written = WriterQueue(LONG), list[str]()
    with queue.awaiting_answer():
        write_beside(queue, written).join(LONG)
        assert written == ["claim"]


@pytest.mark.usefixtures("courteous")
def test_a_mail_goes_out_once_those_who_write_and_those_who_waited_have_written() -> None:
    queue, written, mailed = WriterQueue(LONG), list[str](), threading.Event()

    def mail() -> None:
        mailed.set()
        with queue.awaiting_answer():
            written.append("mail")

    with queue.write(is_answer=False):
        other = write_beside(queue, written)
        postman = threading.Thread(target=mail, daemon=True)
        postman.start()
        assert mailed.wait(LONG)
        written.append("first")
    other.join(LONG)
    postman.join(LONG)
    assert written == ["first", "claim", "mail"]


def test_a_mail_does_not_wait_for_ever_for_those_who_write() -> None:
    queue = WriterQueue(0)
    with queue.write(is_answer=False), queue.awaiting_answer(), queue.write(is_answer=True) as is_mine:
        assert not is_mine


def test_one_writes_at_a_time_and_whoever_waits_too_long_is_told() -> None:
    queue = WriterQueue(0)
    with queue.write(is_answer=False) as is_first:
        with queue.write(is_answer=True) as is_second:
            assert (is_first, is_second) == (True, False)
        with queue.write(is_answer=False) as is_third:
            assert not is_third, "who was refused has freed nothing"
    with queue.write(is_answer=False) as is_fourth:
        assert is_fourth
