"""What is shown of an abstract: the sentence that says most, cut between words."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Field
from digest.render.papers import PaperView, mark_parts, write_mrkdwn
from digest.render.samples import make_entry
from digest.render.sentences import LONGEST_SNIPPET, choose_snippet, split_sentences
from digest.render.text import show_plain
from tests.bench.pages import REAL
from tests.bench.sentences import read_judged, try_product

LONG = " ".join(f"word{number}" for number in range(60))


def find(text: str, *words: str) -> list[tuple[tuple[int, int], ...]]:
    """Return for each word a reason: all its places."""
    reasons = []
    for word in words:
        starts = [place for place in range(len(text)) if text.startswith(word, place)]
        reasons.append(tuple((start, start + len(word)) for start in starts))
    return reasons


def show(
    text: str, *words: str, title: str = "", sentences: int = 1, limit: int = LONGEST_SNIPPET
) -> str:
    """Return what is shown with what matched in brackets."""
    shown = choose_snippet(title, text, find(text, *words), sentences=sentences, limit=limit)
    return "".join(f"[{one.text}]" if one.is_marked else one.text for one in shown)


ABSTRACT = (
    "Clocks have been an important topic in recent years. We study clocks of two kinds. "
    "We show that a clock of glass runs 12% faster than one of steel. "
    "This may be useful in many ways."
)


def test_the_sentence_that_says_what_was_found_is_shown_and_marked_if_it_matched() -> None:
    found = "We show that a clock of glass runs 12% faster than one of steel."
    assert show(ABSTRACT) == found
    assert show(ABSTRACT, "glass") == found.replace("glass", "[glass]")


def test_a_match_alone_makes_no_sentence_the_best_one_but_decides_between_equals() -> None:
    assert show(ABSTRACT, "important topic", "useful").startswith("We show that")
    text = "Red light bends in a lens. Green light bends in a lens. Blue light bends in a lens."
    assert "Green" in show(text, "Green")
    assert "[Blue]" in show(text, "Blue")


def test_two_sentences_keep_their_order_with_an_ellipsis_for_what_lies_between() -> None:
    first = "We propose a clock of glass with two hands."
    last = "We find that it runs 12% faster than steel."
    assert show(f"{first} It has a hand. {last}", sentences=2) == f"{first}\u00a0… {last}"
    assert show(f"{first} {last}", sentences=2) == f"{first} {last}"


def test_a_second_sentence_that_adds_nothing_is_left_out() -> None:
    found = "We prove that every clock of glass is fast."
    assert show(f"{found} {found}", sentences=2) == found
    assert show(f"{found} Examples are discussed in recent years.", sentences=2) == found


LEANING = (
    "It also shows",
    "Moreover, we show",
    "Finally, we show",
    "This allows us to show",
    "In this case we find",
    "These results show",
    "The latter shows",
    "Second, we show",
    "But we find",
    "Such a way shows",
    "With these we show",
    "So we find",
    "We show how this is clear and",
    "We find that this is so and",
)


@pytest.mark.parametrize("leaning", LEANING)
def test_a_sentence_that_leans_on_unseen_text_is_shown_only_if_the_title_makes_it_clear(
    leaning: str,
) -> None:
    said = f"{leaning} that a glass clock runs 12% faster."
    text = f"The market is often discussed. {said}"
    assert show(text).startswith("The market")
    assert show(text, title="A clock of glass") == said


@pytest.mark.parametrize(
    "clear", ["In this paper we show", "This work shows", "It is shown", "It turns out"]
)
def test_a_sentence_that_names_the_paper_or_nothing_leans_on_no_other(clear: str) -> None:
    said = f"{clear} that a glass clock runs 12% faster."
    assert show(f"The market is often discussed. {said}") == said


@pytest.mark.parametrize(
    "others", ["Bo and Cyd proved", "Bo et al. found", "In 1890 the authors showed"]
)
def test_what_others_found_is_not_shown_as_what_the_paper_found(others: str) -> None:
    text = f"The market is often discussed. {others} that a glass clock runs 12% faster."
    assert show(text, title="A clock of glass").startswith("The market")


def test_a_long_opening_is_cut_in_front_of_what_was_found() -> None:
    shown = show(f"{LONG}, we then prove that {LONG}.")
    assert shown.startswith("…\u00a0we then prove that word0 ")
    end = "and here it is shown that all is well in the end."
    assert show(f"{LONG}, {end}") == f"…\u00a0{end}"
    shown = show(f"{LONG}, we prove none.")
    assert re.fullmatch("…\u00a0word.{160,}, we prove none\\.", shown)
    shown = show(f"In this paper we prove that {LONG}.")
    assert shown.startswith("In this paper we prove")
    shown = show(f"{LONG}, we then: i) prove that {LONG}.")
    assert shown.startswith("…\u00a0we then: i) prove that word0 ")


def test_an_abstract_of_a_thousand_sentences_takes_no_time() -> None:
    start = process_time()
    assert show("1. 2 a. " * 1_250, sentences=2)
    assert process_time() - start < 0.5


CUT = (
    "and x problem.",
    "and a (long remark, late)",
    "of the other side",
    "by T=12.5 GeV.",
    "at nanostructures.",
    "of [b, late]",
)


@pytest.mark.parametrize("end", CUT)
def test_a_cut_drops_more_than_a_word_and_leaves_no_word_hanging(end: str) -> None:
    text = f"Below {LONG[:164]} {end}"
    shown = show(text, limit=len(text) - 2)
    assert re.search("word2[0-4]\u00a0…$", shown)


SPLIT = (
    (
        "See Phys. Rev. B 38, 427.|Parts (i) and (ii), i.e. all.|Fig. 3 and Eq. (4) do.|"
        "By Smith et al. 2016."
    ),
    (
        "By Bo et al.|The end.|J. A. Smith came.|A. Turing left.|No. 3 fell.|"
        "Red vs. Blue in St. Petersburg, approx. 30."
    ),
    (
        "1. Do this.|2. Do that.|(a) One.|(b) Two.|The U.S. Army, a.k.a. it.|"
        "Of 3.14 at http://a.b/c.html.|By arXiv:16.01."
    ),
    (
        "Vitamin C.|The answer is no.|We go.|p-adic too.|Aims. To see.|Results: We saw.|"
        'He said "Go."|Then (he went.)|Off'
    ),
    (
        "一。|二\uff01|Mon. Not. R. Astron. Soc. 455, 1.|In 60 K.|At 0.4 K. Smith fell?|Yes!|"
        "Without a stop"
    ),
    (
        "It ends.|We glue it.|On and on…|Then no more.|J. Stat. Mech. 11, 2 by Mrs. Bo.|"
        "For i.i.d. Gaussian G.|Next Cor. 3."
    ),
    (
        "All of A.|A few.|At Mt. Wilson in Mar. 2016.|It took 5 ms.|"
        "Sand in J. Foo 9 (2016) and Bar. 29 (2008).|هل؟|है।|Ok"
    ),
)


@pytest.mark.parametrize("text", SPLIT)
def test_a_text_is_split_where_its_sentences_end(text: str) -> None:
    plain = text.replace("|", " ")
    sentences = [plain[start:end] for start, end in split_sentences(plain)]
    assert sentences == text.split("|")


@pytest.mark.skipif(not REAL, reason="DIGEST_REAL_DATA names no folder of judged sentences")
def test_most_sentences_shown_are_those_readers_chose() -> None:
    judged = read_judged(Path(REAL, "data", "sentences", "labelled_2016.jsonl"))
    one, two, alike = try_product(judged)
    assert one > 0.65
    assert two > 0.82
    assert alike > 0.9


def test_formulas_are_shown_as_text_and_never_cut_apart() -> None:
    text = r"It is so. Below $10^{-3}$ s the \emph{GPU} wins by \'Etienne's law."
    assert show(text, "10^{-3}", "GPU") == "Below [10⁻³] s the [GPU] wins by Étienne's law."


def test_letters_that_must_not_be_shown_are_left_out() -> None:
    assert show("All\u202e is\x00 well.") == "All is well."


def read_snippet(text: str, places: list[tuple[int, int]], sentences: int) -> str:
    """Return the snippet of an abstract, each letter with its accent.

    A highlight may end between the two, which screens draw together all the same.
    """
    spans = []
    for start, length in places:
        if start < len(text):
            end = min(start + length, len(text))
            spans.append(((start, end),))
    parts = choose_snippet("A title", text, spans, sentences=sentences)
    return normalize("NFC", "".join(part.text for part in parts))


@given(
    st.text("aB .\u0301$\\{}^G中", max_size=600),
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 9))),
)
def test_what_is_shown_is_short_and_a_part_of_the_abstract(
    text: str, places: list[tuple[int, int]]
) -> None:
    one = read_snippet(text, places, sentences=1)
    both = read_snippet(text, places, sentences=2)
    assert len(one) <= LONGEST_SNIPPET
    without_ellipses = one.removeprefix("…\u00a0").removesuffix("\u00a0…")
    assert without_ellipses in show_plain(text)
    assert one.strip("…\u00a0") in both
    assert not re.search("… ?…| …|… *$(?<!\u00a0…)", both)


@given(st.text('aB .?!"“)(', max_size=200))
def test_sentences_leave_out_blanks_alone(text: str) -> None:
    sentences = [text[start:end] for start, end in split_sentences(text)]
    assert "".join(sentences).replace(" ", "") == text.replace(" ", "")


def test_a_paper_has_its_snippet_for_each_medium() -> None:
    entry = make_entry(abstract="Is 2 < 3 on a GPU/CPU?", found=((Field.ABSTRACT, "GPU"),))
    view = PaperView(entry, 1)
    assert view.snippet == "Is 2 < 3 on a GPU/CPU?"
    assert mark_parts(view.snippet_parts) == "Is 2 &lt; 3 on a <mark>GPU</mark>/CPU?"
    assert view.style_snippet(80) == "Is 2 < 3 on a \x13GPU\x0f/CPU?"
    assert write_mrkdwn(view.snippet_parts) == "Is 2 &lt; 3 on a *GPU/CPU?*"
