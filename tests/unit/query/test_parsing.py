import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.query import NoteKind, Query, parse_query
from digest.query.canonical import print_tree

LONG_WORDS = " ".join(f"{'w' * 74}{number:03}" for number in range(500))
"""As long as a query may be, until the prefix is written before each."""


def nest(depth: int) -> str:
    """Return so many groups one within the other."""
    text = "ti:x0"
    for number in range(1, depth):
        text = f"(ti:x{number} {'AND' if number % 2 else 'OR'} {text})"
    return text


CURLY = (
    *("“tail latency”", "„tail latency“", "«tail latency»", "»tail latency«", "« tail latency »"),
    '“tail latency"',
)


def read(text: str) -> str:
    return print_tree(parse_query(text).tree)


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        # every prefix, every shape
        ("ti:graph", "ti:graph"),
        ('abs:"tail latency"', 'abs:"tail latency"'),
        *(("au:smith", "au:smith"), ("co:pages", "co:pages"), ("jr:lett", "jr:lett")),
        *(("rn:fermilab", "rn:fermilab"), ("cat:cs.PF", "cat:cs.PF")),
        ("id:2603.10026v2", "id:2603.10026v2"),
        ("doi:10.1103/PhysRevLett.116.061102", "doi:10.1103/PhysRevLett.116.061102"),
        ("all:10.1103/a+b", 'all:"10.1103/a+b"'),
        *(("all:graph", "all:graph"), ("graph", "all:graph")),
        ('"tail latency"', 'all:"tail latency"'),
        *((f"ti:{quoted} AND a1", 'ti:"tail latency" AND all:a1') for quoted in CURLY),
        ('ti:"the “tail” latency"', 'ti:"tail latency"'),
        ("a1“b1 c1”", 'all:a1 AND all:"b1 c1"'),
        ("transf*", "all:transf*"),
        # exact words
        ("abs:=News", "abs:=news"),
        ("ti:= self-supervised", 'ti:="self supervised"'),
        ('ti:="No go"', 'ti:="no go"'),
        ("=AdS AND a1", "all:=ads AND all:a1"),
        ("=self-supervised -=a1", "all:=self-supervised ANDNOT all:=a1"),
        ("abs:(=news OR =cms) x=y", "(abs:=news OR abs:=cms) AND all:x-y"),
        ('abs:="cs.PF, cs.DC"', 'abs:="cs.pf cs.dc"'),
        ("\ufeffti:graph", "ti:graph"),
        ("submittedDate:[2024 TO 202402]", "submittedDate:[202401010000 TO 202402292359]"),
        ("submitteddate:[* TO 2024]", "submittedDate:[* TO 202412312359]"),
        # letter case, other spellings
        *(("TI:Graph", "ti:graph"), ("title:Graph", "ti:graph"), ("abstract: Graph", "abs:graph")),
        ("arXiv:2603.10026", "id:2603.10026"),
        (
            "a1 and b1 or c1 andnot d1 Not e1",
            "(all:a1 AND all:b1) OR (all:c1 ANDNOT all:d1 ANDNOT all:e1)",
        ),
        # precedence and association
        ("a1 AND b1 OR c1", "(all:a1 AND all:b1) OR all:c1"),
        ("a1 OR b1 AND c1", "all:a1 OR (all:b1 AND all:c1)"),
        ("a1 ANDNOT b1 OR c1", "(all:a1 ANDNOT all:b1) OR all:c1"),
        ("a1 ANDNOT b1 ANDNOT c1", "all:a1 ANDNOT all:b1 ANDNOT all:c1"),
        ("a1 ANDNOT b1 AND c1", "all:a1 ANDNOT all:b1 AND all:c1"),
        ("NOT a1 AND b1", "(NOT all:a1) AND all:b1"),
        ("a1 AND NOT b1", "all:a1 ANDNOT all:b1"),
        ("a1 OR NOT b1", "all:a1 OR (NOT all:b1)"),
        ("NOT NOT a1", "all:a1"),
        ("a1 ANDNOT NOT b1", "all:a1 ANDNOT (NOT all:b1)"),
        ("ANDNOT a1", "NOT all:a1"),
        ("-a1 b1", "(NOT all:a1) AND all:b1"),
        ('a1 -"b1 c1" -(d1 e1)', 'all:a1 ANDNOT all:"b1 c1" ANDNOT (all:d1 AND all:e1)'),
        # groups
        ("(a1 OR b1) AND c1", "(all:a1 OR all:b1) AND all:c1"),
        ("((a1))", "all:a1"),
        ("(a1 AND b1) AND c1", "(all:a1 AND all:b1) AND all:c1"),
        ("ti:(a1 OR b1)", "ti:a1 OR ti:b1"),
        ("ti:(a1 AND (b1 OR c1))", "ti:a1 AND (ti:b1 OR ti:c1)"),
        ("ti:(a1 OR abs:b1)", "ti:a1 OR abs:b1"),
        ("ti:(a1 OR abs:(b1 c1) OR d1)", "ti:a1 OR (abs:b1 AND abs:c1) OR ti:d1"),
        ("cat:(cs.PF OR cs.DC)", "cat:cs.PF OR cat:cs.DC"),
        # a missing operator is AND
        ("graph neural network", "all:graph AND all:neural AND all:network"),
        ("ti:graph neural", "ti:graph AND all:neural"),
        ("ti:(graph neural)", "ti:graph AND ti:neural"),
        ('ti:a1"b1 c1"(d1)', 'ti:a1 AND all:"b1 c1" AND all:d1'),
        ("a1\r\nAND b1\tAND\x00c1", "all:a1 AND all:b1 AND all:c1"),
        # words
        ("abs:self-supervised", "abs:self-supervised"),
        ('abs:"self-supervised"', 'abs:"self supervised"'),
        *(('ti:"GPU"', "ti:gpu"), ("ti:C++", "ti:c")),
        ("ti:self-superv*", "ti:self-superv*"),
        ('ti:"graph neural*"', 'ti:"graph neural"'),
        ("ti:the-gpu", "ti:gpu"),
        ('ti:"the state of the art in"', 'ti:"state of the art"'),
        ('ti:"Newton\'s law"', 'ti:"newton law"'),
        *(("ti:'gpu'", "ti:gpu"), ("ti:foo:bar", "ti:foo-bar")),
        ("ti:Schrödinger", "ti:schrödinger"),
        *(("ti:$k$-means", "ti:k-means"), ("机器学习", "all:机器学习")),
        ("x1 or ti:or-gate", "all:x1 OR ti:gate"),
        ("10:30", "all:10-30"),
        # names
        ('au:"Bin Liu"', 'au:"bin liu"'),
        ("au:del_maestro", 'au:"del maestro"'),
        *(
            ("au:Smith_J", 'au:"smith, j"'),
            ("au:smit*", "au:smit*"),
            ('au:"liu b*"', 'au:"liu b*"'),
        ),
        *(("au:will", "au:will"), ('au:"or"', "au:or")),
        ("author:smith_jr_j", 'author:"j smith"'),
        # categories
        *(
            ("cat:CS.pf", "cat:cs.PF"),
            ('cat:"cs.PF"', "cat:cs.PF"),
            ("cat:cs", "cat:cs"),
            ("cat:cs.*", "cat:cs"),
        ),
        *(("cat:cs.", "cat:cs"), ("cat:CS.c*", "cat:cs.C*"), ("cat:astro-ph*", "cat:astro-ph*")),
        *(
            ("cat:cs.NA", "cat:math.NA"),
            ("cat:math.MP", "cat:math-ph"),
            ("cat:cmp-lg", "cat:cs.CL"),
        ),
        # a blank behind the prefix
        ("ti: neural", "ti:neural"),
        ("abs:\n (a1 OR b1)", "abs:a1 OR abs:b1"),
        ('au:  "Bin Liu" AND a1', 'au:"bin liu" AND all:a1'),
        ("ti: or-gate", "ti:gate"),
        ("arXiv: 2603.10026", "id:2603.10026"),
        ("submittedDate: [2024 TO *]", "submittedDate:[202401010000 TO *]"),
        # identifiers
        ("id:https://arxiv.org/abs/hep-th/9901001v2", "id:hep-th/9901001v2"),
        ("id:arXiv:1605.08386", "id:1605.08386"),
        ("id:math.GT/0309136", "id:math/0309136"),
        ("doi:https://doi.org/10.1000/AbC", "doi:10.1000/AbC"),
        ("doi:10.1016/0370-2693(93)90001-T x1", 'doi:"10.1016/0370-2693(93)90001-T" AND all:x1'),
        ("(doi:10.1000/abc)", "doi:10.1000/abc"),
        ('doi:"10.1000/a”c"', 'doi:"10.1000/a”c"'),
        ("all:hep-th", "all:hep-th"),
        ("hep-th/9901001", "all:hep-th/9901001"),
        ("10.1016/0370-2693(93)90001-T", 'all:"10.1016/0370-2693(93)90001-T"'),
    ],
)
def test_a_query_is_read_as(text: str, reading: str) -> None:
    assert read(text) == reading


