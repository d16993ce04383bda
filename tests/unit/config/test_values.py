from datetime import date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config import values
from digest.model.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((True, "true or false"), (5, "a whole number"), (5.0, "a decimal number"), ("a", "text")),
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
    assert values.read_kinds(["withdrawn", "new", "new"]) == ("new", "withdrawn")


@given(st.integers() | st.just(2**63))
def test_a_cap_is_a_whole_number_from_one_that_any_database_keeps(number: int) -> None:
    if 1 <= number <= 100_000:
        assert values.read_show(number) == number
    else:
        with pytest.raises(ConfigurationError):
            values.read_show(number)


@pytest.mark.parametrize("value", [-1, 86_401, True, "9", 1.5])
def test_seconds_are_whole_and_not_longer_than_a_day(value: object) -> None:
    with pytest.raises(ConfigurationError, match="seconds from 0 to 86,400"):
        values.read_seconds(value)


@given(st.integers())
def test_a_number_stands_in_its_bounds(number: int) -> None:
    read = values.number(0, 365, "days")
    if 0 <= number <= 365:
        assert read(number) == number
    else:
        with pytest.raises(ConfigurationError, match="must be a number of days from 0 to 365"):
            read(number)


def test_a_word_that_is_none_is_told_the_nearest() -> None:
    with pytest.raises(
        ConfigurationError, match="'harvset' is not one of harvest, query"
    ) as caught:
        values.choose_from(("harvest", "query"))("harvset")
    assert caught.value.hint == "Did you mean 'harvest'?"
