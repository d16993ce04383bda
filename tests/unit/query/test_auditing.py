"""A query decided by arXiv's rules in place of ours, one rule at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.papers import Author, Paper
from digest.query import matches, parse_query
from digest.query.auditing import Rule, is_met_by_rules, list_rules
from tests.unit.made_up import make_paper

PAPER = make_paper(
    title=r"The Schrödinger equation on $\sim\alpha$-lattices of ΛCDM",
    abstract=r"We use generative models of Schr\"odinger's cats, with poly(I:C) and $10^{-3}$ of $H_0$.",
    authors=(
        Author("J.P. Dunwhistle", ("University of Vell",)),
        Author("Weimar Wexcombe"),
        Author("A. O'Tarnwater Jr."),
    ),
    dois=("10.1000/AbC",),
    submitter="Sven Corvane",
    categories=("cs.PF",),
)


def is_met(text: str, *rules: Rule, paper: Paper = PAPER) -> bool:
    return is_met_by_rules(parse_query(text).tree, paper, frozenset(rules))


@pytest.mark.parametrize(
    ("text", "rule", "here", "there"),
    [
        ("ti:schrodinger", Rule.ACCENTS, True, False),
        ("ti:schrödinger", Rule.ACCENTS, True, True),
        ('ti:"Schrodinger equation"', Rule.ACCENTS, True, False),
        ("ti:schrod*", Rule.ACCENTS, True, False),
        ("abs:schrödinger", Rule.TEX, True, False),
        ("abs:odinger", Rule.TEX, False, True),
        ("ti:alpha", Rule.TEX, True, True),
        ("ti:sim", Rule.TEX, False, True),
        ("ti:cdm", Rule.TEX, True, False),
        ("abs:h_0", Rule.TEX, True, True),
        ('abs:"10 3"', Rule.TEX, True, True),
        ("abs:poly", Rule.COLONS, True, True),
        ("abs:c", Rule.COLONS, True, False),
        ("abs:generative*", Rule.STEMS, True, False),
        ("abs:gener*", Rule.STEMS, True, True),
        ("abs:model*", Rule.STEMS, True, True),
        ('au:"Wexcombe, Wei"', Rule.NAMES, False, True),
        ('au:"J Dunwhistle"', Rule.NAMES, True, False),
        ("au:dunwhistle", Rule.NAMES, True, True),
        ('au:"OTarnwater, A"', Rule.NAMES, False, False),
        ("au:corvane", Rule.SUBMITTER, False, True),
        ("doi:10.1000/abc", Rule.DOI, True, False),
        ("doi:10.1000/AbC", Rule.DOI, True, True),
        ("all:wexcombe-schrodinger", Rule.JOINED, False, False),
        ('all:"Vell Performance"', Rule.JOINED, False, True),
        ("all:zebra", Rule.JOINED, False, False),
    ],
)
def test_a_rule_of_arxivs_decides_as_arxiv_does(text: str, rule: Rule, here: bool, there: bool) -> None:  # noqa: FBT001 - a table of what is expected
    assert matches(parse_query(text), PAPER) is is_met(text) is here
    assert is_met(text, rule) is there


QUERIES = [
    "ti:schrodinger AND NOT abs:zebra",
    "abs:gener* OR au:wexcombe",
    'au:"Wexcombe, W" ANDNOT co:withdrawn',
    "all:cats AND cat:cs",
    "NOT (doi:10.1000/abc OR jr:none)",
]


@pytest.mark.parametrize("text", QUERIES)
def test_without_any_rule_it_decides_as_everything_else_here(text: str) -> None:
    assert is_met(text) is matches(parse_query(text), PAPER)


@given(st.sampled_from(QUERIES), st.sets(st.sampled_from(Rule)))
def test_a_rule_that_cannot_matter_to_a_query_changes_nothing(text: str, rules: set[Rule]) -> None:
    tree = parse_query(text).tree
    those_that_can = rules & set(list_rules(tree))
    assert is_met(text, *rules) is is_met(text, *those_that_can)


def test_a_condition_that_is_assumed_is_met_wherever_it_stands() -> None:
    tree = parse_query("au:zebra ANDNOT au:okapi").tree
    zebra, okapi = parse_query("au:zebra").tree, parse_query("au:okapi").tree
    assert is_met_by_rules(tree, PAPER, frozenset(), assumed=zebra)  # type: ignore[arg-type]  # a single condition
    assert not is_met_by_rules(tree, PAPER, frozenset(), assumed=okapi)  # type: ignore[arg-type]  # the same


def test_accents_written_in_tex_count_as_accents() -> None:
    assert is_met("abs:schrödinger", Rule.ACCENTS)
    assert not is_met("abs:schrodinger", Rule.ACCENTS)
