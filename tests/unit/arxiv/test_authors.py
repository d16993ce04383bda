from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.arxiv.authors import parse_authors, read_name


def names(text: str) -> list[str]:
    return [author.name for author in parse_authors(text)]


def affiliations(text: str) -> dict[str, tuple[str, ...]]:
    return {author.name: author.affiliations for author in parse_authors(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada One", ["Ada One"]),
        ("Ada One, Bea Two and Cid Three", ["Ada One", "Bea Two", "Cid Three"]),
        ("Ada One, Bea Two, and Cid Three", ["Ada One", "Bea Two", "Cid Three"]),
        ("Ada One and Bea Two and Cid Three", ["Ada One", "Bea Two", "Cid Three"]),
        ("Ada One & Bea Two \\& Cid Three", ["Ada One", "Bea Two", "Cid Three"]),
        ("Ada One; Bea Two", ["Ada One", "Bea Two"]),
        ("Ada One,\n  Bea Two and\n  Cid Three", ["Ada One", "Bea Two", "Cid Three"]),
        ("Ada One, Bea Two and and Cid Three,", ["Ada One", "Bea Two", "Cid Three"]),
        ("Roland Anderson, Sandy Ander", ["Roland Anderson", "Sandy Ander"]),
        ("A.B.One, C. D.Two, H.-W. Three", ["A. B. One", "C. D. Two", "H.-W. Three"]),
        (
            "Yu.N.One, J.Th.M. De Two, S.M.-M. Three",
            ["Yu. N. One", "J. Th. M. De Two", "S. M.-M. Three"],
        ),
        ("", []),
        (" , ", []),
    ],
)
def test_names_are_parted_at_commas_and_ands(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("G. David One, Jr. and Bea Two", ["G. David One, Jr.", "Bea Two"]),
        ("A. A. One Jr., Bea Two", ["A. A. One Jr.", "Bea Two"]),
        ("Waldyr One Jr", ["Waldyr One Jr"]),
        (
            "Thomas One III, Ada Two, II, Bea Three, Ph.D.",
            ["Thomas One III", "Ada Two, II", "Bea Three, Ph. D."],
        ),
    ],
)
def test_a_suffix_belongs_to_the_name_before_it(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Slow Collaboration", ["The Slow Collaboration"]),
        ("Slow Collaboration: A. One, B. Two", ["Slow Collaboration", "A. One", "B. Two"]),
        ("H.E.S.S. Collaboration: F. One, et al", ["H.E.S.S. Collaboration", "F. One"]),
        ("A. One, for the Slow Collaboration", ["A. One", "Slow Collaboration"]),
        ("A. One for the Slow Collaboration (164 authors)", ["A. One", "Slow Collaboration"]),
        (
            "A. One, on behalf of the Slow and Fast Collaborations",
            ["A. One", "Slow and Fast Collaborations"],
        ),
        ("Louise One (the Slow Collaboration)", ["Louise One", "Slow Collaboration"]),
        ("A. One, B. Two (and the Slow Team)", ["A. One", "B. Two", "Slow Team"]),
        ("A. One, and the Slow Science Team", ["A. One", "the Slow Science Team"]),
    ],
)
def test_a_collaboration_is_an_author_however_it_is_brought_in(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


def test_the_words_and_others_name_nobody() -> None:
    assert (
        names("O. One, et al")
        == names("O. One et al.")
        == names("O. One and others")
        == names("O. One and 23 others")
        == ["O. One"]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Andr\\'as P\\'al", "András Pál"),
        ("R.H. {\\O}stensen", "R. H. Østensen"),
        *(
            ("Gra\\c{c}a One", "Graça One"),
            ("S. Bae{\\ss}ler", "S. Baeßler"),
            ('J\\"urgen Two', "Jürgen Two"),
        ),
        *(("{\\L}. One", "Ł. One"), ("J.~Tilde", "J. Tilde")),
        ("Paola D'Alessio", "Paola D'Alessio"),
    ],
)
def test_tex_in_names_is_resolved(text: str, expected: str) -> None:
    assert names(text) == [expected]
    assert read_name(text) == expected


def test_a_comma_that_tex_uses_parts_no_names() -> None:
    assert names("J.\\,K. One, Bea Two") == ["J. K. One", "Bea Two"]


def test_an_affiliation_in_parentheses_is_shared_by_the_names_before_that_have_none() -> None:
    assert affiliations("A. One (CERN), B. Two and C. Three (DESY, Hamburg), D. Four") == {
        "A. One": ("CERN",),
        "B. Two": ("DESY, Hamburg",),
        "C. Three": ("DESY, Hamburg",),
        "D. Four": (),
    }


def test_parentheses_within_an_affiliation_stay() -> None:
    text = "Danijel One (Applied Ceramics (AVAC), Remete, 10 000 Zagreb, Croatia)"
    assert affiliations(text) == {
        "Danijel One": ("Applied Ceramics (AVAC), Remete, 10 000 Zagreb, Croatia",)
    }


