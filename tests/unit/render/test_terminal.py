import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from digest.render import Renderer
from digest.render.samples import make_digest, make_entry, odd_entries, quiet_digests, sample_digest
from digest.render.terminal import NARROWEST, lay_out
from digest.render.text import apply_styles, styled


def test_what_stands_right_is_set_to_the_edge_or_below_if_there_is_no_room() -> None:
    assert lay_out("  1  left\tright", 20) == ["  1  left      right"]
    assert lay_out("  1  left and more\tright here", 20) == ["  1  left and more", "     right here"]


def test_long_lines_are_broken_under_their_own_beginning() -> None:
    assert lay_out("  1  one two three four", 14) == ["  1  one two", "     three", "     four"]


def test_a_style_that_runs_over_a_line_is_ended_and_opened_again() -> None:
    lines = lay_out(styled("one two", "bold"), 4)
    assert [apply_styles(line, color=True) for line in lines] == ["\x1b[1mone\x1b[0m", "\x1b[1mtwo\x1b[0m"]


def test_wide_letters_take_two_columns() -> None:
    assert all(cell_len(line) <= 10 for line in lay_out("论" * 30, 10))


def test_the_digest_reads_as_a_numbered_list_with_reasons(renderer: Renderer) -> None:
    lines = renderer.render_terminal(sample_digest(), width=107, color=False, limit=None).splitlines()
    assert lines[0].startswith("demo-team · Thu 19 Nov · 6 papers  ")
    assert lines[0].endswith("  mailing complete: 1,412 new, 6 matched")
    assert lines[1] == "NEW 3"
    assert lines[2].startswith("  1  Tail latency below 10⁻³ s on shared [GPU]s  ")
    assert lines[2].endswith('  perf, gpu · "GPU" in title')
    assert any("v1 → v2: “accepted at a workshop" in line for line in lines)
    assert any("2611.15044" in line for line in lines)


def test_a_limit_lists_so_many_of_each_kind_and_counts_the_rest(renderer: Renderer) -> None:
    text = renderer.render_terminal(sample_digest(), width=100, color=False, limit=1)
    assert "     … 2 more\n" in text
    assert "  4  Energy per query" in text
    assert "Held back" not in text


def test_colour_changes_no_word_and_no_colour_means_no_escape_sequence(renderer: Renderer) -> None:
    plain = renderer.render_terminal(sample_digest(), width=100, color=False, limit=None)
    colored = renderer.render_terminal(sample_digest(), width=100, color=True, limit=None)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", colored).split() == plain.replace("[GPU]", "GPU").split()


@pytest.mark.parametrize("name", ["quiet", "incomplete", "failed"])
def test_a_digest_without_papers_says_why(renderer: Renderer, name: str) -> None:
    text = renderer.render_terminal(quiet_digests()[name], width=100, color=False, limit=None)
    assert ("A quiet day" in text) == (name == "quiet")


@settings(max_examples=15, deadline=None)
@given(width=st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal(renderer: Renderer, width: int) -> None:
    digest = make_digest((*odd_entries(), *sample_digest().entries, make_entry(99, title="x" * 500)))
    for color in (False, True):
        text = renderer.render_terminal(digest, width=width, color=color, limit=None)
        lines = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
        assert max(cell_len(line) for line in lines) <= max(width, NARROWEST)
