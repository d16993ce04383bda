from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from digest.cli.output import lay_out, print_table, print_wrapped, wrap


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert lay_out([("A", "B", "C"), ("long", "b", "c"), ("a", "漢字", "d")], 80) == [
        ["A     B     C"],
        ["long  b     c"],
        ["a     漢字  d"],
    ]


def test_a_table_too_wide_is_folded_between_words_alone() -> None:
    row = ("mailto:reader@digest.example", "weekdays at 09:00 Europe/Berlin")
    assert lay_out([row], 48) == [
        ["mailto:reader@digest.example  weekdays at 09:00", "                              Europe/Berlin"]
    ]
    stacked = ["mailto:reader@digest.example", "    WHEN: weekdays at 09:00", "    Europe/Berlin"]
    assert lay_out([("TO", "WHEN"), row], 30)[1] == stacked
    assert lay_out([("TO", "WHEN"), row], 50, whole=1)[1] == [row[0], f"    WHEN: {row[1]}"]


CELLS = st.text(st.sampled_from("ab漢 "), min_size=1, max_size=60)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.integers(40, 100))
def test_no_letter_is_lost_and_only_a_word_is_wider_than_the_terminal(
    rows: list[tuple[str, str, str]], columns: int
) -> None:
    for row, lines in zip(rows, lay_out([("A", "B", "C"), *rows], columns)[1:], strict=True):
        said = "".join(lines).replace("B:", "").replace("C:", "")
        assert sorted(said.replace(" ", "")) == sorted("".join(row).replace(" ", ""))
        assert all(cell_len(line) <= columns or len(line.split()) == 1 for line in lines)


def test_an_address_of_the_web_is_never_broken() -> None:
    address = f"https://digest.example/f/{'x' * 90}.atom"
    assert any(
        address in line for line in lay_out([("A", "B", "C"), ("team", address, "gpu, perf, follow")], 80)[1]
    )


@given(CELLS, st.integers(1, 80))
def test_a_folded_text_has_every_word_in_order(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(cell_len(line) <= width or len(line.split()) == 1 for line in lines)


def test_a_remark_that_finds_no_room_stands_below_its_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_table(["ID", "STATE", ""], [["1", "failed", "no such user here"], ["2", "sent", ""]], empty="")
    assert capsys.readouterr().out.splitlines() == [
        "ID  STATE",
        "1   failed",
        "    no such user",
        "    here",
        "2   sent",
    ]


def test_what_is_folded_stands_below_its_text_and_lines_stay_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_wrapped("to do", "mend the cause\n  ^ here", width=8)
    assert capsys.readouterr().out == "to do   mend the\n        cause\n          ^ here\n"
