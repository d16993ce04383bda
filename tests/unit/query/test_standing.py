"""Saved queries kept from batch to batch: the answer is that of each query read anew."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query import StandingQueries, matches, parse_query
from digest.query.index import reverse_index
from tests.unit.made_up import make_paper

PAPERS = [
    make_paper(f"2611.{number:05}", title=title)
    for number, title in enumerate(
        ("On GPUs", "On CPUs", "Tail latency of GPUs", "Zero", "CPUs and GPUs"), start=1
    )
]
TEXTS = ("ti:GPUs", "ti:CPUs", "ti:latency", "NOT ti:GPUs", "ti:GPUs AND ti:CPUs", "id:2611.00004", "ti:nowhere")


def hold(kept: StandingQueries) -> dict[str, list[int]]:
    return {canonical: list(met) for canonical, met in kept.hold(PAPERS)}


def read_anew(texts: set[str]) -> dict[str, list[int]]:
    queries = map(parse_query, texts)
    found = {query.canonical: [n for n, paper in enumerate(PAPERS) if matches(query, paper)] for query in queries}
    return {canonical: met for canonical, met in found.items() if met}


def spell(texts: set[str]) -> dict[str, str]:
    return {parse_query(text).canonical: text for text in texts}


@pytest.mark.parametrize("fewest", [0, 12, 10**9])
@given(edits=st.lists(st.sets(st.sampled_from(TEXTS)), min_size=1, max_size=4))
def test_after_any_edits_exactly_the_queries_in_force_are_held_against_papers(
    fewest: int, edits: list[set[str]]
) -> None:
    kept = StandingQueries()
    with patch.object(reverse_index, "FEWEST_PAIRS", fewest), patch.object(reverse_index, "FEWEST_REMOVED", 2):
        for texts in edits:
            kept.keep(spell(texts))
            assert hold(kept) == read_anew(texts)


def test_a_text_that_stays_is_read_once() -> None:
    kept = StandingQueries()
    kept.keep(spell({"ti:GPUs"}))
    with patch.object(reverse_index, "parse_query", side_effect=AssertionError("read again")):
        kept.keep(spell({"ti:GPUs"}))
    assert hold(kept) == {"ti:gpus": [0, 2, 4]}


def test_a_text_that_cannot_be_read_means_no_paper_and_stops_no_other() -> None:
    kept = StandingQueries()
    kept.keep({"ti:gpus": "ti:GPUs", "broken": "ti:(GPUs"})
    assert hold(kept) == {"ti:gpus": [0, 2, 4]}
    kept.keep({"ti:gpus": "ti:GPUs", "broken": "ti:(GPUs"})
    assert hold(kept) == {"ti:gpus": [0, 2, 4]}