@pytest.mark.parametrize(
    ("text", "position", "message", "hint"),
    [
        ("", 0, "empty", "cat:cs.PF"),
        ("the of", 0, "Nothing is left", "too common"),
        ("- &", 0, "Nothing is left", "no letter"),
        ("a1 AND", 3, "AND has nothing after it", "Write a word or a group after it"),
        ("OR a1", 0, "OR has nothing before it", "quote it"),
        ("a1 AND OR b1", 7, "OR can't follow AND", 'quote it: "or"'),
        ("a1 OR ANDNOT b1", 6, "ANDNOT can't follow OR", "quote it"),
        ("(a1 AND) b1", 4, "AND has nothing after it", "Write a word or a group after it"),
        ("a1 (b1", 3, "never closed", ")"),
        (")", 0, "closes nothing", "Remove"),
        ("a1 ()", 3, "nothing between", "word"),
        ("ti:()", 3, "nothing between", "word"),
        ('a1 "b1', 3, "never closed", "A phrase"),
        ('ti:"b1', 3, "never closed", "A phrase"),
        ("ti:“b1 c1", 3, "never closed", "A phrase"),
        ("a1 AND tit:b1", 7, "tit: is not a known prefix", "Did you mean ti:?"),
        ("catgory:cs.PF", 0, "catgory: is not a known prefix", "Did you mean cat:?"),
        ("comments:gpu", 0, "This field has another name here", "Write co:gpu."),
        ("auth:Wang AND a1", 0, "This field has another name here", "Write au:Wang AND a1."),
        ('auhtor:"Keiko Lindquell"', 0, "auhtor: is not a known prefix", "Did you mean author:?"),
        ("autor:Lindquell_K", 0, "autor: is not a known prefix", "Did you mean author:?"),
        ("author:smith", 7, "'smith' is not a full name", "Write au:smith. It finds everybody"),
        (
            "author:Percy Liang OR x1",
            7,
            "'Percy' is not a full name",
            'Write author:"Percy Liang".',
        ),
        (
            "https://dblp.org/search?q=gpu",
            0,
            "Only addresses at arXiv",
            "Paste an address of arXiv",
        ),
        ("a1 https://arxiv.org/abs/2603.10026", 3, "An address must be alone", 'id:"2603.10026"'),
        ("a1 ti:", 3, "nothing to search for", "ti:word"),
        ("ti: AND a1", 0, "nothing to search for", "ti:word"),
        ("a1 ti: abs:b1", 3, "nothing to search for", "ti:word"),
        ("a1 abs: -b1", 3, "nothing to search for", "abs:word"),
        ('ti:""', 4, "no word", "Only words"),
        ("ti:++", 3, "no word", "Only words"),
        ('au:"."', 4, "no word", "Only words"),
        ("a1 abs:=", 7, "= goes directly before one word", "Write abs:=word,"),
        (
            "a1 =(b1 OR c1)",
            3,
            "= goes directly before one word",
            "Write =word, and = before each word",
        ),
        ("abs:=b1*", 7, "= wants the word as it is", "Write abs:b1*, or abs:=b1."),
        ("a1 cat:=cs.PF", 3, "cat: is never stemmed", "Write cat:cs.PF."),
        ('au:(a1 OR ="b1 c1")', 10, "au: is never stemmed", 'Write au:"b1 c1".'),
        ("a1 *", 3, "needs the beginning", "transf*"),
        ("ti:*", 3, "needs the beginning", "transf*"),
        ("ti:gr*ph", 5, "* cannot be used here", "Write for example ti:gr*."),
        ("ti:gr?ph*", 5, "? cannot be used here", "Write for example ti:gr*."),
        ("a1 *former", 3, "* cannot be used here", "Write for example former."),
        ("why?", 3, "? cannot be used here", "Write for example why."),
        ("?", 0, "? cannot be used here", "transf*"),
        ("au:sm?th", 5, "? cannot be used here", "Write for example au:sm*."),
        (
            'ti:"neutr?n star"',
            9,
            "? cannot be used here",
            "Write for example ti:(neutr* AND star).",
        ),
        ('author:"Jan M?ller"', 13, "? cannot be used here", 'Write for example au:"Jan M*".'),
        (
            "jr:Phys.*",
            8,
            "needs the beginning of a word directly before it",
            "Write for example jr:phys*.",
        ),
        ("GPT-*", 4, "needs the beginning of a word directly before it", "Write for example gpt*."),
        ('au:"Li* *ei"', 8, "* cannot be used here", 'Write for example au:"Li* ei".'),
        ("cs.?V", 3, "? cannot be used here", "Write for example cs.*."),
        ("cat:cs.?V", 4, "cannot be the name of a category", "Write cat:cs.PF for one"),
        ('cat:"cs PF"', 5, "cannot be the name of a category", "cat:cs.PF"),
        ("cat:[cs]", 0, "These brackets have no meaning here", "Write cat:cs."),
        ("id:26.1", 3, "not an arXiv identifier", "2603.10026"),
        ("doi:abc", 4, "not a DOI", "10.1103"),
        (
            "submittedDate:2024",
            0,
            "Dates are written in another way",
            "Write submittedDate:[2024 TO 2024].",
        ),
        ("submittedDate:[2024", 14, "square brackets", "[20260301 TO 20260331]"),
        ("submittedDate:[2025 TO 2024]", 15, "is after", "[20260301 TO 20260331]"),
        ("x" * 40_001, 40_000, "longer than 40,000", "several"),
        (f"ti:({LONG_WORDS})", 0, "each prefix written out", "several"),
        (f"NOT ti:zz ANDNOT {nest(65)}", 733, "More than 64 parentheses", "Use fewer parentheses"),
        ("x " * 501, 1_000, "more than 500 terms", "several"),
        ("(" * 65 + "x" + ")" * 65, 64, "More than 64 parentheses", "Use fewer parentheses"),
        (
            "x OR NOT (" * 33 + "x y" + ")" * 33,
            329,
            "More than 64 parentheses",
            "Use fewer parentheses",
        ),
    ],
)
def test_a_query_is_refused_at_the_place_that_is_wrong(
    text: str, position: int, message: str, hint: str
) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert caught.value.position == position
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.text == text


