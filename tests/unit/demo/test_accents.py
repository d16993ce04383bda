import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.demo.accents import to_utf8


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (r"T\"orvalen", "Törvalen"),
        (r"\c{C}i\u{g}dem", "Çiğdem"),
        (r"P{\i}rvan", "P\N{LATIN SMALL LETTER DOTLESS I}rvan"),
        (r"\v{S}\'arka Fen\v{c}ikar", "Šárka Fenčikar"),
        (r"\O stervang", "Østervang"),
        (r"Bj\o rn Rosenmo\ss er", "Bjørn Rosenmoßer"),
        (r"Elv\aa kerud", "Elvåkerud"),
        (r"na{\"\i}ve", "naïve"),
        (r"{\'e}t\'{e}", "été"),
        (r"\.Zukrowel", "Żukrowel"),
        (r"I\c sk", "Işk"),
        (r"$\mu$path and \'e", r"$\mu$path and é"),
        (r"$x_{\o}$", r"$x_{\o}$"),
        (r"\emph{cache} \& \omega", r"\emph{cache} \& \omega"),
        ("no accents", "no accents"),
    ],
)
def test_an_accent_becomes_the_letter_it_means(raw: str, shown: str) -> None:
    assert to_utf8(raw) == shown


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_converted_and_plain_text_stays(text: str) -> None:
    shown = to_utf8(text)
    assert "\\" in text or "{" in text or shown == text


@settings(deadline=None)
@given(st.sampled_from("aeouAEOU"), st.sampled_from("\"'`^~"))
def test_a_marked_letter_is_one_composed_letter(letter: str, mark: str) -> None:
    shown = to_utf8(f"\\{mark}{{{letter}}}")
    assert unicodedata.normalize("NFD", shown)[0] == letter
    assert len(unicodedata.normalize("NFD", shown)) == 2
