"""Highlights of the raw text in its plain form."""

from __future__ import annotations

import pytest

from digest.tex import Segment, to_segments


def cut(text: str, *found: str) -> str:
    """The segments of a text with these parts highlighted, marked ones in brackets."""
    spans = []
    for part in found:
        start = text.index(part)
        spans.append((start, start + len(part)))
    shown = ""
    for segment in to_segments(text, spans):
        shown += f"[{segment.text}]" if segment.is_marked else segment.text
    return shown


def test_a_highlighted_word_is_a_segment_of_its_own() -> None:
    before, marked, after = to_segments("shared GPUs", [(7, 10)])
    assert before == Segment("shared ", is_marked=False)
    assert marked == Segment("GPU", is_marked=True)
    assert after == Segment("s", is_marked=False)


def test_without_highlights_there_is_one_segment() -> None:
    segments = to_segments("shared  GPUs")
    assert segments == (Segment("shared GPUs", is_marked=False),)


def test_an_empty_text_has_no_segments() -> None:
    assert to_segments("") == ()
    assert to_segments(" \n ", [(0, 3)]) == ()


def test_highlights_beyond_the_text_or_turned_around_are_ignored() -> None:
    segments = to_segments("abc", [(9, 12), (2, 1), (1, 1)])
    assert segments == (Segment("abc", is_marked=False),)


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        # where formulas, accents and folded blanks stand before it
        (r"Schr\"odinger's $\mathcal{O}(n^2)$ GPU code", "GPU", "Schrödinger's 𝒪(n²) [GPU] code"),
        (r"in $10^{-3}$ seconds or less", r"$10^{-3}$ sec", "in [10⁻³ sec]onds or less"),
        ("of  tail\n  latency now", "tail\n  latency", "of [tail latency] now"),
        # a part of a command, of a script or of a letter marks all of what it prints
        (r"the Schr\"odinger equation", r"Schr\"odinger", "the [Schrödinger] equation"),
        (r"an $\alpha$ decay", "lph", "an [α] decay"),
        (r"$n^{3/2}$ steps", "3", "n[^(3/2)] steps"),
        ("un cafe\u0301 noir", "cafe\u0301", "un [café] noir"),
        # and nothing beside it
        (r"$\frac{abc}{xyz}$", "abc", "[abc]/(xyz)"),
        ("a\x00b", "\x00", "ab"),
    ],
)
def test_what_a_highlight_touches_is_marked_and_nothing_else(
    text: str, found: str, expected: str
) -> None:
    assert cut(text, found) == expected


def test_highlights_may_be_given_in_any_order() -> None:
    assert cut("one two three", "three", "one") == "[one] two [three]"
