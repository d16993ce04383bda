from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from digest.cli.output import lay_out


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert lay_out([("A", "B", "C"), ("long", "b", "c"), ("a", "漢字", "d")]) == [
        "A     B     C",
        "long  b     c",
        "a     漢字  d",
    ]


def test_a_cell_before_an_empty_one_reaches_into_it_without_widening_its_column() -> None:
    assert lay_out([("A", "B", "C"), ("reaches over", None, "c"), ("a", "a wide cell", "d")]) == [
        "A  B            C",
        "reaches over    c",
        "a  a wide cell  d",
    ]


CELLS = st.text(st.sampled_from("ab漢"), min_size=1, max_size=6)


@given(st.lists(st.tuples(CELLS, st.one_of(CELLS, st.none()), CELLS), min_size=1, max_size=6))
def test_no_cell_is_lost_or_out_of_order(rows: list[tuple[str, str | None, str]]) -> None:
    for row, line in zip(rows, lay_out(list(rows)), strict=True):
        assert line.split() == [cell for cell in row if cell is not None] or (
            row[1] is None and line.replace(" ", "") == row[0] + row[2]
        )


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6))
def test_the_last_column_begins_at_one_place(rows: list[tuple[str, str, str]]) -> None:
    ends = {cell_len(line) - cell_len(row[-1]) for row, line in zip(rows, lay_out(list(rows)), strict=True)}
    assert len(ends) == 1
