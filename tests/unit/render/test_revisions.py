"""What changed in a paper: word by word, and in a few words."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry, Links, StoredText
from digest.model.papers import Author, Field, Paper
from digest.model.subscriptions import Grouping
from digest.render.papers import LONGEST_NOTE, PaperView
from digest.render.renderer import Renderer
from digest.render.revisions import (
    UNCHANGED,
    DiffPiece,
    Part,
    compare_lists,
    compare_words,
    count_words,
    join_summaries,
    view_revisions,
)
from digest.render.samples import make_digest, make_entry, make_paper
from tests.conftest import IS_NIGHTLY
from tests.samples import revised_entry

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
    """Draw a text and what became of it.

    Words put in, taken out or put in another's place, at its ends too.
    """
    words = draw(st.lists(st.sampled_from(SOME), min_size=3, max_size=20))
    changed = list(words)
    for place in draw(st.lists(st.integers(0, len(words)), min_size=1, max_size=3)):
        changed[place : place + draw(st.integers(0, 1))] = draw(
            st.lists(st.sampled_from(SOME), max_size=2)
        )
    return " ".join(words), " ".join(changed)


@settings(max_examples=300 if IS_NIGHTLY else 40)
@given(edited() | st.tuples(TEXTS, TEXTS))
@example(("It fits.", "so It fits."))
@example(("so It fits.", "It fits."))
def test_kept_and_gone_are_the_text_before_kept_and_come_the_one_after(
    texts: tuple[str, str],
) -> None:
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
    st.lists(st.sampled_from(["Ada", "Bo", "Cy", "Di"]), max_size=6),
    st.lists(st.sampled_from("ABC"), max_size=6),
)
def test_lists_of_names_come_back_too(before: list[str], after: list[str]) -> None:
    pieces = compare_lists(before, after)
    assert (join(pieces, Part.GONE), join(pieces, Part.COME)) == (
        ", ".join(before),
        ", ".join(after),
    )


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a cluster of 64 GPUs", "a cluster of 96 GPUs", "a cluster of[ 64]< 96> GPUs"),
        ("We measure tails.", "Here we measure tails.", "[We]<Here we> measure tails."),
        ("It fits.", "It fits on one page.", "It fits< on one page>."),
        (
            "ten of cases remain for us",
            "two of runs remain for us",
            "[ten]<two> of[ cases]< runs> remain for us",
        ),
        ("fast, cheap and good", "fast and good", "fast[, cheap] and good"),
        ("共享加速器上的延迟", "共享处理器上的延迟", "共享[加速]<处理>器上的延迟"),
        (
            "one of the many ways",
            "two of a few roads",
            "[one of the many ways]<two of a few roads>",
        ),
        (
            "six words are all in vain",
            "none of that is left now",
            "[six words are all in vain]<none of that is left now>",
        ),
    ],
)
def test_words_are_what_is_compared(before: str, after: str, shown: str) -> None:
    assert show(before, after) == shown


def test_signs_do_not_count_as_words() -> None:
    pieces = compare_words(
        "It fits, of course, on one page of paper.", "It fits of course on two pages of paper."
    )
    assert (count_words(pieces, Part.GONE), count_words(pieces, Part.COME)) == (2, 2)


TIMES = 20 if IS_NIGHTLY else 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b " * 5_000, "b a " * 5_000),
        ("a b c " * 600, "c b a " * 600),
        (
            " ".join(f"w{n % 97}" for n in range(1_900)),
            " ".join(f"w{n * 7 % 97}" for n in range(1_900)),
        ),
        (" ".join(map(str, range(1_900))), " ".join(map(str, reversed(range(1_900))))),
        ("汉" * 10_000, "汉字" * 5_000),
        ("x" * 25_000, "y" * 25_000),
        (" " * 15_000 + "a", "a" + " " * 15_000),
        (",.;:" * 2_500, ".;:," * 2_500),
        ("a'" * 5_000, "a-" * 5_000 + "b"),
    ],
)
def test_texts_of_any_size_take_a_bounded_time(before: str, after: str) -> None:
    before = before * TIMES
    after = after * TIMES
    start = time.process_time()
    pieces = compare_words.__wrapped__(before, after)
    assert time.process_time() - start < (2 if IS_NIGHTLY else 0.5)
    assert (join(pieces, Part.GONE), join(pieces, Part.COME)) == (before, after)


ADA = Author("Ada Example")
BO = Author("Bo Sample")
CY = Author("Cy Trial")
BEFORE = make_paper(authors=(ADA, BO))


def describe(**changes: object) -> str:
    return join_summaries(view_revisions(BEFORE, replace(BEFORE, version=2, **changes)))  # type: ignore[arg-type]  # fields of Paper


def view(kind: Kind, label: str, paper: Paper, before: Paper | None) -> PaperView:
    entry = replace(make_entry(1), kind=kind, label=label, paper=paper)
    return PaperView(replace(entry, before=StoredText(before) if before else None), 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"comment": r"accepted at \emph{a workshop}"}, "accepted at a workshop"),
        ({"comment": "9 pages, v2: typos corrected"}, "typos corrected"),
        (
            {"comment": "12 pages, 3 figures. A sign is mended in the proof."},
            "A sign is mended in the proof",
        ),
        ({"comment": "12 pages"}, "12 pages"),
        ({"comment": "; ;"}, "comment edited"),
        ({"comment": "v2: 12 pages; ver. 2: accepted to PRB"}, "accepted at PRB"),
        (
            {"comment": "v2; Accepted for publication in Physical Review B"},
            "accepted at Physical Review B",
        ),
        ({"comment": "Accepted in PRB, and much added"}, "Accepted in PRB, and much added"),
        ({"title": "Else"}, "title was “Tail latency below 10⁻³ s on shared GPUs”"),
        ({"authors": (ADA, CY)}, "authors: +Cy Trial −Bo Sample"),
        ({"authors": (BO, ADA)}, "authors: in another order"),
        (
            {"authors": (ADA, BO, *(Author(f"Given{n} Family{n}") for n in range(400)))},
            "authors: +400",
        ),
        ({"journal_ref": "J. Made Up 3 (2027) 14"}, "published in J. Made Up"),
        ({"dois": ("10.5555/made.up",)}, "DOI 10.5555/made.up"),
        ({"dois": ("10.5555/made.up",), "comment": "typos"}, "typos"),
        ({"authors": (ADA, BO, BO)}, "authors: +Bo Sample"),
        ({"categories": ("cs.PF", "cs.DC", "cs.OS")}, "categories: +cs.OS"),
        ({"abstract": BEFORE.abstract.replace("96 GPUs", "64 GPUs")}, "abstract: 1 word changed"),
        ({"abstract": BEFORE.abstract.replace("on a cluster ", "")}, "abstract −3 words"),
        ({"abstract": f"{BEFORE.abstract} It is free."}, "abstract +3 words"),
        ({"abstract": "We found something else entirely."}, "abstract written anew"),
        ({"abstract": BEFORE.abstract.replace(". It", "; It")}, "abstract: punctuation changed"),
        ({}, UNCHANGED),
    ],
)
def test_each_part_says_in_a_few_words_what_changed(changes: dict[str, object], said: str) -> None:
    assert describe(**changes) == said


def test_the_comment_comes_first_and_all_of_it_stays_one_line() -> None:
    shown = PaperView(revised_entry(7), 1)
    assert shown.change.startswith(
        "v2: Accepted at a workshop on schedulers, 2027; title was “Scheduling"
    )
    assert "\n" not in shown.change
    long = replace(revised_entry(7).paper, comment="word " * 300, title="word " * 300)
    assert len(view(Kind.REPLACEMENT, "v1 → v2", long, BEFORE).change) <= LONGEST_NOTE


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("The timer was off by ten.", "The timer was off by ten."),
        (
            "This paper has been withdrawn by the author(s) due to a sign error",
            "due to a sign error",
        ),
        ("Withdrawn by the authors: it was off by ten", "it was off by ten"),
        *(("", "the authors give no reason"), ("Withdrawn.", "Withdrawn.")),
        ("This paper has been withdrawn by the author.", "by the author."),
        ("Withdrawn by arXiv administrators due to overlap", "due to overlap"),
        (
            "9 pages, submitted to ApJ This paper has been withdrawn by all authors: it is wrong",
            "it is wrong",
        ),
    ],
)
def test_a_withdrawal_gives_the_authors_reason_or_says_that_there_is_none(
    comment: str, reason: str
) -> None:
    gone = replace(BEFORE, version=2, comment=comment, is_withdrawn=True)
    for kind, label, before in (
        (Kind.WITHDRAWAL, "withdrawn (v2)", BEFORE),
        (Kind.KNOWN, "", None),
    ):
        assert view(kind, label, gone, before).change == f"withdrawn (v2): {reason}"


@pytest.mark.parametrize(
    "hostile",
    ["<script>alert(1)</script>", "</del></details><img src=x>", "\x1b[31m\x13", "&lt;b&gt;"],
)
def test_no_text_of_a_stranger_comes_alive_in_what_changed(
    renderer: Renderer, hostile: str
) -> None:
    before = replace(
        BEFORE, title=hostile, abstract=hostile, comment=hostile, authors=(Author(hostile),)
    )
    entries: list[DigestEntry] = []
    longer = replace(before, title=f"{hostile} and more", abstract=f"{hostile} and {'more ' * 9}")
    for one, other in ((before, BEFORE), (BEFORE, before), (before, longer)):
        entry = replace(
            make_entry(1), kind=Kind.REPLACEMENT, label="v1 → v2", paper=replace(other, version=2)
        )
        entries.append(replace(entry, before=StoredText(one)))
    page = renderer.render_page(make_digest(entries), Links())
    assert "<script>" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    terminal = renderer.render_terminal(make_digest(entries), width=96, color=False, limit=None)
    assert "\x1b" not in terminal


def test_below_a_query_a_paper_names_the_others(renderer: Renderer) -> None:
    entries = [
        make_entry(1, queries=("perf", "gpu"), found=((Field.TITLE, "GPU"),)),
        make_entry(2, queries=("gpu",)),
    ]
    digest = make_digest(entries, group_by=Grouping.QUERY)
    text = renderer.render_text(digest, Links())
    assert text.index("perf (1)") < text.index("Why: also gpu") < text.index("gpu (1)")
