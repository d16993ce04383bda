"""A formula spelled for its words has those of what the reader makes of it, whatever stands beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.index.formulas import set_parts, spell_formula
from digest.query.words import cut_words
from digest.tex.parting import join_parts

parts = st.sampled_from(
    [
        *("x", "n", "12", "3.5", "ab", "adic", "GPU", "=", "+", "-", "/", "(", ")", "|", "<", ",", ".", ":", "'"),
        *(
            r"\alpha",
            r"\tau",
            r"\sim",
            r"\in",
            r"\to",
            r"\times",
            r"\log",
            r"\max",
            r"\sum",
            r"\,",
            r"\quad",
            r"\!",
        ),
        *("_2", "^*", "_{ij}", "^{-3}", r"_{\rm eff}", "^{(n)}", "_{g,n}", "^{3/2}", r"^\pm", r"_\mathrm{max}"),
        *(
            r"\mathbb{R}",
            r"\mathcal{O}",
            r"\mathrm{GeV}",
            r"\text{a b}",
            r"\text{if }",
            r"\frac{1}{2}",
            r"\hat{x}",
            r"\bar{K}",
        ),
        *(
            r"{\cal M}",
            "{a b}",
            r"\{",
            r"\left(",
            r"\right)",
            r"\%",
            "*",
            "->",
            r"\langle",
            r"\circ",
            r"\nonsense",
        ),
    ]
)
formulas = st.lists(st.tuples(parts, st.sampled_from(["", "", " "])), min_size=1, max_size=8).map(
    lambda pairs: "".join(part + blank for part, blank in pairs)
)
edges = st.sampled_from(["", "a", "1"])


@given(before=edges, formula=formulas, behind=edges)
def test_its_words_are_those_of_the_formula_as_it_is_set(before: str, formula: str, behind: str) -> None:
    pieces, spelled = set_parts(before, formula, behind), spell_formula(before, formula, behind)
    assert (pieces is None) == (spelled is None)
    if pieces is not None:
        written = join_parts(pieces)
        assert cut_words(f"{before}{spelled}{behind}") == cut_words(f"{before}{written}{behind}")


@pytest.mark.parametrize(
    ("formula", "words"),
    [(r"9\,", ["9", "a"]), (r"\;", ["1", "a"]), (r"\, x \quad ", ["1", "x", "a"]), (r"\text{if }", ["1if", "a"])],
)
def test_a_blank_asked_for_at_an_edge_parts_words_and_one_typed_does_not(formula: str, words: list[str]) -> None:
    before = "" if words[0] == "9" else "1"
    assert cut_words(f"{before}{spell_formula(before, formula, 'a')}a") == words
    assert cut_words(f"{before}{spell_formula(before, ' x ', 'a')}a") == [f"{before}xa"]
