"""What a query means to a paper.

Tables of single conditions, and a plain evaluator to agree with.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import analyse, matches, parse_query
from tests.unit.query.conftest import MakePaper


@pytest.fixture(scope="module")
def paper(make_paper: MakePaper) -> Paper:
    return make_paper(
        id="2603.10026",
        version=2,
        title="Tail Latency of Self-supervised GPUs at $10^{-3}$ s: $k$-means",
        abstract=(
            "We study the state of the art in generative transformers.\n"
            "Schrödinger's cats don't mind."
        ),
        authors=[
            "Pınar Tözün",
            "J.-P. Serre",
            "John K. Smith Jr.",
            "Yi-Bin Liu",
            "The ATLAS Collaboration",
        ],
        categories=("cs.PF", "math.NA", "hep-th"),
        comment="12 pages, 3 figures; accepted at ICS'26",
        journal_ref="Phys. Rev. Lett. 116 (2016) 061102",
        report_no="FERMILAB-PUB-26-123-T",
        dois=("10.1103/PhysRevLett.116.061102", "10.1000/Second"),
        published=datetime(2026, 2, 24, 23, 59, 59, tzinfo=UTC),
    )


MET = [
    # words are stemmed and folded in title and abstract
    *(
        "ti:gpu",
        "ti:GPUs",
        "abs:transform",
        "abs:schrodinger",
        "abs:Schrödinger",
        "abs:cat",
        "abs:don't",
    ),
    # phrases keep the gaps of stop words
    *('ti:"tail latency"', 'ti:"latency of self-supervised"', 'ti:"latency the self-supervised"'),
    *('abs:"state of the art"', 'abs:"art in generative"', 'ti:"k-means"', "ti:k-means"),
    # exact words are folded, but not stemmed, and stop words are there
    *("ti:=gpus", "abs:=SCHRODINGER", "=figures", "abs:=the", 'abs:="the state of the art"'),
    *('ti:="latency of self-supervised"', "ti:=self-supervised", 'ti:="10^{-3} s k-means"'),
    # words that punctuation parts may stand anywhere in the field
    "ti:gpu-tail",
    # beginnings of words and of stems
    *("ti:superv*", "ti:supervised*", "abs:gener*", "abs:generativ*", "ti:tail-super*"),
    # comment, journal reference and report number are not stemmed
    *("co:figures", "co:pages", 'co:"3 figures"', 'jr:"Phys. Rev. Lett."', "jr:116"),
    *("rn:fermilab", 'rn:"FERMILAB-PUB-26-123-T"'),
    # whole names
    *("au:tozun", 'au:"Pinar Tozun"', 'au:"Smith, J"', "au:tozu*", "au:atlas"),
    # categories, primary or not, under all their names, and whole archives
    *("cat:cs.PF", "cat:cs.pf", "cat:hep-th", "cat:math.NA", "cat:cs.NA", "cat:math", "cat:cs.*"),
    *("cat:cs.P*", "cat:hep-*"),
    # identifiers
    *("id:2603.10026", "id:2603.10026v2", "doi:10.1103/PhysRevLett.116.061102"),
    *("doi:10.1103/physrevlett.116.061102", "doi:10.1000/second"),
    # dates, to the minute, both ends included
    "submittedDate:[202602242359 TO 202602242359]",
    *("submittedDate:[* TO 20260224]", "submittedDate:[20260224 TO *]"),
    # everything
    *(
        "latency",
        "tözün",
        "figures",
        "lett",
        "fermilab",
        "cs.PF",
        "cs.NA",
        "hep-th",
        "2603.10026",
        "2603.10026v2",
    ),
    *(
        "10.1103/PhysRevLett.116.061102",
        '"tail latency"',
        '"serre j.-p."',
        "transf*",
        "tozu*",
        "john smith",
    ),
]

NOT_MET = [
    *("ti:transformers", "abs:gpu", "ti:late", 'ti:"latency tail"', 'ti:"latency self-supervised"'),
    *('abs:"state art"', "ti:gpu-transformers", "ti:=gpu", "abs:=generated", "abs:=a"),
    *(
        'ti:="latency the self-supervised"',
        "ti:=supervised-self",
        "=figure",
        "ti:upervis*",
        "co:figure",
    ),
    *(
        "co:page",
        "jr:letters",
        "rn:cern",
        "au:smi",
        'au:"bin liu"',
        "cat:cs.DC",
        "cat:stat",
        "cat:hep",
        "cat:q*",
    ),
    *(
        "id:2603.10026v1",
        "id:2603.10027",
        "doi:10.1103/PhysRevLett.116",
        "submittedDate:[202602250000 TO 2027]",
    ),
    *("submittedDate:[2025 TO 202602242358]", "figure", "cs", "math", "hep-ex", "2603.10026v1"),
    *('"tail of latency"', "xyz*"),
]


@pytest.mark.parametrize("text", MET)
def test_the_paper_is_meant_by(text: str, paper: Paper) -> None:
    assert matches(parse_query(text), paper)


@pytest.mark.parametrize("text", NOT_MET)
def test_the_paper_is_not_meant_by(text: str, paper: Paper) -> None:
    assert not matches(parse_query(text), paper)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            ("ti:gpu AND abs:gpu", False),
            ("ti:gpu OR abs:gpu", True),
            ("ti:gpu ANDNOT abs:gpu", True),
        ),
        ("NOT ti:gpu", False),
        ("ti:(gpu AND (tail OR head))", True),
        ("abs:gpu AND ti:gpu OR ti:tail", True),
        ("abs:gpu AND (ti:gpu OR ti:tail)", False),
    ],
)
def test_operators_combine_conditions(text: str, *, expected: bool, paper: Paper) -> None:
    assert matches(parse_query(text), paper) is expected


def test_an_unknown_category_means_the_papers_that_carry_it(make_paper: MakePaper) -> None:
    query = parse_query("cat:I.2.6")
    assert matches(query, make_paper(categories=("cs.AI", "I.2.6")))
    assert not matches(query, make_paper(categories=("cs.AI",)))


def test_raw_tex_in_names_and_titles_is_resolved_first(make_paper: MakePaper) -> None:
    paper = make_paper(title=r"Poincar\'e maps", authors=[r"Fr\'ed\'eric Mot\"as"])
    assert matches(parse_query('ti:poincaré AND ti:"poincare map" AND au:"frederic motas"'), paper)


def test_a_paper_with_nothing_in_it_meets_only_what_excludes(make_paper: MakePaper) -> None:
    bare = make_paper(title="", abstract="", authors=[], categories=())
    assert not matches(parse_query("gpu OR au:smith OR cat:cs.PF OR gp* OR doi:10.1000/x"), bare)
    assert matches(parse_query("NOT gpu"), bare)


def test_an_analysed_paper_and_a_bare_tree_answer_like_a_paper_and_a_query(paper: Paper) -> None:
    query = parse_query("ti:gpu ANDNOT abs:gpu")
    assert matches(query.tree, analyse(paper)) is matches(query, paper) is True


def test_a_paper_is_analysed_once(paper: Paper) -> None:
    ready = analyse(paper)
    assert analyse(ready) is ready
    assert ready.title is ready.title


# A plain evaluator over made-up words whose stems are known: no index, no compilation, sets only.

authors = st.sampled_from(
    [
        *("Serre", '"J.-P. Serre"', "Serre_J", "Serre_K", "Tözün", '"Pinar Tozun"', '"Tozun Liu"'),
        *("Liu_Y", "nobody"),
        *("Smi*", '"Smith John"', "Smith_J", '"ATLAS Collaboration"', "Bin"),
    ]
).map("au:{}".format)


@given(
    names=st.lists(authors, min_size=2, max_size=6),
    other=st.sampled_from(["", " OR ti:latency", " OR ti:zebra"]),
)
def test_a_list_of_authors_is_met_where_any_of_them_is(
    names: list[str], other: str, paper: Paper
) -> None:
    listed = parse_query(" OR ".join(names) + other)
    each = [*names, *filter(None, [other.removeprefix(" OR ")])]
    assert matches(listed, paper) == any(matches(parse_query(one), paper) for one in each)
