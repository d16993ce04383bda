"""Papers that are kept and asked again and again: each query means those that the plain evaluator says."""

from __future__ import annotations

from itertools import islice
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query import Node, analyse, matches, parse_query
from digest.query.index import kept
from digest.query.index.kept import KeptPapers
from tests.conftest import IS_NIGHTLY
from tests.querying import QueryWriter, read_queries
from tests.unit.query.conftest import MakePaper
from tests.unit.query.test_reverse_index import PAPERS, TREES, write_papers

LICENSES = st.sampled_from(
    ["", "http://creativecommons.org/licenses/by/4.0/", "http://arxiv.org/licenses/nonexclusive-distrib/1.0/"]
)


@pytest.fixture(scope="module", params=[500, 7])
def chunk(request: pytest.FixtureRequest) -> int:
    """Return how many papers are read at once."""
    size: int = request.param
    return size


@given(
    trees=st.lists(TREES | st.sampled_from(["lic:cc-by", "lic:arxiv"]).map(lambda text: parse_query(text).tree)),
    fields=st.lists(st.tuples(PAPERS, LICENSES), max_size=6),
    size=st.sampled_from([1, 2, 500]),
)
def test_each_query_means_the_papers_that_the_plain_evaluator_says(
    trees: list[Node], fields: list[tuple[dict[str, Any], str]], size: int, make_paper: MakePaper
) -> None:
    papers = [make_paper(**each, license=license_) for each, license_ in fields]
    with patch.object(kept, "_CHUNK", size):
        found = KeptPapers(iter(papers)).hold(trees)
    ready = list(map(analyse, papers))
    assert found == [[number for number, one in enumerate(ready) if matches(tree, one)] for tree in trees]


def test_queries_of_every_kind_mean_the_same_papers_among_many(chunk: int) -> None:
    papers = write_papers(120)
    writer = QueryWriter(papers, seed=3)
    queries = [
        *islice(read_queries(writer.write_realistic), 1_000 if IS_NIGHTLY else 150),
        *islice(read_queries(writer.write_any), 2_000 if IS_NIGHTLY else 250),
    ]
    with patch.object(kept, "_CHUNK", chunk):
        found = KeptPapers(papers).hold([query.tree for query in queries])
    ready = list(map(analyse, papers))
    assert found == [[number for number, one in enumerate(ready) if matches(query, one)] for query in queries]
    assert sum(map(bool, found)) > len(queries) // 2


def test_a_phrase_goes_neither_over_the_end_of_a_text_nor_of_all(make_paper: MakePaper) -> None:
    papers = [make_paper(abstract=text) for text in ("the tail", "latency of the", "tail latency of the tail")]
    asked = ('abs:"tail latency"', 'abs:"latency of the tail"', 'abs:"tail of the latency"')
    assert KeptPapers(papers).hold([parse_query(text).tree for text in asked]) == [[2], [2], []]


def test_no_papers_mean_nothing() -> None:
    texts = (
        "gpu",
        "NOT gpu",
        'ti:"tail latency"',
        "trans*",
        'author:"Ada Sample"',
        "cat:cs",
        "submittedDate:[2025 TO *]",
    )
    assert KeptPapers([]).hold([parse_query(text).tree for text in texts]) == [[]] * len(texts)
