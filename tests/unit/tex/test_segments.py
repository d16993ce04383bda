"""Highlights of the raw text in its plain form."""

from __future__ import annotations

from digest.tex import Segment, to_segments


def cut(text: str, *found: str) -> str:
    """The segments of a text with these parts highlighted, marked ones in brackets."""
    spans = [(text.index(part), text.index(part) + len(part)) for part in found]
    return "".join(
        f"[{segment.text}]" if segment.is_marked else segment.text for segment in to_segments(text, spans)
    )


def test_a_highlighted_word_is_a_segment_of_its_own() -> None:
    assert to_segments("shared GPUs", [(7, 10)]) == (
        Segment("shared ", is_marked=False),
        Segment("GPU", is_marked=True),
        Segment("s", is_marked=False),
    )


def test_without_highlights_there_is_one_segment() -> None:
    assert to_segments("shared  GPUs") == (Segment("shared GPUs", is_marked=False),)


def test_an_empty_text_has_no_segments() -> None:
    assert to_segments(" \n ", [(0, 3)]) == to_segments("") == ()


def test_highlights_after_formulas_and_accents_sit_where_they_should() -> None:
    assert cut(r"Schr\"odinger's $\mathcal{O}(n^2)$ GPU code", "GPU") == "Schrödinger's 𝒪(n²) [GPU] code"


def test_a_highlight_of_a_word_with_an_accent_marks_the_word() -> None:
    assert cut(r"the Schr\"odinger equation", r"Schr\"odinger") == "the [Schrödinger] equation"


def test_a_highlight_on_a_part_of_a_command_marks_what_the_command_prints() -> None:
    assert cut(r"an $\alpha$ decay", "lph") == "an [α] decay"


def test_a_highlight_on_a_part_of_a_script_marks_all_of_it() -> None:
    assert cut(r"$n^{3/2}$ steps", "3") == "n[^(3/2)] steps"


def test_a_highlight_across_a_formula_marks_all_between() -> None:
    assert cut(r"in $10^{-3}$ seconds or less", r"$10^{-3}$ sec") == "in [10⁻³ sec]onds or less"


def test_a_highlight_of_the_numerator_leaves_the_denominator_unmarked() -> None:
    assert cut(r"$\frac{abc}{xyz}$", "abc") == "[abc]/(xyz)"


def test_white_space_within_a_highlight_is_folded() -> None:
    assert cut("of  tail\n  latency now", "tail\n  latency") == "of [tail latency] now"


def test_a_highlight_of_dropped_characters_marks_nothing() -> None:
    assert cut("a\x00b", "\x00") == "ab"


def test_a_highlight_never_cuts_a_composed_character() -> None:
    assert cut("un cafe\u0301 noir", "cafe") == "un [café] noir"


def test_syllables_typed_as_letters_stay_whole_under_a_highlight() -> None:
    assert cut("\u1112\u1161\u11ab x", "\u1112") == "[한] x"


def test_highlights_beyond_the_text_or_turned_around_are_ignored() -> None:
    assert to_segments("abc", [(9, 12), (2, 1), (1, 1)]) == (Segment("abc", is_marked=False),)


def test_highlights_may_be_given_in_any_order() -> None:
    assert cut("one two three", "three", "one") == "[one] two [three]"
