"""How near papers are to a library, in whole numbers, and in words."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from digest.interest.nearness import (
    Interest,
    PaperText,
    Texts,
    Weights,
    find_least,
    measure_each_to_others,
)
from digest.query import PaperIndex
from tests.unit.made_up import make_paper

QUBITS = (
    "Surface codes for noisy qubits",
    "We correct errors of superconducting qubits by surface codes.",
)
GALAXIES = (
    "Dwarf galaxies with dark haloes",
    "Rotation curves of dwarf galaxies show dark matter.",
)
GRAPHS = ("Colouring of sparse graphs", "Every sparse graph has a colouring with few colours.")
LIBRARY = [
    QUBITS,
    GALAXIES,
    GRAPHS,
    ("Lattice surgery on surface codes", "Qubits are merged and split."),
]
TEX = (r"$\Lambda$CDM and $f(R)$", r"$x_{i} \rightarrow \infty$")
NEARER = (
    "Decoding surface codes",
    "A decoder for superconducting qubits in the presence of noise.",
)
FARTHER = ("Stars in dwarf galaxies", "Stellar populations of nearby galaxies.")
WEIGHTS = Weights().count([*LIBRARY, NEARER, FARTHER, TEX])
EVERYTHING = [*LIBRARY, NEARER, FARTHER, TEX, ("", ""), ("Qubits", "")]


def test_a_paper_that_shares_more_rare_words_is_nearer() -> None:
    nearer, farther, alien = Interest(WEIGHTS, [QUBITS]).measure([NEARER, FARTHER, ("Zeta", "")])
    assert nearer > farther >= alien == 0


@pytest.mark.parametrize("weights", [Weights(), WEIGHTS])
def test_every_paper_of_the_library_is_its_own_nearest(weights: Weights) -> None:
    interest = Interest(weights, LIBRARY)
    assert [interest.find_nearest(paper) for paper in LIBRARY] == [0, 1, 2, 3]


def measure(library: list[PaperText], *unlike: PaperText) -> list[int]:
    """Return how near everything is to a library, and not to what counts against."""
    return Interest(WEIGHTS, library, unlike).measure(EVERYTHING)


def test_the_order_of_the_library_does_not_matter() -> None:
    shuffled = [LIBRARY[place] for place in (2, 0, 3, 1)]
    assert measure(shuffled) == measure(LIBRARY)


def test_measures_are_whole_numbers() -> None:
    types = {type(one) for one in measure(LIBRARY)}
    assert types == {int}


@pytest.mark.parametrize("paper", EVERYTHING)
def test_a_paper_that_counts_against_brings_nothing_nearer(paper: PaperText) -> None:
    for unlike in ([], [FARTHER], [FARTHER, GRAPHS]):
        before = measure(LIBRARY, *unlike)
        after = measure(LIBRARY, *unlike, paper)
        assert all(later <= earlier for later, earlier in zip(after, before, strict=True))


@pytest.mark.parametrize("paper", EVERYTHING)
def test_one_more_paper_of_the_library_takes_nothing_away(paper: PaperText) -> None:
    before = measure(LIBRARY)
    after = measure([*LIBRARY, paper])
    assert all(later >= earlier for later, earlier in zip(after, before, strict=True))


def test_more_papers_than_are_compared_at_a_time_are_measured_alike() -> None:
    many = EVERYTHING * 30
    alone = measure(LIBRARY)
    assert Interest(WEIGHTS, LIBRARY).measure(many) == alone * 30


def test_without_counts_all_words_weigh_alike() -> None:
    interest = Interest(Weights(), [("rare words", "")])
    one, other = interest.measure([("rare", ""), ("words", "")])
    assert one == other > 0


def test_weights_come_back_from_their_bytes() -> None:
    kept = Weights.from_bytes(WEIGHTS.to_bytes())
    assert kept.papers == 7
    assert Interest(kept, LIBRARY).measure(EVERYTHING) == measure(LIBRARY)


def test_counting_goes_on_where_it_stopped() -> None:
    first_part = Weights().count(EVERYTHING[:4])
    parted = first_part.count(EVERYTHING[4:])
    at_once = Weights().count(EVERYTHING)
    assert parted.to_bytes() == at_once.to_bytes()


@pytest.mark.parametrize("library", [[], [("", "")], [QUBITS]])
def test_a_text_without_words_is_near_nothing(library: list[PaperText]) -> None:
    interest = Interest(WEIGHTS, library)
    assert interest.measure([("", ""), ("of the", "")]) == [0, 0]
    assert interest.find_nearest(("", "")) is None
    assert interest.explain(("", "")) == []


def test_papers_an_index_has_read_need_no_second_reading() -> None:
    papers = [make_paper(title=title, abstract=abstract) for title, abstract in EVERYTHING]
    texts = Texts(PaperIndex(papers).list_texts())
    assert Interest(WEIGHTS, LIBRARY).measure(texts) == measure(LIBRARY)


@pytest.mark.parametrize("paper", EVERYTHING)
def test_the_words_that_carry_nearness_are_words_of_the_paper(paper: PaperText) -> None:
    carrying = Interest(WEIGHTS, LIBRARY).explain(paper)
    assert len(carrying) <= 3
    shares = [share for _, share in carrying]
    assert 0 <= sum(shares) <= 1.000001
    text = " ".join(paper)
    for written, _ in carrying:
        assert all(word in text for word in written.split())


@pytest.mark.parametrize(
    ("paper", "word"),
    [(NEARER, "surface codes"), (("Theory", "On a Correction of\nErrors"), "Correction of Errors")],
)
def test_two_words_with_nothing_but_stop_words_between_them_are_named_as_one(
    paper: PaperText, word: str
) -> None:
    library = [QUBITS, ("", "The correction of errors.")]
    carrying = Interest(WEIGHTS, library).explain(paper)
    first, _ = carrying[0]
    assert first == word


def test_the_top_tenth_ends_at_its_smallest_nearness() -> None:
    assert find_least(range(1, 101)) == 91
    assert find_least([5, 7]) == 7
    for without_any in ([0] * 20, [], [-3, -4]):
        assert find_least(without_any) == 1


def test_each_paper_of_a_library_is_measured_against_the_others() -> None:
    alone = []
    for at, paper in enumerate(LIBRARY):
        others = LIBRARY[:at] + LIBRARY[at + 1 :]
        alone += Interest(WEIGHTS, others).measure([paper])
    assert measure_each_to_others(WEIGHTS, LIBRARY) == alone
    assert measure_each_to_others(WEIGHTS, [QUBITS]) == [0]


MEASURES = """
import json, sys
from digest.interest.nearness import Interest, Weights
papers = [tuple(paper) for paper in json.load(sys.stdin)]
print(json.dumps(Interest(Weights().count(papers), papers[:4], papers[4:5]).measure(papers)))
"""


def can_measure(python: str) -> bool:
    imports = [python, "-c", "import numpy, Stemmer"]
    done = subprocess.run(imports, capture_output=True, check=False)  # noqa: S603 - a Python
    return done.returncode == 0


def find_pythons() -> list[str]:
    pythons = [sys.executable]
    for minor in (11, 12, 13, 14):
        python = shutil.which(f"python3.{minor}")
        if python is not None and can_measure(python):
            pythons.append(python)
    return pythons


def test_two_pythons_measure_alike() -> None:
    umath = importlib.import_module("numpy._core._multiarray_umath")
    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    plain = {"PYTHONHASHSEED": "7", "NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    weights = Weights().count(EVERYTHING)
    interest = Interest(weights, EVERYTHING[:4], EVERYTHING[4:5])
    here = interest.measure(EVERYTHING)
    for python in find_pythons():
        done = subprocess.run(  # noqa: S603 - a Python
            [python, "-c", MEASURES],
            cwd=Path(__file__).parents[3],
            input=json.dumps(EVERYTHING),
            env=os.environ | plain,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == here


def test_a_large_library_is_compared_a_few_papers_at_a_time() -> None:
    papers = [(f"word{number} word{number // 2}", "") for number in range(4_000)]
    tracemalloc.start()
    try:
        measured = measure_each_to_others(Weights(), papers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(measured) == 4_000
    assert peak < 60_000_000, "all pairs at once are 128 MB"
