"""Clauses no paper can meet: what is told is certain."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.papers import Paper
from digest.query import And, Condition, Node, Not, Or, Query, matches, parse_query
from digest.query.contradictions import find_dead_clauses, implies, is_always_met

MakePaper = Callable[..., Paper]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cat:cs.PF ANDNOT cat:cs.PF", "cat:cs.PF is asked for and excluded at once"),
        ("cat:cs.NA AND ti:a1 ANDNOT cat:math.NA", "cat:math.NA is asked for and excluded at once"),
        ("cat:cs.PF ANDNOT cat:cs.*", "meets cat:cs, which is excluded"),
        ("ti:a1 AND NOT (ti:a1 OR ti:b1)", "ti:a1 is asked for and excluded"),
        ("ti:gpus ANDNOT ti:gpu", "whatever meets ti:gpus meets ti:gpu"),
        ('ti:"tail latency" ANDNOT ti:tail', "meets ti:tail"),
        ('ti:"the tail latency gap" ANDNOT ti:"tail latency"', 'meets ti:"tail latency"'),
        ("ti:gpu ANDNOT all:gpu", "meets all:gpu"),
        ("ti:transformers ANDNOT ti:transf*", "meets ti:transf*"),
        ("au:smith ANDNOT au:smi*", "meets au:smi*"),
        ('au:"bin liu" ANDNOT au:liu', "meets au:liu"),
        ('au:"Smith, J" ANDNOT au:smith', "meets au:smith"),
        ("id:2603.10026v2 ANDNOT id:2603.10026", "meets id:2603.10026"),
        ("id:2603.10026 AND id:2603.10027", "a paper is one"),
        ("id:2603.10026v1 AND id:2603.10026v2", "a paper is one"),
        ("submittedDate:[2020 TO 2021] AND submittedDate:[2024 TO 2025]", "no day lies in both"),
        ("submittedDate:[2024 TO 202401] ANDNOT submittedDate:[2024 TO 2024]", "which is excluded"),
        ("submittedDate:[1985 TO 1990]", "before arXiv began"),
        ("cat:cs.ZZ AND ti:a1", "names no category"),
        ("ti:a1 AND (cat:zz* OR cat:yy*)", "names no category"),
        ("ti:a1 AND (NOT ti:a1 OR (ti:b1 ANDNOT ti:a1))", "ti:a1 is asked for and excluded"),
        ("NOT (ti:a1 OR NOT ti:a1)", "ti:a1 is asked for and excluded"),
    ],
)
def test_no_paper_can_match(text: str, why: str) -> None:
    (dead,) = find_dead_clauses(parse_query(text).tree)
    assert dead.is_whole
    assert why in dead.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ti:x1 OR (cat:cs.PF ANDNOT cat:cs.PF)", "cat:cs.PF is asked for"),
        ("ti:x1 AND (ti:b1 OR (id:2603.10026 AND id:2603.10027))", "a paper is one"),
        ("ti:a1 AND (ti:b1 OR (ti:c1 ANDNOT ti:a1))", "ti:a1 is asked for"),
        ("ti:x1 OR submittedDate:[* TO 1980]", "before arXiv began"),
    ],
)
def test_a_part_of_a_query_can_never_match(text: str, why: str) -> None:
    (dead,) = find_dead_clauses(parse_query(text).tree)
    assert not dead.is_whole
    assert why in dead.why


@pytest.mark.parametrize(
    "text",
    [
        "cat:cs.PF AND cat:math.NA",
        "cat:cs ANDNOT cat:cs.PF",
        "ti:tail ANDNOT abs:tail",
        'ti:tail AND ti:latency ANDNOT ti:"tail latency"',
        "co:figures ANDNOT co:figure",
        "ti:transf* ANDNOT ti:transformers",
        "all:gpu ANDNOT ti:gpu",
        'au:smith ANDNOT au:"john smith"',
        'au:"john smith" ANDNOT author:"Bin Smith"',
        "id:2603.10026 AND id:2603.10026v2",
        "submittedDate:[2024 TO 2025] AND submittedDate:[2025 TO 2026]",
        "cat:I.2.6",
        "submittedDate:[* TO 1991]",
    ],
)
def test_what_some_paper_may_meet_is_left_alone(text: str) -> None:
    assert find_dead_clauses(parse_query(text).tree) == []


@pytest.mark.parametrize("text", ["ti:a1 OR NOT ti:a1", "NOT (cat:cs.PF ANDNOT cat:cs)", "NOT ti:gpus OR all:gpu"])
def test_a_query_may_be_met_by_every_paper(text: str) -> None:
    assert is_always_met(parse_query(text).tree)


CONDITIONS = [
    *("ti:gpu", "ti:gpus", "ti:tail", 'ti:"tail latency"', 'ti:"gpu tail latency"'),
    *("ti:tail-latency", "ti:gp*", "ti:latenc*"),
    *("co:gpu", "co:gpus", "co:gp*", "all:gpu", "all:gpus", 'all:"tail latency"', "all:liu", "all:cs.PF"),
    *("au:liu", 'au:"bin liu"', 'au:"Liu, B"', "au:li*", 'au:"liu b*"', 'author:"Bin Liu"', 'author:"B. Liu"'),
    *("cat:cs.PF", "cat:cs", "cat:cs.P*", "cat:cs.NA", "cat:math", "cat:cs.ZZ"),
    *("id:2603.10026", "id:2603.10026v1", "doi:10.1000/AbC", "doi:10.1000/abc"),
    *("submittedDate:[2026 TO 2026]", "submittedDate:[2025 TO *]", "submittedDate:[* TO 2025]"),
]  # fmt: skip
LEAVES: st.SearchStrategy[Condition] = st.sampled_from(
    [tree for tree in (parse_query(text).tree for text in CONDITIONS) if isinstance(tree, Condition)]
)
TREES: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=8,
)
PAPERS = st.fixed_dictionaries(
    {
        "title": st.lists(st.sampled_from(["gpu", "GPUs", "tail", "latency", "latencies"]), max_size=4).map(
            " ".join
        ),
        "comment": st.sampled_from(["", "gpu", "gpus"]),
        "authors": st.lists(st.sampled_from(["Bin Liu", "B. Liu", "Ann Lin", "Liu Bei"]), max_size=2),
        "categories": st.lists(st.sampled_from(["cs.PF", "cs.NA", "math.NA", "cs.ZZ"]), max_size=2).map(tuple),
        "dois": st.sampled_from([(), ("10.1000/abc",)]),
    }
)


@given(one=LEAVES, other=LEAVES, fields=PAPERS)
def test_what_one_condition_implies_is_met_with_it(
    one: Condition, other: Condition, fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    if implies(one, other) and matches(one, paper):
        assert matches(other, paper)


@given(tree=TREES, fields=PAPERS)
def test_no_paper_matches_what_was_found_dead_and_every_paper_what_is_always_met(
    tree: Node, fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    unknown = "cs.ZZ" in paper.categories  # taken for a category nobody carries
    is_match = matches(Query("", tree), paper)
    assert not (is_match and not unknown and any(dead.is_whole for dead in find_dead_clauses(tree)))
    assert is_match or unknown or not is_always_met(tree)
