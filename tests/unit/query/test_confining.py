"""One search for many queries: of the categories they are confined to, and never too narrow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model import taxonomy
from digest.model.papers import Paper
from digest.query import And, Condition, Node, Not, Or, Prefix, Query, Shape, confine_queries, matches, parse_query
from digest.query.arxiv_syntax import CATEGORIES_LIMIT

MakePaper = Callable[..., Paper]


@pytest.mark.parametrize(
    ("queries", "sent"),
    [
        (["cat:cs.PF"], "cat:cs.PF"),
        (["cat:cs.PF AND abs:GPU"], "cat:cs.PF"),
        (["cat:cs.PF AND abs:GPU", "cat:cs.DC ANDNOT ti:cloud"], "(cat:cs.DC OR cat:cs.PF)"),
        (["(cat:cs.PF OR cat:cs.DC) AND (ti:a1 OR abs:b1)"], "(cat:cs.DC OR cat:cs.PF)"),
        (["cat:cs AND cat:cs.PF"], "cat:cs.PF"),
        (["cat:cs.NA"], "(cat:math.NA OR cat:cs.NA)"),
        (["cat:econ.*", "cat:econ.EM"], "(cat:econ.* OR cat:q-fin.EC)"),
        (["cat:hep-*", "cat:hep-th", "cat:hep-ex AND ti:a1"], "cat:hep-*"),
        (["cat:cs.ZZ"], "cat:cs.ZZ"),
        (["(cat:cs.ZZ OR cat:cs.PF) AND cat:cs.DC"], "cat:cs.DC"),
        # not confined
        ([], None),
        (["abs:GPU"], None),
        (["cat:cs.PF", "abs:GPU"], None),
        (["cat:cs.PF OR abs:GPU"], None),
        (["NOT cat:cs.PF"], None),
        (["abs:GPU ANDNOT cat:cs.PF"], None),
        (["all:cs.PF"], None),
        (["submittedDate:[2024 TO 2025]"], None),
    ],
)
def test_queries_are_confined_to(queries: list[str], sent: str | None) -> None:
    assert confine_queries(map(parse_query, queries)) == sent


def test_a_list_of_very_many_categories_is_no_confinement() -> None:
    lasting = sorted({taxonomy.canonical_category(id_) for id_ in taxonomy.CATEGORIES if "." in id_})
    queries = [parse_query(f"cat:{id_}") for id_ in lasting]
    assert confine_queries(queries[:CATEGORIES_LIMIT]) is not None
    assert confine_queries(queries[: CATEGORIES_LIMIT + 1]) is None
    assert (
        confine_queries([*(query for query in queries if "cs." in query.text), parse_query("cat:cs")]) is not None
    )


CATEGORIES = sorted(taxonomy.CATEGORIES)
CONDITIONS = st.one_of(
    st.builds(Condition, st.just(Prefix.TITLE), st.just(Shape.WORD), st.sampled_from(["gpu", "cpu"])),
    st.builds(
        Condition,
        st.just(Prefix.CATEGORY),
        st.just(Shape.WORD),
        st.sampled_from([*CATEGORIES, *taxonomy.ARCHIVES, "cs.ZZ"]).map(
            lambda name: name if taxonomy.is_archive(name) else taxonomy.canonical_category(name)
        ),
    ),
    st.builds(
        Condition,
        st.just(Prefix.CATEGORY),
        st.just(Shape.BEGINNING),
        st.sampled_from(["cs.", "cs", "hep-", "math", "q-", "econ.G", "zz"]),
    ),
)
TREES: st.SearchStrategy[Node] = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=2, max_size=4).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=8,
)
PAPERS = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["", "gpu", "cpu", "gpu cpu"]),
        "categories": st.lists(st.sampled_from([*CATEGORIES, "cs.ZZ"]), min_size=1, max_size=3).map(tuple),
    }
)


@given(trees=st.lists(TREES, min_size=1, max_size=4), fields=PAPERS)
def test_whatever_any_of_the_queries_means_lies_within(
    trees: list[Node], fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    confined = confine_queries(trees)
    if confined is not None and any(matches(Query("", tree), paper) for tree in trees):
        assert matches(parse_query(confined), paper)
