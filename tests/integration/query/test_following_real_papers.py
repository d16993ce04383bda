"""Who bears a common name on real papers, and what a query that follows one of them brings."""

import gzip
from functools import cache

import pytest

from digest.query import AnalysedPaper, Condition, Prefix, Shape, analyse, matches, parse_query
from digest.query.namesakes import Namesakes, find_namesakes
from digest.query.people import Person, PersonPattern
from digest.query.telling_apart import tell_apart
from tests.integration.query.test_real_papers import find_folder, read_paper

NAMES = ("Wei Wang", "Yang Zhang")


@cache
def read_papers_naming(word: str) -> tuple[AnalysedPaper, ...]:
    with gzip.open(find_folder() / "data" / "papers_2016-08_09.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(analyse(read_paper(line)) for line in lines if word in line)


@cache
def find(name: str) -> tuple[tuple[AnalysedPaper, ...], Namesakes]:
    papers = read_papers_naming(name.rpartition(" ")[2])
    return papers, find_namesakes(PersonPattern(Person.parse(name)), papers)


def test_a_name_with_an_initial_more_is_nobody_elses_for_its_field_alone() -> None:
    _, found = find("Wei Wang")
    by_paper = {str(paper.id): number for number, one in enumerate(found.people) for paper in one.papers}
    assert by_paper["1608.06301"] != by_paper["1608.03529"]  # W. H. Wang on alloys, Wei Wang on perovskites
    assert by_paper["1608.06301"] == by_paper["1609.07950"]


@pytest.mark.parametrize("name", NAMES)
def test_each_paper_a_query_to_follow_brings_is_counted_once(name: str) -> None:
    papers, found = find(name)
    asked = Condition(Prefix.PERSON, Shape.PHRASE, Person.parse(name).text)
    met = [paper for paper in papers if matches(asked, paper)]
    narrowings = tell_apart(asked, found.people, found.unclear)
    assert len(found.people) > 2
    assert len(set(found.unclear)) == len(found.unclear)
    for one, narrowing in zip(found.people, narrowings, strict=True):
        query = parse_query(narrowing.query)
        brought = {paper.paper.id for paper in met if matches(query, paper)}
        assert len(brought) == narrowing.found + narrowing.wrong + narrowing.unclear
        assert narrowing.found == sum(paper.id in brought for paper in one.papers)


@pytest.mark.parametrize("name", NAMES)
def test_most_of_what_a_query_to_follow_brings_is_of_the_one_meant(name: str) -> None:
    _, found = find(name)
    asked = Condition(Prefix.PERSON, Shape.PHRASE, Person.parse(name).text)
    narrowings = tell_apart(asked, found.people, found.unclear)
    assert sum(one.wrong for one in narrowings) < sum(one.found for one in narrowings) / 4
