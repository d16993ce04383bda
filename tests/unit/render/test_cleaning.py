from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from digest.render.text import clean_text, shorten

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def test_controls_direction_overrides_and_invisible_characters_are_taken_out() -> None:
    assert clean_text("a\x00b\x1b[1m \u202ex\u202c \u2066y\u2069 z\u200b\ufeff\ufffe\ud800") == "ab[1m x y z"


def test_every_kind_of_line_end_becomes_one_blank() -> None:
    assert clean_text(" one\r\ntwo\x0bthree\u2028four\x85five ") == "one two three four five"


def test_joiners_that_scripts_need_and_hard_blanks_stay() -> None:
    assert clean_text("می\u200cخواهم 10\u00a0s") == "می\u200cخواهم 10\u00a0s"


@given(ANY_TEXT)
def test_cleaned_text_is_valid_xml_and_stays_as_it_is_when_cleaned_again(text: str) -> None:
    cleaned = clean_text(text)
    element = etree.Element("x")
    element.text = cleaned
    assert etree.fromstring(etree.tostring(element, encoding="utf-8")).text in (cleaned, None)
    assert clean_text(cleaned) == cleaned


def test_a_text_is_cut_between_words() -> None:
    assert shorten("Tail latency below a millisecond", 20) == "Tail latency below …"
    assert shorten("short", 20) == "short"


def test_a_text_without_blanks_is_cut_within_but_never_between_a_letter_and_its_accent() -> None:
    assert shorten("x" * 30, 10) == "x" * 8 + " …"
    assert shorten("e\u0301" * 30, 10) == "e\u0301" * 4 + " …"
    assert shorten("a" + "e\u0301" * 30, 10) == "a" + "e\u0301" * 3 + " …"


@given(ANY_TEXT, st.integers(3, 60))
def test_a_shortened_text_is_never_longer_than_allowed(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit
