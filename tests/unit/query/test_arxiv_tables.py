"""What is known of arXiv's search, form by form: how we read it, what we send, what is remarked.

Endpoint fields, operators, words, authors, `all:`, dates, ids, in that order. Where arXiv's search means less,
more or else than people expect, we mean what they expect, send what arXiv understands, and say so.
"""

import pytest

from digest.model.errors import QueryError
from digest.query import NoteKind, parse_query, to_arxiv

READ_AS = NoteKind.READ_AS
MISSING, LEFT_OUT = NoteKind.MISSING_OPERATOR, NoteKind.LEFT_OUT
EVERYTHING = "submittedDate:[198001010000 TO 299912312359]"

READ = [
    # fields: small letters there, any letters here
    ("ti:gpu", "ti:gpu", "ti:gpu", set()),
    ("title:gpu", "ti:gpu", "ti:gpu", set()),
    ("TI:gpu", "ti:gpu", "ti:gpu", set()),
    ("Abs:gpu", "abs:gpu", "abs:gpu", set()),
    ("co:figures", "co:figures", "co:figures", set()),
    ("jr:nature", "jr:nature", "jr:nature", set()),
    ("rn:fermilab", "rn:fermilab", "rn:fermilab", set()),
    ("gpu", "all:gpu", "all:gpu", set()),
    # categories: one name, all its names, whole archives
    ("cat:hep-th", "cat:hep-th", "cat:hep-th", set()),
    ("cat:cs.NA", "cat:math.NA", "(cat:math.NA OR cat:cs.NA)", set()),
    ("cat:CS.PF", "cat:cs.PF", "cat:cs.PF", set()),
    ("cat:stat", "cat:stat", "(cat:stat.* OR cat:math.ST)", set()),
    ("cat:stat.*", "cat:stat", "(cat:stat.* OR cat:math.ST)", set()),
    ("cat:q-alg", "cat:math.QA", "(cat:math.QA OR cat:q-alg)", {NoteKind.RETIRED_CATEGORY}),
    ("cat:cs.ZZ", "cat:cs.ZZ", "cat:cs.ZZ", {NoteKind.UNKNOWN_CATEGORY}),
    # operators: capitals there; no precedence there, and chains are read from their end
    ("ti:aa AND ti:bb", "ti:aa AND ti:bb", "(ti:aa AND ti:bb)", set()),
    ("ti:aa and ti:bb", "ti:aa AND ti:bb", "(ti:aa AND ti:bb)", set()),
    ("ti:aa Or ti:bb", "ti:aa OR ti:bb", "(ti:aa OR ti:bb)", set()),
    ("ti:aa ANDNOT ti:bb", "ti:aa ANDNOT ti:bb", "(ti:aa ANDNOT ti:bb)", set()),
    ("ti:aa NOT ti:bb", "ti:aa ANDNOT ti:bb", "(ti:aa ANDNOT ti:bb)", set()),
    ("ti:aa AND NOT ti:bb", "ti:aa ANDNOT ti:bb", "(ti:aa ANDNOT ti:bb)", set()),
    (
        "ti:aa OR NOT ti:bb",
        "ti:aa OR (NOT ti:bb)",
        f"(ti:aa OR ({EVERYTHING} ANDNOT ti:bb))",
        set(),
    ),
    ("machine learning", "all:machine AND all:learning", "(all:learning AND all:machine)", {MISSING}),
    ("ti:graph network", "ti:graph AND all:network", "(all:network AND ti:graph)", {MISSING}),
    (
        "ti:aa AND ti:bb OR ti:cc",
        "(ti:aa AND ti:bb) OR ti:cc",
        "((ti:aa AND ti:bb) OR ti:cc)",
        set(),
    ),
    ("ti:aa OR ti:bb AND ti:cc", "ti:aa OR (ti:bb AND ti:cc)", "(ti:aa OR (ti:bb AND ti:cc))", set()),
    (
        "ti:aa ANDNOT ti:bb OR ti:cc",
        "(ti:aa ANDNOT ti:bb) OR ti:cc",
        "((ti:aa ANDNOT ti:bb) OR ti:cc)",
        set(),
    ),
    (
        "ti:aa ANDNOT ti:bb ANDNOT ti:cc",
        "ti:aa ANDNOT ti:bb ANDNOT ti:cc",
        "(ti:aa ANDNOT (ti:bb OR ti:cc))",
        set(),
    ),
    ("ti:(aa AND (bb OR cc))", "ti:aa AND (ti:bb OR ti:cc)", "(ti:aa AND (ti:bb OR ti:cc))", set()),
    ("ti:(aa bb)", "ti:aa AND ti:bb", "(ti:aa AND ti:bb)", {MISSING}),
    ("NOT ti:aa", "NOT ti:aa", f"({EVERYTHING} ANDNOT ti:aa)", set()),
    (
        "ANDNOT (ti:aa OR ti:bb)",
        "NOT (ti:aa OR ti:bb)",
        f"({EVERYTHING} ANDNOT (ti:aa OR ti:bb))",
        set(),
    ),
    ("ti:aa -ti:bb", "ti:aa ANDNOT ti:bb", "(ti:aa ANDNOT ti:bb)", set()),
    ("ti:aa\r\nAND ti:bb", "ti:aa AND ti:bb", "(ti:aa AND ti:bb)", set()),
    ("ti:'gpu'", "ti:gpu", "ti:gpu", set()),
    ('au:"or"', "au:or", 'au:"or"', set()),
    ('"gpu AND cpu"', 'all:"gpu and cpu"', 'all:"gpu and cpu"', {READ_AS}),
    # words: stems, stop words, accents, hyphens, beginnings
    ("ti:the-gpu", "ti:gpu", "ti:gpu", set()),
    ("ti:aa AND the", "ti:aa", "ti:aa", {LEFT_OUT}),
    ('abs:"state of the art"', 'abs:"state of the art"', 'abs:"state of the art"', set()),
    ("ti:Schrodinger", "ti:schrodinger", "ti:schrodinger", set()),
    ("ti:Schrödinger", "ti:schrödinger", '(ti:"schrödinger" OR ti:schrodinger)', set()),
    ("abs:self-supervised", "abs:self-supervised", "(abs:self AND abs:supervised)", set()),
    ('abs:"self-supervised"', 'abs:"self supervised"', 'abs:"self supervised"', set()),
    ("ti:C++", "ti:c", "ti:c", set()),
    ("ti:GPT-4", "ti:gpt-4", "(ti:gpt AND ti:4)", set()),
    ("ti:snake_case", "ti:snake_case", '(ti:"snake_case" OR (ti:snakecase OR ti:"snake case"))', set()),
    ("ti:$k$-means", "ti:k-means", "(ti:k AND ti:means)", set()),
    ("ti:superv*", "ti:superv*", "ti:superv*", set()),
    (
        "ti:generative*",
        "ti:generative*",
        "(ti:generative* OR (ti:generative OR ti:generatived))",
        set(),
    ),
    ("co:generative*", "co:generative*", "co:generative*", set()),
    ('ti:"superv*"', "ti:superv", "ti:superv", {LEFT_OUT}),
    ("机器学习", "all:机器学习", '((all:"机" AND all:"器") AND (all:"学" AND all:"习"))', set()),
    # authors
    ("au:smith", "au:smith", "au:smith", set()),
    ('au:"bin liu"', 'au:"bin liu"', 'au:"bin liu"', set()),
    ("au:Smith,J", 'au:"smith, j"', "au:smith,j", set()),
    ('au:"Smith, J"', 'au:"smith, j"', "au:smith,j", set()),
    ("au:del_maestro", 'au:"del maestro"', 'au:"del maestro"', set()),
    ("ti:aa AND au:bin_liu", 'ti:aa AND au:"bin liu"', '(au:"bin liu" AND ti:aa)', set()),
    ("au:smith_j", 'au:"smith, j"', "au:smith,j", set()),
    # dates
    ("submittedDate:[2024 TO 202402]", "submittedDate:[202401010000 TO 202402292359]", None, set()),
    ("submittedDate:[20240101000000 TO 2025]", "submittedDate:[202401010000 TO 202512312359]", None, set()),
    ("submittedDate:[2024-01-01 TO 2025]", "submittedDate:[202401010000 TO 202512312359]", None, set()),
    (
        "submittedDate:[2024 TO *]",
        "submittedDate:[202401010000 TO *]",
        "submittedDate:[202401010000 TO 299912312359]",
        set(),
    ),
    ("lastUpdatedDate:[2024 TO 2025]", "submittedDate:[202401010000 TO 202512312359]", None, {NoteKind.READ_AS}),
    # ids
    ("id:1605.08386", "id:1605.08386", "id:1605.08386", set()),
    ("id:1605.08386v2", "id:1605.08386v2", "id:1605.08386v2", set()),
    ("id:hep-th/9901001", "id:hep-th/9901001", 'id:"hep-th/9901001"', set()),
    ("id:arXiv:1605.08386", "id:1605.08386", "id:1605.08386", set()),
    ("id:math.GT/0309136", "id:math/0309136", 'id:"math/0309136"', set()),
    ("doi:10.1000/AbC", "doi:10.1000/AbC", 'doi:"10.1000/AbC"', set()),
]

