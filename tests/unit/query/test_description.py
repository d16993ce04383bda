"""Queries in words, and names made of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from digest.model.papers import Paper
from digest.query import PaperIndex, parse_query
from digest.query.description import describe_query, name_query, note_other_words


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("cat:cs.PF", "the paper is in cs.PF", "Performance"),
        ("cs.PF, cs.DC", "the paper is in cs.PF or cs.DC", "cs.PF cs.DC"),
        (
            "abs:GPU AND cat:(cs.DC OR cs.PF)",
            'the abstract has "gpu", and the paper is in cs.DC or cs.PF',
            "gpu",
        ),
        (
            'ti:"tail latency" OR ti:lat*',
            'the title has "tail latency" or "lat*"',
            "tail latency lat",
        ),
        (
            "(ti:a1 OR all:b1) ANDNOT au:c1",
            '(the title has "a1", or the paper has "b1" anywhere), but not if an author is "c1"',
            "a1 b1",
        ),
        ('author:"Yann LeCun"', 'an author is "yann lecun"', "yann lecun"),
        (
            "tail latency GPU",
            'the paper has "tail", "latency" and "gpu" anywhere',
            "tail latency gpu",
        ),
        ("NOT (ti:a1 OR co:b1)", 'not if (the title has "a1", or co:b1)', ""),
        ("NOT ti:a1 OR (rn:5 AND rn:6)", 'not if the title has "a1", or (rn:5, and rn:6)', "5 6"),
        (
            'abs:=news AND abs:gpu ANDNOT ti:="no go"',
            (
                'the abstract has the exact word "news" and "gpu", but not if the '
                'title has the exact words "no go"'
            ),
            "news gpu",
        ),
        ("submittedDate:[20260101 TO *]", "submittedDate:[202601010000 TO *]", ""),
    ],
)
def test_a_query_is_said_in_words_and_named_after_what_it_is_about(
    text: str, words: str, name: str
) -> None:
    tree = parse_query(text).tree
    assert describe_query(tree) == words
    assert name_query(tree) == name


ABSTRACTS = (
    "a transit of a GPU",
    "transitions on GPUs",
    "a transition",
    "transitive transition",
    "new GPUs",
)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (
            "abs:transit",
            [
                (
                    'abs:transit also finds "transition" and "transitions"; 3 of 4 '
                    'papers are without "transit"'
                )
            ],
        ),
        (
            "transits OR transitive OR transitional OR gpu",
            ["transits also finds", "transitive also finds"],
        ),
        (
            "abs:gpu OR abs:transition OR abs:news",
            [],
        ),  # a plural, most of what is found, and of one paper alone
        ('abs:=transit OR abs:"transit time" OR abs:trans* OR au:transit OR NOT transit', []),
    ],
)
def test_other_words_of_one_stem_are_named_where_they_bring_the_most(
    text: str, notes: list[str], make_paper: Callable[..., Paper]
) -> None:
    papers = PaperIndex(make_paper(abstract=abstract) for abstract in ABSTRACTS)
    query = parse_query(text)
    said = note_other_words(query.tree, papers, next(papers.find([query])))
    assert [note[: len(start)] for note, start in zip(said, notes, strict=True)] == notes
