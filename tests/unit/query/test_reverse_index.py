"""Many queries held against many papers at once: the answer is the plain evaluator's for every pair."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.model.papers import ArxivId, Paper
from digest.query import And, Condition, Node, Not, Or, Prefix, Query, Shape, analyse, matches, parse_query
from digest.query.evaluation import read_name
from digest.query.index import reverse_index
from digest.query.index.reverse_index import ReverseIndex
from tests.conftest import IS_NIGHTLY
from tests.fakes.odd_manuscripts import ODD
from tests.fakes.writing import Writer
from tests.querying import QueryWriter, read_queries

MakePaper = Callable[..., Paper]


def build(*queries: Query | Node) -> ReverseIndex[int]:
    index: ReverseIndex[int] = ReverseIndex()
    for key, query in enumerate(queries):
        index.add(key, query)
    return index


def answer(index: ReverseIndex[int], papers: Sequence[Paper]) -> dict[int, list[int]]:
    return {key: found.tolist() for key, found in index.match(papers).items()}


def answer_plainly(queries: Sequence[Query | Node], papers: Sequence[Paper]) -> dict[int, list[int]]:
    ready = list(map(analyse, papers))
    found = {
        key: [index for index, paper in enumerate(ready) if matches(query, paper)]
        for key, query in enumerate(queries)
    }
    return {key: indexes for key, indexes in found.items() if indexes}


def ask(text: str, *papers: Paper) -> list[int]:
    return answer(build(parse_query(text)), papers).get(0, [])


WORDS = ["gpu", "GPUs", "the", "of", "latency", "latencies", "tail", "k-means", "self-supervised", "don't", "3.14"]
ODD_WORDS = [
    *("Schrödinger", "schrodinger", "机器", "ω", "$k$-means", r"$10^{-3}$", r"Poincar\'e", "e\u0301t", "½", "$"),
    *(r"$\Lambda$CDM", "λ", "cdm", "$N$body", "H₀", "h", "0", "n_gram", r"$f\sigma_8$"),
]
TEXTS = st.lists(st.sampled_from(WORDS + ODD_WORDS), max_size=7).map(" ".join)
NAMES = st.sampled_from(
    [
        *(
            "Bin Liu",
            "Yi-Bin Liu",
            "Liu Bin",
            "B. Liu",
            "John K. Smith Jr.",
            "J. Smith",
            "Smith John",
            "John Smith III",
        ),
        *("Ludwig van Beethoven", "L. v. Beethoven", "J.-P. Serre", "Jean-Pierre Serre", "JP Serre", "李 明", "X"),
        *(r"Fr\'ed\'eric Mot\"as", "Pınar Tözün", "The ATLAS Collaboration", "O'Neill, A.", "P. Toezuen", ""),
        *("Jürg Rüegg", "J. Rueegg", r"H\"o\"ok, Örn"),
    ]
)
CATEGORIES = st.sampled_from(["cs.PF", "cs.NA", "math.NA", "hep-th", "cmp-lg", "cs.CL", "I.2.6", "astro-ph"])
IDS = st.sampled_from(["2603.10026", "hep-th/9901001", "math/0309136"])
DOIS = st.sampled_from(
    ["10.1103/PhysRevLett.116.061102", "10.1000/Second", "10.1016/0370-2693(93)90001-T", "10.1/a+b"]
)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone stands beside
PAPERS = st.fixed_dictionaries(
    {
        "id": IDS,
        "version": st.integers(1, 3),
        "title": TEXTS,
        "abstract": TEXTS,
        "comment": TEXTS,
        "journal_ref": TEXTS,
        "report_no": TEXTS,
        "authors": st.lists(NAMES, max_size=3),
        "categories": st.lists(CATEGORIES, max_size=2).map(tuple),
        "dois": st.lists(DOIS, max_size=2).map(tuple),
        "published": MOMENTS,
    }
)

FIELDS_OF_WORDS = ("ti", "abs", "co", "jr", "rn", "all")
VALUES = st.lists(st.sampled_from(WORDS + ODD_WORDS), min_size=1, max_size=4).map(" ".join)
CLAUSES = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(FIELDS_OF_WORDS), st.sampled_from(WORDS[:-1])),
    st.builds('{}:"{}"'.format, st.sampled_from(FIELDS_OF_WORDS), VALUES),
    st.builds(
        "{}:{}*".format,
        st.sampled_from(FIELDS_OF_WORDS),
        st.sampled_from(["g", "gp", "the", "t", "laten", "latenc", "self-super", "k-m", "schr", "3"])
        | st.sampled_from(["h", "h_0", "lambdac", "bo"]),
    ),
    st.builds(
        "{}:{}".format,
        st.sampled_from(FIELDS_OF_WORDS),
        st.sampled_from(["ΛCDM", "h_0", "h₀-gpu", "n_body-λcdm", "nbody", "σ_8", "lambdacdm", "n_gram"]),
    ),
    st.builds(
        'au:"{}"'.format,
        st.sampled_from(
            [
                *(
                    "liu",
                    "bin liu",
                    "liu, b",
                    "liu, bin",
                    "liu, yi-bin",
                    "smith, j k",
                    "smith, john k.",
                    "k smith",
                    "jr",
                    "toezun",
                    "rüegg",
                    "rueegg, jürg",
                    "ruee* j*",
                    "hoeoek",
                ),
                *(
                    "smith jr",
                    "van beethoven, l",
                    "beethoven, ludwig",
                    "l* beeth*",
                    "smi* john",
                    "smith, jo*",
                    "x",
                    "x x",
                ),
                *("serre j.-p.", "john smith k", "john john", "motas, f", "o'neill, a", "john k smith jr"),
            ]
        ),
    ),
    st.builds("au:{}*".format, st.sampled_from(["s", "smi", "li", "be", "josé", "atl", "toez", "töz", "to"])),
    st.builds(
        'author:"{}"'.format,
        st.sampled_from(
            [
                "John Smith",
                "Smith, J.",
                "John Kevin Smith",
                "Ludwig van Beethoven",
                "Jean-Pierre Serre",
                "Yibin Liu",
                "Pinar Toezün",
                "Jürg Rüegg",
            ]
        ),
    ),
    st.builds(
        "cat:{}".format, st.sampled_from(["cs.PF", "cs.NA", "cs", "math", "hep-*", "c*", "cs.*", "cs.p*", "zz.zz"])
    ),
    st.builds(
        "{}:{}".format,
        st.sampled_from(["id", "all"]),
        st.sampled_from(["2603.10026", "2603.10026v2", "hep-th/9901001"]),
    ),
    st.builds('{}:"{}"'.format, st.sampled_from(["doi", "all"]), DOIS),
    st.sampled_from(["all:cs.NA", "all:hep-th", "Liu", "bin-liu", '"Bin Liu"', "smit*", "john smith"]),
    st.sampled_from(
        ["submittedDate:[2025 TO 2025]", "submittedDate:[* TO 202606]", "submittedDate:[20260302 TO *]"]
    ),
)


def parse(text: str) -> Node:
    try:
        return parse_query(text).tree
    except QueryError:  # nothing but stop words, or a sign that can't stand there
        return Condition(Prefix.TITLE, Shape.WORD, "the")


TREES: st.SearchStrategy[Node] = st.recursive(
    CLAUSES.map(parse),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=2, max_size=4).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=12,
)


@given(trees=st.lists(TREES, min_size=1, max_size=6), fields=st.lists(PAPERS, max_size=5))
def test_every_pair_is_answered_as_by_the_plain_evaluator(
    trees: list[Node], fields: list[dict[str, Any]], make_paper: MakePaper
) -> None:
    papers = [make_paper(**each) for each in fields]
    assert answer(build(*trees), papers) == answer_plainly(trees, papers)


@given(
    trees=st.lists(TREES, min_size=1, max_size=6),
    fields=st.lists(PAPERS, min_size=1, max_size=4),
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=20),
)
def test_adding_and_removing_comes_to_the_same_as_beginning_again(
    trees: list[Node], fields: list[dict[str, Any]], steps: list[tuple[int, int, bool]], make_paper: MakePaper
) -> None:
    papers = [make_paper(**each) for each in fields]
    index: ReverseIndex[int] = ReverseIndex()
    held: dict[int, Node] = {}
    for place, (key, number, is_added) in enumerate(steps):
        if is_added:
            held[key] = trees[number % len(trees)]
            index.add(key, held[key])
        elif key in held:
            del held[key]
            index.remove(key)
        if place == len(steps) // 2:
            assert answer(index, papers).keys() <= held.keys()
    anew: ReverseIndex[int] = ReverseIndex()
    for key, tree in held.items():
        anew.add(key, tree)
    assert answer(index, papers) == answer(anew, papers)
    assert len(index) == len(held)


def write_papers(count: int) -> list[Paper]:
    writer = Writer(random.Random(7))  # noqa: S311 - the same papers every time
    manuscripts = [*ODD, *(writer.write() for _ in range(count - len(ODD)))]
    first = datetime(2026, 11, 1, tzinfo=UTC)
    return [
        Paper(
            id=ArxivId(202611, number + 1),
            version=1 + number % 3,
            title=manuscript.title,
            abstract=manuscript.abstract,
            authors=manuscript.authors,
            categories=manuscript.categories,
            published=first + timedelta(hours=number),
            updated=first + timedelta(hours=number),
            comment=manuscript.comment,
            journal_ref=manuscript.journal_ref,
            dois=tuple(manuscript.doi.split("; ")) if manuscript.doi else (),
            report_no=manuscript.report_no,
        )
        for number, manuscript in enumerate(manuscripts)
    ]


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    return write_papers(120)


def test_thousands_of_queries_are_answered_as_by_the_plain_evaluator(papers: list[Paper]) -> None:
    writer = QueryWriter(papers, seed=1)
    queries = [
        *islice(read_queries(writer.write_realistic), 2_000 if IS_NIGHTLY else 400),
        *islice(read_queries(writer.write_any), 400 if IS_NIGHTLY else 100),
    ]
    expected = answer_plainly(queries, papers)
    assert answer(build(*queries), papers) == expected
    assert len(expected) > len(queries) // 2  # most have something to find


def test_a_long_batch_is_split_and_answered_as_in_one(papers: list[Paper]) -> None:
    queries = list(islice(read_queries(QueryWriter(papers, seed=2).write_any), 100))
    index = build(*queries)
    whole = answer(index, papers)
    for most in (7, 64, 119):
        with patch.object(reverse_index, "MOST_PAPERS", most):
            assert answer(index, papers) == whole


def test_indexes_beyond_sixteen_bits_are_kept_whole(make_paper: MakePaper) -> None:
    many = [make_paper(), *[make_paper(title="")] * 66_000, make_paper()]
    assert ask("ti:untitled", *many) == [0, 66_001]


def test_five_hundred_authors_in_one_query_are_all_looked_for(make_paper: MakePaper) -> None:
    text = " OR ".join(f'au:"Ada Number{number}"' for number in range(250))
    text += " OR " + " OR ".join(f"au:Other{number}_B" for number in range(250))
    names = ("Ada B. Number249", "Bo Other3", "Bo Number3", "Ada Other3")
    assert ask(text, *(make_paper(authors=[name]) for name in names)) == [0, 1]


def test_long_phrases_and_wide_gaps_are_followed_to_their_end(make_paper: MakePaper) -> None:
    words = [f"w{number}" for number in range(40)]
    phrase = " ".join([*words[:20], *["of"] * 9, *words[20:]])
    broken = " ".join([*words[:20], *["of"] * 8, *words[20:]])
    papers = [make_paper(abstract=text) for text in (phrase, broken, phrase.replace(" of ", " the "))]
    assert ask(f'abs:"{phrase}"', *papers) == [0, 2]


def test_a_phrase_does_not_go_from_one_text_to_the_next(make_paper: MakePaper) -> None:
    pair = make_paper(abstract="tail"), make_paper(abstract="latency")
    assert ask('abs:"tail latency" OR ti:"tail latency"', *pair) == []
    assert ask('"tail latency"', make_paper(title="tail", abstract="latency")) == []


def test_what_is_not_there_can_not_be_removed() -> None:
    with pytest.raises(KeyError):
        build().remove(7)


def test_matches_stay_as_they_were_when_the_index_goes_on(make_paper: MakePaper) -> None:
    index = build(parse_query("ti:gpu"))
    found = index.match([make_paper(title="GPU")])
    index.remove(0)
    index.add(1, parse_query("ti:gpu"))
    assert {key: papers.tolist() for key, papers in found.items()} == {0: [0]}


def test_a_condition_no_table_knows_is_held_against_each_paper(papers: list[Paper]) -> None:
    query = parse_query("abs:we AND NOT cat:cs.PF")
    with patch.dict("digest.query.index.lexicon._READERS", clear=True):
        index = build(query, Not(query.tree))
    assert answer(index, papers) == answer_plainly([query, Not(query.tree)], papers)
    assert answer(index, papers)[0]


def test_a_name_is_shown_only_to_conditions_that_name_a_part_of_it(make_paper: MakePaper) -> None:
    asked: list[str] = []

    def note(condition: Condition) -> object:
        asked.append(condition.text)
        return read_name(condition)

    index = build(*(parse_query(f'author:"Ada Number{number}"') for number in range(50)))
    with patch("digest.query.index.detection.read_name", note):
        assert answer(index, [make_paper(authors=["Ada B. Number7"])]) == {7: [0]}
    assert asked == ["ada number7"]


def test_garbage_is_collected_again_after_a_match_that_failed(papers: list[Paper]) -> None:
    index = build(parse_query("cat:cs.PF"))
    with patch.object(reverse_index, "MOST_PAPERS", 0), pytest.raises(ValueError, match="arg 3 must not be zero"):
        index.match(papers)
    assert gc.isenabled()
