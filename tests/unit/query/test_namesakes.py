"""Who bears a name: papers grouped into likely persons, and queries that tell them apart."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.papers import Author, Paper
from digest.query import matches, parse_query
from digest.query.namesakes import Namesakes, find_namesakes
from digest.query.people import Person, PersonPattern, are_compatible
from digest.query.telling_apart import Narrowing, tell_apart
from digest.query.tree import Condition, Prefix, Shape
from tests.unit.query.conftest import build_paper

MakePaper = Callable[..., Paper]
Written = tuple[Sequence[str], str]


@pytest.fixture
def make_papers(make_paper: MakePaper) -> Callable[..., list[Paper]]:
    """Return a function that makes up papers from their authors and category, in the order of their ids."""

    def make(*written: Written) -> list[Paper]:
        return [
            make_paper(id=f"2603.{number:05d}", authors=authors, categories=(category,))
            for number, (authors, category) in enumerate(written, 1)
        ]

    return make


def find(name: str, papers: Sequence[Paper]) -> Namesakes:
    return find_namesakes(PersonPattern(Person.parse(name)), papers)


def groups(found: Namesakes) -> list[list[int]]:
    return [sorted(paper.id.number for paper in one.papers) for one in found.people]


def test_papers_with_a_common_co_author_are_one_persons(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["K. Lindquell", "Ada Müller"], "cs.DC"),
        (["Keiko Lindquell", "Bo Liu"], "math.CO"),
    )
    assert groups(find("Keiko Lindquell", papers)) == [[1, 2], [3]]


def test_two_co_authors_with_initials_tie_papers_and_one_alone_does_not(
    make_papers: Callable[..., list[Paper]],
) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "A. Müller", "B. Liu"], "cs.PF"),
        (["K. Lindquell", "A. Müller", "B. Liu"], "cs.DC"),
        (["K. Lindquell", "A. Müller"], "math.CO"),
    )
    assert groups(find("Keiko Lindquell", papers)) == [[1, 2], [3]]


def test_a_common_affiliation_ties_papers(make_paper: MakePaper) -> None:
    authors = (Author("Keiko Lindquell", ("Turm University",)),)
    papers = [
        make_paper(id="2603.00001", categories=("cs.PF",)),
        make_paper(id="2603.00002", categories=("q-bio",)),
    ]
    tied = [replace(paper, authors=authors) for paper in papers]
    assert groups(find("Keiko Lindquell", tied)) == [[1, 2]]


def test_names_that_contradict_are_never_one_persons(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Kevin Lindquell", "Ada Müller"], "cs.PF"),
    )
    assert groups(find("K. Lindquell", papers)) == [[2], [1]]


def test_two_authors_of_one_paper_are_never_one_person(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["Keiko Lindquell", "K. Lindquell", "Ada Müller"], "cs.PF"))
    assert groups(find("Keiko Lindquell", papers)) == [[1], [1]]


def test_a_paper_without_ties_goes_to_the_one_person_of_its_field(
    make_papers: Callable[..., list[Paper]],
) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["K. Lindquell"], "cs.PF"),
        (["K. Lindquell"], "math.CO"),
    )
    assert groups(find("Keiko Lindquell", papers)) == [[1, 2, 3], [4]]


def test_a_paper_that_fits_several_people_is_left_open(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Kevin Lindquell", "Bo Liu"], "cs.PF"),
        (["K. Lindquell"], "cs.PF"),
    )
    found = find("K. Lindquell", papers)
    assert groups(found) == [[1, 2], [3]]
    assert [paper.id.number for paper in found.unclear] == [4]


def test_a_paper_that_several_unclear_people_wrote_is_left_open_once(
    make_papers: Callable[..., list[Paper]],
) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Kevin Lindquell"], "cs.PF"),
        (["K. Lindquell", "K. Lindquell"], "cs.PF"),
    )
    assert [paper.id.number for paper in find("K. Lindquell", papers).unclear] == [2]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        # in one field, and no more
        (["K. H. Lindquell"], ["Keiko Lindquell"]),
        (["K. H. Lindquell"], ["K. Lindquell"]),
        (["K. H. Lindquell", "A. Müller"], ["Keiko Lindquell", "Ada Müller"]),
        (["K. H. Lindquell", "A. Müller"], ["K. Lindquell", "A. Müller"]),
        # each name tells what the other does not: co-authors with initials, or one alone, are too little
        (["K. H. Lindquell", "A. Müller", "B. Liu"], ["Keiko Lindquell", "A. Müller", "B. Liu"]),
        (["K. H. Lindquell", "Ada Müller"], ["Keiko Lindquell", "Ada Müller"]),
    ],
)
def test_a_name_with_an_initial_more_is_somebody_elses_where_too_little_ties_it(
    make_papers: Callable[..., list[Paper]], mine: list[str], theirs: list[str]
) -> None:
    assert groups(find("Keiko Lindquell", make_papers((mine, "cs.PF"), (theirs, "cs.PF")))) == [[2], [1]]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (["K. H. Lindquell", "Ada Müller"], ["K. Lindquell", "Ada Müller"]),
        (["K. H. Lindquell", "A. Müller", "B. Liu"], ["K. Lindquell", "A. Müller", "B. Liu"]),
        (["K. H. Lindquell", "Ada Müller", "Bo Liu"], ["Keiko Lindquell", "Ada Müller", "Bo Liu"]),
    ],
)
def test_a_name_with_an_initial_more_is_the_same_persons_where_enough_ties_it(
    make_papers: Callable[..., list[Paper]], mine: list[str], theirs: list[str]
) -> None:
    assert groups(find("Keiko Lindquell", make_papers((mine, "cs.PF"), (theirs, "cs.DC")))) == [[1, 2]]


def test_co_authors_whose_second_names_differ_tie_nothing(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Yang Hui Liu"], "cs.PF"),
        (["Keiko Lindquell", "Yang Liu"], "math.CO"),
        (["Keiko Lindquell", "Yang H. Liu"], "cs.DC"),
    )
    assert groups(find("Keiko Lindquell", papers)) == [[2, 3], [1]]


def test_a_collaboration_ties_nothing(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Turm Collaboration"], "cs.PF"),
        (["Keiko Lindquell", "Turm Collaboration"], "math.CO"),
    )
    assert len(find("Keiko Lindquell", papers).people) == 2


def test_a_person_is_told_by_names_years_categories_and_co_authors(make_paper: MakePaper) -> None:
    papers = [
        make_paper(id="2603.00001", authors=["Keiko M. Lindquell", "Ada Müller"], categories=("cs.PF", "cs.DC")),
        make_paper(id="2603.00002", authors=["K. Lindquell", "Ada Müller", "Bo Liu"], categories=("cs.PF",)),
        make_paper(id="2603.00003", authors=["K. Lindquell", "Ada Müller"], categories=("cs.PF",)),
    ]
    (one,) = find("Keiko Lindquell", papers).people
    assert one.names == (("K. Lindquell", 2), ("Keiko M. Lindquell", 1))
    assert one.categories == (("cs.PF", 3), ("cs.DC", 1))
    assert one.co_authors == (("Ada Müller", 3), ("Bo Liu", 1))
    assert one.years == (2026, 2026)
    assert one.papers == tuple(reversed(papers))


BEARERS = st.sampled_from(["Keiko Lindquell", "K. Lindquell", "Kevin Lindquell", "K. M. Lindquell", "Ada Müller"])
WRITTEN = st.lists(
    st.tuples(
        st.lists(st.one_of(BEARERS, st.sampled_from(["Ada Müller", "Bo Liu", "C. Oh"])), min_size=1, max_size=4),
        st.sampled_from(["cs.PF", "math.CO"]),
    ),
    max_size=6,
)


@given(WRITTEN)
def test_every_bearer_is_in_one_place_and_nobody_bears_contradicting_names(written: list[Written]) -> None:
    papers = [
        build_paper(id=f"2603.{number:05d}", authors=authors, categories=(category,))
        for number, (authors, category) in enumerate(written, 1)
    ]
    pattern = PersonPattern(Person.parse("K. Lindquell"))
    found = find_namesakes(pattern, papers)
    for paper in papers:
        bearers = sum(author.name.endswith("Lindquell") for author in paper.authors)
        placed = sum(paper in one.papers for one in found.people)
        assert found.unclear.count(paper) == (placed < bearers)
        assert placed <= bearers
    for one in found.people:
        given_names = [pattern.find_given(name.lower().replace(".", "").split()) for name, _ in one.names]
        assert all(are_compatible(a, b) for a in given_names for b in given_names)
        assert len({paper.id for paper in one.papers}) == len(one.papers)


def follow(name: str, papers: Sequence[Paper]) -> list[Narrowing]:
    found = find(name, papers)
    person = Condition(Prefix.PERSON, Shape.PHRASE, Person.parse(name).text)
    return list(tell_apart(person, found.people, found.unclear))


def test_who_has_no_namesakes_is_followed_by_name(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["Keiko Lindquell"], "cs.PF"), (["K. Lindquell"], "cs.PF"))
    assert follow("Keiko Lindquell", papers) == [Narrowing('author:"keiko lindquell"', 2, 0)]


def test_namesakes_are_told_apart_by_category_before_co_authors(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Keiko Lindquell", "Bo Liu"], "math.CO"),
    )
    assert {one.query for one in follow("Keiko Lindquell", papers)} == {
        'author:"keiko lindquell" AND cat:cs.PF',
        'author:"keiko lindquell" AND cat:math.CO',
    }


def test_namesakes_of_one_field_are_told_apart_by_co_authors(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers(
        *[(["Keiko Lindquell", "Ada Müller"], "cs.PF")] * 2,
        *[(["Keiko Lindquell", "Bo Liu"], "cs.PF")] * 2,
    )
    assert {one.query for one in follow("Keiko Lindquell", papers)} == {
        'author:"keiko lindquell" AND author:"ada müller"',
        'author:"keiko lindquell" AND author:"bo liu"',
    }


def test_a_name_is_asked_for_as_fully_as_it_is_known(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["Keiko Lindquell"], "cs.PF"), (["Kevin R. Lindquell"], "cs.PF"))
    assert {one.query for one in follow("K. Lindquell", papers)} == {
        'author:"keiko lindquell"',
        'author:"kevin r lindquell"',
    }


def test_who_cannot_be_told_apart_is_said_to_bring_papers_of_others(
    make_papers: Callable[..., list[Paper]],
) -> None:
    papers = make_papers((["Keiko Lindquell"], "cs.PF"), (["Keiko M. Lindquell"], "cs.PF"))
    for one in follow("Keiko Lindquell", papers):
        assert (one.found, one.wrong) == (1, 1)
        assert all(matches(parse_query(one.query), paper) for paper in papers)


def test_what_two_namesakes_wrote_together_is_nobody_elses(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["Keiko Lindquell", "K. Lindquell"], "cs.PF"))
    assert [(one.found, one.wrong) for one in follow("Keiko Lindquell", papers)] == [(1, 0), (1, 0)]


@given(WRITTEN)
def test_what_a_query_to_follow_brings_is_counted_once_and_whole(written: list[Written]) -> None:
    papers = [
        build_paper(id=f"2603.{number:05d}", authors=authors, categories=(category,))
        for number, (authors, category) in enumerate(written, 1)
    ]
    for one in follow("K. Lindquell", papers):
        query = parse_query(one.query)
        assert one.found + one.wrong + one.unclear == sum(matches(query, paper) for paper in papers)


def test_a_category_is_asked_for_where_it_spares_papers_of_others_though_not_all(
    make_papers: Callable[..., list[Paper]],
) -> None:
    papers = make_papers(
        (["Keiko Lindquell", "Ada Müller"], "cs.PF"),
        (["Keiko M. Lindquell", "Ada Müller"], "cs.PF"),
        *((["Keiko Lindquell"], category) for category in ("math.CO", "math.NT", "hep-th", "hep-ex")),
        (["Keiko P. Lindquell", "Ada Müller"], "cs.PF"),
    )
    (one,) = [
        one for one in follow("Keiko Lindquell", papers) if one.query == 'author:"keiko p lindquell" AND cat:cs.PF'
    ]
    assert (one.found, one.wrong) == (1, 1)


def test_nobody_is_followed_by_a_name_that_no_paper_tells(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["Keiko Lindquell"], "math.CO"), (["K. H. Lindquell"], "cs.PF"))
    assert {one.query for one in follow("Keiko Lindquell", papers)} == {
        'author:"keiko lindquell" AND cat:math.CO',
        'author:"k h lindquell" AND cat:cs.PF',
    }


def test_the_names_of_others_on_the_same_papers_do_not_count(make_papers: Callable[..., list[Paper]]) -> None:
    papers = make_papers((["K. B. Lindquell", "K. M. Lindquell"], "cs.PF"))
    assert {one.query for one in follow("K. Lindquell", papers)} == {
        'author:"k b lindquell"',
        'author:"k m lindquell"',
    }
