"""Looking for garbage is put off, and always taken up again."""

from __future__ import annotations

import gc
import threading

import pytest

from digest.collecting import collecting_later


def test_it_is_off_within_and_on_afterwards_whatever_happens() -> None:
    with collecting_later():
        assert not gc.isenabled()
    with pytest.raises(ZeroDivisionError), collecting_later():
        _ = 1 // 0
    assert gc.isenabled()


def test_the_last_of_several_threads_takes_it_up_again_whichever_began() -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with collecting_later():
            has_begun.set()
            may_end.wait(5)

    other = threading.Thread(target=work)
    with collecting_later():
        other.start()
        assert has_begun.wait(5)
    assert not gc.isenabled()
    may_end.set()
    other.join()
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    gc.disable()
    try:
        with collecting_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
