"""The papers of the last days, kept in memory: what changed is read, the rest is not read again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from digest.inspect import trial
from digest.inspect.trial import PaperSnapshot, Shelf, list_days, read_snapshot
from digest.model.announcements import Kind
from digest.model.papers import ArxivId, Paper
from digest.query import parse_query
from digest.query.tree import Condition, Prefix, Shape
from digest.store import Store, papers
from digest.store.engine import open_store
from digest.store.schema import papers as papers_table
from tests.stored_month import store_month
from tests.unit.made_up import make_paper

BEGUN = datetime(2026, 6, 2, 3, 47, tzinfo=UTC)
TREES = [
    parse_query(text).tree
    for text in ("gpu", "edited", "cat:cs.OS", "NOT cat:cs.OS", "ti:anew*", '"tail latency"')
]
_LATENCY = Condition(Prefix.ABSTRACT, Shape.WORD, "latency")
_FEW = 3
"""Of a shelf on which fewer papers are needed, these are read anew: a few, so that both happens."""


@dataclass
class Life:
    """An installation while days pass, and its window as it was read after each step."""

    store: Store
    now: datetime = BEGUN
    numbers: int = 0
    latest: list[Paper] = field(default_factory=list)
    shelves: tuple[Shelf, ...] = ()

    def announce(self, numbers: int, days_ago: int) -> None:
        """Store new papers that were submitted some days ago."""
        submitted = self.now - timedelta(hours=20, days=days_ago)
        month = self.now.year * 100 + self.now.month
        new = []
        for _ in range(numbers):
            self.numbers += 1
            id_ = ArxivId(month, self.numbers)
            paper = make_paper(str(id_), title=f"Tail latency {self.numbers}")
            new.append(replace(paper, published=submitted, updated=submitted))
        self.latest += new
        store_month(self.store, new, self.now)

    def change(self, kind: Kind, place: int) -> None:
        """Store another text of a paper."""
        place %= len(self.latest)
        paper = self.latest[place]
        if kind is Kind.CROSS_LIST:
            paper = replace(paper, categories=(*paper.categories, "cs.OS"))
        elif kind is Kind.METADATA:
            paper = replace(paper, title=f"{paper.title} edited")
        else:
            is_withdrawn = kind is Kind.WITHDRAWAL
            abstract = f"Said anew {paper.version}."
            paper = replace(
                paper, version=paper.version + 1, abstract=abstract, is_withdrawn=is_withdrawn
            )
        self.latest[place] = paper
        store_month(self.store, [paper], self.now, kind=kind)

    def move(self, place: int) -> None:
        """Let an announcement that was known be unknown: no change says so."""
        id_ = str(self.latest[place % len(self.latest)].id)
        with self.store.begin() as conn:
            moved = update(papers_table).where(papers_table.c.arxiv_id == id_)
            conn.execute(moved.values(announcement=None))

    def sleep(self, days: int) -> None:
        """Let days pass."""
        self.now += timedelta(days=days)

    def forget(self, days: int) -> None:
        """Forget the texts of papers that matched nothing."""
        with self.store.begin() as conn:
            papers.forget_unmatched(conn, self.now - timedelta(days=days), self.now, 10_000)

    def read(self, shelves: Iterable[Shelf] = ()) -> PaperSnapshot | None:
        """Read the window; what is on shelves is not read again."""
        with self.store.read() as conn:
            reach = papers.load_stored_span(conn)
            return read_snapshot(conn, reach, self.now, shelves) if reach else None


_CHANGED = (Kind.CROSS_LIST, Kind.METADATA, Kind.REPLACEMENT, Kind.WITHDRAWAL)
_PLACES = st.integers(0, 40)
STEPS = st.one_of(
    st.tuples(st.just(Life.announce), st.integers(1, 5), st.sampled_from((0, 0, 0, 2, 12))),
    st.tuples(st.just(Life.change), st.sampled_from(_CHANGED), _PLACES),
    st.tuples(st.just(Life.move), _PLACES),
    st.tuples(st.just(Life.sleep), st.integers(1, 22)),
    st.tuples(st.just(Life.forget), st.integers(20, 90)),
)


@given(steps=st.lists(STEPS, min_size=1, max_size=12))
def test_a_window_that_took_in_what_changed_answers_like_one_that_is_read_anew(
    steps: list[tuple[Callable[..., None], object]],
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_store(f"sqlite:///{folder}/d.db", create=True)) as store,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(trial, "_FEW_ON_SHELF", _FEW)
        life = Life(store)
        life.announce(4, 0)
        for act, *arguments in steps:
            act(life, *arguments)
            anew = life.read()
            taken_in = life.read(life.shelves)
            assert anew
            assert taken_in
            life.shelves = tuple(taken_in.shelves)
            assert taken_in.kept == anew.kept
            assert (taken_in.mark, taken_in.since) == (anew.mark, anew.since)
            first = list_days(life.now)[0]
            assert taken_in.match(TREES, first) == anew.match(TREES, first)
            assert set(anew.list_words(_LATENCY)) <= set(taken_in.list_words(_LATENCY))


def test_after_an_announcement_only_its_papers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_FEW_ON_SHELF", _FEW)
    with closing(open_store(f"sqlite:///{tmp_path}/d.db", create=True)) as store:
        life = Life(store)
        life.announce(6, 0)
        first = life.read()
        assert first
        life.sleep(1)
        life.announce(4, 0)
        life.change(Kind.METADATA, 0)
        second = life.read(first.shelves)
        assert second
        old, new = second.shelves
        assert old.papers is first.shelves[0].papers
        assert list(old.numbers) == [10, 1, 2, 3, 4, 5]
        assert (len(new.keys), len(second.kept)) == (5, 10)


def test_papers_that_left_the_window_take_their_shelf_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_FEW_ON_SHELF", _FEW)
    with closing(open_store(f"sqlite:///{tmp_path}/d.db", create=True)) as store:
        life = Life(store)
        life.announce(6, 0)
        first = life.read()
        assert first
        life.sleep(40)
        life.announce(4, 0)
        second = life.read(first.shelves)
        assert second
        assert [len(shelf.keys) for shelf in second.shelves] == [4]


def test_small_shelves_are_put_together_with_the_next_papers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_FEW_ON_SHELF", _FEW)
    with closing(open_store(f"sqlite:///{tmp_path}/d.db", create=True)) as store:
        life = Life(store)
        sizes = []
        for numbers in (6, 2, 2, 2):
            life.announce(numbers, 0)
            window = life.read(life.shelves)
            assert window
            life.shelves = tuple(window.shelves)
            sizes.append([len(shelf.keys) for shelf in window.shelves])
        assert sizes == [[6], [6, 2], [6, 4], [6, 4, 2]]
