"""Libraries, likes and counts of words, as they are kept."""

from __future__ import annotations

import pytest

from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.store import Store
from digest.store.libraries import delete_like, delete_likes, load_libraries, load_likes, save_library, save_like
from tests.contract.store.made import NOW

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
