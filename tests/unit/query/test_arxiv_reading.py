"""How arXiv reads a text sent to it as it is: what it mends, what it refuses, and from which end it reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query import parse_query, read_as_arxiv, to_arxiv
from digest.query.printing import print_canonical, print_tree


@pytest.mark.parametrize(
    ("text", "reading", "repaired"),
    [
        ("ti:a1 AND ti:b1", "ti:a1 AND ti:b1", "ti:a1 AND ti:b1"),
        # no precedence, from the right
        ("ti:a1 AND ti:b1 OR ti:c1", "ti:a1 AND (ti:b1 OR ti:c1)", "ti:a1 AND ti:b1 OR ti:c1"),
        ("ti:a1 OR ti:b1 AND ti:c1", "ti:a1 OR (ti:b1 AND ti:c1)", "ti:a1 OR ti:b1 AND ti:c1"),
        ("ti:a1 ANDNOT ti:b1 OR ti:c1", "ti:a1 ANDNOT (ti:b1 OR ti:c1)", "ti:a1 ANDNOT ti:b1 OR ti:c1"),
        (
            "ti:a1 ANDNOT ti:b1 ANDNOT ti:c1",
            "ti:a1 ANDNOT (ti:b1 ANDNOT ti:c1)",
            "ti:a1 ANDNOT ti:b1 ANDNOT ti:c1",
        ),
        ("(ti:a1 AND ti:b1) OR ti:c1", "(ti:a1 AND ti:b1) OR ti:c1", "(ti:a1 AND ti:b1) OR ti:c1"),
        # a missing operator is OR, of two the last one counts, NOT is ANDNOT
        ("machine learning", "all:machine OR all:learning", "all:machine OR all:learning"),
        ("ti:a1 and ti:b1", "ti:a1 OR all:and OR ti:b1", "ti:a1 OR all:and OR ti:b1"),
        ("a1 AND OR b1", "all:a1 OR all:b1", "all:a1 OR all:b1"),
        ("a1 AND NOT b1", "all:a1 ANDNOT all:b1", "all:a1 ANDNOT all:b1"),
        ("a1 OR NOT b1", "all:a1 ANDNOT all:b1", "all:a1 ANDNOT all:b1"),
        ("(NOT a1) OR b1", "(NOT all:a1) OR all:b1", "(ANDNOT all:a1) OR all:b1"),
        ("NOT (a1)", "NOT all:a1", "ANDNOT (all:a1)"),
        ("a1\r\nb1", "all:a1 OR all:b1", "all:a1 OR all:b1"),
        ("a1 -b1", "all:a1 OR all:b1", "all:a1 OR all:-b1"),
        # groups
        ("ti:(a1 AND (b1 OR abs:c1))", "ti:a1 AND (ti:b1 OR abs:c1)", "(ti:a1 AND (ti:b1 OR abs:c1))"),
        ("ti:(a1 b1)", "ti:a1 OR ti:b1", "(ti:a1 OR ti:b1)"),
        # prefixes
        ("TI:a1", "all:ti:a1", "all:TI:a1"),
        ("orcid:a1", "all:orcid:a1", "all:orcid:a1"),
        ("author:a1", "all:author:a1", "all:author:a1"),
        ("title:a1", "ti:a1", "ti:a1"),
        ("ti:a1 AND au: b1", "ti:a1 AND all:b1", "ti:a1 AND all:b1"),
        ('orcid:"a1 b1"', 'all:"orcid a1 b1"', 'all:"orcid a1 b1"'),
        ("TI:(a1 OR b1)", "all:ti OR all:a1 OR all:b1", "all:TI OR (all:a1 OR all:b1)"),
        # quotation marks
        ('ti:"tail latency', "ti:tail OR all:latency", "ti:tail OR all:latency"),
        ("ti:'a1'", "ti:a1", "ti:'a1'"),
        # names
        ("au:del_maestro AND a1", 'au:"del maestro" AND all:a1', "au:del_maestro AND all:a1"),
        ('au:"Smith, J"', 'au:"smith j"', 'au:"Smith, J"'),
        ("au:Smith,J", 'au:"smith, j"', "au:Smith,J"),
        # dates are filled
        (
            "submittedDate:[2024 TO 202402]",
            "submittedDate:[202401010000 TO 202402292359]",
            "submittedDate:2024 TO 202402",
        ),
    ],
)
def test_a_text_is_read_by_arxiv_as(text: str, reading: str, repaired: str) -> None:
    found = read_as_arxiv(text)
    assert (found.status, found.problem) == (200, "")
    assert found.tree is not None
    assert print_tree(found.tree) == reading
    assert found.repaired == repaired


@pytest.mark.parametrize(
    ("text", "status", "problem"),
    [
        ("", 400, "nothing to look for"),
        ("a1 AND", 400, "nothing behind"),
        ("a1 AND au:", 400, "nothing behind"),
        ("AND a1", 400, "nothing before"),
        ("(a1", 400, "never closed"),
        ("a1)", 400, "closes nothing"),
        ("a1 ()", 400, "nothing between"),
        ("ANDNOT (a1 OR b1)", 500, "begins"),
        ("NOT (a1 OR b1)", 500, "a group stands behind an ANDNOT that begins"),
        ("NOT (NOT a1)", 500, "a group stands behind an ANDNOT that begins"),
        # an ANDNOT that begins takes the whole chain behind it
        ("NOT a1 AND b1", 500, "more than one term stands behind an ANDNOT that begins"),
        ("a1 OR (NOT b1 c1)", 500, "more than one term stands behind an ANDNOT that begins"),
        # what is no query is refused before a server fails over it
        ("(all:* AND b1", 400, "never closed"),
        ("all:*", 500, "begins a word"),
        ("submittedDate:20240101*", 500, "two dates"),
        ("submittedDate:[2024-01-01 TO 2025]", 500, "two dates"),
        ("submittedDate:[* TO 2025]", 500, "two dates"),
        ("submittedDate:[2024  TO  2025]", 500, "two dates"),
    ],
)
def test_arxiv_gives_no_papers_for(text: str, status: int, problem: str) -> None:
    found = read_as_arxiv(text)
    assert (found.status, found.tree) == (status, None)
    assert problem in found.problem


def test_a_name_with_an_underscore_is_read_only_where_the_query_begins_with_it() -> None:
    first, second = read_as_arxiv("au:bin_liu").tree, read_as_arxiv("a1 AND au:bin_liu").tree
    assert first == parse_query('au:"bin liu"').tree
    assert second is not None
    assert print_tree(second) == "all:a1 AND au:bin_liu"


def test_an_empty_name_asks_for_everything() -> None:
    found = read_as_arxiv('a1 AND au:""').tree
    assert found is not None
    assert print_tree(found) == "all:a1 AND submittedDate:[* TO *]"


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a1 AND b1 or c1", 10, "'or' is a word"),
        ("a1 AND b1 c1", 10, "a missing operator is OR"),
        ("a1 AND TI:b1", 7, "TI: is no prefix"),
        ("a1 AND (b1 AND c1 OR d1)", 7, "no precedence"),
        ("a1 AND au:bin_liu", 7, "letter by letter"),
        ("a1 AND ti: b1", 7, "it drops ti:"),
        ("a1 AND -b1", 7, "excludes nothing"),
        ('a1 AND au:"Smith, J"', 7, "drops the comma"),
    ],
)
def test_where_arxiv_goes_its_own_way_the_reason_has_a_place(text: str, position: int, words: str) -> None:
    quirks = read_as_arxiv(text).quirks
    assert any(quirk.position == position and words in quirk.message for quirk in quirks)


SAFE = st.recursive(
    st.sampled_from(["ti:a1", 'abs:"b1 c1"', "cat:cs.PF", 'au:"bin liu"', "id:2603.10026", "all:d1", "co:e1*"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' OR '.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' AND '.join(parts)})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} ANDNOT {pair[1]})"),
    ),
    max_leaves=8,
)


@given(SAFE)
def test_a_text_in_full_parentheses_is_read_alike_here_and_there(text: str) -> None:
    found = read_as_arxiv(text).tree
    assert found is not None
    assert print_canonical(found) == parse_query(text).canonical


@given(SAFE)
def test_what_is_sent_leaves_arxiv_nothing_to_mend(text: str) -> None:
    found = read_as_arxiv(to_arxiv(parse_query(text)))
    assert (found.status, found.quirks) == (200, ())


@given(st.text(st.sampled_from('ab:()"*-_, \nANDORT[]0'), max_size=60))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    found = read_as_arxiv(text)
    assert (found.status == 200) is not bool(found.problem)
    assert found.tree is None or found.status == 200
    assert all(0 <= quirk.position < len(text) for quirk in found.quirks)


def test_a_long_chain_is_read_but_not_shown_in_its_many_parentheses() -> None:
    short, long = (read_as_arxiv(" AND b1 OR ".join(["a1"] * count)) for count in (20, 2_000))
    assert short.tree is not None
    assert (long.status, long.tree) == (200, None)
    assert {quirk.message for quirk in long.quirks} == {"it knows no precedence and reads a chain from its end"}
