"""The words of texts are stored and forgotten with them, and read anew by newer rules."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, select, update

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.model.papers import Paper
from digest.query import PaperIndex, parse_query
from digest.query.paper_words import RULES, IndexedPaper, WordReader
from digest.store import Store, changes, migrate, open_store, papers, words
from digest.store.schema import versions
from digest.store.schema import words as words_table
from tests.contract.store.made import DAY, NOW, make_paper, store_papers
from tests.contract.store.test_retention import forget
from tests.schema_before import load_postgresql, load_sqlite


def read(paper: Paper) -> IndexedPaper:
    return WordReader().index(paper)


def list_rules(conn: Connection) -> list[int]:
    """Return by which rules the words of each stored text were read, the oldest text first."""
    in_order = select(words_table.c.rules).order_by(words_table.c.version_id)
    return list(conn.execute(in_order).scalars())


def count_texts(conn: Connection) -> int:
    return int(conn.execute(select(func.count()).select_from(versions)).scalar_one())


def test_a_text_comes_back_with_its_words_and_all_that_queries_ask_of_it(store: Store) -> None:
    stored = store_papers(store, [make_paper(number) for number in (1, 2, 3)])
    keys = [change.text_key for change in reversed(stored)]
    with store.read() as conn:
        found = words.load(conn, [*keys, 99_999])
        assert list_rules(conn) == [RULES] * 3
    assert list(found.items()) == [
        (change.text_key, read(change.paper)) for change in reversed(stored)
    ]


def test_no_text_is_read_again_whose_words_are_known(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = store_papers(store, [make_paper(number) for number in (1, 2)])
    monkeypatch.setattr(WordReader, "read_text", lambda *_: pytest.fail("a text was read"))
    with store.read() as conn:
        assert len(words.load(conn, [change.text_key for change in stored])) == 2


def test_a_new_version_has_words_of_its_own_and_the_old_one_keeps_its_words(store: Store) -> None:
    (first,) = store_papers(store, [make_paper(1)])
    replaced = make_paper(1, version=2, title="Another one")
    (second,) = store_papers(store, [replaced], kind=Kind.REPLACEMENT)
    with store.read() as conn:
        found = words.load(conn, [first.text_key, second.text_key])
    assert found == {first.text_key: read(first.paper), second.text_key: read(replaced)}


def test_a_text_that_comes_back_has_words_again_of_how_it_was_stored_first(store: Store) -> None:
    (first,) = store_papers(store, [make_paper(1)])
    other = make_paper(1, title="Another one")
    store_papers(store, [other], kind=Kind.METADATA)
    with store.begin() as conn:
        conn.execute(delete(words_table))
    (again,) = store_papers(store, [make_paper(1)], kind=Kind.METADATA)
    assert again.text_key == first.text_key
    with store.read() as conn:
        assert list_rules(conn) == [RULES]
        assert words.load(conn, [first.text_key]) == {first.text_key: read(first.paper)}


def test_a_process_that_dies_before_the_commit_leaves_neither_texts_nor_words(
    store: Store,
) -> None:
    new = Change(Kind.NEW, make_paper(1), None)
    with suppress(KeyboardInterrupt), store.begin() as conn:
        changes.save(conn, [new], content_hash, run_id=1, at=NOW)
        assert list_rules(conn) == [RULES]
        raise KeyboardInterrupt
    with store.read() as conn:
        assert (count_texts(conn), list_rules(conn)) == (0, [])


def test_a_text_that_is_forgotten_takes_its_words_with_it(store: Store) -> None:
    stored = store_papers(store, [make_paper(number) for number in (1, 2)])
    with store.begin() as conn:
        papers.mark_matched(conn, [stored[1].id])
    forget(store)
    with store.read() as conn:
        assert count_texts(conn) == 1
        left = conn.execute(select(words_table.c.version_id)).scalars().all()
    assert left == [stored[1].text_key]


def make_old(store: Store, rules: int = RULES - 1) -> None:
    """Have all words read by older rules: what they were is not what they are."""
    with store.begin() as conn:
        conn.execute(update(words_table).values(rules=rules, packed=b""))


def test_answers_are_right_where_words_are_old_or_missing(store: Store) -> None:
    stored = store_papers(store, [make_paper(number) for number in (1, 2)])
    make_old(store)
    with store.begin() as conn:
        is_first = words_table.c.version_id == stored[0].text_key
        conn.execute(delete(words_table).where(is_first))
        found = words.load(conn, [change.text_key for change in stored])
    assert list(found.values()) == [read(change.paper) for change in stored]
    (numbers,) = PaperIndex(found.values()).find([parse_query('ti:"part 2"')])
    assert numbers == [1]


def test_newer_rules_read_some_texts_at_a_time_anew_and_the_newest_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = store_papers(store, [make_paper(number) for number in range(1, 6)])
    newer = RULES + 1
    monkeypatch.setattr(words, "_AT_ONCE", 2)
    monkeypatch.setattr(words, "RULES", newer)
    steps = []
    renewed = []
    for _ in range(4):
        with store.begin() as conn:
            renewed.append(words.renew(conn))
            steps.append(list_rules(conn))
    assert renewed == [2, 2, 1, 0]
    assert steps[0] == [RULES, RULES, RULES, newer, newer]
    assert steps[1] == [RULES, newer, newer, newer, newer]
    assert steps[2] == steps[3] == [newer] * 5
    with store.read() as conn:
        found = words.load(conn, [change.text_key for change in stored])
    assert list(found.values()) == [read(change.paper) for change in stored]


def test_who_renews_words_does_not_bring_back_those_of_a_forgotten_text(store: Store) -> None:
    store_papers(store, [make_paper(number) for number in (1, 2)])
    make_old(store)
    forget(store)
    with store.begin() as conn:
        assert words.renew(conn) == 0
        assert list_rules(conn) == []


def test_a_database_of_before_has_its_texts_read_by_the_next_passes(
    make_empty: Callable[[], str],
) -> None:
    url = make_empty()
    if url.startswith("postgresql"):
        load_postgresql(url)
    else:
        load_sqlite(Path(url.removeprefix("sqlite:///")))
    migrate(url)
    with closing(open_store(url)) as store:
        with store.read() as conn:
            keys = sorted(conn.execute(select(versions.c.id)).scalars())
            assert list_rules(conn) == [0] * len(keys) != []
            before = words.load(conn, keys)
            texts = papers.load_versions(conn, keys)
        with store.begin() as conn:
            assert words.renew(conn) == len(keys)
            assert list_rules(conn) == [RULES] * len(keys)
        with store.read() as conn:
            assert words.load(conn, keys) == before
    assert before == {key: read(texts[key]) for key in keys}


def test_papers_are_listed_by_their_submission_and_by_their_announcement(store: Store) -> None:
    given = [make_paper(number, published=NOW - number * DAY) for number in (1, 2, 3)]
    stored = store_papers(store, given)
    day = NOW.date()
    with store.begin() as conn:
        papers.assign_announcements(conn, {stored[1].paper_key: day})
        submitted = papers.list_submitted(conn, NOW - 3 * DAY, NOW - 2 * DAY)
        assert submitted == [stored[1].text_key, stored[2].text_key]
        assert papers.list_newest(conn, limit=2) == [stored[2].text_key, stored[1].text_key]
        assert papers.list_newest(conn, day=day) == [stored[1].text_key]


def test_words_of_a_paper_without_anything_are_kept_too(store: Store) -> None:
    empty = replace(make_paper(1), title="", abstract="", authors=(), categories=(), dois=())
    (change,) = store_papers(store, [empty])
    with store.read() as conn:
        assert words.load(conn, [change.text_key]) == {change.text_key: read(empty)}