@pytest.mark.parametrize(
    "text", ["x" * 39_990, "x " * 500, "(" * 64 + "x" + ")" * 64, "NOT " * 4_999 + "x"]
)
def test_a_query_at_the_limits_is_read(text: str) -> None:
    assert parse_query(text).canonical.startswith(("all:x", "NOT all:x"))


@pytest.mark.parametrize("depth", range(60, 65))
def test_a_query_that_is_accepted_can_be_read_again_from_its_canonical_text(depth: int) -> None:
    text = f"NOT ti:zz ANDNOT {nest(depth)}"
    with contextlib.suppress(QueryError):
        query = parse_query(text)
        assert parse_query(query.canonical).canonical == query.canonical


@pytest.mark.parametrize(
    ("text", "kind", "position", "words"),
    [
        ("a1 b1 c1", NoteKind.MISSING_OPERATOR, 3, "must match, as with AND"),
        (
            "a1 b1 c1",
            NoteKind.MISSING_OPERATOR,
            3,
            '; in quotes, "a1 b1 c1" finds the words side by side',
        ),
        (
            "ti:a1 b1 c1",
            NoteKind.MISSING_OPERATOR,
            6,
            'ti: goes with a1 alone, and ti:"a1 b1 c1" finds the words',
        ),
        (
            "ti:=a1 b1 =c1",
            NoteKind.MISSING_OPERATOR,
            7,
            '; ti:= goes with a1 alone, and ti:="a1 b1" finds',
        ),
        ('a1 AND "=b1"', NoteKind.LEFT_OUT, 7, "between quotes a = is ignored"),
        ("a1 AND the", NoteKind.LEFT_OUT, 7, "'the' is too common"),
        ("a1 AND & AND b1", NoteKind.LEFT_OUT, 7, "'&' contains no word"),
        ("a1 AND cat:cs.PFF", NoteKind.UNKNOWN_CATEGORY, 11, "perhaps cs.PF is meant"),
        (
            "abs:GPU ANDNOT abs:gpu",
            NoteKind.READ_AS,
            0,
            "this brings nothing: it excludes what it wants",
        ),
        ("cat:zz.zz", NoteKind.UNKNOWN_CATEGORY, 4, "'zz.zz' is not a category of arXiv"),
        ("cat:cmp-lg", NoteKind.RETIRED_CATEGORY, 4, "read as cs.CL"),
        (
            "lastUpdatedDate:[2024 TO 2025]",
            NoteKind.READ_AS,
            0,
            "reads lastUpdatedDate as submittedDate",
        ),
        ("cat:stat-mech", NoteKind.UNKNOWN_CATEGORY, 4, "perhaps cond-mat.stat-mech is meant"),
        ("cat:cs.PX", NoteKind.UNKNOWN_CATEGORY, 4, "perhaps cs.PF or cs.PL is meant"),
    ],
)
def test_what_can_be_read_otherwise_is_noted_at_its_place(
    text: str, kind: NoteKind, position: int, words: str
) -> None:
    (note,) = parse_query(text).notes
    assert note.kind == kind
    assert note.position == position
    assert words in note.message


