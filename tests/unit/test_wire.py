"""What a `Retry-After` header asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.wire import HttpAnswer, read_retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(
            ("60", 60.0),
            ("1.5", 1.5),
            ("0", None),
            ("0.9", None),
            ("-5", None),
            ("nan", None),
            ("inf", None),
        ),
        *(("", None), ("soon", None)),
        ("Fri, 20 Nov 2026 12:01:30 GMT", 90.0),
        ("Friday, 20-Nov-26 12:01:30 GMT", 90.0),
        ("Fri Nov 20 12:01:30 2026", 90.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", None),
        ("Fri, 20 Nov 10000 11:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_below_one_second(
    text: str, seconds: float | None
) -> None:
    answer = HttpAnswer(429, {"retry-after": text}, came_at=datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert answer.retry_after == seconds


def test_a_date_counts_from_the_servers_own_clock_if_that_is_told() -> None:
    asked = {
        "retry-after": "Fri, 20 Nov 2026 13:00:00 GMT",
        "date": "Fri, 20 Nov 2026 12:59:00 GMT",
    }
    assert HttpAnswer(503, asked, came_at=datetime(2026, 11, 20, 12, tzinfo=UTC)).retry_after == 60


def test_an_answer_without_the_header_asks_for_no_wait() -> None:
    assert HttpAnswer(429, {}).retry_after is None


@given(st.text(max_size=40))
def test_no_retry_after_breaks_the_reader(text: str) -> None:
    seconds = read_retry_after(text, datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert seconds is None or seconds >= 1
