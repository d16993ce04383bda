r"""A formula set part by part is what the reader makes of it, or is left to the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.index.formulas import set_parts
from digest.tex.commands import DECLARATIONS, TEXT_COMMANDS
from digest.tex.mathematics import DIVIDERS, FORMULA_COMMANDS
from digest.tex.reader import Reader
from digest.tex.symbols import MATH_ACCENTS, SYMBOLS
from digest.tex.tokens import Setting

names = st.sampled_from(
    sorted({*SYMBOLS, *TEXT_COMMANDS, *FORMULA_COMMANDS, *DIVIDERS, *DECLARATIONS, "nonsense"})
)
usual = st.sampled_from(
    ["mathbb", "mathcal", "mathrm", "alpha", "pi", "times", "sim", "frac", "sqrt", "left", "right", "log", "text"]
)
commands = st.tuples(names | usual, st.sampled_from(["", "", " ", "{}"])).map(lambda both: f"\\{both[0]}{both[1]}")
signs = st.sampled_from(
    [*"^_^_{}{} -+=<>()[]|/*,.:;!'\"#~&`", "--", "''", "->", ":=", "\\{", "\\}", "\\,", "\\ ", "\\!", "\\\\", "  "]
)
words = st.sampled_from(["x", "n", "12", "3.5", "1,000", "ab", "adic", "GPU", "self-dual", "\n", "λ", "\x07"])
plain = words | commands | signs
groups = st.lists(plain, max_size=3).map(lambda parts: f"{{{''.join(parts)}}}")
deep_groups = st.lists(plain | groups, max_size=3).map(lambda parts: f"{{{''.join(parts)}}}")
scripts = st.tuples(st.sampled_from("^_"), plain | groups | deep_groups).map("".join)
accented = st.tuples(st.sampled_from(sorted(MATH_ACCENTS)), plain | groups).map(
    lambda both: f"\\{both[0]}{both[1]}"
)
formulas = st.lists(plain | scripts | groups | deep_groups | accented, max_size=12).map("".join)
edges = st.sampled_from(["", "a", "1"])


def read_formula(before: str, formula: str, behind: str) -> str:
    """What the reader itself makes of a formula, which the delimiters hold together."""
    reader = Reader(f"{before}\\({formula}\\){behind}")
    end = len(before) + len(formula) + 4
    pieces = reader.read(len(reader.tokens), Setting())
    return "".join(piece.text for piece in pieces if len(before) <= piece.start < end)


def write_formula(before: str, formula: str, behind: str) -> str | None:
    pieces = set_parts(before, formula, behind)
    return None if pieces is None else "".join(piece.text for piece in pieces)


def is_balanced(formula: str) -> bool:
    depth = 0
    bare = formula.replace("\\\\", "").replace("\\{", "").replace("\\}", "")
    for brace in bare:
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0


@given(before=edges, formula=formulas.filter(is_balanced), behind=edges)
def test_a_formula_set_part_by_part_is_what_the_reader_makes_of_it(before: str, formula: str, behind: str) -> None:
    assert write_formula(before, formula, behind) in (None, read_formula(before, formula, behind))


@pytest.mark.parametrize(
    "formula",
    [
        *("x", r"\alpha", "10^{-3}", r"\mathbb{R}^n", r"\mathcal{O}(n^2)", "x = -1", r"p_{T} > 0.5", "f: X -> Y"),
        *(r"\frac{1}{2}\pi", r"\sqrt{s} = 13", r"\bar{B}_s^0", r"H_{\rm 0}", r"\left( a \right)", r"k \leq n\,"),
        *(r"{\bf x}", r"\log n", r"\hat\beta", "K^+K^-", "a_{i_{j}}", "a_{_{NN}}b", r"\text{odd words}"),
    ],
)
def test_usual_formulas_are_not_left_to_the_reader(formula: str) -> None:
    assert write_formula("", formula, "") == read_formula("", formula, "")


@pytest.mark.parametrize(
    "formula",
    [r"\rm x y", r"a \over b", r"\foo{x}", "x--y", "f''", "a~b", r"\begin{cases}x\end{cases}", "x^", "self-dual"],
)
def test_what_is_more_than_a_row_of_parts_is_left_to_the_reader(formula: str) -> None:
    assert write_formula("", formula, "") is None


@pytest.mark.parametrize(("before", "formula", "behind", "plain"), [("", "p-", "a", "p-"), ("", "p-", "", "p−")])
def test_what_stands_around_a_formula_counts(before: str, formula: str, behind: str, plain: str) -> None:
    assert write_formula(before, formula, behind) == plain
