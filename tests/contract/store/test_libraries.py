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
from digest.store import Store
from digest.store.subscriptions import load_least, load_subscriptions, save_least
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
    with store.begin() as conn:
        return save_like(
            conn, subscription_id, LibraryPaper(f"Title of {id_}", "Text.", id_), opinion, NOW
        )


def read_likes(
    store: Store, subscription_id: int = 7
) -> list[tuple[ArxivId | None, Opinion | None]]:
    with store.read() as conn:
        return [(one.paper.arxiv_id, one.opinion) for one in load_likes(conn, subscription_id)]


def test_what_is_said_of_a_paper_is_kept_once_and_the_other_opinion_replaces_it(
    store: Store,
) -> None:
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
        delete_libraries(conn, [write_likes_source(7)])
    assert read_likes(store) == []


@pytest.mark.parametrize("trouble", ["it is gone", ""])
def test_a_library_that_is_not_read_again_keeps_its_papers(store: Store, trouble: str) -> None:
    with store.begin() as conn:
        save_library(conn, "/lab.bib", [LibraryPaper("A title", "Text.", ONE)], at=NOW, version="1")
        save_library(conn, "/lab.bib", None, at=NOW, trouble=trouble)
    with store.read() as conn:
        held = load_libraries(conn, ["/lab.bib"])["/lab.bib"]
    assert (held.version, held.trouble, [one.paper.title for one in held.papers]) == (
        "1",
        trouble,
        ["A title"],
    )


def test_stored_papers_are_found_by_id_and_by_any_of_their_dois_but_not_withdrawn_ones(
    store: Store,
) -> None:
    store_papers(
        store,
        [make_paper(1), make_paper(2, dois=()), make_paper(3, is_withdrawn=True, dois=("10.1/x",))],
    )
    held = [
        LibraryPaper("", arxiv_id=ONE),
        LibraryPaper("", doi="10.1000/made.2"),
        LibraryPaper("", doi="10.1/x"),
    ]
    with store.read() as conn:
        assert {
            key: found.arxiv_id for key, found in find_known(conn, held).items()
        } == dict.fromkeys(("2611.00001", "10.1000/made.1", "10.1000/made.2"), ONE)
        assert (
            find_known(conn, [LibraryPaper("", arxiv_id=TWO)])[str(TWO)].title
            == make_paper(2).title
        )
        assert find_known(conn, [LibraryPaper("Of nobody's")]) == {}


def test_arxiv_is_asked_once_for_each_id_without_an_abstract_in_whatever_library_it_is(
    store: Store,
) -> None:
    held = [
        LibraryPaper("Own", arxiv_id=ONE),
        LibraryPaper("", arxiv_id=TWO),
        LibraryPaper("No id"),
    ]
    with store.begin() as conn:
        save_library(
            conn, "/lab.bib", [*held, LibraryPaper("A", "Text.", ArxivId(202611, 3))], at=NOW
        )
        assert set(load_unasked(conn, 5)) == {ONE, TWO}
        assert len(load_unasked(conn, 1)) == 1
        save_answers(conn, [ONE, TWO], {TWO: LibraryPaper("Two", "Answered.")}, NOW)
        save_library(conn, "/other.bib", held[::-1], at=NOW)
        save_library(conn, "/lab.bib", held, at=NOW)
        assert load_unasked(conn, 5) == []
        found = load_libraries(conn, ["/lab.bib", "/other.bib"])
    told = [
        [(one.paper.title, one.paper.abstract) for one in library.papers]
        for library in found.values()
    ]
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


def plan_by_library(store: Store, folder: Path) -> list[tuple[str, str]]:
    """Return the ids of a digest that a library puts in order, with the reasons, from papers made of few words."""
    chance = random.Random(7)  # noqa: S311 - made-up titles
    words = [f"word{letter}{number}" for letter in "abcdefg" for number in range(9)]
    texts = [" ".join(["tail", *chance.choices(words, k=12)]) for _ in range(60)]
    titles = [
        chance.choice(texts).rpartition(" ")[0] for _ in range(9)
    ]  # like those of papers, and not theirs
    held = "".join(f"@misc{{k, title = {{{title}}}}}\n" for title in titles)
    (folder / "lab.bib").write_text(held)
    (folder / "digest.toml").write_text('[arxiv]\ncontact = "ops@example.org"\n')
    clock = ManualClock(NOW)
    site = open_site(
        load_config(folder / "digest.toml", {}), clock, owner="test", jitter=lambda: 0.5
    )
    with closing(site), closing(site.store):
        site.store = store
        library = (str(folder / "lab.bib"),)
        subscribe(
            store, make_subscription(queries=("tail",), library=library, destinations=(CONSOLE,))
        )
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
    on_sqlite, on_postgresql = (
        plan_by_library(empty(), tmp_path) for empty in (emptied_sqlite, emptied_postgresql)
    )
    assert on_sqlite == on_postgresql
    assert [bool(near) for _, near in on_sqlite] == [True] * 6 + [False] * 53
    assert all(near.startswith("like “tail ") for _, near in on_sqlite[:6])
    assert [id_ for id_, _ in on_sqlite] != sorted(id_ for id_, _ in on_sqlite)


def test_what_the_top_tenth_of_a_day_was_is_forgotten_for_whom_it_has_changed(store: Store) -> None:
    other = make_subscription("other", library=("/other_bib", "/x.bib"))
    ids = subscribe(
        store, make_subscription("lab", library=("/lab.bib",)), other, make_subscription("likes")
    )

    def who_forgets(change: Callable[[Connection], object]) -> set[str]:
        with store.begin() as conn:
            save_least(conn, NOW.date(), dict.fromkeys(ids.values(), 5))
            change(conn)
            return {name for name, key in ids.items() if load_least(conn, key, NOW.date()) is None}

    liked = LibraryPaper("Liked", "Text.", ONE)
    assert who_forgets(lambda conn: save_library(conn, "/lab.bib", [liked], at=NOW)) == {"lab"}
    assert who_forgets(lambda conn: save_library(conn, "/lab.bib", None, at=NOW)) == set()
    assert who_forgets(lambda conn: save_library(conn, "/other_bib", [], at=NOW)) == {"other"}
    assert who_forgets(lambda conn: save_library(conn, "/otherXbib", [], at=NOW)) == set()
    assert who_forgets(lambda conn: save_answers(conn, [ONE], {}, NOW)) == {"lab", "other"}
    assert who_forgets(lambda conn: save_like(conn, ids["likes"], liked, Opinion.MORE, NOW)) == {
        "likes"
    }
    assert who_forgets(lambda conn: delete_like(conn, ids["likes"], ONE)) == {"likes"}
    assert who_forgets(lambda conn: save_counts(conn, b"", 5, NOW)) == {*ids}
    edited = make_subscription("lab", library=("/more.bib",))
    assert who_forgets(
        lambda conn: sync_subscriptions(conn, [edited, other], FILE, NOW, AlwaysDue(NOW))
    ) >= {"lab"}
    assert "other" not in who_forgets(
        lambda conn: sync_subscriptions(conn, [edited, other], FILE, NOW, AlwaysDue(NOW))
    )


def test_who_has_no_library_and_likes_nothing_costs_no_statement_each(store: Store) -> None:
    subscribe(store, *(make_subscription(f"plain-{number}") for number in range(20)))
    interests = Interests(load_config(None, {}))
    with store.read() as conn:
        dues = load_subscriptions(conn)
        with recording(store) as statements:
            assert [interests.find(conn, due) for due in dues] == [None] * 20
    assert len(statements) == 2
