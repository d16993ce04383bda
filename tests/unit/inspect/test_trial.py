"""The trial of a query.

What is said of one that cannot be read, of how much it brings, and of what comes near.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.queries import describe_rate
from digest.inspect.trial import describe_mails, list_narrower, list_wider, view_problem
from digest.model.errors import QueryError
from digest.people.preferences import read_text
from digest.query import parse_query
from digest.query.canonical import print_tree
from digest.render.contexts import ProblemView


def find_problem(text: str) -> ProblemView:
    with pytest.raises(QueryError) as caught:
        read_text(text)
    return view_problem(caught.value)


@pytest.mark.parametrize(
    ("text", "marked", "suggestion"),
    [
        ("abstr:GPU AND cat:cs.PF", "abstr:GPU", "abs:GPU AND cat:cs.PF"),
        ("abstr:GPU AND (tail OR latency", "abstr:GPU", "abs:GPU AND (tail OR latency)"),
        ("x1 AND abs=GPU", "abs=GPU", "x1 AND abs:GPU"),
        ("x1 AND TI=(GPU)", "TI=", "x1 AND ti:GPU"),
        ("cat:cs.PF,abs:GPU", "cat:cs.PF,abs:GPU", "cat:cs.PF AND abs:GPU"),
        ("x1 abs:-GPU", "-GPU", "x1 NOT abs:GPU"),
        ("GPU|CUDA AND x1", "GPU|CUDA", "(GPU OR CUDA) AND x1"),
        ("abs:GPU language:en", "language:en", "abs:GPU"),
        *(("gpu AND", "AND", "gpu"), ("abs:GPU AND (", "(", "abs:GPU")),
        ("abs:GPU AND ti:", "ti:", "abs:GPU"),
        ("gpu OR OR latency", "OR", "gpu OR latency"),
        ("abs:(GPU OR", "OR", "abs:(GPU)"),
        ("(tail latency", "(", "(tail latency)"),
        ("tail latency)", ")", "tail latency"),
        ('"tail latency', '"tail latency', '"tail latency"'),
        ("gpu AND tran*form", "*form", "gpu AND tran*"),
        ("x1 abs:tail-* y1", "*", "x1 abs:tail* y1"),
        ("x1 cat:=cs.PF", "cat:=cs.PF", "x1 cat:cs.PF"),
        ('au:"Ada Li and Bo Wu" x1', 'Ada Li and Bo Wu"', '(au:"Ada Li" AND au:"Bo Wu") x1'),
        ('author:Percy Liang AND "x y"', "Percy", 'author:"Percy Liang" AND "x y"'),
        ("submittedDate:yesterday gpu", "yesterday", "gpu"),
        *(("the AND of", "the", ""), ("cat:", "cat:", '"cat"')),
        (
            " OR ".join(f"{a}*" for a in "abcdefghijklmnopqrstu"),
            "*",
            " OR ".join(f"{a}*" for a in "abcdefghijklmnopqrst"),
        ),
    ],
)
def test_a_mistake_is_marked_at_its_place_with_the_nearest_form_that_works(
    text: str, marked: str, suggestion: str
) -> None:
    problem = find_problem(text)
    assert problem.marked == marked
    assert problem.suggestion == suggestion
    assert problem.before + problem.marked + problem.after == text


def test_a_text_longer_than_a_saved_query_may_be_is_not_read() -> None:
    problem = find_problem("gpu " * 501)
    assert problem.message == "This is longer than 2,000 characters"
    assert len(problem.before) == 2_000


@given(st.text(st.sampled_from('ab "()*:,?&|+.-\\$OR'), max_size=24) | st.text(max_size=24))
def test_whatever_is_typed_is_read_or_answered_with_a_form_that_works(text: str) -> None:
    problem = None
    try:
        read_text(text)
    except QueryError as error:
        problem = view_problem(error)
    if problem is not None and problem.suggestion:
        read_text(problem.suggestion)


@pytest.mark.parametrize(
    ("papers", "announcements", "said"),
    [
        *(
            (132, 22, "about 6 papers a day"),
            (22, 22, "about 1 paper a day"),
            (9, 22, "about 2 papers a week"),
        ),
        *(
            (3, 22, "about 3 papers a month"),
            (1, 22, "about 1 paper a month"),
            (0, 22, "0 papers in 30 days"),
        ),
        (3, 4, "3 papers in 30 days"),
    ],
)
def test_a_rate_is_said_in_the_span_that_brings_one_at_least(
    papers: int, announcements: int, said: str
) -> None:
    assert describe_rate(papers, announcements, 30) == said


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        ([6] * 22, "About 6 papers a day, one mail each weekday"),
        ([2] * 20 + [0, 0], "About 2 papers a day, one mail on most weekdays"),
        ([1] * 4 + [0] * 18, "About 4 papers a month, a mail only when there are any"),
        ([0] * 22, "No papers in the last 30 days"),
        ([4, 0, 8], "12 papers in the last 30 days"),
    ],
)
def test_what_somebody_would_get_is_said_in_papers_and_mails(brought: list[int], said: str) -> None:
    assert describe_mails(brought, 30) == said


def test_a_store_of_a_day_says_so() -> None:
    assert describe_mails([0], 1) == "No papers in the last 1 day"


def test_a_broad_query_is_narrowed_by_its_own_categories_and_to_titles() -> None:
    def narrow(text: str) -> list[str]:
        return [
            print_tree(tree)
            for _, tree in list_narrower(parse_query(text).tree, ["cs.LG", "cs.CV"])
        ]

    assert narrow("abs:deep learning") == [
        "abs:deep AND all:learning AND cat:cs.LG",
        "ti:deep AND ti:learning",
        "abs:deep AND all:learning AND cat:cs.CV",
    ]
    assert narrow("cat:cs") == ["cat:cs.LG", "cat:cs", "cat:cs.CV"]


def test_a_rare_query_is_widened_by_its_phrases_its_fields_and_each_clause() -> None:
    tree = parse_query('ti:"tail latency" AND cat:cs.PF AND (gpu OR ti:cuda) ANDNOT au:smith').tree
    assert [(change, print_tree(wider)) for change, wider in list_wider(tree)] == [
        (
            "the words apart from one another",
            "(ti:tail AND ti:latency) AND cat:cs.PF AND (all:gpu OR ti:cuda) ANDNOT au:smith",
        ),
        (
            "the words in any field",
            'all:"tail latency" AND cat:cs.PF AND (all:gpu OR all:cuda) ANDNOT au:smith',
        ),
        ('without ti:"tail latency"', "cat:cs.PF AND (all:gpu OR ti:cuda) ANDNOT au:smith"),
        ("without cat:cs.PF", 'ti:"tail latency" AND (all:gpu OR ti:cuda) ANDNOT au:smith'),
        ("without one part", 'ti:"tail latency" AND cat:cs.PF ANDNOT au:smith'),
    ]


def test_a_word_said_twice_is_not_left_out() -> None:
    changes = [change for change, _ in list_wider(parse_query("gpu AND gpu").tree)]
    assert changes == ["the words apart from one another", "the words in any field"]
