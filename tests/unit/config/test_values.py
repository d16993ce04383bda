from datetime import date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config import values
from digest.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "true or false"),
        (5, "a whole number"),
        (5.0, "a decimal number"),
        ("a", "text"),
        ([], "a list"),
        ({}, "a table"),
        (date(2026, 1, 1), "a date or time"),
        (datetime(2026, 1, 1, 0, 0), "a date or time"),  # noqa: DTZ001 - TOML has local times
        (time(9), "a date or time"),
        (None, "NoneType"),
    ],
)
def test_every_type_of_toml_has_a_name_in_words(value: object, words: str) -> None:
    assert values.describe_type(value) == words


@given(st.text())
def test_a_line_is_printable_and_trimmed_or_refused(text: str) -> None:
    try:
        line = values.read_line(text)
    except ConfigurationError:
        assert not text.strip().isprintable()
        return
    assert line == text.strip()


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x00", "a\u2028b", "a\x1bb", "a\u202eb"])
def test_no_line_carries_breaks_controls_or_turned_writing(text: str) -> None:
    with pytest.raises(ConfigurationError, match="one line"):
        values.read_line(text)


def test_one_text_alone_counts_as_a_list_of_one() -> None:
    assert values.read_lines("feed") == ("feed",)
    assert values.read_lines(["feed", "console"]) == ("feed", "console")
    with pytest.raises(ConfigurationError, match="not a whole number"):
        values.read_lines(["feed", 5])


def test_kinds_come_in_the_order_a_digest_shows_them_each_once() -> None:
    assert values.read_kinds(["withdrawal", "new", "new"]) == ("new", "withdrawal")


@given(st.integers() | st.just(2**63))
def test_a_cap_is_a_whole_number_from_one_that_any_database_keeps(number: int) -> None:
    if 1 <= number <= 100_000:
        assert values.read_cap(number) == number
    else:
        with pytest.raises(ConfigurationError):
            values.read_cap(number)


@given(st.integers())
def test_days_are_none_or_up_to_a_year(number: int) -> None:
    if 0 <= number <= 365:
        assert values.read_days(number) == number
    else:
        with pytest.raises(ConfigurationError):
            values.read_days(number)


@given(st.integers(0, 10**6))
def test_a_number_in_a_variable_is_read_as_a_number(number: int) -> None:
    assert values.number_text(f" {number} ") == number


@pytest.mark.parametrize("text", ["none", "-1", "1.5", "٣", ""])
def test_what_is_no_number_in_a_variable_stays_text_for_the_reader_to_judge(text: str) -> None:
    assert values.number_text(text) == text


def test_a_list_in_a_variable_is_split_at_commas() -> None:
    assert values.split_text(" new, cross-list ,,") == ["new", "cross-list"]


def test_empty_text_stands_for_not_set_where_that_is_allowed() -> None:
    read = values.may_be_empty(values.read_name)
    assert read("") == ""
    assert read("perf") == "perf"
    with pytest.raises(ConfigurationError):
        read("P")


@pytest.mark.parametrize("text", ["Subject", "content-type", "A b", "X:", "Ü", "message-id"])
def test_a_header_that_mails_have_or_cannot_have_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="can't be such a header"):
        values.read_header_name(text)


@pytest.mark.parametrize("value", [-1, 86_401, True, "9", 1.5])
def test_seconds_are_whole_and_not_longer_than_a_day(value: object) -> None:
    with pytest.raises(ConfigurationError, match="seconds from 0 to 86400"):
        values.read_seconds(value)


@given(st.integers(-5, 200))
def test_a_pool_is_neither_so_small_that_a_process_waits_for_itself_nor_huge(number: int) -> None:
    if 4 <= number <= 100:
        assert values.read_pool(number) == number
    else:
        with pytest.raises(ConfigurationError, match="4 to 100"):
            values.read_pool(number)
