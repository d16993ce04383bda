"""Excerpts: what a query met, in its surroundings, cut between words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Author, Field, Span
from digest.render.samples import make_entry
from digest.render.terminal import cut_around, quote_places, write_papers
from digest.render.text import apply_styles, strip_styles
from tests.unit.made_up import make_paper

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
def test_an_excerpt_fits_and_its_words_are_the_texts_own(text: str, start: int, length: int, width: int) -> None:
    shown = cut_around(text, ((start, start + length),), width)
    plain = strip_styles(shown).strip("…")
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
    quotes = [(field, apply_styles(text, color=False)) for field, text in quote_places(paper, spans, 60)]
    assert quotes == [
        ("author", "Ada [Example]"),
        ("category", "[cs.PF]"),
        ("comment", "12 [pages]"),
        ("id", "[2611.15012]"),
    ]


def test_papers_are_written_with_what_was_met_and_few_names() -> None:
    entry = make_entry(12, queries=(), found=((Field.TITLE, "GPU"), (Field.ABSTRACT, "GPU")))
    crowd = make_entry(
        13, queries=(), authors=tuple(Author(f"Ada Example{n}") for n in range(9)), abstract="Short."
    )
    lines = write_papers([entry, crowd], width=100, color=False).splitlines()
    assert lines[0] == "  2611.15012  Tail latency below 10⁻³ s on shared [GPU]s"
    assert "[GPU]s and find" in lines[1]
    assert lines[-1].lstrip().startswith("Ada Example0, Ada Example1, Ada Example2 +6 · cs.PF cs.DC")
    assert max(map(len, lines)) <= 100
