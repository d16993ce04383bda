"""An index of papers answers many queries: the answer is the plain evaluator's for every pair."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.model.papers import ArxivId, Paper
from digest.query import (
    And,
    Condition,
    IndexedPaper,
    Node,
    Not,
    Or,
    PaperIndex,
    Prefix,
    Query,
    Shape,
    analyse,
    index,
    matches,
    parse_query,
)
from digest.query.evaluation import _BETWEEN_READINGS
from digest.query.index import _Batch
from digest.query.paper_words import TEXTS as TEXTS_OF_WORDS
from digest.query.paper_words import PaperWords, WordReader
from digest.query.words import cut_words
from tests.conftest import IS_NIGHTLY
from tests.fakes.odd_manuscripts import ODD
from tests.fakes.writing import Writer
from tests.querying import QueryWriter, read_queries
from tests.unit.query.conftest import MakePaper


def answer(queries: Sequence[Query | Node], papers: Sequence[Paper]) -> list[list[int]]:
    return list(PaperIndex(iter(papers)).find(queries))


def answer_plainly(queries: Sequence[Query | Node], papers: Sequence[Paper]) -> list[list[int]]:
    ready = list(map(analyse, papers))
    answers = []
    for query in queries:
        found = [number for number, paper in enumerate(ready) if matches(query, paper)]
        answers.append(found)
    return answers


def ask(text: str, *papers: Paper) -> list[int]:
    query = parse_query(text)
    (found,) = answer([query], papers)
    return found


WORDS = [
    "gpu",
    "GPUs",
    "the",
    "of",
    "latency",
    "latencies",
    "tail",
    "k-means",
    "self-supervised",
    "don't",
    "3.14",
]
ODD_WORDS = [
    *(
        "Schrödinger",
        "schrodinger",
        "机器",
        "ω",
        "$k$-means",
        r"$10^{-3}$",
        r"Poincar\'e",
        "e\u0301t",
        "½",
        "$",
    ),
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
        ),
        "John Smith III",
        *(
            "Ludwig van Beethoven",
            "L. v. Beethoven",
            "J.-P. Serre",
            "Jean-Pierre Serre",
            "JP Serre",
            "李 明",
            "X",
        ),
        *(
            r"Fr\'ed\'eric Mot\"as",
            "Pınar Tözün",
            "The ATLAS Collaboration",
            "O'Neill, A.",
            "P. Toezuen",
            "",
        ),
        *("Jürg Rüegg", "J. Rueegg", r"H\"o\"ok, Örn"),
    ]
)
CATEGORIES = st.sampled_from(
    ["cs.PF", "cs.NA", "math.NA", "hep-th", "cmp-lg", "cs.CL", "I.2.6", "astro-ph"]
)
IDS = st.sampled_from(["2603.10026", "hep-th/9901001", "math/0309136"])
DOIS = st.sampled_from(
    ["10.1103/PhysRevLett.116.061102", "10.1000/Second", "10.1016/0370-2693(93)90001-T", "10.1/a+b"]
)
FIRST = datetime(2025, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone
LAST = datetime(2027, 1, 1)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
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
    st.builds('{}:="{}"'.format, st.sampled_from(FIELDS_OF_WORDS), VALUES),
    st.builds(
        "{}:{}*".format,
        st.sampled_from(FIELDS_OF_WORDS),
        st.sampled_from(
            ["g", "gp", "the", "t", "laten", "latenc", "self-super", "k-m", "schr", "3"]
        )
        | st.sampled_from(["h", "h_0", "lambdac", "bo"]),
    ),
    st.builds(
        "{}:{}".format,
        st.sampled_from(FIELDS_OF_WORDS),
        st.sampled_from(
            ["ΛCDM", "h_0", "h₀-gpu", "n_body-λcdm", "nbody", "σ_8", "lambdacdm", "n_gram"]
        ),
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
                ),
                *("k smith", "jr", "toezun", "rüegg", "rueegg, jürg", "ruee* j*", "hoeoek"),
                *(
                    "smith jr",
                    "van beethoven, l",
                    "beethoven, ludwig",
                    "l* beeth*",
                    "smi* john",
                    "smith, jo*",
                ),
                *("x", "x x"),
                *(
                    "serre j.-p.",
                    "john smith k",
                    "john john",
                    "motas, f",
                    "o'neill, a",
                    "john k smith jr",
                ),
            ]
        ),
    ),
    st.builds(
        "au:{}*".format,
        st.sampled_from(["s", "smi", "li", "be", "josé", "atl", "toez", "töz", "to"]),
    ),
    st.builds(
        'author:"{}"'.format,
        st.sampled_from(
            [
                *(
                    "John Smith",
                    "Smith, J.",
                    "John Kevin Smith",
                    "Ludwig van Beethoven",
                    "Jean-Pierre Serre",
                ),
                *("Yibin Liu", "Pinar Toezün", "Jürg Rüegg"),
            ]
        ),
    ),
    st.builds(
        "cat:{}".format,
        st.sampled_from(["cs.PF", "cs.NA", "cs", "math", "hep-*", "c*", "cs.*", "cs.p*", "zz.zz"]),
    ),
    st.builds(
        "{}:{}".format,
        st.sampled_from(["id", "all"]),
        st.sampled_from(["2603.10026", "2603.10026v2", "hep-th/9901001"]),
    ),
    st.builds('{}:"{}"'.format, st.sampled_from(["doi", "all"]), DOIS),
    st.sampled_from(
        ["all:cs.NA", "all:hep-th", "Liu", "bin-liu", '"Bin Liu"', "smit*", "john smith"]
    ),
    st.sampled_from(
        [
            "submittedDate:[2025 TO 2025]",
            "submittedDate:[* TO 202606]",
            "submittedDate:[20260302 TO *]",
        ]
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


LICENSES = st.sampled_from(
    [
        "",
        "http://creativecommons.org/licenses/by/4.0/",
        "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
    ]
)


@pytest.mark.parametrize("most", [1, 2, 4_000])
@given(
    trees=st.lists(TREES | st.sampled_from(["lic:cc-by", "lic:arxiv"]).map(parse)),
    fields=st.lists(st.tuples(PAPERS, LICENSES), max_size=6),
)
def test_every_pair_is_answered_as_by_the_plain_evaluator(
    trees: list[Node], fields: list[tuple[dict[str, Any], str]], most: int, make_paper: MakePaper
) -> None:
    papers = [make_paper(**each, license=license_) for each, license_ in fields]
    with patch.object(index, "_MOST", most):
        assert answer(trees, papers) == answer_plainly(trees, papers)
        kept = [keep_words(paper) for paper in papers]
        assert list(PaperIndex(kept).find(trees)) == answer(trees, papers)


def keep_words(paper: Paper) -> IndexedPaper:
    """Return a paper as the store gives it: with words that were packed."""
    indexed = WordReader().index(paper)
    words = PaperWords.unpack(indexed.words.pack())
    return replace(indexed, words=words)


def write_papers(count: int) -> list[Paper]:
    writer = Writer(random.Random(7))  # noqa: S311 - the same papers every time
    written = [writer.write() for _ in range(count - len(ODD))]
    first = datetime(2026, 11, 1, tzinfo=UTC)
    papers = []
    for number, manuscript in enumerate([*ODD, *written]):
        moment = first + timedelta(hours=number)
        dois = manuscript.doi.split("; ") if manuscript.doi else []
        paper = Paper(
            id=ArxivId(202611, number + 1),
            version=1 + number % 3,
            title=manuscript.title,
            abstract=manuscript.abstract,
            authors=manuscript.authors,
            categories=manuscript.categories,
            published=moment,
            updated=moment,
            comment=manuscript.comment,
            journal_ref=manuscript.journal_ref,
            dois=tuple(dois),
            report_no=manuscript.report_no,
        )
        papers.append(paper)
    return papers


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    return write_papers(120)


def test_thousands_of_queries_are_answered_as_by_the_plain_evaluator(papers: list[Paper]) -> None:
    writer = QueryWriter(papers, seed=1)
    realistic = read_queries(writer.write_realistic)
    of_any_kind = read_queries(writer.write_any)
    queries = [
        *islice(realistic, 2_000 if IS_NIGHTLY else 400),
        *islice(of_any_kind, 2_000 if IS_NIGHTLY else 250),
    ]
    expected = answer_plainly(queries, papers)
    assert answer(queries, papers) == expected
    found = [numbers for numbers in expected if numbers]
    assert len(found) > len(queries) // 2  # most have something to find


def test_five_hundred_authors_in_one_query_are_all_looked_for(make_paper: MakePaper) -> None:
    in_quotes = [f'au:"Ada Number{number}"' for number in range(250)]
    by_initial = [f"au:Other{number}_B" for number in range(250)]
    text = " OR ".join(in_quotes + by_initial)
    names = ("Ada B. Number249", "Bo Other3", "Bo Number3", "Ada Other3")
    papers = [make_paper(authors=[name]) for name in names]
    assert ask(text, *papers) == [0, 1]


def test_long_phrases_and_wide_gaps_are_followed_to_their_end(make_paper: MakePaper) -> None:
    words = [f"w{number}" for number in range(40)]
    begin = " ".join(words[:20])
    end = " ".join(words[20:])
    phrase = f"{begin}{' of' * 9} {end}"
    broken = f"{begin}{' of' * 8} {end}"
    with_another_stop_word = phrase.replace(" of ", " the ")
    texts = (phrase, broken, with_another_stop_word)
    papers = [make_paper(abstract=text) for text in texts]
    assert ask(f'abs:"{phrase}"', *papers) == [0, 2]


def test_a_phrase_does_not_go_from_one_text_to_the_next(make_paper: MakePaper) -> None:
    first = make_paper(abstract="tail")
    second = make_paper(abstract="latency")
    assert ask('abs:"tail latency" OR ti:"tail latency"', first, second) == []
    in_two_fields = make_paper(title="tail", abstract="latency")
    assert ask('"tail latency"', in_two_fields) == []


def test_a_phrase_goes_neither_over_the_end_of_a_text_nor_of_all(make_paper: MakePaper) -> None:
    texts = ("the tail", "latency of the", "tail latency of the tail")
    papers = [make_paper(abstract=text) for text in texts]
    asked = ('abs:"tail latency"', 'abs:"latency of the tail"', 'abs:"tail of the latency"')
    queries = [parse_query(text) for text in asked]
    assert answer(queries, papers) == [[2], [2], []]


PIECES = st.sampled_from(
    [
        *(
            "a",
            "GPU",
            "the",
            "GPUs",
            "k-means",
            "don't",
            "Bell's",
            "Bells'",
            "3.14",
            "3,000;5",
            "e.g.",
        ),
        *("_x_", "__"),
        *(
            "n_gram",
            "AT&T",
            "cs.PF",
            "O'Neill",
            "x''y",
            "--",
            "``quoted''",
            "ﬁne",
            "½",
            "⑴",
            "10³",
            "groß",
            "İ",
        ),
        *(
            "e\u0301tale",
            "soft\u00adhyphen",
            "\u200dx",
            "a\x00b",
            "\x01\x1cb",
            "\u202eright",
            "\ud800",
            "a\ufeff",
        ),
        *(
            *(
                "机器学习",
                "한국어",
                "हिन्दी",
                "ω",
                "’s",
                "l’été",
                "catalan·la",
                "x.y.z",
                ".5",
                "5.",
                "a.b",
                "’",
                "'",
            ),
            "·",
        ),
        *(
            "$k$-means",
            r"$10^{-3}$",
            r"$\mathcal{O}(n^2)$",
            "$5 and $6",
            r"Poincar\'e",
            r"\emph{very} odd",
        ),
        *("{x}", "$"),
        *(
            r"$x$\,K",
            r"RX$~$J1713.7",
            r"$1\,$",
            r"$\;2$",
            r"$\,$",
            r"\civ",
            r"\sigma-meson",
            r"{1, 2}",
            "$$x_1$$",
        ),
        *(
            r"\emph{a $x$ b}",
            r"\cite[p. 2]{x}",
            r"\footnote",
            r"\[ x \]",
            r"\begin{a} x \end{a}",
            r"\'",
            r"\frac",
        ),
        *("{", "}"),
        *(
            r"$\Lambda$CDM",
            "ΛCDM",
            r"\Lambda CDM",
            "$N$body",
            "$H_{0}$",
            "H$_0$",
            r"$N_{\rm eff}$s",
            "$k_BT$",
        ),
        *(
            r"$13{\rm TeV}$",
            r"$f\sigma_8$",
            r"x$\bar{p}$p",
            r"$\rm 5GeV$",
            r"\mathcal{N}x",
            r"$\text{a b}$c",
        ),
        *("x_a", "xᵅ₁²", r"Erd\H{o}$s$", r"{\S}$x$", "V·s", "$a$$b$", "$机$x"),
        *(
            "\\",
            r"{\it old}",
            "~",
            "Fig.~3",
            "^2",
            "x_1",
            "\n",
            "\u2028",
            "\u00a0",
            "ß",
            "Ö",
            "ö\u0308",
        ),
        *("A.", "J.-P."),
    ]
)
ODD_TEXTS = st.lists(
    st.tuples(PIECES, st.sampled_from(["", " ", " ", "\n", "-", ",", ".", "/"])), max_size=8
).map(lambda pairs: "".join(piece + sign for piece, sign in pairs))
ANY_TEXTS = st.one_of(ODD_TEXTS, st.text(max_size=30))


@example(texts=[(r"\frac{\it old} $\,$a", "", "", "", "")])
@given(texts=st.lists(st.tuples(*[ANY_TEXTS] * len(TEXTS_OF_WORDS)), min_size=1, max_size=3))
def test_each_word_of_a_text_is_found_where_the_single_paper_has_it(
    texts: list[tuple[str, ...]], make_paper: MakePaper
) -> None:
    fields = TEXTS_OF_WORDS.values()
    papers = [make_paper(**dict(zip(fields, each, strict=True))) for each in texts]
    batch = _Batch(papers, {})
    for number, paper in enumerate(papers):
        analysed = analyse(paper)
        for prefix, name in TEXTS_OF_WORDS.items():
            own = getattr(analysed, name)
            second = len(cut_words(own.plain)) + _BETWEEN_READINGS
            assert find_places(batch.texts[prefix][number], second) == own.written


def find_places(text: str, second: int) -> dict[str, list[int]]:
    """Return where each word of a text stands; those of its second reading begin at `second`."""
    places: dict[str, list[int]] = {}
    for first, reading in zip((0, second), text.split("\n"), strict=False):
        words = reading[1:-1].split("\t") if reading else []
        for place, word in enumerate(words, first):
            places.setdefault(word, []).append(place)
    return places


@given(names=st.lists(st.lists(ANY_TEXTS, max_size=3), min_size=1, max_size=4))
def test_names_are_cut_as_those_of_the_single_paper(
    names: list[list[str]], make_paper: MakePaper
) -> None:
    papers = [make_paper(authors=each) for each in names]
    batch = _Batch(papers, {})
    for number, paper in enumerate(papers):
        own = set()
        for name in analyse(paper).names:
            own |= {spelling for spelling in name.spellings if spelling}
        found = set()
        for place, by in enumerate(batch.papers_by):
            if number in memoryview(by).cast("I"):
                spelling = batch.names[place].split("\t")
                found.add(tuple(spelling))
        assert found == own
