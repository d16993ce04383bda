"""A search cut by dates of submission.

Nothing lies between two parts, and nothing outside of all.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from digest.arxiv.pages import EARLIEST, Window, cut_at

FIRST = datetime(1970, 1, 1)  # noqa: DTZ001 - made aware at once
LAST = datetime(2040, 1, 1)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST).map(lambda moment: moment.replace(tzinfo=UTC))
NOW = datetime(2026, 11, 20, 3, 50, 30, tzinfo=UTC)


def is_seamless(windows: list[Window], whole: Window) -> bool:
    """Whether windows, the latest first, follow on each other and are together the whole."""
    touching = all(later.first == earlier.last for later, earlier in pairwise(windows))
    return touching and windows[0].last == whole.last and windows[-1].first == whole.first


@given(MOMENTS, MOMENTS)
def test_a_cut_leaves_no_minute_out(moment: datetime, end: datetime) -> None:
    windows = cut_at(moment, end)
    whole = Window(EARLIEST, windows[0].last)
    assert is_seamless(windows, whole)
    assert all(window.first < window.last for window in windows)
    assert whole.last > end - timedelta(minutes=1)


@given(MOMENTS, st.integers(1, 100_000), st.integers(2, 400))
def test_parts_leave_no_minute_out_and_are_shorter_than_the_whole(
    first: datetime, minutes: int, parts: int
) -> None:
    first = first.replace(second=0, microsecond=0)
    whole = Window(first, first + timedelta(minutes=minutes))
    windows = whole.divide(parts)
    assert is_seamless(windows, whole)
    assert all(window.first < window.last for window in windows)
    assert len(windows) == min(parts, minutes)


def test_a_window_is_written_as_arxiv_reads_it() -> None:
    since, before = cut_at(datetime(2026, 11, 12, 7, 5, 59, tzinfo=UTC), NOW)
    assert (
        since.confine("cat:cs.PF") == "(cat:cs.PF) AND submittedDate:[202611120705 TO 202611200350]"
    )
    assert (
        before.confine("cat:cs.PF")
        == "(cat:cs.PF) AND submittedDate:[198001010000 TO 202611120705]"
    )