@pytest.mark.parametrize(
    ("text", "is_futile"),
    [
        *(("cat:cs.XY OR cat:cs.CLL", True), ("cat:cs.XY OR cat:cs.PF", False)),
        *(("abs:x1 ANDNOT cat:cs.XY", False), ("cat:cs.PF AND cat:cs.XY", True)),
        ("cat:cs.PF ANDNOT cat:cs.*", True),
        ("cat:cs.* ANDNOT cat:cs.PF", False),
        ("abs:x1 ANDNOT (abs:x1 OR abs:y1)", True),
        ("abs:x1 ANDNOT (abs:x1 AND abs:y1)", False),
        ("(abs:x1 ANDNOT abs:x1) OR abs:y1", False),
    ],
)
def test_a_query_that_no_paper_can_meet_is_known_for_it(text: str, *, is_futile: bool) -> None:
    assert bool(parse_query(text).futility) is is_futile


def test_each_row_of_words_is_offered_as_a_phrase() -> None:
    notes = parse_query("co:x1 ti:a1 b1 AND abs:(c1 d1) OR au:e1 f1").notes
    assert [
        (note.position, note.message.rpartition("; ")[2])
        for note in notes
        if "OR:" not in note.message
    ] == [
        (6, "all parts must match, as with AND (on arXiv any part is enough)"),
        (12, 'ti: goes with a1 alone, and ti:"a1 b1" finds the words side by side'),
        (27, 'in quotes, "c1 d1" finds the words side by side'),
        (40, 'au: goes with e1 alone, and au:"e1 f1" finds people who have all these names'),
    ]


