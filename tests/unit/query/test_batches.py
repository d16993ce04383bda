"""Papers held against several queries at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import matches, parse_query
from digest.query.index import reverse_index
from digest.query.index.reverse_index import hold_papers
from tests.unit.made_up import make_paper

TEXTS = ["abs:GPU", "cat:cs.PF ANDNOT abs:paper", "NOT abs:GPU", "all:example", "ti:nothing"]
ABSTRACTS = ["On a GPU.", "On paper.", "On a GPU and on paper.", ""]


@given(
    st.lists(st.sampled_from(TEXTS), max_size=4),
    st.lists(st.sampled_from(ABSTRACTS), max_size=12),
    st.integers(1, 5),
)
def test_each_paper_comes_with_just_the_queries_it_meets(
    texts: list[str], abstracts: list[str], batch: int
) -> None:
    queries = [parse_query(text) for text in texts]
    papers = [make_paper(f"2611.{number:05}", abstract=text) for number, text in enumerate(abstracts, start=1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reverse_index, "BATCH", batch)
        held = list(hold_papers(queries, iter(papers)))
    assert [paper for paper, _ in held] == papers
    for paper, met in held:
        assert met == {place for place, query in enumerate(queries) if matches(query, paper)}


def test_no_more_papers_are_taken_than_a_batch_before_the_first_is_given_out() -> None:
    taken: list[int] = []

    def come() -> Iterator[Paper]:
        for number in range(1, 5_000):
            taken.append(number)
            yield make_paper(f"2611.{number:05}")

    next(iter(hold_papers([parse_query("abs:GPU")], come())))
    assert len(taken) == reverse_index.BATCH
