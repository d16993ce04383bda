"""What a process sets for itself while it works."""

from __future__ import annotations

import sys

import pytest

from digest.pipeline.working import SWITCHING, switching_often


def test_threads_take_turns_often_while_it_works_and_as_before_afterwards() -> None:
    before = sys.getswitchinterval()
    with switching_often():
        assert sys.getswitchinterval() == pytest.approx(SWITCHING)
    assert sys.getswitchinterval() == pytest.approx(before)
