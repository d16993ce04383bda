"""What is sent to arXiv: pairs in parentheses, plain or quoted terms, never less than is meant."""

import re
from itertools import islice, product

import pytest
from hypothesis import given

from digest.query import Node, parse_query, to_arxiv
from tests.unit.query.test_arxiv_reference import EXACT, WIDER, build_trees

EVERYTHING = "submittedDate:[198001010000 TO 299912312359]"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        *(("ti:GPU", "ti:gpu"), ("GPU", "all:gpu")),
        ('abs:"tail latency"', 'abs:"tail latency"'),
        ('abs:"state of the art"', 'abs:"state of the art"'),
        ("ti:Schrödinger", '(ti:"schrödinger" OR ti:schrodinger)'),
        ('ti:"Schrödinger map"', '(ti:"schrödinger map" OR ti:"schrodinger map")'),
        ("ti:aa ANDNOT ti:Schrödinger", '(ti:aa ANDNOT ti:"schrödinger")'),
        # exact words as stems; where they exclude, not at all, lest papers be lost
        ("abs:=news", "abs:news"),
        ('ti:="the no go"', 'ti:"the no go"'),
        ("=self-supervised AND abs:=the", f"({EVERYTHING} AND all:self-supervised)"),
        ("ti:aa ANDNOT abs:=news", "ti:aa"),
        ("ti:aa ANDNOT NOT abs:=news", "(abs:news AND ti:aa)"),
        ("ti:aa ANDNOT (ti:bb ANDNOT abs:=news)", "(ti:aa ANDNOT (ti:bb ANDNOT abs:news))"),
        (
            "ti:aa ANDNOT (ti:bb OR abs:=news)",
            "(ti:aa ANDNOT (submittedDate:[198001010000 TO 198001010000] OR ti:bb))",
        ),
        ("abs:self-supervised", "(abs:self AND abs:supervised)"),
        ("cat:cs.PF AND abs:GPU", "(abs:gpu AND cat:cs.PF)"),
        ("aa OR bb OR cc", "(all:aa OR (all:bb OR all:cc))"),
        ("aa AND bb AND cc AND dd", "((all:aa AND all:bb) AND (all:cc AND all:dd))"),
        ("aa AND bb OR cc", "((all:aa AND all:bb) OR all:cc)"),
        ("ti:aa ANDNOT ti:bb", "(ti:aa ANDNOT ti:bb)"),
        ("ti:aa ANDNOT ti:bb ANDNOT ti:cc", "(ti:aa ANDNOT (ti:bb OR ti:cc))"),
        ("ti:aa ANDNOT (ti:bb AND ti:cc)", "(ti:aa ANDNOT (ti:bb AND ti:cc))"),
        ("NOT ti:aa", f"({EVERYTHING} ANDNOT ti:aa)"),
        ("ti:aa OR NOT ti:bb", f"(ti:aa OR ({EVERYTHING} ANDNOT ti:bb))"),
        ("NOT ti:aa AND NOT ti:bb", f"({EVERYTHING} ANDNOT (ti:aa OR ti:bb))"),
        # words that formulas may part, as arXiv's index has them
        ("ti:H_0", '(ti:"h_0" OR (ti:h0 OR ti:"h 0"))'),
        ("ti:H0", '(ti:h0 OR ti:"h 0")'),
        ("ti:LambdaCDM", '((ti:lambdacdm OR ti:"lambda cdm") OR (ti:"λ cdm" OR ti:"λcdm"))'),
        ("ti:ΛCDM", '((ti:"λcdm" OR ti:lambdacdm) OR (ti:"lambda cdm" OR ti:"λ cdm"))'),
        ("ti:lambda", '(ti:lambda OR ti:"λ")'),
        ('ti:"Ly alpha forest"', '(ti:"ly alpha forest" OR ti:"ly α forest")'),
        ("ti:alpha_s", '((ti:"alpha_s" OR ti:"alpha s") OR (ti:"α s" OR ti:"αs"))'),
        ("ti:muSR", '((ti:musr OR ti:"mu sr") OR (ti:"μ sr" OR ti:"μsr"))'),
        ("ti:number", "ti:number"),
        ("ti:lambda*", "(ti:lambda* OR (ti:λ* OR ti:lambdative))"),
        ("ti:gpt4*", "(ti:gpt4* OR (ti:gpt AND ti:4*))"),
        ("ti:aa ANDNOT ti:ΛCDM", '(ti:aa ANDNOT ti:"λcdm")'),
        ("ti:GPT-4", "(ti:gpt AND ti:4)"),
        ("机器学习", '((all:"机" AND all:"器") AND (all:"学" AND all:"习"))'),
        # names
        *(("au:smith", "au:smith"), ('au:"Bin Liu"', 'au:"bin liu"')),
        ("au:del_maestro", 'au:"del maestro"'),
        *(('au:"Smith, J"', "au:smith,j"), ("au:smith_j", "au:smith,j")),
        ('au:"de la Cruz, M"', 'au:"de la cruz"'),
        ("au:Müller,J", "au:muller,j"),
        # nobody is excluded by name: arXiv would take somebody else's papers away, too
        ("ti:aa ANDNOT au:smith", "ti:aa"),
        ('ti:aa ANDNOT au:"Smith, J"', "ti:aa"),
        ("all:math.NA", "(all:math.na OR (all:math.NA OR cat:cs.NA))"),
        *(
            ("au:smit*", "au:smit*"),
            ("au:Muell*", "au:mull*"),
            ("au:Moor*", "au:mor*"),
            ('au:"or"', 'au:"or"'),
        ),
        # all names of a category, all categories of an archive
        ("cat:cs.NA", "(cat:math.NA OR cat:cs.NA)"),
        ("cat:q-alg", "(cat:math.QA OR cat:q-alg)"),
        ("cat:hep-th", "cat:hep-th"),
        ("cat:stat", "(cat:stat.* OR cat:math.ST)"),
        ("cat:astro-ph", "(cat:astro-ph OR cat:astro-ph.*)"),
        ("cat:econ", "(cat:econ.* OR cat:q-fin.EC)"),
        ("cat:econ.G*", "(cat:econ.G* OR cat:q-fin.EC)"),
        ("cat:cs.ZZ", "cat:cs.ZZ"),
        # identifiers and dates
        ("id:2603.10026v2", "id:2603.10026v2"),
        ("id:hep-th/9901001", 'id:"hep-th/9901001"'),
        ("doi:10.1103/PhysRevLett.116.061102", 'doi:"10.1103/PhysRevLett.116.061102"'),
        ("submittedDate:[2024 TO 2024]", "submittedDate:[202401010000 TO 202412312359]"),
        ("submittedDate:[2024 TO *]", "submittedDate:[202401010000 TO 299912312359]"),
        ("submittedDate:[* TO 2024]", "submittedDate:[198001010000 TO 202412312359]"),
        # beginnings: where the stem is shorter than what was typed, * alone would miss it
        ("ti:superv*", "ti:superv*"),
        ("ti:operato*", "(ti:operato* OR (ti:operator OR ti:operatous))"),
        ("ti:generative*", "(ti:generative* OR (ti:generative OR ti:generatived))"),
        ("co:generative*", "co:generative*"),
        ("ti:self-superv*", "(ti:self AND ti:superv*)"),
        ("ti:aa ANDNOT ti:generative*", "(ti:aa ANDNOT ti:generative*)"),
        # all: is wider at arXiv, so it is asked for what is wanted and spelled out for what is not
        ("hep-th", "((all:hep AND all:th) OR all:hep-th)"),
        ("10.1000/Ab", '((all:10.1000 AND all:ab) OR all:"10.1000/Ab")'),
        (
            "ti:aa ANDNOT gpu",
            "(ti:aa ANDNOT ((ti:gpu OR abs:gpu) OR (co:gpu OR (jr:gpu OR rn:gpu))))",
        ),
    ],
)
def test_a_query_is_sent_as(text: str, sent: str) -> None:
    assert to_arxiv(parse_query(text)) == sent