@pytest.mark.parametrize(
    "text", ["a1 b*", 'a1 "b1"', "a1 cat:cs.PF", "au:a1 b1", " ".join("abcdefghij")]
)
def test_what_is_no_row_of_a_few_words_is_offered_as_none(text: str) -> None:
    assert not any("side by side" in note.message for note in parse_query(text).notes)


@pytest.mark.parametrize(
    "text",
    [
        *("a1 AND b1", "a1 NOT b1", "a1 -b1", "ti:(a1 OR b1) ANDNOT cat:cs.PF", "cat:astro-ph"),
        *("ti: a1", "a1 and not b1", "ti:dequantiz*", "ti:Gröbner", "ti:“a1 b1”"),
        *("cat:math.*", "cat:cs.NA", "au:Erdos_P", 'au:"Erdős, P."'),
    ],
)
def test_a_query_with_nothing_to_say_of_it_has_no_notes(text: str) -> None:
    assert parse_query(text).notes == ()


def test_a_left_out_word_takes_its_operator_with_it() -> None:
    assert read("the OR a1 ANDNOT (of the) AND ti:(in)") == "all:a1"


def test_equal_conditions_are_one_object() -> None:
    first = parse_query("ti:GPU").tree
    second = parse_query("TI:gpu").tree
    assert first is second


