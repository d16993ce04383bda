from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from digest.cli.output import Aside, Part, answers, fold, labelled, render, table

WORDS = st.text(st.sampled_from("abc "), min_size=1, max_size=60)


@dataclass(frozen=True)
class Answer:
    papers: tuple[str, ...]
    _secret: str = "hidden"

    @property
    def exit_code(self) -> int:
        return 3


def _show(answer: Answer, *, most: int) -> Iterator[Part]:
    yield from answer.papers[:most]
    yield Aside("and more")


@click.command()
@click.option("--most", default=1)
@answers(_show, "most")
def command() -> Answer:
    sys.stdout.write("sent\n")  # as a digest for the console is
    return Answer(("one", "two"))


def draw_table(part: Part) -> list[str]:
    """Return the lines of a table, without styles."""
    return click.unstyle(render(part)).split("\n")


@pytest.mark.parametrize(
    ("arguments", "out", "err"),
    [
        ([], "sent\none\n", "and more\n"),
        (["--most", "2"], "sent\none\ntwo\n", "and more\n"),
        (["--json"], None, "sent\n"),
    ],
)
def test_an_answer_is_shown_as_its_screen_or_printed_as_it_is_and_gives_the_exit_code(
    arguments: list[str], out: str | None, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments, standalone_mode=False) == 3
    said = capsys.readouterr()
    assert said.err == err
    if out is None:
        assert json.loads(said.out) == {"papers": ["one", "two"]}
    else:
        assert said.out == out


def test_a_table_is_as_wide_as_its_cells_with_numbers_at_the_right_and_remarks_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "23")
    rows: list[tuple[str | int, ...]] = [
        ("1", "漢字 is wide", 1_200, "no such user here"),
        ("2", "[b]", "–", ""),
    ]
    lines = draw_table(table(("ID", "STATE", "N", ""), rows, empty=""))
    assert lines == [
        "ID  STATE             N",
        "1   漢字 is wide  1,200",
        "2   [b]               –",
        "",
        "1  no such user here",
    ]
    assert table(("ID",), [], empty="None yet.") == "None yet."


def test_a_cell_too_wide_is_folded_between_words_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "32")
    rows = [("gpu", "weekdays at 09:00 Europe/Berlin, 7 wait")]
    folded = draw_table(table(("NAME", "WHEN"), rows, empty=""))
    assert folded == ["NAME  WHEN", "gpu   weekdays at 09:00", "      Europe/Berlin, 7 wait"]
    cut = draw_table(table(("NAME", "WHEN"), rows, empty="", folds=False))
    assert cut[1].endswith("…")


def test_lines_stay_lines_after_their_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    part = labelled([("to do", "mend the cause\n  ^ here")], width=6)
    said = click.unstyle(render(part))
    assert said == "to do   mend the\n        cause\n          ^ here"


@given(WORDS, st.integers(1, 80))
def test_a_folded_text_has_every_word_in_order(text: str, width: int) -> None:
    lines = fold(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(cell_len(line) <= width or len(line.split()) <= 1 for line in lines)