TERM = re.compile(
    r'(?:ti|abs|au|co|jr|rn|cat|id|doi|all):(?:"[^"\\\[\]\r\n]+"|\w[^\s"()\[\]]*)'
    r"|submittedDate:\[\d{12} TO \d{12}\]"
)


def read_pairs(text: str, place: int = 0) -> int:
    """Read one term, or one pair in parentheses; return where it ends, or fail."""
    if text[place] != "(":
        term = TERM.match(text, place)
        assert term, text[place:]
        return term.end()
    operator = re.compile(r" (?:AND|OR|ANDNOT) ").match(text, read_pairs(text, place + 1))
    assert operator, text[place:]
    end = read_pairs(text, operator.end())
    assert text[end] == ")", text[place:]
    return end + 1


@given(build_trees((*EXACT, *WIDER)))
def test_everything_is_sent_as_pairs_of_safe_terms(tree: Node) -> None:
    sent = to_arxiv(tree)
    assert read_pairs(sent) == len(sent)


def test_a_long_list_nests_only_a_few_parentheses_deep() -> None:
    words = islice(product("bcdfghkl", repeat=3), 500)
    sent = to_arxiv(parse_query(" OR ".join(f"ti:{''.join(word)}" for word in words)))
    depth = deepest = 0
    for char in sent:
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
    assert deepest == 9
