"""What is sent brings the same papers as we mean.

A second reader says so, which knows arXiv from its documents.

Exactly the same: words, phrases and parted words in plain letters; categories, archives and
beginnings of them; identifiers, DOIs in their own case; dates; any AND, OR and NOT of these.
More, never less: beginnings of words; names; words with accents, Greek letters or figures; `all:`.
Less, as `to_arxiv` says, only where a paper writes an accent that the query leaves out, has another
part of a formula in a word, and where it writes a DOI in other letters.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import And, Node, Not, Or, Query, matches, parse_query, to_arxiv
from tests.unit.query.arxiv_reference import brings
from tests.unit.query.conftest import MakePaper

TEXTED = ("ti", "abs", "co", "jr", "rn")
WORDS = ("gpu", "gpus", "latencies", "generative", "operators", "state", "tail")
PHRASES = ('"tail latency"', '"state of the art"', '"art in state"', '"tail latencies gpu"')
EXACT_WORDS = ("gpus", "gpu", "generatively", "tail-latency", *PHRASES[:2], '"a tail latency"')
EXACT = (
    *(
        f"{field}:{value}"
        for field, value in product(TEXTED, (*WORDS, *PHRASES, "tail-latency", "state-of-the-art"))
    ),
    *(
        f"cat:{name}"
        for name in (
            "cs.PF",
            "cs.NA",
            "math.NA",
            "hep-th",
            "cs",
            "math",
            "stat",
            "cs.P*",
            "hep-*",
            "m*",
        )
    ),
    *(
        "id:2603.10026",
        "id:2603.10026v1",
        "id:hep-th/9901001",
        "doi:10.1000/AbC",
        "doi:10.1000/xyz",
    ),
    *(
        f"submittedDate:[{dates}]"
        for dates in ("2025 TO 2025", "* TO 202603020929", "202603020930 TO *")
    ),
)
WIDER = (
    *(
        f"{field}:{word}*"
        for field, word in product(
            ("ti", "abs", "co"), ("gener", "operato", "generativ", "gp", "ta")
        )
    ),
    *(
        f"au:{name}"
        for name in (
            "smith",
            "liu",
            "muller",
            '"bin liu"',
            '"liu bin"',
            '"john smith"',
            '"j. smith"',
        )
    ),
    *(
        f"au:{name}"
        for name in ('"Smith, J"', "liu_b", "smit*", '"Smith, Jane K"', '"Müller, K"', '"Liu, L*"')
    ),
    *(
        f"au:{name}"
        for name in (
            "mueller",
            "müll*",
            "muell*",
            '"Mueller, K"',
            "moo*",
            '"müll* k*"',
            '"ka* Mueller"',
        )
    ),
    *(
        f'author:"{name}"'
        for name in ("John Smith", "J. Smith", "Bin Liu", "Müller, Karl", "Karl Mueller")
    ),
    *(
        f"{field}:={value}"
        for field, value in product(("ti", "abs", "co", "all"), (*EXACT_WORDS, "the"))
    ),
    *(
        "ti:größe",
        'ti:"größe gpu"',
        "abs:größe",
        "ti:=größe",
        "ti:=ΛCDM",
        "ti:=lambdacdm",
        "ti:=H_0",
    ),
    *("ti:=co2", "=cs.PF"),
    *("ti:ΛCDM", "ti:LambdaCDM", 'ti:"ΛCDM gpu"', 'ti:"lambdacdm gpu"', "ti:lam*"),
    *(
        "ti:H_0",
        "ti:H0",
        "ti:σ_8",
        'ti:"sigma_8 gpu"',
        "ti:co2",
        "ti:co_2-gpu",
        "ti:lambdac*",
        "all:ΛCDM",
    ),
    *(f"all:{value}" for value in (*WORDS, *PHRASES, "liu", "hep-th", "2603.10026")),
)


def build_trees(conditions: tuple[str, ...]) -> st.SearchStrategy[Node]:
    """Draw trees of any shape over conditions as they are written."""
    leaves: st.SearchStrategy[Node] = st.sampled_from(conditions).map(
        lambda text: parse_query(text).tree
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map(lambda nodes: And(tuple(nodes))),
            st.lists(inner, min_size=2, max_size=4).map(lambda nodes: Or(tuple(nodes))),
            inner.map(Not),
        ),
        max_leaves=10,
    )


TEXT = st.lists(
    st.sampled_from(
        (
            *(
                "GPU",
                "gpus",
                "tail",
                "latency",
                "latencies",
                "generative",
                "generation",
                "operator",
                "operating",
            ),
            *("state", "art", "of", "the", "in", "cs"),
        )
    ),
    max_size=6,
).map(" ".join)
PAPERS = st.fixed_dictionaries(
    {
        "title": TEXT,
        "abstract": TEXT,
        "comment": TEXT,
        "journal_ref": TEXT,
        "report_no": TEXT,
        "authors": st.lists(
            st.sampled_from(
                [
                    *(
                        "Bin Liu",
                        "John Smith",
                        "J. Smith",
                        "Liu Bin",
                        "Jane K. Smith",
                        "Karl Müller",
                        "K. Muller",
                    ),
                    *("Karl Mueller", "Ann Moore", "Karl J. Smith"),
                ]
            ),
            max_size=3,
        ),
        "categories": st.lists(
            st.sampled_from(["cs.PF", "cs.NA", "math.NA", "hep-th", "stat.ME"]), max_size=3
        ).map(tuple),
        "dois": st.lists(
            st.sampled_from(["10.1000/AbC", "10.1000/xyz"]), max_size=2, unique=True
        ).map(tuple),
        "published": st.sampled_from(
            [
                datetime(2025, 12, 31, 23, 59, tzinfo=UTC),
                datetime(2026, 3, 2, 9, 30, 15, tzinfo=UTC),
            ]
        ),
    }
)
ACCENTED = PAPERS.flatmap(
    lambda fields: st.sampled_from(["größe", "grosse", "größe gpu", "grosse gpu"]).map(
        lambda word: fields | {"title": f"{fields['title']} {word}", "abstract": word}
    )
)


TEXTS = (
    *("", "GPU", "a tail latency", "tail of latencies", "the latency gpu tail"),
    *("Tail latencies, GPUs", "state, state"),
    *("state of the art in state", "art, state", "generating operations", "generatively"),
    *("operators", "gpus operating"),
    "generative tail latencies gpu",
)
SHELF: tuple[Mapping[str, object], ...] = (
    *(
        {field: text}
        for field, text in product(
            ("title", "abstract", "comment", "journal_ref", "report_no"), TEXTS
        )
    ),
    *(
        {"authors": names}
        for names in (["Bin Liu"], ["Liu Bin", "J. Smith"], ["John Smith"], ["Jane K. Smith"])
    ),
    *(
        {"authors": names}
        for names in (
            ["Karl Müller"],
            ["K. Muller"],
            ["Karl Mueller"],
            ["Ann Moore"],
            ["Bin Smith", "John Liu"],
            ["Lena Liu"],
            ["Karl L. Liu"],
        )
    ),
    *(
        {"categories": names}
        for names in (("cs.PF",), ("cs.NA",), ("math.NA",), ("hep-th",), ("stat.TH",), ("math.ST",))
    ),
    *({"dois": names} for names in (("10.1000/AbC",), ("10.1000/xyz", "10.1000/AbC"))),
    *({"title": text, "abstract": text} for text in ("größe", "grosse gpu", "größe gpu")),
    *(
        {"title": text}
        for text in (
            r"$\Lambda$CDM gpu",
            "ΛCDM, gpu",
            "Λ CDM",
            "$Λ$CDM gpu",
            "LambdaCDM GPU",
            "$λ$",
        )
    ),
    *(
        {"title": text}
        for text in ("$H_0$", "H_0", "H0", "H 0", r"f$\sigma_8$ gpu", "CO$_2$ gpu", "CO2", "α CDM")
    ),
    {"id": "hep-th/9901001"},
    {"published": datetime(2025, 12, 31, 23, 59, tzinfo=UTC)},
)
"""Papers each of which says one thing: what a single condition finds or misses shows at once."""


@pytest.fixture(scope="module")
def shelf(make_paper: MakePaper) -> list[Paper]:
    return [make_paper(**fields) for fields in SHELF]


@pytest.mark.parametrize("text", [*EXACT, *WIDER])
def test_a_single_condition_brings_what_it_means_and_its_opposite_the_rest(
    text: str, shelf: list[Paper]
) -> None:
    query = parse_query(text)
    asked = to_arxiv(query)
    opposite = to_arxiv(parse_query(f"NOT {text}"))
    meant = [paper for paper in shelf if matches(query, paper)]
    others = [paper for paper in shelf if not matches(query, paper)]
    brought = [paper for paper in shelf if brings(asked, paper)]
    spared = [paper for paper in shelf if brings(opposite, paper)]
    assert meant
    assert others
    if text in EXACT:
        assert brought == meant
        assert spared == others
    else:
        assert [paper for paper in meant if paper not in brought] == []
        assert [paper for paper in others if paper not in spared] == []


@given(tree=build_trees(EXACT), fields=PAPERS)
def test_what_is_sent_brings_exactly_the_papers_that_are_meant(
    tree: Node, fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    is_meant = matches(Query("", tree), paper)
    assert brings(to_arxiv(tree), paper) is is_meant


FORMULAS = PAPERS.flatmap(
    lambda fields: st.sampled_from(
        [r"$\Lambda$CDM gpu", "Λ gpu", "ΛCDM", "$H_0$", r"f$\sigma_8$", "CO$_2$"]
    ).map(lambda word: fields | {"title": f"{fields['title']} {word}", "abstract": word})
)


@given(tree=build_trees(WIDER), fields=st.one_of(PAPERS, ACCENTED, FORMULAS))
def test_where_arxiv_cannot_be_asked_exactly_it_is_asked_for_more(
    tree: Node, fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    if matches(Query("", tree), paper):
        assert brings(to_arxiv(tree), paper)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("ti:grosse", {"title": "größe"}),
        ("ti:nbody", {"title": "$N$body"}),
        ("ti:cdm", {"title": "ΛCDM"}),
        ("doi:10.1000/ABC", {"dois": ("10.1000/abc",)}),
    ],
)
def test_what_is_lost_at_arxiv_is_an_accent_a_formulas_edge_or_the_case_of_a_doi(
    text: str, fields: dict[str, object], make_paper: MakePaper
) -> None:
    paper = make_paper(**fields)
    query = parse_query(text)
    assert matches(query, paper)
    assert not brings(to_arxiv(query), paper)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # from the right, without precedence: title has a, not b, not c
        ("ti:gpu AND ti:bbb OR ti:ccc", False),
        ("ti:bbb AND ti:ccc OR ti:gpu", False),
        ("ti:ccc OR ti:gpu AND ti:bbb", False),
        ("ti:gpu ANDNOT ti:bbb ANDNOT ti:ccc", True),
        ("ti:gpu ANDNOT ti:gpu ANDNOT ti:gpu", True),
        *(("ti:bbb ti:gpu", True), ("au:bin_liu", True), ("ti:gpu AND au:bin_liu", False)),
    ],
)
def test_the_second_reader_reads_as_arxiv_documents_it(
    text: str,
    expected: bool,  # noqa: FBT001 - a table's column
    make_paper: MakePaper,
) -> None:
    paper = make_paper(title="gpu", authors=["Bin Liu"])
    assert brings(text, paper) is expected
