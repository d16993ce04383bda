"""What is shown of an abstract: the sentence that says most, cut between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Field
from digest.render.papers import PaperView
from digest.render.samples import make_entry
from digest.render.sentences import LONGEST_SNIPPET, OPENINGS, choose_snippet, split_sentences
from digest.render.text import show_plain

LONG = " ".join(f"word{number}" for number in range(60))


def find(text: str, *words: str) -> list[tuple[tuple[int, int], ...]]:
    """Return for each word a reason: all its places."""
    return [
        tuple((place, place + len(word)) for place in range(len(text)) if text.startswith(word, place))
        for word in words
    ]


def show(text: str, *words: str) -> str:
    """Return the snippet with what matched in brackets."""
    return "".join(
        f"[{one.text}]" if one.is_marked else one.text
        for one in choose_snippet("A title", text, find(text, *words))
    )


def test_the_sentence_that_meets_most_reasons_is_shown() -> None:
    text = "GPU after GPU and GPU. The tail latency of a GPU is high. Latency is not tail."
    assert show(text, "GPU", "tail latency") == "The [tail latency] of a [GPU] is high."


def test_among_equals_the_sentence_with_most_places_then_the_one_that_says_what_was_done_is_shown() -> None:
    assert show("A GPU. Two GPU and GPU. One GPU.", "GPU") == "Two [GPU] and [GPU]."
    assert show("A GPU is fast. Here we show that a GPU is slow. A GPU.", "GPU") == (
        "Here we show that a [GPU] is slow."
    )


def test_a_long_sentence_is_cut_between_words_around_what_matched() -> None:
    assert show(LONG, "word30").startswith("…\u00a0word")
    assert "[word30]" in show(LONG, "word30")
    assert show(LONG, "word30").endswith("\u00a0…")
    assert show(LONG, "word0 ").startswith("[word0 ]word1 ")
    assert show(LONG, "word59").endswith("word58 [word59]")


def test_where_most_places_stand_together_is_shown() -> None:
    text = "GPU " + LONG + " first GPU and second GPU " + LONG
    assert "first [GPU] and second [GPU]" in show(text, "GPU")


@pytest.mark.parametrize("opening", OPENINGS)
def test_without_a_match_the_first_sentence_with_an_opening_is_shown(opening: str) -> None:
    said = f"Now {opening} that it works."
    assert show(f"It is hard. {said} It is easy. We show more.") == said


def test_there_are_twenty_openings() -> None:
    assert len(set(OPENINGS)) == 20


def test_an_opening_late_in_a_long_sentence_begins_the_snippet() -> None:
    assert show(f"{LONG}, we prove that {LONG}.").startswith("…\u00a0we prove that word0 ")
    assert show(f"In this paper we prove that {LONG}.").startswith("In this paper we prove")


def test_without_match_and_opening_the_last_sentence_is_shown() -> None:
    assert show("A first one. A second one, e.g. this by A. Turing et al. is last.") == (
        "A second one, e.g. this by A. Turing et al. is last."
    )
    assert show("") == ""


def test_formulas_are_shown_as_text_and_never_cut_apart() -> None:
    text = r"It is so. Below $10^{-3}$ s the \emph{GPU} wins by \'Etienne's law."
    assert show(text, "10^{-3}", "GPU") == "Below [10⁻³] s the [GPU] wins by Étienne's law."


def test_letters_that_must_not_be_shown_are_left_out() -> None:
    assert show("All\u202e is\x00 well.") == "All is well."


@given(st.text("aB .\u0301$\\{}^G中", max_size=600), st.lists(st.tuples(st.integers(0, 600), st.integers(0, 9))))
def test_a_snippet_is_short_and_a_part_of_the_abstract(text: str, places: list[tuple[int, int]]) -> None:
    spans = [((start, min(start + length, len(text))),) for start, length in places if start < len(text)]
    said = "".join(one.text for one in choose_snippet("A title", text, spans))
    assert len(said) <= LONGEST_SNIPPET
    assert said.removeprefix("…\u00a0").removesuffix("\u00a0…") in show_plain(text)


@given(st.text('aB .?!"“)(', max_size=200))
def test_sentences_leave_out_blanks_alone(text: str) -> None:
    ranges = split_sentences(text)
    assert "".join(text[slice(*one)] for one in ranges).replace(" ", "") == text.replace(" ", "")


def test_a_paper_has_its_snippet_for_each_medium() -> None:
    view = PaperView(make_entry(abstract="Is 2 < 3 on a GPU/CPU?", found=((Field.ABSTRACT, "GPU"),)), 1)
    assert view.snippet == "Is 2 < 3 on a GPU/CPU?"
    assert view.snippet_html == "Is 2 &lt; 3 on a <mark>GPU</mark>/CPU?"
    assert view.style_snippet(80) == "Is 2 < 3 on a \x13GPU\x0f/CPU?"
    assert view.snippet_mrkdwn == "Is 2 &lt; 3 on a *GPU/CPU?*"
