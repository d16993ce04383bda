"""`lic:` finds papers by the licence that OAI-PMH gives."""

from __future__ import annotations

import pytest

from digest.model.errors import QueryError
from digest.query import PaperIndex, find_reasons, matches, parse_query, to_arxiv
from digest.query.tree import LICENCES, spell_licence
from tests.unit.made_up import make_paper

CC = "http://creativecommons.org/licenses"
ADDRESSES = [
    ("http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "arxiv"),
    ("http://arxiv.org/licenses/assumed-1991-2003/", "arxiv"),
    (f"{CC}/by/4.0/", "cc-by"),
    (f"{CC}/by/3.0/", "cc-by"),
    (f"{CC}/by-nc-sa/4.0/", "cc-by-nc-sa"),
    (f"{CC}/by-nc-nd/4.0", "cc-by-nc-nd"),
    (f"{CC}/publicdomain/", "publicdomain"),
    ("http://creativecommons.org/publicdomain/zero/1.0/", "cc0"),
    ("https://example.org/licenses/other/1.0/", ""),
    *(("", ""), ("by", "")),
]


@pytest.mark.parametrize(("address", "name"), ADDRESSES)
def test_each_licence_of_arxivs_is_known_by_its_address(address: str, name: str) -> None:
    assert spell_licence(address) == name
    paper = make_paper("2611.00001", license=address)
    assert [one for one in LICENCES if matches(parse_query(f"lic:{one}"), paper)] == [name] * bool(
        name
    )


@pytest.mark.parametrize(
    "written",
    ["lic:cc-by", "lic:BY", "lic:CC-BY", "lic:cc-by-4.0", 'lic:"CC BY"', f'lic:"{CC}/by/4.0/"'],
)
def test_a_licence_may_be_written_short_or_by_its_address(written: str) -> None:
    assert parse_query(written).canonical == "lic:cc-by"


def test_another_licence_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(QueryError, match="is not a licence") as caught:
        parse_query("cat:cs.PF AND lic:gpl")
    assert caught.value.text[caught.value.position :] == "gpl"
    assert "cc-by-nc-sa" in caught.value.hint


def test_the_index_decides_as_the_evaluator_and_the_reason_names_the_licence() -> None:
    papers = [
        make_paper(f"2611.{number:05}", license=address)
        for number, (address, _) in enumerate(ADDRESSES, 1)
    ]
    query = parse_query("cat:cs.PF ANDNOT lic:arxiv AND lic:cc-by")
    (found,) = PaperIndex(papers).find([query])
    met = [papers[number] for number in found]
    assert met == [paper for paper in papers if matches(query, paper)]
    assert [spell_licence(paper.license) for paper in met] == ["cc-by", "cc-by"]
    assert [reason.clause for reason in find_reasons(query, met[0])][-1] == "lic:cc-by"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("cat:cs.PF AND lic:cc-by", "(cat:cs.PF AND submittedDate:[198001010000 TO 299912312359])"),
        ("cat:cs.PF ANDNOT lic:cc-by", "cat:cs.PF"),
    ],
)
def test_arxiv_is_asked_for_more_and_the_author_of_the_query_is_told(
    written: str, asked: str
) -> None:
    query = parse_query(written)
    assert to_arxiv(query) == asked
    assert ["only of harvested papers" in note.message for note in query.notes] == [True]