QUERY_PARTS = st.sampled_from(
    [*"()\"“”«-=*?:[],.&|_'  \n\x00\udc80"]
    + [f"{prefix}:" for prefix in ("ti", "AU", "cat", "id", "doi", "all", "foo")]
    + [
        "submittedDate:[2024 TO ",
        "AND ",
        "or ",
        "ANDNOT ",
        "NOT ",
        "the",
        "gpu",
        "cs.PF",
        "hep-th",
        "smith_j",
    ]
    + [
        "%22",
        "%20",
        "%252",
        "%2B",
        "+",
        "+OR+",
        "+ti:",
        "cs.AI+cs.CV",
        "cat: ",
        "search_query=",
        "&start=0",
    ]
    + [
        *(
            "10.1000/x(1)",
            "10.1000/a+or+b",
            "2603.10026v2",
            "Newton's",
            "É",
            "$\\mu$",
            "\\'e",
            "{+}or+",
            "\\%20",
        ),
        *("机", "\u0301", "İ", "ß", "\ufb01"),
    ]
)


def _try_to_read(text: str) -> Query | QueryError:
    try:
        return parse_query(text)
    except QueryError as error:
        return error


@given(st.one_of(st.text(), st.lists(QUERY_PARTS, max_size=30).map("".join)))
def test_any_text_is_read_or_refused_at_a_place_within_it(text: str) -> None:
    outcome = _try_to_read(text)
    if isinstance(outcome, QueryError):
        assert 0 <= outcome.position <= len(outcome.text)
        assert outcome.message
    else:
        assert all(0 <= note.position < len(outcome.expression) for note in outcome.notes)
        assert parse_query(print_tree(outcome.tree)).tree == outcome.tree
        assert parse_query(outcome.canonical).canonical == outcome.canonical
