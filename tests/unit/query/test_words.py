import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.words import (
    STOP_WORDS,
    cut_words,
    fold,
    part_word,
    read_word,
    spell_word,
    split_parts,
    split_words,
    stem,
)


def cut(text: str) -> list[str]:
    return [word.text for word in split_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Graph neural networks", ["graph", "neural", "networks"]),
        ("self-supervised", ["self", "supervised"]),
        ("either/or: both", ["either", "or", "both"]),
        ("C++ and GPT-4", ["c", "and", "gpt", "4"]),
        ("snake_case stays, _ and __ do not", ["snake_case", "stays", "and", "do", "not"]),
        ("3.14 or 1,000,000 of v1.0", ["3.14", "or", "1,000,000", "of", "v1.0"]),
        ("e.g. node.js, cs.PF", ["e.g", "node.js", "cs.pf"]),
        ("can't", ["can't"]),
        ("Newton's and Schrödinger’s users'", ["newton", "and", "schrödinger", "users"]),
        ("(gnn) [18F] «Züge»", ["gnn", "18f", "züge"]),
        ("μpath H₂O 𝒪", ["μpath", "h₂o", "𝒪"]),
        ("e\u0301tale soft\u00adhyphen", ["étale", "softhyphen"]),
        ("機械学習 GPU加速", ["機", "械", "学", "習", "gpu", "加", "速"]),
        ("машинное обучение", ["машинное", "обучение"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("… – & + ゜", []),
    ],
)
def test_text_is_cut_into_words_as_arxivs_index_does(text: str, words: list[str]) -> None:
    assert cut(text) == words


@given(st.text())
def test_words_stand_where_they_say_and_in_order(text: str) -> None:
    end = 0
    for word in split_words(text):
        assert end <= word.start < word.end
        assert fold(text[word.start : word.end]).startswith(fold(word.text)[:1])
        end = word.end


@given(st.text())
def test_cutting_a_cut_word_again_changes_nothing(text: str) -> None:
    for word in cut(text):
        assert cut(word) == [word]


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_letters_are_cut_alike_with_and_without_others_around(text: str) -> None:
    assert cut(f"{text} é") == [*cut(text), "é"]


def test_there_are_33_stop_words() -> None:
    assert len(STOP_WORDS) == 33


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        *(("Schrödinger", "schrodinger"), ("Pınar Tözün", "pinar tozun")),
        ("Łukasz Ørsted Đorđe", "lukasz orsted dorde"),
        *(
            ("Straße", "strasse"),
            ("ﬁnite", "finite"),
            ("Æon", "aeon"),
            ("İstanbul", "istanbul"),
            ("H₂O", "h2o"),
        ),
        ("Ω ΛΌΓΟΣ λόγος", "ω λογοσ λογοσ"),
    ],
)
def test_folding_drops_case_and_accents(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("stemmed", "words"),
    [
        ("gener", "generative generation general"),
        *(("transform", "transformers"), ("os", "os")),
        # -logi becomes -log, -bli -ble, after a vowel and a consonant
        ("topolog", "topology topologies topological topologically"),
        ("technolog", "technology technologies technological technologys"),
        ("analog", "analogy analogies analogied"),
        ("possibl", "possibly possible"),
        ("assembl", "assembly assemblies assemble assembled assembling"),
        ("synlog", "synlogy synlogying"),
        # else not, or not after the first step
        ("theologi", "theology theologies"),
        *(
            ("biologi", "biology biologies"),
            ("abli", "ably"),
            ("nobli", "nobly"),
            ("bylogi", "bylogy"),
        ),
        ("technologi", "technologial technologier"),
    ],
)
def test_stems_are_those_of_porters_published_program(stemmed: str, words: str) -> None:
    assert {word: stem(word) for word in words.split()} == dict.fromkeys(words.split(), stemmed)


def test_underscores_alone_are_no_word_however_many_they_are() -> None:
    assert cut_words("_" * 100_000) == []
    assert cut_words(f"{'_' * 100_000} é _a _é __a_ é_") == ["é", "_a", "_é", "__a_", "é_"]


@pytest.mark.parametrize(
    ("word", "whole", "parts"),
    [
        ("ΛCDM", "lambdacdm", ("lambda", "cdm")),
        ("𝛬CDM", "lambdacdm", ("lambda", "cdm")),
        ("Lyα", "lyalpha", ("ly", "alpha")),
        ("αβ", "alphabeta", ("alpha", "beta")),
        *(("µm", "mum", ("mu", "m")), ("H₀", "h0", ("h", "0")), ("H_0", "h0", ("h", "0"))),
        ("N_body", "nbody", ("n", "body")),
        ("10⁹GeV", "109gev", ("10", "9", "gev")),
        ("x²₁", "x21", ("x", "2", "1")),
        ("xᵅᵋ", "xalphaepsilon", ("x", "alpha", "epsilon")),
        *(("xᵢⱼk", "xijk", ("x", "ij", "k")), ("V·s", "v·s_", ("v", "s"))),
        ("α.x_1.5", "alpha.x1.5", ("alpha", "x", "1.5")),
        *(("x_a", "xa", ("x", "a")), ("Σ's", "sigma", ()), ("_x_", "x", ())),
        ("_the_", read_word("the"), ()),
        (
            "λόγος",
            "lambdaomicrongammaomicronsigma",
            ("lambda", "omicron", "gamma", "omicron", "sigma"),
        ),
        *(("größe", "grosse", ()), ("Hawaiʻi", "hawaiʻi", ()), ("GPT4", "gpt4", ())),
    ],
)
def test_a_word_is_read_whole_and_parted(word: str, whole: str, parts: tuple[str, ...]) -> None:
    assert read_word(word) == whole
    assert part_word(word) == parts


@pytest.mark.parametrize(
    ("word", "term"), [("α_s", "alphas_"), ("betadecays", "betadecai"), ("βdecays", "betadecai")]
)
def test_a_stem_never_leaves_a_part_out(word: str, term: str) -> None:
    assert stem(read_word(word)) == term


PARTED = st.text(st.sampled_from("aS1.,'’·_Λςά₀²ᵅᵢ̄\u0301\u00adéµ机ßİ"), max_size=9)


@given(PARTED)
def test_the_parts_of_a_word_are_all_of_it_in_order_and_none_has_parts_itself(text: str) -> None:
    for written in cut_words(text):
        parts = split_parts(written)
        assert (
            part_word(spell_word(written))
            == part_word(written)
            == tuple(part.text for part in parts)
        )
        end = 0
        for part in parts:
            assert end <= part.start < part.end
            assert part_word(written[part.start : part.end]) == ()
            end = part.end
        signs = str.maketrans("", "", "_.,'’·")
        if parts and not re.search(
            r"['’][sS]", written
        ):  # whose part is read without its possessive
            whole = read_word(written)
            assert "".join(part_word(written)).translate(signs) == whole.translate(signs)
