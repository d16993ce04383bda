"""Remarks on queries: what each says, where it stands, and what leaves a query without any."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import QueryError
from digest.query import NoteKind, Query, find_slips, lint_query, parse_query

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = [
    ("Anna Lindquell, Kim Sundar, Zoë Abrelund", 'author:"Anna Lindquell" OR author:"Kim Sundar" OR …'),
    ("Anna Lindquell; Kim Sundar", 'author:"Anna Lindquell" OR author:"Kim Sundar"'),
    ("Anna Lindquell, Kim Sundar, and J. Foo", 'author:"Anna Lindquell" OR author:"Kim Sundar" OR …'),
    ("Anna Lindquell & Kim Sundar", 'author:"Anna Lindquell" OR author:"Kim Sundar"'),
    ("Lindquell, Anna and van Foo, Kim", 'author:"Lindquell, Anna" OR author:"van Foo, Kim"'),
    ("Lindquell, Anna; van Foo, Kim", 'author:"Lindquell, Anna" OR author:"van Foo, Kim"'),
]
DAILY = {"cs.PF": 14.2, "cs.DC": 30.4, "cs.NA": 19.0, "math.NA": 20.0, "hep-lat": 0.4, "econ.TH": 0.01}


def remark(text: str, kind: NoteKind) -> list[tuple[int, str]]:
    notes = lint_query(parse_query(text), now=NOW, daily_papers=DAILY)
    return [(note.position, note.message) for note in notes if note.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind", "position", "words"),
    [
        # arXiv would read it otherwise: both readings, and why
        (
            "ti:a1 AND ti:b1 OR ti:c1",
            NoteKind.ARXIV_DIFFERS,
            0,
            "as ti:a1 AND (ti:b1 OR ti:c1) (it knows no precedence",
        ),
        ("ti:a1 AND ti:b1 OR ti:c1", NoteKind.ARXIV_DIFFERS, 0, "here it is (ti:a1 AND ti:b1) OR ti:c1"),
        ("ti:a1 or ti:b1", NoteKind.ARXIV_DIFFERS, 6, "ti:a1 OR all:or OR ti:b1 ('or' is a word"),
        ("ti:a1 ti:b1", NoteKind.ARXIV_DIFFERS, 6, "as ti:a1 OR ti:b1 (a missing operator is OR)"),
        (
            "a1 AND TI:b1",
            NoteKind.ARXIV_DIFFERS,
            7,
            "as all:a1 AND all:ti:b1 (TI: is no prefix: prefixes are small letters)",
        ),
        ("NOT (a1 OR b1)", NoteKind.ARXIV_DIFFERS, 0, "with an error 500"),
        ("NOT ti:a1 AND ti:b1", NoteKind.ARXIV_DIFFERS, 0, "more than one term stands behind an ANDNOT"),
        ("a1 -b1", NoteKind.ARXIV_DIFFERS, 3, "excludes nothing"),
        ("a1 AND au:bin_liu", NoteKind.ARXIV_DIFFERS, 7, "looks for bin_liu letter by letter"),
        ('author:"Keiko Lindquell"', NoteKind.ARXIV_DIFFERS, 0, "author: is known here alone"),
        (
            "ti:a1 AND cat:cs",
            NoteKind.ARXIV_DIFFERS,
            10,
            "all of Computer Science here; arXiv would look for cs alone",
        ),
        ("id:arXiv:2603.10026", NoteKind.ARXIV_DIFFERS, 0, "only under 2603.10026"),
        (
            " OR ".join(f"(ti:a{n} AND ti:b{n}) AND ti:c{n}" for n in range(90)),
            NoteKind.ARXIV_DIFFERS,
            0,
            "otherwise",
        ),
        # nothing can match
        (
            "cat:cs.PF ANDNOT cat:cs.PF",
            NoteKind.NEVER_MATCHES,
            0,
            "No paper can match: cat:cs.PF is asked for and",
        ),
        ("ti:x1 OR (ti:a1 ANDNOT ti:a1)", NoteKind.NEVER_MATCHES, 10, "A part of it can't match: ti:a1"),
        ("submittedDate:[2024 TO 2025]", NoteKind.NEVER_MATCHES, 0, "over since 2025-12-31"),
        ("ti:x1 AND submittedDate:[2027 TO *]", NoteKind.NEVER_MATCHES, 10, "begins on 2027-01-01"),
        # what hardly was meant
        ("x1 OR au:Pieters, Jan", NoteKind.READ_AS, 18, 'did you mean au:"Pieters, Jan"?'),
        ("ti:x1 NEAR y1", NoteKind.READ_AS, 6, "NEAR is no operator, here or at arXiv, but one more word"),
        ("ti:x1 NEAR/3 y1", NoteKind.READ_AS, 6, "NEAR/3 is no operator"),
        ("ti:“x1 y1”", NoteKind.READ_AS, 3, 'are read as "; to arXiv itself they hold no phrase together'),
        # how much comes
        ("cat:cs.PF", NoteKind.VOLUME, 0, "about 14 papers a day"),
        ("cat:cs.NA", NoteKind.VOLUME, 0, "about 20 papers a day"),
        ("cat:cs.PF OR cat:cs.DC", NoteKind.VOLUME, 0, "at most about 45 papers a day"),
        ("cat:cs.PF AND cat:cs.DC", NoteKind.VOLUME, 0, "at most about 14 papers a day"),
        ("cat:cs.PF ANDNOT cat:cs.DC", NoteKind.VOLUME, 0, "at most about 14 papers a day"),
        ("cat:hep-lat", NoteKind.VOLUME, 0, "about 3 papers a week"),
        ("cat:econ.TH", NoteKind.VOLUME, 0, "less than one paper a week"),
        ("NOT cat:cs.PF", NoteKind.VOLUME, 0, "nearly all of arXiv"),
        ("ti:a1 OR NOT ti:a1", NoteKind.VOLUME, 0, "Every paper of arXiv"),
        # words
        ('ti:x1 AND "gpu OR cpu"', NoteKind.QUOTED_OPERATOR, 10, "OR is a word to look for here"),
        ('ti:"gpu AND"', NoteKind.QUOTED_OPERATOR, 0, "AND is a word to look for here"),
        (
            'ti:"gpu or cpu"',
            NoteKind.QUOTED_OPERATOR,
            0,
            "or joins nothing between quotes; either word is ti:(… OR …)",
        ),
        ('"cat:cs.PF"', NoteKind.QUOTED_OPERATOR, 0, "cat: is a word to look for here"),
        # prefixes that a sign or a word swallows
        ("+ti:gpu", NoteKind.READ_AS, 0, "with + before it ti: is no prefix but a word; write ti:gpu"),
        ("x1 AND !ti:gpu", NoteKind.READ_AS, 7, "! excludes nothing here, and ti is a word; write NOT ti:gpu"),
        (
            "ti:gpu,abs:cpu",
            NoteKind.READ_AS,
            0,
            "abs: is no prefix within a word; write ti:gpu AND abs:cpu, or OR",
        ),
        ("−ti:gpu", NoteKind.READ_AS, 0, "write NOT ti:gpu"),
        ("[ti:gpu]", NoteKind.READ_AS, 0, "with [ before it ti: is no prefix but a word; write ti:gpu"),
        ("+submittedDate:[2025 TO 2026]", NoteKind.READ_AS, 0, "write submittedDate:[… TO …]"),
        ("gpu/abs:cpu", NoteKind.READ_AS, 0, "abs: is no prefix within a word; write gpu AND abs:cpu, or OR"),
        ("all:ti:gpu", NoteKind.READ_AS, 0, "all:ti:gpu has two prefixes, and ti is a word here; write ti:gpu"),
        ("ti:schrodinger", NoteKind.ACCENTS, 0, "schrodinger finds Schrödinger, too, here; arXiv would not"),
        ('abs:"Erdős graph"', NoteKind.ACCENTS, 0, "erdős and erdos are one word here"),
        ("abs:generative*", NoteKind.WILDCARD, 0, "compares generative* with stems (gener)"),
        ("x1 AND abs:self-supervised", NoteKind.HYPHEN, 7, 'anywhere in the field; abs:"self supervised"'),
        *(
            (text, NoteKind.READ_AS, 0, f"names of people, write one a line, or {written}")
            for text, written in NAMES
        ),
        (" Anna Lindquell", NoteKind.READ_AS, 1, 'If this is a person\'s name, write author:"Anna Lindquell"'),
        ("Guyeux, Christophe", NoteKind.READ_AS, 0, 'write author:"Guyeux, Christophe"'),
        # numbers that arXiv never gave out
        ("x1 AND id:2603.1002", NoteKind.NEVER_MATCHES, 7, "arXiv gave out no id like 2603.1002"),
        ("id:0704.00001", NoteKind.NEVER_MATCHES, 0, "four before (0706.1234)"),
        ("https://arxiv.org/abs/hep-th/0801001", NoteKind.NEVER_MATCHES, 22, "until March 2007 an archive"),
        # signs that are lost
        (
            "x1 AND ti:C++",
            NoteKind.LEFT_OUT,
            7,
            "C++ is looked for as c, wherever that stands: signs are no part of words",
        ),
        ('ti:"C*-algebra"', NoteKind.LEFT_OUT, 0, '"C*-algebra" is looked for as c algebra'),
        (
            'abs:"tail lat*"',
            NoteKind.WILDCARD,
            0,
            "between quotes a * is left out, here and at arXiv; without them abs:lat* finds beginnings",
        ),
    ],
)
def test_a_query_is_remarked_on(text: str, kind: NoteKind, position: int, words: str) -> None:
    assert any(place == position and words in message for place, message in remark(text, kind)), remark(text, kind)


@pytest.mark.parametrize(
    "text",
    [
        "cat:cs.PF AND abs:gpu",
        'ti:"tail latency" OR (cat:cs.DC ANDNOT abs:cloud)',
        'au:"bin liu" AND submittedDate:[2026 TO 2027]',
        "all:hep-th AND ti:transf",
        'abs:"state of the art"',
        'abs:"supply and demand"',
        'ti:"does it not"',
        'ti:"more or less"',
        "abs:superv*",
        "co:generative*",
        "Deep AND Learning",
        'au:"liu b*"',
        'ti:"tail-latency: why/how, (really)"',
        'ti:"$K^*$ meson"',
        "doi:10.1000/a+b",
        "id:2603.10026",
    ],
)
def test_a_query_that_means_what_it_seems_has_no_remarks(text: str) -> None:
    assert lint_query(parse_query(text), now=NOW, daily_papers=DAILY) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Deep Learning",
        "Deep Learning, Machine Learning",
        "Big Data, Open Source",
        "Quantum Error and Surface Code",
        "graph neural, network",
        "Monte Carlo; Markov Chain",
        "ti:Anna AND Lindquell",
        '"Anna Lindquell", "Kim Sundar"',
        "GPU",
    ],
)
def test_ordinary_words_are_not_taken_for_names(text: str) -> None:
    assert not [message for _, message in remark(text, NoteKind.READ_AS) if "name" in message]


def test_without_figures_a_query_for_categories_is_told_to_take_every_paper() -> None:
    (note,) = lint_query(parse_query("cat:cs.PF"))
    assert (note.kind, "every paper" in note.message) == (NoteKind.VOLUME, True)


def test_without_the_time_no_range_is_over() -> None:
    assert lint_query(parse_query("ti:a1 AND submittedDate:[2020 TO 2021]")) == ()


def test_a_query_nothing_can_match_brings_no_volume() -> None:
    assert remark("cat:cs.PF ANDNOT cat:cs", NoteKind.VOLUME) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat:cs.LG ANDNOT cat:cs.LG", ("No paper can match",)),
        ("ti:gpu OR (cat:cs.LG ANDNOT cat:cs.LG)", ("A part of it can't match",)),
        ("cat:cs.FP", ("did you mean cs.PF?",)),
        ("cat:cs.LG OR cat:cs.PF", ()),  # how much it brings is no slip
    ],
)
def test_slips_are_what_matters_wherever_a_query_is_used(text: str, words: tuple[str, ...]) -> None:
    said = [note.message for note in find_slips(parse_query(text))]
    assert len(said) == len(words)
    assert all(any(word in message for message in said) for word in words)


def test_the_id_of_a_paper_alone_is_told_to_be_a_word_too() -> None:
    for id_ in ("1608.01234v2", "hep-th/9901001"):
        (note,) = (note for note in lint_query(parse_query(id_)) if note.kind is NoteKind.READ_AS)
        assert note.message.endswith(f"id:{id_} is the paper alone")
    assert not [note for note in lint_query(parse_query("id:1608.01234")) if note.kind is NoteKind.READ_AS]


def test_the_remarks_of_reading_are_among_them() -> None:
    query = parse_query("graph the cat:cs.ZZ")
    assert {*query.notes} < {*lint_query(query)}


def test_a_pasted_search_is_compared_with_what_arxiv_makes_of_it() -> None:
    text = "export.arxiv.org/api/query?search_query=ti:a1+AND+ti:b1+OR+ti:c1"
    ((position, message),) = remark(text, NoteKind.ARXIV_DIFFERS)
    assert (text[position:][:5], "ti:a1 AND (ti:b1 OR ti:c1)" in message) == ("ti:a1", True)


@pytest.mark.parametrize(
    "text", ["Keiko Lindquell\nSmith, J.", "https://arxiv.org/search/?query=graph+network&searchtype=all"]
)
def test_what_arxiv_was_never_asked_in_these_words_is_compared_with_nothing(text: str) -> None:
    assert remark(text, NoteKind.ARXIV_DIFFERS) == []


def test_a_last_name_alone_that_begins_with_a_particle_is_told_how_it_is_read() -> None:
    said = remark('ti:loops author:"van Beethoven"', NoteKind.READ_AS)
    assert [(position, 'au:"van Beethoven"' in words) for position, words in said] == [(9, True)]
    for unlike in ('author:"Van Vu"', 'author:"Ludwig van Beethoven"', 'author:"van Beethoven, Ludwig"'):
        assert remark(unlike, NoteKind.READ_AS) == []


def test_an_initial_is_no_one_person_and_is_told_once() -> None:
    message = (
        "J. Wang is everybody of that last name whose first name an initial fits; 1 more such here: write it out"
    )
    told = remark('author:"J. Wang" OR author:"Lindquell, K. M." OR author:"wang, j"', NoteKind.READ_AS)
    assert [(position, text.startswith(message)) for position, text in told] == [(0, True)]
    assert remark('author:"Jun Wang" OR author:"W. Jun Wang"', NoteKind.READ_AS) == []


PIECES = st.sampled_from(
    (
        *(
            "(",
            ")",
            '"',
            "-",
            "*",
            " ",
            " ",
            "\n",
            "AND ",
            "or ",
            "NOT ",
            "the",
            "gpu",
            "self-made",
            "generative*",
        ),
        *("ti:", "AU:", "cat:cs.PF ", "cat:cs ", "cat:zz ", "id:2603.10026 ", "smith_j ", "Schrödinger "),
        "submittedDate:[2020 TO 2021] ",
        *("Keiko Lindquell", "Smith, J.", "; ", ", ", " and ", "“", "C++ ", "lat*"),
    )
)


def _read(text: str) -> Query | None:
    try:
        return parse_query(text)
    except QueryError:
        return None


@given(st.lists(PIECES, max_size=16).map("".join))
def test_every_remark_stands_within_the_text_and_comes_once_in_order(text: str) -> None:
    query = _read(text)
    if query is not None:
        notes = lint_query(query, now=NOW, daily_papers=DAILY)
        assert [note.position for note in notes] == sorted(note.position for note in notes)
        assert all(0 <= note.position < len(text) and note.message for note in notes)
        assert len({*notes}) == len(notes)


@pytest.mark.parametrize(
    "text", ["near a1", "a1 near b1", 'a1 "NEAR" b1', "a1 AND NEAR", 'au:"Pieters, Jan"', "au:pieters jan"]
)
def test_what_may_well_be_meant_is_not_remarked(text: str) -> None:
    assert not any(
        "no operator, here" in note.message or "did you mean" in note.message for note in parse_query(text).notes
    )
