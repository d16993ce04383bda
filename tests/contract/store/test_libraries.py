"""Libraries, likes and counts of words, as they are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.store import Store
from digest.store.libraries import (
    delete_like,
    delete_likes,
    find_known,
    load_libraries,
    load_likes,
    load_unasked,
    save_answers,
    save_library,
    save_like,
)
from tests.contract.store.made import NOW, make_paper, store_papers

ONE, TWO = ArxivId(202611, 1), ArxivId(202611, 2)


def like(store: Store, id_: ArxivId, opinion: Opinion, subscription_id: int = 7) -> bool:
    with store.begin() as conn:
        return save_like(conn, subscription_id, LibraryPaper(f"Title of {id_}", "Text.", id_), opinion, NOW)


def read_likes(store: Store, subscription_id: int = 7) -> list[tuple[ArxivId | None, Opinion | None]]:
    with store.read() as conn:
        return [(one.paper.arxiv_id, one.opinion) for one in load_likes(conn, subscription_id)]


def test_what_is_said_of_a_paper_is_kept_once_and_the_other_opinion_replaces_it(store: Store) -> None:
    assert [like(store, ONE, Opinion.MORE), like(store, TWO, Opinion.LESS)] == [True, True]
    assert not like(store, ONE, Opinion.MORE)
    assert read_likes(store) == [(ONE, Opinion.MORE), (TWO, Opinion.LESS)]
    assert like(store, ONE, Opinion.LESS)
    assert read_likes(store) == [(TWO, Opinion.LESS), (ONE, Opinion.LESS)]
    assert read_likes(store, 8) == []


def test_what_was_said_of_a_paper_can_be_taken_back_alone_and_altogether(store: Store) -> None:
    for id_ in (ONE, TWO):
        like(store, id_, Opinion.MORE)
    with store.begin() as conn:
        assert delete_like(conn, 7, ONE)
        assert not delete_like(conn, 7, ONE)
        assert not delete_like(conn, 8, TWO)
    assert read_likes(store) == [(TWO, Opinion.MORE)]
    with store.begin() as conn:
        delete_likes(conn, 7)
    assert read_likes(store) == []


@pytest.mark.parametrize("trouble", ["it is gone", ""])
def test_a_library_that_is_not_read_again_keeps_its_papers(store: Store, trouble: str) -> None:
    with store.begin() as conn:
        save_library(conn, "/lab.bib", [LibraryPaper("A title", "Text.", ONE)], at=NOW, version="1")
        save_library(conn, "/lab.bib", None, at=NOW, trouble=trouble)
    with store.read() as conn:
        held = load_libraries(conn, ["/lab.bib"])["/lab.bib"]
    assert (held.version, held.trouble, [one.paper.title for one in held.papers]) == ("1", trouble, ["A title"])


def test_stored_papers_are_found_by_id_and_by_any_of_their_dois_but_not_withdrawn_ones(store: Store) -> None:
    store_papers(
        store, [make_paper(1), make_paper(2, dois=()), make_paper(3, is_withdrawn=True, dois=("10.1/x",))]
    )
    held = [LibraryPaper("", arxiv_id=ONE), LibraryPaper("", doi="10.1000/made.2"), LibraryPaper("", doi="10.1/x")]
    with store.read() as conn:
        assert {key: found.arxiv_id for key, found in find_known(conn, held).items()} == dict.fromkeys(
            ("2611.00001", "10.1000/made.1", "10.1000/made.2"), ONE
        )
        assert find_known(conn, [LibraryPaper("", arxiv_id=TWO)])[str(TWO)].title == make_paper(2).title
        assert find_known(conn, [LibraryPaper("Of nobody's")]) == {}


def test_arxiv_is_asked_once_for_each_id_without_an_abstract_in_whatever_library_it_is(store: Store) -> None:
    held = [LibraryPaper("Own", arxiv_id=ONE), LibraryPaper("", arxiv_id=TWO), LibraryPaper("No id")]
    with store.begin() as conn:
        save_library(conn, "/lab.bib", [*held, LibraryPaper("A", "Text.", ArxivId(202611, 3))], at=NOW)
        assert set(load_unasked(conn, 5)) == {ONE, TWO}
        assert len(load_unasked(conn, 1)) == 1
        save_answers(conn, [ONE, TWO], {TWO: LibraryPaper("Two", "Answered.")}, NOW)
        save_library(conn, "/other.bib", held[::-1], at=NOW)
        save_library(conn, "/lab.bib", held, at=NOW)
        assert load_unasked(conn, 5) == []
        found = load_libraries(conn, ["/lab.bib", "/other.bib"])
    told = [[(one.paper.title, one.paper.abstract) for one in library.papers] for library in found.values()]
    assert told == [
        [("Own", ""), ("Two", "Answered."), ("No id", "")],
        [("No id", ""), ("Two", "Answered."), ("Own", "")],
    ]


def test_processes_that_read_the_same_library_at_once_leave_it_whole(store: Store) -> None:
    def read(number: int) -> None:
        with store.begin() as conn:
            papers = [LibraryPaper(f"Paper {n}", f"By {number}.") for n in range(40)]
            save_library(conn, "/lab.bib", papers, at=NOW, version=str(number))
            save_like(conn, 7, LibraryPaper("Liked", "Text.", ONE), Opinion.MORE, NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(8)))
    with store.read() as conn:
        held = load_libraries(conn, ["/lab.bib"])["/lab.bib"]
    assert [one.paper.title for one in held.papers] == [f"Paper {n}" for n in range(40)]
    assert {one.paper.abstract for one in held.papers} == {f"By {held.version}."}
    assert read_likes(store) == [(ONE, Opinion.MORE)]
