"""What a paper needs to meet a query: whoever lacks it is not read, so nothing that is meant may lack it."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import Node, matches, parse_query
from digest.query.evaluation import list_needed
from digest.query.words import squash
from tests.conftest import IS_NIGHTLY
from tests.querying import QueryWriter, read_queries
from tests.unit.query.conftest import MakePaper, build_paper
from tests.unit.query.test_index import PAPERS, TREES, write_papers


def may_meet(tree: Node, paper: Paper) -> bool:
    texts = (paper.title, paper.abstract, paper.comment, paper.journal_ref, paper.report_no)
    names = (author.name for author in paper.authors)
    letters = squash("\n".join([f"{paper.id}v{paper.version}", *texts, *names, *paper.categories, *paper.dois]))
    return all(any(text in letters for text in texts) for texts in list_needed(tree))


@given(tree=TREES, fields=PAPERS)
def test_no_paper_that_is_meant_lacks_what_the_query_needs(
    tree: Node, fields: dict[str, Any], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    assert may_meet(tree, paper) or not matches(tree, paper)


def test_of_many_papers_all_that_are_meant_are_read_and_few_others() -> None:
    papers, meant, read, pairs = write_papers(60), 0, 0, 0
    writer = QueryWriter(papers, seed=5)
    for write in (writer.write_realistic, writer.write_any):
        for query in islice(read_queries(write), 1_000 if IS_NIGHTLY else 120):
            for paper in papers:
                is_meant, is_read = matches(query, paper), may_meet(query.tree, paper)
                assert is_read or not is_meant, f"{query.text}: {paper.title}"
                meant, read, pairs = meant + is_meant, read + is_read, pairs + 1
    assert 0 < meant < read < pairs / 2


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("ti:sensibility", {"title": "A sensible choice"}),
        ("ti:sensible", {"title": "Sensibilities"}),
        ("ti:happiness", {"title": "Happy words"}),
        ("ti:conflate", {"title": "Conflated"}),
        ("ti:lambdacdm", {"title": r"$\Lambda$CDM"}),
        ("ti:lambdacdm", {"title": r"\Lambda CDM"}),
        ("ti:lambdacdm", {"title": "ΛCDM"}),
        ("ti:epsilon", {"title": r"$\varepsilon$"}),
        ("ti:choose", {"title": r"$\binom{n}{k}$"}),
        ("ti:GPU", {"title": r"G{\color{red}P}U"}),
        ("abs:naive", {"abstract": r"na\"{\i}ve"}),
        ("au:Mueller", {"authors": ["Jan Müller"]}),
        ("au:Müller", {"authors": [r"Jan M\"uller"]}),
        ("au:Muller", {"authors": ["Jan Mueller"]}),
        ("Soerensen", {"authors": ["P. Sørensen"]}),
        ("au:mue*", {"authors": ["Jan Müller"]}),
        ("cat:math.NA", {"categories": ("cs.NA",)}),
        ("cat:cs", {"categories": ("cmp-lg",)}),
        ("id:2603.10026v2", {"version": 2}),
        ("2603.10026", {"title": "Of itself"}),
        ('doi:"10.1103/PhysRevLett.116.061102"', {"dois": ("10.1103/PhysRevLett.116.061102",)}),
        ("NOT ti:gpu", {"title": "Clocks"}),
        ("ti:gpu OR submittedDate:[20260301 TO 20260305]", {"title": "Clocks"}),
    ],
)
def test_what_is_written_otherwise_than_asked_is_read_all_the_same(query: str, fields: dict[str, Any]) -> None:
    tree, paper = parse_query(query).tree, build_paper(**fields)
    assert matches(tree, paper)
    assert may_meet(tree, paper)


@pytest.mark.parametrize("query", ["gpu", "au:Smith", "cat:cs.CV", "id:2603.10027", "ti:tail AND NOT gpu"])
def test_a_paper_without_a_trace_of_it_is_not_read(query: str) -> None:
    assert not may_meet(parse_query(query).tree, build_paper(title="Clocks", authors=["Ada Müller"]))


@given(st.text(), st.text(st.characters(categories=["Lu", "Ll", "Nd"])), st.text())
@example("\\", "beta", "{")
@example("x", "ǰ", "\u0301")
def test_a_word_stands_in_what_it_was_squashed_with(before: str, word: str, behind: str) -> None:
    assert squash(word) in squash(f"{before} {word} {behind}")
