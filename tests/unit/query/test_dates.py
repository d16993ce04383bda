from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.tree import UnreadableRange, spell_minute, spell_range, split_range


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("202603010000 TO 202603312359", "202603010000 TO 202603312359"),
        ("20260301 TO 20260331", "202603010000 TO 202603312359"),
        ("2024 TO 2024", "202401010000 TO 202412312359"),
        ("202402 TO 202402", "202402010000 TO 202402292359"),
        ("20260301000059 TO 20260331235959", "202603010000 TO 202603312359"),
        ("2026-03-01 TO 2026-03-31T12:30", "202603010000 TO 202603311230"),
        ("2026030112 to 2026030112", "202603011200 TO 202603011259"),
        ("* TO 2024", "* TO 202412312359"),
        ("  2024   TO  * ", "202401010000 TO *"),
    ],
)
def test_a_range_is_filled_to_the_minute(written: str, spelled: str) -> None:
    assert spell_range(written) == spelled


@pytest.mark.parametrize(
    ("written", "why"),
    [
        *(("2024", "not a range"), ("2024 TO", "not a range"), ("2025 TO 2024", "is after")),
        ("20240230 TO 2025", "day is out of range"),
        ("202413 TO 2025", "not a date"),
        ("2024030125 TO 2025", "not a time of day"),
        ("24 TO 25", "not a date"),
        ("* TO *", "needs a beginning or an end"),
        ("0000 TO 2024", "not a date"),
    ],
)
def test_what_is_no_range_is_refused_with_the_reason(written: str, why: str) -> None:
    with pytest.raises(UnreadableRange, match=why):
        spell_range(written)


@given(st.text())
def test_any_text_is_spelled_or_refused(text: str) -> None:
    try:
        spelled = spell_range(text)
    except UnreadableRange:
        return
    assert spell_range(spelled) == spelled


@given(*[st.datetimes(timezones=st.just(UTC))] * 3)
def test_a_range_holds_exactly_the_minutes_from_its_start_to_its_end(
    start: datetime, end: datetime, moment: datetime
) -> None:
    start, end = sorted((start, end))
    first, last = split_range(spell_range(f"{spell_minute(start)} TO {spell_minute(end)}"))
    expected = (
        start.replace(second=0, microsecond=0) <= moment.replace(second=0, microsecond=0) <= end
    )
    assert (first <= spell_minute(moment) <= last) is expected


def test_an_open_end_reaches_beyond_every_date() -> None:
    first, last = split_range("* TO 202401010000")
    assert first <= spell_minute(datetime(1, 1, 1, tzinfo=UTC)) <= last
    assert split_range("202401010000 TO *")[1] >= spell_minute(datetime(9999, 12, 31, tzinfo=UTC))
