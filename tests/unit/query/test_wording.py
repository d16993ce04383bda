"""Queries in words, and names made of them."""

from __future__ import annotations

import pytest

from digest.query import parse_query
from digest.query.wording import describe_query, name_query


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("cat:cs.PF", "category cs.PF", "Performance"),
        ("cs.PF, cs.DC", "category cs.PF or cs.DC", "cs.PF cs.DC"),
        ("cat:cs.PF AND abs:GPU", 'category cs.PF and "gpu" in the abstract', "gpu"),
        ('ti:"tail latency" OR ti:lat*', '"tail latency" or "lat*" in the title', "tail latency lat"),
        ("(ti:a1 OR all:b1) ANDNOT au:c1", '("a1" in the title or "b1" anywhere) and not author "c1"', "a1 b1"),
        ('author:"Yann LeCun"', 'author "yann lecun"', "yann lecun"),
        ("tail latency GPU", '"tail", "latency" and "gpu" anywhere', "tail latency gpu"),
        ("NOT (ti:a1 OR co:b1)", 'not ("a1" in the title or co:b1)', ""),
        ("submittedDate:[20260101 TO *]", "submittedDate:[202601010000 TO *]", ""),
    ],
)
def test_a_query_is_said_in_words_and_named_after_what_it_is_about(text: str, words: str, name: str) -> None:
    tree = parse_query(text).tree
    assert describe_query(tree) == words
    assert name_query(tree) == name
