"""What a `Retry-After` header asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.wire import HttpAnswer, read_retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60.0),
        ("1.5", 1.5),
        ("0", None),
        ("0.9", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("soon", None),
        ("Fri, 20 Nov 2026 12:01:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_and_nothing_below_one(text: str, seconds: float | None) -> None:
    assert HttpAnswer(429, {"retry-after": text}).retry_after == seconds


def test_an_answer_without_the_header_asks_for_no_wait() -> None:
    assert HttpAnswer(429, {}).retry_after is None


@given(st.text(max_size=40))
def test_no_retry_after_breaks_the_reader(text: str) -> None:
    seconds = read_retry_after(text)
    assert seconds is None or seconds >= 1
