from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from digest.render.revisions import DiffPiece, Part, compare_lists, compare_words, count_words
from tests.conftest import IS_NIGHTLY

SOME = ("a", "the", "tail", "GPUs", "x,", "$y$", "汉字", "one-by-one", " ", ".")
WORDS = st.lists(st.sampled_from(SOME), max_size=30)
TEXTS = st.one_of(WORDS.map(" ".join), WORDS.map("".join), st.text(max_size=60))


def join(pieces: Iterable[DiffPiece], part: Part) -> str:
    return "".join(piece.text for piece in pieces if piece.part in (Part.KEPT, part))


def show(before: str, after: str) -> str:
    marks = {Part.KEPT: "{}", Part.GONE: "[{}]", Part.COME: "<{}>"}
    return "".join(marks[piece.part].format(piece.text) for piece in compare_words(before, after))


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text and what became of it: words put in, taken out or put in another's place, at its ends too."""
    words = draw(st.lists(st.sampled_from(SOME), min_size=3, max_size=20))
    changed = list(words)
    for place in draw(st.lists(st.integers(0, len(words)), min_size=1, max_size=3)):
        changed[place : place + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(SOME), max_size=2))
    return " ".join(words), " ".join(changed)


@settings(max_examples=300 if IS_NIGHTLY else 40)
@given(edited() | st.tuples(TEXTS, TEXTS))
@example(("It fits.", "so It fits."))
@example(("so It fits.", "It fits."))
def test_kept_and_gone_are_the_text_before_kept_and_come_the_one_after(texts: tuple[str, str]) -> None:
    before, after = texts
    pieces = compare_words(before, after)
    assert join(pieces, Part.GONE) == before
    assert join(pieces, Part.COME) == after


@settings(max_examples=300 if IS_NIGHTLY else 40)
@given(edited() | st.tuples(TEXTS, TEXTS))
def test_neighbours_differ_and_none_is_empty(texts: tuple[str, str]) -> None:
    before, after = texts
    pieces = compare_words(before, after)
    assert all(piece.text for piece in pieces)
    assert all(one.part is not other.part for one, other in pairwise(pieces))
    assert all(piece.part is Part.KEPT for piece in pieces) is (before == after)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["Ada", "Bo", "Cy", "Di"]), max_size=6), st.lists(st.sampled_from("ABC"), max_size=6)
)
def test_lists_of_names_come_back_too(before: list[str], after: list[str]) -> None:
    pieces = compare_lists(before, after)
    assert (join(pieces, Part.GONE), join(pieces, Part.COME)) == (", ".join(before), ", ".join(after))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a cluster of 64 GPUs", "a cluster of 96 GPUs", "a cluster of[ 64]< 96> GPUs"),
        ("We measure tails.", "Here we measure tails.", "[We]<Here we> measure tails."),
        ("It fits.", "It fits on one page.", "It fits< on one page>."),
        (
            "ten of cases remain on the page",
            "two of runs remain on the page",
            "[ten]<two> of[ cases]< runs> remain on the page",
        ),
        ("fast, cheap and good", "fast and good", "fast[, cheap] and good"),
        ("共享加速器上的延迟", "共享处理器上的延迟", "共享[加速]<处理>器上的延迟"),
        ("one of the many ways", "two of a few roads", "[one of the many ways]<two of a few roads>"),
        (
            "seven words are here all in vain",
            "nothing of that is left but new",
            "[seven words are here all in vain]<nothing of that is left but new>",
        ),
    ],
)
def test_words_are_what_is_compared(before: str, after: str, shown: str) -> None:
    assert show(before, after) == shown


def test_signs_do_not_count_as_words() -> None:
    pieces = compare_words("It fits, of course, on one page of paper.", "It fits of course on two pages of paper.")
    assert (count_words(pieces, Part.GONE), count_words(pieces, Part.COME)) == (2, 2)


TIMES = 20 if IS_NIGHTLY else 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b " * 5_000, "b a " * 5_000),
        ("a b c " * 600, "c b a " * 600),
        (" ".join(f"w{n % 97}" for n in range(1_900)), " ".join(f"w{n * 7 % 97}" for n in range(1_900))),
        (" ".join(map(str, range(1_900))), " ".join(map(str, reversed(range(1_900))))),
        ("汉" * 10_000, "汉字" * 5_000),
        ("x" * 25_000, "y" * 25_000),
        (" " * 15_000 + "a", "a" + " " * 15_000),
        (",.;:" * 2_500, ".;:," * 2_500),
        ("a'" * 5_000, "a-" * 5_000 + "b"),
    ],
)
def test_texts_of_any_size_take_a_bounded_time(before: str, after: str) -> None:
    before, after = before * TIMES, after * TIMES
    start = time.process_time()
    pieces = compare_words.__wrapped__(before, after)
    assert time.process_time() - start < (2 if IS_NIGHTLY else 0.5)
    assert (join(pieces, Part.GONE), join(pieces, Part.COME)) == (before, after)