@pytest.mark.parametrize(
    "text",
    [
        "A. One (1), B. Two (1 and 2), C. Three (2) ((1) CERN, Geneva, (2) DESY (Hamburg))",
        "A. One (1), B. Two (1,2), C. Three (2) ((1) CERN, Geneva (2) DESY (Hamburg))",
        "A. One (1), B. Two (1-2), C. Three (2) ((1)CERN, Geneva; (2)DESY (Hamburg)))",
        "A. One(1), B. Two(1, 2) and C. Three(2), (1) CERN, Geneva, (2) DESY (Hamburg)",
        "A. One (1), B. Two (1 & 2), C. Three (2), ((1) CERN, Geneva and (2) DESY (Hamburg))",
        "A. One (a), B. Two (a,b), C. Three (b) ((a) CERN, Geneva, (b) DESY (Hamburg))",
        "A. One$^1$, B. Two$^{1,2}$, C. Three$^2$ ((1) CERN, Geneva, (2) DESY (Hamburg))",
        "A. One [1], B. Two [1,2], C. Three [2] ((1) CERN, Geneva, (2) DESY (Hamburg))",
        "A. One (1), B. Two (1 2), C. Three (2) (1: CERN, Geneva, 2: DESY (Hamburg))",
    ],
)
def test_footnote_marks_stand_for_the_list_at_the_end(text: str) -> None:
    assert affiliations(text) == {
        "A. One": ("CERN, Geneva",),
        "B. Two": ("CERN, Geneva", "DESY (Hamburg)"),
        "C. Three": ("DESY (Hamburg)",),
    }


def test_marks_without_a_list_are_dropped() -> None:
    assert affiliations("A. One (1), B. Two (2)*") == {"A. One": (), "B. Two": ()}


def test_a_short_affiliation_is_no_mark_where_no_list_explains_it() -> None:
    assert affiliations("A. One (X)") == {"A. One": ("X",)}


def test_remarks_are_no_affiliations() -> None:
    assert affiliations("A. One, B. Two (Eds.)") == {"A. One": (), "B. Two": ()}
    assert affiliations("A. One (with an appendix by B. Two)") == {"A. One": ()}


def test_accents_in_affiliations_are_resolved() -> None:
    assert affiliations("A. One (Universit\\'e de Li\\`ege)") == {
        "A. One": ("Université de Liège",)
    }


def test_one_stray_affiliation_is_not_given_to_five_hundred_names() -> None:
    text = (
        "Slow Collaboration: "
        + ", ".join(f"A. Name{number}" for number in range(500))
        + " (Chiojdeanu), B. Last"
    )
    with_one = [author.name for author in parse_authors(text) if author.affiliations]
    assert with_one == ["A. Name499"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A. One (CERN, B. Two, C. Three", ["A. One", "B. Two", "C. Three"]),
        ("A. One CERN), B. Two", ["A. One CERN", "B. Two"]),
        ("A. One ((1) CERN, (2) DESY, B. Two", ["A. One"]),
        ("((((", []),
    ],
)
def test_unbalanced_parentheses_cost_at_most_an_affiliation(text: str, expected: list[str]) -> None:
    assert names(text)[: len(expected)] == expected


def test_five_thousand_authors_are_read_in_order_and_at_once() -> None:
    text = "The Slow Collaboration: " + ", ".join(
        f"A. Name{number} ({number % 90 + 1})" for number in range(5_000)
    )
    notes = " (" + ", ".join(f"({number}) Place{number}" for number in range(1, 91)) + ")"
    begun = time.process_time()
    authors = parse_authors(text + notes)
    assert time.process_time() - begun < 2
    assert len(authors) == 5_001
    assert authors[4_567].name == "A. Name4566"
    assert authors[4_567].affiliations == (f"Place{4566 % 90 + 1}",)


@pytest.mark.parametrize(
    "piece", ["(", ")", "((", "(1)", "\\", "$^", " and ", "{", "a(,", "(a", "for the ", ";("]
)
def test_hostile_lines_take_time_in_proportion_to_their_length(piece: str) -> None:
    begun = time.process_time()
    parse_authors(piece * (40_000 // len(piece)))
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    "text", ["(1) One, (2) Two (1)", "A. One, (1,3) B. Two, C. Three", "(1,2) A. One,"]
)
def test_marks_before_the_names_break_nothing(text: str) -> None:
    assert parse_authors(text)


PIECES = st.sampled_from(
    [
        *"():;,\\{}\né",
        *(
            "A. One",
            "B. Two",
            ", ",
            " and ",
            "(1)",
            "((1) X, (2) Y)",
            "Jr.",
            "\\'e",
            "$^1$",
            " et al",
        ),
        "for the Z",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=200))
def test_no_line_breaks_the_reader_and_every_name_is_one_line_of_text(text: str) -> None:
    for author in parse_authors(text):
        for part in (author.name, *author.affiliations):
            assert part
            assert part == " ".join(part.split())
    assert parse_authors(text) == parse_authors(text)
