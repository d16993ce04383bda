"""Pointing at places of a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.cli.query import point_at


def test_a_caret_stands_below_the_place() -> None:
    assert point_at("abs:a\nabs:b", 6, 80) == ["abs:a abs:b", "      ^"]


def test_of_a_long_text_the_part_around_the_place_is_shown() -> None:
    line, caret = point_at("x" * 100 + "HERE" + "y" * 100, 100, 60)
    assert line.startswith("…")
    assert line.endswith("…")
    assert line[caret.index("^")] == "H"


@given(st.text(max_size=300), st.integers(0, 400), st.integers(30, 100))
def test_the_place_is_always_shown(text: str, position: int, width: int) -> None:
    line, caret = point_at(text, position, width)
    assert caret.count("^") == 1
    assert len(line) <= width + 2
    assert len(line.splitlines()) <= 1
    if position < len(text) and not text[position].isspace():
        assert line[caret.index("^")] == text[position]
