"""Names one a line: what is a list of people, what is words, and what is refused because it may be either."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import QueryError
from digest.query import parse_query
from digest.query.name_looks import Look, look_at
from digest.query.pasting import read_pasted
from digest.query.printing import print_tree


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        # a given name that is known makes the other lines names, too
        ("Yann LeCun\nYoshua Bengio", 'author:"yann lecun" OR author:"yoshua bengio"'),
        ("Feng Wing\nStephen Hawking", 'author:"feng wing" OR author:"stephen hawking"'),
        ("Ling Zhaorem\nMing Foo", 'author:"ling zhaorem" OR author:"ming foo"'),
        ("JOHN SMITH\nKEIKO FOO", 'author:"john smith" OR author:"keiko foo"'),
        ("John Smith\rKeiko Foo\r", 'author:"john smith" OR author:"keiko foo"'),
        # three lines like names, and no word for a thing among them
        ("Zorba Foo\nWilma Bar\nTula Baz", 'author:"zorba foo" OR author:"wilma bar" OR author:"tula baz"'),
        # initials before and behind the last name
        ("Smith J\nDoe K", 'author:"j smith" OR author:"k doe"'),
        ("Smith J.A.\nvan Foo K.", 'author:"j a smith" OR author:"k van foo"'),
        ("H. -W. Foo\nC. -P Bar", 'author:"h w foo" OR author:"c p bar"'),
        ("Keiko L\nJohn Smith", 'au:"keiko l" OR author:"john smith"'),
        # generations, particles, elisions
        ("Smith, John, Jr.\nFoo, Kim", 'author:"john smith" OR author:"kim foo"'),
        ("Zorba Foo Jr.\nWilma Bar", 'author:"zorba foo" OR author:"wilma bar"'),
        ("Foo, Muhammad al-Bar\nd'Alemfoo, Jean", 'author:"muhammad al-bar foo" OR author:"jean d\'alemfoo"'),
        ("Gerard 't Foo\nKeiko le Bar", 'author:"gerard t foo" OR author:"keiko le bar"'),
        # scripts without capitals, and scripts that titles don't use
        ("李 明\n王 伟", 'author:"李 明" OR author:"王 伟"'),
        ("李明\n王伟", "au:李明 OR au:王伟"),
        ("राम शर्मा\nसीता देवी", 'author:"राम शर्मा" OR author:"सीता देवी"'),
        ("Иван Петров\nАнна Иванова", 'author:"иван петров" OR author:"анна иванова"'),
        (unicodedata.normalize("NFD", "José García\nJohn Smith"), 'author:"josé garcía" OR author:"john smith"'),
        # what stands before names: a mark of the file's encoding, numbers, bullets
        ("\ufeffJohn Smith\nKim Foo", 'author:"john smith" OR author:"kim foo"'),
        ("1. John Smith\n2) Kim Foo\n[3] Wen Bar", 'author:"john smith" OR author:"kim foo" OR author:"wen bar"'),
        ("- John Smith\n* Kim Foo\n•Wen Bar", 'author:"john smith" OR author:"kim foo" OR author:"wen bar"'),
        # what stands beside names: titles, where somebody works, addresses
        ("John Smith (MIT)\nKim Foo (Univ. of Bar)", 'author:"john smith" OR author:"kim foo"'),
        ("John Smith <j@x.org>\nKim Foo", 'author:"john smith" OR author:"kim foo"'),
        ("1. Prof. Dr. John Smith\n2. Dr Kim Foo", 'author:"john smith" OR author:"kim foo"'),
        ("John Smith, PhD\nKim Foo Ph.D.", 'author:"john smith" OR author:"kim foo"'),
        # an initial and a last name without a blank, and arXiv's own spelling
        ("J.Smith\nK.L.Foo", 'author:"j smith" OR author:"k l foo"'),
        ("smith_j\nvan_foo_k", 'author:"j smith" OR author:"k van foo"'),
        # groups
        ("Smith, J.\nThe TURM Collaboration", 'author:"j smith" OR au:"turm collaboration"'),
    ],
)
def test_lines_are_read_as_names(text: str, reading: str) -> None:
    assert print_tree(parse_query(text).tree) == reading


@pytest.mark.parametrize(
    ("text", "is_sure"), [("Zorba Foo\nYoshua Bengio", False), ("John Smith\nSmith, J.", True)]
)
def test_where_a_line_is_a_name_for_the_sake_of_others_it_is_told_how_to_look_for_words(
    text: str,
    is_sure: bool,  # noqa: FBT001  # a table's column
) -> None:
    (note,) = parse_query(text).notes
    assert "a list of 2 authors, of whom any will do, read as author:" in note.message
    assert ("to look for words, write them all on one line" in note.message) is not is_sure


@pytest.mark.parametrize(
    "text",
    [
        "Zorba Foo\nWilma Bar",
        "Graph Neural\nNetwork Performance",
        "Deep Learning\nImage Generation",
        "Quantum Error\nSurface Code\nHilbert Spaces",
        "Gauge Theory, Strings\nBranes, Duality",
        "Vitamin D\nHepatitis B",
        "Smith JA\nDoe K",
        "Zorba Foo\nMadonna",
    ],
)
def test_lines_that_may_be_names_or_words_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match="may be names of people, or words") as caught:
        parse_query(text)
    assert (caught.value.text, caught.value.position) == (text, 0)
    assert "write them all on one line" in caught.value.hint


def test_the_refusal_writes_the_names_as_they_may_be_meant() -> None:
    with pytest.raises(QueryError) as caught:
        parse_query("Zorba Foo\nWilma Bar")
    assert 'For people write author:"Zorba Foo" OR author:"Wilma Bar"; to look' in caught.value.hint


@pytest.mark.parametrize(
    ("text", "there", "message"),
    [
        ("Madonna\nJohn Smith", "Madonna", '"Madonna" is not understood as a name'),
        ("John Smith\nlatency", "latency", "is not understood"),
        ("J. Smith\n2. GPT 4", "GPT 4", "is not understood"),
        ("Authors:\nJohn Smith\nKim Foo", "Authors:", "is not understood"),
        ("Yann LeCun\nDeep Learning\nJohn Smith", "Deep Learning", "is not understood"),
        ("John Smith\nZorba Foo, Wilma Bar", "Zorba Foo, Wilma", "is not understood"),
        ("Smith, J.\nJohn Smith, Keiko Foo", "John Smith,", "This line names several people"),
        ("John Smith; Keiko Foo\nAnna Bar & Paul Baz", "John Smith;", "This line names several people"),
    ],
)
def test_a_line_among_names_that_is_none_is_refused_at_its_place(text: str, there: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        parse_query(text)
    assert text[caught.value.position :].startswith(there)
    assert "one a line" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "graph neural\nnetworks",
        "GPU\nCPU",
        "Monte Carlo\nmethods",
        "Deep Learning\nTransformers",
        "Vitamin D\nblood",
        "E. coli\nB. subtilis",
        "Phys. Rev. B\nPhys. Lett. A",
        "- gpu\n- cpu",
        "-John Smith\n-Kim Foo",
        "John Smith OR\nKim Foo",
        "cat:cs.PF\nJohn Smith\nKim Foo",
        "«John Smith»\nKim Foo",
        "$K$ John\nKim Foo",
        "gpu (tail)\ncpu (latency)",
        "alpha_s\nsigma_8",
        "John Smi*\nKim Foo",
    ],
)
def test_a_query_over_several_lines_stays_one(text: str) -> None:
    assert read_pasted(text) is None


@pytest.mark.parametrize(
    ("line", "look"),
    [
        ("García Márquez, Gabriel José", Look.SURE),
        ("John Smith, Jane K.", Look.SURE),
        ("van der Foo, Kim Bar", Look.SURE),
        ("TURM Collaboration", Look.LIKELY),
        ("Foo J", Look.LIKELY),
        ("Zorba Foo", Look.POSSIBLE),
        ("Foo JA", Look.WORDS),
        ("GPU", Look.LONE),
        ("gpu", Look.NONE),
        ("Smith,", Look.NONE),
        ("Foo, Bar, Baz", Look.NONE),
        ("J. K.", Look.NONE),
        ("Foo Bar.", Look.POSSIBLE),
        ("The Use", Look.WORDS),
        ("J Foo", Look.LIKELY),
        ("A Foo", Look.POSSIBLE),
        ("H. -W. Foo", Look.SURE),
        ("Appl. Phys", Look.NONE),
        ("John " * 20, Look.NONE),
    ],
)
def test_a_line_looks_like(line: str, look: Look) -> None:
    assert look_at(line) is look


@given(st.text(max_size=100))
def test_whatever_stands_on_a_line_it_looks_like_something(line: str) -> None:
    assert look_at(line) in Look


@given(
    st.lists(
        st.sampled_from(
            ("John", "Smith", "foo", "J.", ",", ";", " ", "\n", "\n", "李", "Collaboration", "- ", "1. ", "\ufeff")
        ),
        max_size=14,
    ).map("".join)
)
def test_any_lines_are_read_or_refused_at_a_place_within(text: str) -> None:
    try:
        query = parse_query(text)
    except QueryError as refusal:
        assert 0 <= refusal.position <= len(text)  # noqa: PT017  # either way something is certain
    else:
        assert parse_query(query.canonical).canonical == query.canonical
