"""Lines for a terminal, and excerpts around what a query met."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from digest.model.messages import Form, Group
from digest.model.papers import Author, Field, Span
from digest.model.subscriptions import Abstracts
from digest.render.contexts import TerminalContext
from digest.render.digests import group_papers, view_digest, view_papers
from digest.render.renderer import Renderer
from digest.render.samples import make_digest, make_entry
from digest.render.terminal import cut_around, lay_out, quote_places
from digest.render.text import STYLE, apply_styles, styled
from tests.samples import odd_entries, sample_digest
from tests.unit.made_up import make_paper
from tests.unit.render.conftest import plan_digest


def test_what_is_said_about_a_title_stands_below_or_behind_its_second_line() -> None:
    assert lay_out("  1  title\tabout it", 20) == ["  1  title", "     about it"]
    assert lay_out("  1  title\tabout it and more", 20) == ["  1  title", "     about it and …"]
    assert lay_out("  1  a longer title in two\tabout it", 30) == [
        "  1  a longer title in two",
        "     about it",
    ]
    assert lay_out("  1  a longer title in two\tabout it", 22) == [
        "  1  a longer title in",
        "     two · about it",
    ]


@pytest.mark.parametrize("width", [40, 80, 110])
@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize(("form", "most"), [(Form.SENTENCE, 4), (Form.TITLE, 2)])
def test_a_paper_takes_four_lines_at_most_by_its_title_two_and_none_is_too_wide(
    renderer: Renderer, width: int, form: Form, most: int, *, color: bool
) -> None:
    for entry in (*sample_digest().entries, *odd_entries()):
        digest = replace(make_digest([entry]), groups=(Group("New", 1, form),))
        text = renderer.render_terminal(digest, width=width, color=color, limit=None)
        lines = text.partition("\n\n")[2].splitlines()
        paper = lines[: lines.index("")]
        assert 1 <= len(paper) <= most + entry.shows_change
        assert str(entry.paper.id) in "".join(paper), "the id is never cut"
        assert all(
            cell_len(re.sub(r"\x1b(?:\[[\d;]*m|\]8;;[^\x1b]*\x1b\\)", "", line)) <= width
            for line in lines
        )
        assert ("\x1b]8;;https://arxiv.org/abs/" in paper[0]) is color
        assert all(line.count("\x1b]8;;\x1b") * 2 == line.count("\x1b]8;;") for line in paper), (
            "each line ends it"
        )


@pytest.mark.parametrize(("amount", "lines"), [("none", 2), ("short", 3), ("full", 6)])
def test_as_much_of_an_abstract_is_shown_as_is_asked_for(
    renderer: Renderer, amount: str, lines: int
) -> None:
    digest = make_digest([make_entry(1, found=(), abstract="We show it. " * 30)])
    view = replace(view_digest(digest), abstracts=Abstracts(amount))
    context = TerminalContext(
        digest=view, groups=group_papers(digest, view_papers(digest)), width=110
    )
    said = renderer.templates.render("terminal/digest.txt", context).split("\n")[2:-3]
    assert len([part for line in said for part in lay_out(line, 110)]) == lines


def test_so_many_papers_are_listed_in_all_and_the_others_counted(renderer: Renderer) -> None:
    text = renderer.render_terminal(plan_digest(63), width=80, color=False, limit=10)
    assert [int(number) for number in re.findall(r"(?m)^ {1,2}(\d+)  ", text)] == list(range(1, 11))
    assert re.search(r"\n     … 53 more \(cs\.\wA \d+ · [^)]*\)\n", text)
    capped = renderer.render_terminal(
        replace(plan_digest(63), shown=10), width=80, color=False, limit=None
    )
    assert capped == text


def test_long_lines_are_broken_under_their_own_beginning() -> None:
    assert lay_out("  1  one two three four", 14) == ["  1  one two", "     three", "     four"]


def test_a_style_that_runs_over_a_line_is_ended_and_opened_again() -> None:
    lines = lay_out(styled("one two", "bold"), 4)
    assert [apply_styles(line, color=True) for line in lines] == [
        "\x1b[1mone\x1b[0m",
        "\x1b[1mtwo\x1b[0m",
    ]


def test_wide_letters_take_two_columns() -> None:
    assert all(cell_len(line) <= 10 for line in lay_out("论" * 30, 10))


LONG = "One two three four five six seven eight nine ten. " * 8


def show(text: str, *places: tuple[int, int], width: int = 60) -> str:
    return apply_styles(cut_around(text, places, width), color=False)


def test_a_long_text_is_cut_between_words_around_the_first_place() -> None:
    start = LONG.index("nine", 200)
    shown = show(LONG, (start, start + 4))
    assert shown == "…six seven eight [nine] ten. One two three four five six…"


def test_places_near_each_other_are_marked_together() -> None:
    assert show("A GPU and a CPU", (2, 5), (12, 15)) == "A [GPU] and a [CPU]"


def test_tex_is_shown_as_it_reads() -> None:
    text = r"Below $10^{-3}$ s by Erd\H{o}s"
    assert show(text, (0, 5)) == "[Below] 10⁻³ s by Erdős"


@given(st.text(max_size=400), st.integers(0, 400), st.integers(1, 40), st.integers(30, 120))
def test_an_excerpt_fits_and_its_words_are_the_texts_own(
    text: str, start: int, length: int, width: int
) -> None:
    shown = cut_around(text, ((start, start + length),), width)
    plain = STYLE.sub("", shown).strip("…")
    assert len(plain) <= width
    assert "\n" not in shown
    assert "\x1b" not in shown


def test_names_categories_and_texts_are_quoted_with_their_fields() -> None:
    paper = make_paper(authors=(Author("Ada Example"),), comment="12 pages")
    spans = [
        Span(Field.AUTHORS, 4, 11),
        Span(Field.CATEGORIES, 0, 5),
        Span(Field.COMMENT, 3, 8),
        Span(Field.ID, 0, 10),
    ]
    quotes = [
        (field, apply_styles(text, color=False)) for field, text in quote_places(paper, spans, 60)
    ]
    assert quotes == [
        ("author", "Ada [Example]"),
        ("category", "[cs.PF]"),
        ("comment", "12 [pages]"),
        ("id", "[2611.15012]"),
    ]
