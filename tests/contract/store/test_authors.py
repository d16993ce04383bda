from __future__ import annotations

from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.papers import Author
from digest.store.authors import load_papers_naming
from tests.contract.store.made import make_paper, store_papers

if TYPE_CHECKING:
    from digest.store import Store


def find(store: Store, *words: str) -> list[int]:
    with store.read() as conn:
        return [paper.id.number for paper in load_papers_naming(conn, words)]


def test_papers_are_found_by_a_word_of_an_authors_name_accents_or_not(store: Store) -> None:
    names = ["Ada Müller", "K. Lindquell", "Keiko LINDQUELL-Smith", "Bo Liu"]
    store_papers(store, [make_paper(number, authors=(Author(name),)) for number, name in enumerate(names, 1)])
    assert find(store, "lindquell") == [2, 3]
    assert find(store, "muller", "liu") == [1, 4]
    assert find(store, "nobody") == []


def test_a_name_with_tex_in_it_is_left_to_whoever_asks(store: Store) -> None:
    store_papers(store, [make_paper(1, authors=(Author(r"P{\i}nar T\"oz\"un"),))])
    assert find(store, "tozun") == [1]


def test_a_paper_counts_as_it_reads_now(store: Store) -> None:
    store_papers(store, [make_paper(1, authors=(Author("Ada Müller"),))])
    store_papers(store, [make_paper(1, version=2, authors=(Author("Bo Liu"),))], kind=Kind.REPLACEMENT)
    assert find(store, "muller") == []
    assert find(store, "liu") == [1]
