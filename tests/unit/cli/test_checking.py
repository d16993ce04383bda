"""Pointing at places of a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.cli.checking import point_at


def test_a_caret_stands_below_each_place() -> None:
    assert point_at("abs:a\nabs:b", [0, 6], 80) == ["abs:a abs:b", "^     ^"]


def test_of_a_long_text_the_part_around_the_first_place_is_shown() -> None:
    line, carets = point_at("x" * 100 + "HERE" + "y" * 100, [100, 190], 60)
    assert line.startswith("…")
    assert line.endswith("…")
    assert line[carets.index("^")] == "H"
    assert carets.count("^") == 1


@given(st.text(max_size=300), st.lists(st.integers(0, 400), min_size=1, max_size=5), st.integers(30, 100))
def test_the_first_place_is_always_shown(text: str, positions: list[int], width: int) -> None:
    line, carets = point_at(text, positions, width)
    assert "^" in carets
    assert len(line) <= width + 2
    assert len(line.splitlines()) <= 1
    first = min(*positions, len(text))
    if first < len(text) and not text[first].isspace():
        assert line[carets.index("^")] == text[first]
