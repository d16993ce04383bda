"""The short cut of a harvest: what is stored is the same whether known records are read or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, select, update

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import OaiPage, know_none, parse_oai
from digest.compare import KnownBefore
from digest.model.papers import ArxivId
from digest.poll.novelty import store_changes
from digest.store import Store, papers
from digest.store.papers import MATCHED, STORED
from digest.store.schema import changes, forgotten, marks, versions
from digest.store.schema import papers as papers_table
from tests.conftest import IS_NIGHTLY
from tests.contract.store.made import DAY, NOW
from tests.fakes.pages import atom_entry, atom_feed, oai_entry, oai_page, raw_paper, raw_version

TABLES = (papers_table, versions, changes, forgotten)
KNOWN = KnownBefore(mark=(202610, 0), since=NOW - 30 * DAY)
HOUR = timedelta(hours=1)
DATE = "Sun, 1 Nov 2026 10:00:00 GMT"


@dataclass(frozen=True)
class State:
    """What arXiv says of a paper at one time."""

    number: int
    version: int = 1
    title: str = "Slow papers"
    categories: str = "cs.PF"
    day: int = 20

    def write_record(self) -> str:
        id_ = f"2611.{self.number:05d}"
        history = "".join(raw_version(number, DATE) for number in range(1, self.version + 1))
        metadata = raw_paper(id_, versions=history, title=self.title, categories=self.categories)
        return oai_entry(metadata, id_=id_, datestamp=f"2026-11-{self.day}")

    def write_entry(self) -> str:
        return atom_entry(
            f"2611.{self.number:05d}v{self.version}",
            title=self.title,
            categories=tuple(self.categories.split()),
        )


STATES = st.builds(
    State,
    number=st.integers(1, 3),
    version=st.integers(1, 2),
    title=st.sampled_from(["Slow papers", "Slower papers"]),
    categories=st.sampled_from(["cs.PF", "cs.PF cs.DC"]),
    day=st.integers(19, 21),
)


@dataclass(frozen=True)
class Step:
    """A page of a harvest or of a search, or, without any, papers that are forgotten.

    `hours` is how much later than the step before arXiv answered; an old replica answers earlier.
    """

    kind: str
    states: tuple[State, ...]
    hours: int

    def write_page(self) -> bytes:
        if self.kind == "search":
            return atom_feed(*(state.write_entry() for state in self.states))
        return oai_page(*(state.write_record() for state in self.states))


STEPS = st.builds(
    Step,
    kind=st.sampled_from(["harvest", "harvest", "harvest", "search", "forget"]),
    states=st.lists(STATES, min_size=1, max_size=5).map(tuple),
    hours=st.sampled_from([-1, 1, 24, 96]),
)


@dataclass(frozen=True)
class Outcome:
    """What a sequence of pages left, and what each page counted."""

    rows: dict[str, list[Any]]
    counts: list[tuple[int, list[ArxivId]]]
    unchanged: int


def live_through(store: Store, steps: Sequence[Step], *, takes_short_cut: bool) -> Outcome:
    counts = []
    unchanged = 0
    at = NOW
    for number, step in enumerate(steps, start=1):
        at += step.hours * HOUR
        if step.kind == "forget":
            with store.begin() as conn:
                forget_all(conn)
            continue
        with store.begin() as conn:

            def load_hashes(ids: Sequence[str], conn: Connection = conn) -> Mapping[str, bytes]:
                return papers.load_record_hashes(conn, ids)

            body = step.write_page()
            page = (
                parse_atom(body)
                if step.kind == "search"
                else parse_oai(body, load_hashes if takes_short_cut else know_none)
            )
            hashes: Mapping[str, bytes] = {}
            if isinstance(page, OaiPage):
                hashes = page.hashes
                unchanged += len(page.unchanged)
            store_changes(
                conn, page.papers, lambda _: KNOWN, run_id=number, at=at, as_of=at, hashes=hashes
            )
        counts.append((len(page.ids), sorted(page.ids)))
    with store.read() as conn:
        rows = {table.name: list_rows(conn, table) for table in TABLES}
    return Outcome(rows, counts, unchanged)


def list_rows(conn: Connection, table: Table) -> list[tuple[Any, ...]]:
    columns = [column for column in table.c if column.name != "record_hash"]
    rows = conn.execute(select(*columns))
    return sorted((tuple(row) for row in rows), key=repr)


def forget_all(conn: Connection) -> None:
    newest = papers.load_mark(conn, STORED)
    matched = update(marks).where(marks.c.name == MATCHED)
    conn.execute(matched.values(value=newest))
    papers.forget_unmatched(conn, NOW + 90 * DAY, NOW, 99)


@pytest.fixture
def make_store(database: str, request: pytest.FixtureRequest) -> Callable[[], Store]:
    empty: Callable[[], Store] = request.getfixturevalue(f"emptied_{database}")
    return empty


@settings(
    max_examples=300 if IS_NIGHTLY else 40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(steps=st.lists(STEPS, min_size=2, max_size=7))
def test_any_pages_leave_the_same_whether_known_records_are_read_again_or_not(
    make_store: Callable[[], Store], steps: list[Step]
) -> None:
    read_anew = live_through(make_store(), steps, takes_short_cut=False)
    known = live_through(make_store(), steps, takes_short_cut=True)
    assert known.rows == read_anew.rows
    assert known.counts == read_anew.counts


HARVEST = Step("harvest", (State(1), State(2)), 1)


def test_a_record_is_known_from_its_second_page_on(store: Store) -> None:
    edited = Step("harvest", (State(1, title="Slower papers"), State(2)), 1)
    assert live_through(store, [HARVEST, HARVEST], takes_short_cut=True).unchanged == 2
    assert live_through(store, [edited, edited], takes_short_cut=True).unchanged == 1 + 2


def test_what_a_search_wrote_last_or_what_was_forgotten_is_read_again(store: Store) -> None:
    searched = Step("search", (State(1, 2),), 24)
    forgotten_now = Step("forget", (), 0)
    twice = Step("harvest", (State(1, 2), State(2)), 24)
    assert live_through(store, [HARVEST, searched, twice], takes_short_cut=True).unchanged == 1
    assert live_through(store, [forgotten_now, twice], takes_short_cut=True).unchanged == 0
