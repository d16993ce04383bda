"""Libraries, likes and counts of words, as they are kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from digest.config import load_config
from digest.interest.libraries import read_libraries
from digest.interest.step import Interests
from digest.interest.tables import (
    StoredLibrary,
    delete_libraries,
    delete_like,
    find_known,
    load_libraries,
    load_likes,
    load_unasked,
    save_answers,
    save_counts,
    save_library,
    save_like,
    write_likes_source,
)
from digest.match.step import match
from digest.model.clock import ManualClock
from digest.model.destinations import Destination, DestinationKind
from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.model.subscriptions import FILE
from digest.plan.step import plan
from digest.poll.record import PollReport
from digest.render.precedence import say_near
from digest.serve.installation import open_site
from digest.store import Store, subscriptions
from digest.store.sync import sync_subscriptions
from tests.contract.store.made import (
    DAY,
    NOW,
    AlwaysDue,
    make_paper,
    make_subscription,
    recording,
    store_papers,
    subscribe,
)

CONSOLE = Destination(DestinationKind.CONSOLE)

ONE = ArxivId(202611, 1)
TWO = ArxivId(202611, 2)


def like(store: Store, id_: ArxivId, opinion: Opinion, subscription_id: int = 7) -> bool:
    paper = LibraryPaper(f"Title of {id_}", "Text.", id_)
    with store.begin() as conn:
        return save_like(conn, subscription_id, paper, opinion, NOW)


def read_likes(
    store: Store, subscription_id: int = 7
) -> list[tuple[ArxivId | None, Opinion | None]]:
    with store.read() as conn:
        likes = load_likes(conn, subscription_id)
    return [(like.paper.arxiv_id, like.opinion) for like in likes]


def test_what_is_said_of_a_paper_is_kept_once_and_the_other_opinion_replaces_it(
    store: Store,
) -> None:
    assert like(store, ONE, Opinion.MORE)
    assert like(store, TWO, Opinion.LESS)
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
        delete_libraries(conn, [write_likes_source(7)])
    assert read_likes(store) == []


@pytest.mark.parametrize("trouble", ["it is gone", ""])
def test_a_library_that_is_not_read_again_keeps_its_papers(store: Store, trouble: str) -> None:
    paper = LibraryPaper("A title", "Text.", ONE)
    with store.begin() as conn:
        save_library(conn, "/lab.bib", [paper], at=NOW, version="1")
        save_library(conn, "/lab.bib", None, at=NOW, trouble=trouble)
    with store.read() as conn:
        held = load_libraries(conn, ["/lab.bib"])["/lab.bib"]
    assert held.version == "1"
    assert held.trouble == trouble
    assert [one.paper.title for one in held.papers] == ["A title"]


def test_stored_papers_are_found_by_id_and_by_any_of_their_dois_but_not_withdrawn_ones(
    store: Store,
) -> None:
    first = make_paper(1)
    second = make_paper(2, dois=())
    withdrawn = make_paper(3, is_withdrawn=True, dois=("10.1/x",))
    store_papers(store, [first, second, withdrawn])
    by_id = LibraryPaper("", arxiv_id=ONE)
    by_doi = LibraryPaper("", doi="10.1000/made.2")
    by_doi_of_withdrawn = LibraryPaper("", doi="10.1/x")
    without_dois = LibraryPaper("", arxiv_id=TWO)
    unknown = LibraryPaper("Of nobody's")
    with store.read() as conn:
        found = find_known(conn, [by_id, by_doi, by_doi_of_withdrawn])
        found_without_dois = find_known(conn, [without_dois])
        assert find_known(conn, [unknown]) == {}
    ids = {key: paper.arxiv_id for key, paper in found.items()}
    assert ids == dict.fromkeys(("2611.00001", "10.1000/made.1", "10.1000/made.2"), ONE)
    assert found_without_dois[str(TWO)].title == second.title


def test_arxiv_is_asked_once_for_each_id_without_an_abstract_in_whatever_library_it_is(
    store: Store,
) -> None:
    held = [
        LibraryPaper("Own", arxiv_id=ONE),
        LibraryPaper("", arxiv_id=TWO),
        LibraryPaper("No id"),
    ]
    with_abstract = LibraryPaper("A", "Text.", ArxivId(202611, 3))
    with store.begin() as conn:
        save_library(conn, "/lab.bib", [*held, with_abstract], at=NOW)
        assert set(load_unasked(conn, 5)) == {ONE, TWO}
        assert len(load_unasked(conn, 1)) == 1
        answer = LibraryPaper("Two", "Answered.")
        save_answers(conn, [ONE, TWO], {TWO: answer}, NOW)
        save_library(conn, "/other.bib", held[::-1], at=NOW)
        save_library(conn, "/lab.bib", held, at=NOW)
        assert load_unasked(conn, 5) == []
        found = load_libraries(conn, ["/lab.bib", "/other.bib"])
    assert list(found) == ["/lab.bib", "/other.bib"]
    assert list_texts(found["/lab.bib"]) == [("Own", ""), ("Two", "Answered."), ("No id", "")]
    assert list_texts(found["/other.bib"]) == [("No id", ""), ("Two", "Answered."), ("Own", "")]


def list_texts(library: StoredLibrary) -> list[tuple[str, str]]:
    """Return the title and the abstract of each paper of a library."""
    return [(one.paper.title, one.paper.abstract) for one in library.papers]


def test_processes_that_read_the_same_library_at_once_leave_it_whole(store: Store) -> None:
    titles = [f"Paper {n}" for n in range(40)]
    liked = LibraryPaper("Liked", "Text.", ONE)

    def read(number: int) -> None:
        with store.begin() as conn:
            papers = [LibraryPaper(title, f"By {number}.") for title in titles]
            save_library(conn, "/lab.bib", papers, at=NOW, version=str(number))
            save_like(conn, 7, liked, Opinion.MORE, NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(8)))
    with store.read() as conn:
        held = load_libraries(conn, ["/lab.bib"])["/lab.bib"]
    assert [one.paper.title for one in held.papers] == titles
    assert {one.paper.abstract for one in held.papers} == {f"By {held.version}."}
    assert read_likes(store) == [(ONE, Opinion.MORE)]


def plan_by_library(store: Store, folder: Path) -> list[tuple[str, str]]:
    """Return the ids of a digest that a library puts in order, with the reasons."""
    chance = random.Random(7)  # noqa: S311 - made-up titles
    words = []
    for letter in "abcdefg":
        words += [f"word{letter}{number}" for number in range(9)]
    texts = []
    for _ in range(60):
        chosen = chance.choices(words, k=12)
        texts.append(" ".join(["tail", *chosen]))
    entries = []
    for _ in range(9):
        # Without its last word, a title is like a paper's and not the same.
        title = chance.choice(texts).rpartition(" ")[0]
        entries.append(f"@misc{{k, title = {{{title}}}}}\n")
    library = folder / "lab.bib"
    library.write_text("".join(entries))
    config_file = folder / "digest.toml"
    config_file.write_text('[arxiv]\ncontact = "ops@example.org"\n')
    clock = ManualClock(NOW)
    config = load_config(config_file, {})
    site = open_site(config, clock, owner="test", jitter=lambda: 0.5)
    with closing(site), closing(site.store):
        site.store = store
        wanted = make_subscription(
            queries=("tail",), library=(str(library),), destinations=(CONSOLE,)
        )
        subscribe(store, wanted)
        papers = [make_paper(n, title=texts[n % 50], abstract=texts[n]) for n in range(1, 60)]
        store_papers(store, papers)
        read_libraries(site, PollReport())
        match(site, first_digests=False)
        clock.advance(2 * DAY)
        (digest,) = plan(site, patience=timedelta(0)).digests
        return [(str(entry.paper.id), say_near(entry.near)) for entry in digest.entries]


def test_a_library_puts_a_digest_in_the_same_order_on_both_databases(
    emptied_sqlite: Callable[[], Store], emptied_postgresql: Callable[[], Store], tmp_path: Path
) -> None:
    on_sqlite = plan_by_library(emptied_sqlite(), tmp_path)
    on_postgresql = plan_by_library(emptied_postgresql(), tmp_path)
    assert on_sqlite == on_postgresql
    ids = [id_ for id_, _ in on_sqlite]
    reasons = [near for _, near in on_sqlite]
    assert [bool(near) for near in reasons] == [True] * 6 + [False] * 53
    assert all(near.startswith("like “tail ") for near in reasons[:6])
    assert ids != sorted(ids)


def test_what_the_top_tenth_of_a_day_was_is_forgotten_for_whom_it_has_changed(store: Store) -> None:
    other = make_subscription("other", library=("/other_bib", "/x.bib"))
    lab = make_subscription("lab", library=("/lab.bib",))
    ids = subscribe(store, lab, other, make_subscription("likes"))

    def who_forgets(change: Callable[[Connection], object]) -> set[str]:
        with store.begin() as conn:
            subscriptions.save_least(conn, NOW.date(), dict.fromkeys(ids.values(), 5))
            change(conn)
            forgetful = set()
            for name, key in ids.items():
                if subscriptions.load_least(conn, key, NOW.date()) is None:
                    forgetful.add(name)
            return forgetful

    def sync_edited(conn: Connection) -> None:
        sync_subscriptions(conn, [edited, other], FILE, NOW, AlwaysDue(NOW))

    def like_a_paper(conn: Connection) -> None:
        save_like(conn, ids["likes"], liked, Opinion.MORE, NOW)

    edited = make_subscription("lab", library=("/more.bib",))
    liked = LibraryPaper("Liked", "Text.", ONE)
    assert who_forgets(lambda conn: save_library(conn, "/lab.bib", [liked], at=NOW)) == {"lab"}
    assert who_forgets(lambda conn: save_library(conn, "/lab.bib", None, at=NOW)) == set()
    assert who_forgets(lambda conn: save_library(conn, "/other_bib", [], at=NOW)) == {"other"}
    assert who_forgets(lambda conn: save_library(conn, "/otherXbib", [], at=NOW)) == set()
    assert who_forgets(lambda conn: save_answers(conn, [ONE], {}, NOW)) == {"lab", "other"}
    assert who_forgets(like_a_paper) == {"likes"}
    assert who_forgets(lambda conn: delete_like(conn, ids["likes"], ONE)) == {"likes"}
    assert who_forgets(lambda conn: save_counts(conn, b"", 5, NOW)) == {*ids}
    assert "lab" in who_forgets(sync_edited)
    assert "other" not in who_forgets(sync_edited)


def test_who_has_no_library_and_likes_nothing_costs_no_statement_each(store: Store) -> None:
    plain = [make_subscription(f"plain-{number}") for number in range(20)]
    subscribe(store, *plain)
    interests = Interests(load_config(None, {}))
    with store.read() as conn:
        dues = subscriptions.load(conn)
        with recording(store) as statements:
            found = [interests.find_profile(conn, due) for due in dues]
    assert found == [None] * 20
    assert len(statements) == 2
