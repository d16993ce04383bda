"""Remarks on queries: what each says, where it stands, and what leaves a query without any."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.query import NoteKind, Query, lint_query, offer_beginnings, parse_query

DAILY = {"cs.PF": 14.2, "cs.DC": 30.4, "cs.NA": 19.0, "math.NA": 20.0, "hep-lat": 0.4, "econ.TH": 0.01}


def remark(text: str, kind: NoteKind) -> list[tuple[int, str]]:
    notes = lint_query(parse_query(text), daily_papers=DAILY)
    return [(note.position, note.message) for note in notes if note.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind", "position", "words"),
    [
        # how much comes
        ("cat:cs.PF", NoteKind.VOLUME, 0, "about 14 papers a day"),
        ("cat:cs.NA", NoteKind.VOLUME, 0, "about 20 papers a day"),
        ("cat:hep-lat", NoteKind.VOLUME, 0, "about 3 papers a week"),
        ("cat:econ.TH", NoteKind.VOLUME, 0, "less than one paper a week"),
        ("cat:cs", NoteKind.VOLUME, 0, "every paper of it matches"),
        # words
        ('ti:x1 AND "gpu OR cpu"', NoteKind.QUOTED_OPERATOR, 10, "OR is a word to look for here"),
        ('ti:"gpu AND"', NoteKind.QUOTED_OPERATOR, 0, "AND is a word to look for here"),
        ("x1 AND abs:self-supervised", NoteKind.PHRASE, 7, 'anywhere in the field; abs:"self supervised"'),
        (
            "ti:x1 AND all:y1 AND z1",
            NoteKind.ALL,
            10,
            "all: is wider at arXiv: there it also holds names of categories and years",
        ),
        (
            "ti:x1 AND z1",
            NoteKind.ALL,
            10,
            "no prefix is all:, which at arXiv also holds names",
        ),
        (
            'abs:"tail lat*"',
            NoteKind.WILDCARD,
            0,
            "between quotes a * is left out; without them abs:lat* finds beginnings",
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
        "cat:hep-th AND ti:transf",
        'abs:"state of the art"',
        'abs:"supply and demand"',
        'ti:"does it not"',
        'ti:"is attention all you need?"',
        'ti:"more or less"',
        "abs:superv*",
        "co:generative*",
        "ti:a1 AND ti:b1 OR ti:c1",
        "TI:a1 and NOT (abs:b1 OR abs:c1)",
        "abs:generative*",
        'author:"J. Wang"',
        'au:"liu b*"',
        'ti:"tail-latency: why/how, (really)"',
        'ti:"$K^*$ meson"',
        "doi:10.1000/a+b",
        "id:2603.10026",
    ],
)
def test_a_query_that_means_what_it_seems_has_no_remarks(text: str) -> None:
    assert lint_query(parse_query(text), daily_papers=DAILY) == ()


def test_without_figures_a_query_for_a_category_is_told_to_take_every_paper() -> None:
    (note,) = lint_query(parse_query("cat:cs.PF"))
    assert (note.kind, "every paper" in note.message) == (NoteKind.VOLUME, True)


def test_that_all_is_wider_at_arxiv_is_told_once() -> None:
    assert len(remark("gpu AND all:cpu", NoteKind.ALL)) == 1


def offer(text: str, *texts: str) -> list[tuple[int, str]]:
    def find_texts(fields: Sequence[str], letters: str) -> list[str]:
        return [f"{' '.join(fields)}: {found}" for found in texts if letters in found.lower()]

    return [(note.position, note.message) for note in offer_beginnings(parse_query(text), find_texts)]


STEMS = ("On Dequantization", "dequantized, dequantizing", "How to dequantize")


@pytest.mark.parametrize(
    ("text", "position", "written"),
    [
        ("cat:cs.PF AND abs:dequantiz", 14, "abs:dequantiz* finds them"),
        ("Dequantiz", 0, ": dequantiz* finds them"),
        ("ti:(dequantiz OR gpu)", 4, ": dequantiz* finds them"),
    ],
)
def test_a_word_that_no_stored_paper_has_and_many_continue_is_offered_a_star(
    text: str, position: int, written: str
) -> None:
    ((place, message),) = offer(text, *STEMS)
    assert (place, message.endswith(written)) == (position, True)
    assert message.startswith("no stored paper has the word dequantiz, and 3 have words that begin so")


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("abs:dequantiz", (*STEMS, "We DEQUANTIZ it")),
        ("abs:dequantiz", STEMS[:2]),
        ("abs:quantiz", STEMS),
        ("abs:dequantiz*", STEMS),
        ('abs:"dequantiz circuits"', STEMS),
        ("au:dequantiz", STEMS),
        ("abs:deq", STEMS),
    ],
)
def test_no_star_is_offered_where_the_word_is_there_or_few_go_on_or_no_word_is_looked_for(
    text: str, texts: tuple[str, ...]
) -> None:
    assert offer(text, *texts) == []


def test_the_remarks_of_reading_are_among_them() -> None:
    query = parse_query("graph the cat:cs.ZZ")
    assert {*query.notes} < {*lint_query(query)}


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
        notes = lint_query(query, daily_papers=DAILY)
        assert [note.position for note in notes] == sorted(note.position for note in notes)
        assert all(0 <= note.position < len(text) and note.message for note in notes)
        assert len({*notes}) == len(notes)
