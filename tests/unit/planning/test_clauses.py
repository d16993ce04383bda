"""What many queries share is worked out once, and each reason stays what `find_reasons` says it is."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from digest.demo.writing import Writer
from digest.papers import ArxivId, Paper
from digest.planning import Clauses
from digest.query import AnalysedPaper, Query, analyse, find_reasons, parse_query
from tests.fakes.odd_manuscripts import ODD
from tests.querying import QueryWriter, read_queries
from tests.unit.made_up import make_paper

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def write_papers(count: int) -> list[Paper]:
    writer = Writer(random.Random(7))  # noqa: S311 - the same papers every time
    manuscripts = [*ODD, *(writer.write() for _ in range(count - len(ODD)))]
    return [
        Paper(
            id=ArxivId(202611, number + 1),
            version=1 + number % 3,
            title=manuscript.title,
            abstract=manuscript.abstract,
            authors=manuscript.authors,
            categories=manuscript.categories,
            comment=manuscript.comment,
            dois=(f"10.1000/{number}",),
            published=FIRST + timedelta(hours=number),
            updated=FIRST + timedelta(hours=number),
        )
        for number, manuscript in enumerate(manuscripts)
    ]


@pytest.fixture(scope="module")
def papers() -> list[AnalysedPaper]:
    return list(map(analyse, write_papers(len(ODD) + 20)))


def queries_about(papers: list[AnalysedPaper], seed: int) -> list[Query]:
    writer = QueryWriter([ready.paper for ready in papers], seed)
    return [
        *islice(read_queries(writer.write_realistic), 300),
        *islice(read_queries(writer.write_any), 150),
        *map(parse_query, ('au:"Liu, B"', "au:smi*", 'author:"Ada Example"', "NOT (ti:the OR cat:cs.PF)")),
    ]


def test_the_reasons_of_any_query_and_paper_are_those_of_the_query_alone(papers: list[AnalysedPaper]) -> None:
    clauses, told = Clauses(), 0
    for query in queries_about(papers, seed=3):
        for paper in papers:
            found = clauses.find_reasons(query, paper)
            assert found == find_reasons(query, paper), (query.text, paper.paper.title)
            told += bool(found)
    assert told > 1_000


def test_a_clause_that_is_written_twice_is_told_once_where_it_stands_first() -> None:
    paper = analyse(make_paper(title="Tail latency", comment="tail"))
    query = parse_query("ti:tail AND (ti:latency OR co:tail) AND (ti:latency OR ti:tail)")
    found = Clauses().find_reasons(query, paper)
    assert [reason.clause for reason in found] == ["ti:tail", "ti:latency", "co:tail"]
    assert found == find_reasons(query, paper)


def test_a_condition_is_held_against_a_paper_once_for_all_queries_that_have_it() -> None:
    clauses, paper = Clauses(), analyse(make_paper())
    (first,) = clauses.find_reasons(parse_query("ti:latency AND NOT ti:nothing"), paper)[:1]
    (again,) = clauses.find_reasons(parse_query("cat:cs.PF AND ti:latency"), paper)[1:]
    assert again is first


def test_what_was_forgotten_is_found_again() -> None:
    clauses, paper, query = Clauses(), analyse(make_paper()), parse_query("ti:latency")
    before = clauses.find_reasons(query, paper)
    assert len(clauses) == 3  # the query, its condition, and what that says of the paper
    clauses.forget()
    assert len(clauses) == 0
    assert clauses.find_reasons(query, paper) == before