REFUSED = [
    # no field any more, here neither
    ("orcid:0000-0002", 0, "orcid: is no known prefix"),
    ("date:2024", 0, "date: is no known prefix"),
    # arXiv mends these, or answers with an error
    ("ti:aa AND AND ti:bb", 10, "AND can't follow AND"),
    ("ti:aa AND", 6, "AND has nothing behind it"),
    ("ti:aa AND au:", 10, "au: has nothing to look for"),
    ('ti:"tail latency', 3, "never closed"),
    ("(ti:aa", 0, "never closed"),
    ("ti:aa)", 5, "closes nothing"),
    ('ti:aa AND au:""', 14, "no word"),
    ("all:*", 4, "needs the beginning"),
    ("ti:gr?ph", 5, "can't stand here"),
    ("submittedDate:20240101*", 14, "square brackets"),
    ("cat:*.PF", 4, "can't be the name of a category"),
    ("id:26.1", 3, "not an arXiv identifier"),
]


@pytest.mark.parametrize(("text", "reading", "sent", "remarks"), READ)
def test_a_form_is_read_sent_and_remarked_on(
    text: str, reading: str, sent: str | None, remarks: set[NoteKind]
) -> None:
    query = parse_query(text)
    assert query.tree == parse_query(reading).tree
    assert to_arxiv(query) == (sent or reading)
    assert {note.kind for note in query.notes} == remarks


@pytest.mark.parametrize(("text", "position", "message"), REFUSED)
def test_a_form_that_says_nothing_is_refused_at_its_place(text: str, position: int, message: str) -> None:
    with pytest.raises(QueryError, match=message.replace("*", r"\*")) as caught:
        parse_query(text)
    assert caught.value.position == position
