"""Two wordings of a query held against each other.

What is gained, lost and kept, and through which clause.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.queries import compare_wordings, find_why_not
from digest.query import analyse, matches, parse_query
from tests.unit.made_up import make_paper

GPU = make_paper("2611.00001", abstract="On a GPU.", categories=("cs.PF",))
PAPER = make_paper("2611.00002", abstract="On paper.", categories=("cs.PF", "cs.DC"))
BOTH = make_paper("2611.00003", abstract="On a GPU and on paper.", categories=("cs.LG",))
TEXTS = [
    "abs:GPU",
    "abs:paper",
    "abs:GPU OR abs:paper",
    "cat:cs.PF ANDNOT cat:cs.DC",
    "NOT cat:cs",
    "ti:latency",
]


def test_a_paper_is_gained_with_the_clause_that_brings_it_and_the_one_the_old_wording_lacked() -> (
    None
):
    rewording = compare_wordings(
        parse_query("abs:GPU"), parse_query("abs:GPU OR abs:paper"), [GPU, PAPER, BOTH]
    )
    (moved,) = rewording.gained
    assert (moved.paper, moved.met, moved.why_not) == (PAPER, ("abs:paper",), "lacks abs:gpu")
    assert rewording.lost == ()
    assert rewording.kept == (BOTH, GPU)


def test_a_paper_is_lost_with_the_clause_the_new_wording_excludes_it_by() -> None:
    rewording = compare_wordings(
        parse_query("cat:cs.PF"), parse_query("cat:cs.PF ANDNOT cat:cs.DC"), [GPU, PAPER]
    )
    (moved,) = rewording.lost
    assert moved.paper == PAPER
    assert moved.why_not == "has cat:cs.DC, which is excluded"


def test_a_paper_that_fails_twice_over_says_both() -> None:
    failing = find_why_not(parse_query("abs:zebra AND ti:okapi ANDNOT cat:cs.PF"), analyse(GPU))
    assert failing == "lacks abs:zebra and ti:okapi; has cat:cs.PF, which is excluded"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "abs:zebra AND (cat:cs.CV OR cat:cs.LG)",
            "lacks abs:zebra and either cat:cs.CV or cat:cs.LG",
        ),
        ("abs:zebra AND (ti:okapi OR cat:cs.PF)", "lacks abs:zebra"),
        ("cat:cs.CV OR cat:cs.LG", "lacks cat:cs.CV and cat:cs.LG"),
        ("cat:cs.CV AND abs:zebra OR ti:okapi", "lacks either cat:cs.CV and abs:zebra or ti:okapi"),
        (
            "cat:cs.PF AND (ti:okapi OR ti:zebra OR ti:gnu AND ti:eland)",
            "lacks either ti:okapi, ti:zebra or ti:gnu and ti:eland",
        ),
        (
            "abs:zebra AND (ti:okapi ANDNOT cat:cs.PF)",
            "lacks abs:zebra and ti:okapi; has cat:cs.PF, which is excluded",
        ),
        (
            "abs:zebra AND (ti:okapi OR NOT cat:cs.PF)",
            "lacks abs:zebra and ti:okapi; has cat:cs.PF, which is excluded",
        ),
    ],
)
def test_conditions_of_which_one_is_enough_are_told_from_those_that_are_all_needed(
    text: str, words: str
) -> None:
    assert find_why_not(parse_query(text), analyse(GPU)) == words


@pytest.mark.parametrize("text", ["abs:GPU", "abs:GPU OR (cat:cs.PF ANDNOT ti:okapi)"])
def test_a_paper_that_matches_fails_nothing(text: str) -> None:
    assert find_why_not(parse_query(text), analyse(GPU)) == ""


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_gained_one_way_is_lost_the_other_and_all_that_matches_is_somewhere(
    old: str, new: str
) -> None:
    papers = [GPU, PAPER, BOTH]
    there = compare_wordings(parse_query(old), parse_query(new), papers)
    back = compare_wordings(parse_query(new), parse_query(old), papers)
    assert [moved.paper for moved in there.gained] == [moved.paper for moved in back.lost]
    assert there.kept == back.kept
    brought = {moved.paper.id for moved in there.gained} | {paper.id for paper in there.kept}
    assert brought == {paper.id for paper in papers if matches(parse_query(new), paper)}
    assert all(moved.met and moved.why_not for moved in (*there.gained, *there.lost))
