from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from sqlalchemy import Table, func, select
from sqlalchemy.exc import StatementError

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.model.errors import StoreBusy
from digest.model.papers import ArxivId
from digest.store import Store
from digest.store.changes import list_latest as list_latest_changes
from digest.store.changes import load as load_changes
from digest.store.changes import load_after as load_changes_after
from digest.store.changes import load_earlier as load_earlier_changes
from digest.store.changes import save as save_changes
from digest.store.papers import load as load_paper
from digest.store.papers import load_known
from digest.store.schema import changes, papers, versions
from tests.contract.store.made import DAY, NOW, make_paper, recording, store_papers


def test_a_paper_comes_back_as_it_went_in(store: Store) -> None:
    paper = make_paper()
    (change,) = store_papers(store, [paper], run_id=7)
    with store.read() as conn:
        known = load_paper(conn, paper.id)
        loaded = load_changes(conn, [change.id])
    assert known is not None
    assert known.paper == paper
    assert loaded == {change.id: change}
    assert (change.paper, change.previous, change.run_id, change.found_at) == (paper, None, 7, NOW)


def test_moments_come_back_in_utc_whatever_their_zone_was(store: Store) -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    submitted = datetime(2026, 3, 29, 2, 30, 15, 123456, tzinfo=india)
    store_papers(store, [make_paper(published=submitted)])
    with store.read() as conn:
        known = load_paper(conn, make_paper().id)
    assert known is not None
    assert known.paper.published == submitted
    assert known.paper.published.utcoffset() == timedelta(0)


def test_a_moment_without_a_zone_is_refused(store: Store) -> None:
    without_zone = datetime(2026, 11, 20, 8, 0)  # noqa: DTZ001 - the point
    with pytest.raises(StatementError, match="has no time zone"):
        store_papers(store, [make_paper(updated=without_zone)])


def test_old_style_ids_and_empty_fields_come_back_too(store: Store) -> None:
    bare = make_paper(
        id=ArxivId.parse("hep-th/9901001"),
        authors=(),
        categories=(),
        comment="",
        journal_ref="",
        dois=(),
        report_no="",
        license="",
        is_withdrawn=True,
    )
    store_papers(store, [bare])
    with store.read() as conn:
        known = load_paper(conn, bare.id)
    assert known is not None
    assert known.paper == bare


def test_papers_never_stored_are_simply_missing(store: Store) -> None:
    with store.read() as conn:
        assert load_known(conn, [make_paper().id]) == {}
        assert load_paper(conn, make_paper().id) is None
        assert load_changes(conn, [1]) == {}


def test_a_new_version_is_another_text_and_the_first_stays(store: Store) -> None:
    first = make_paper()
    second = make_paper(version=2, title="Better title")
    store_papers(store, [first])
    (change,) = store_papers(store, [second], kind=Kind.REPLACEMENT, at=NOW + DAY)
    assert (change.paper, change.previous) == (second, first)
    with store.read() as conn:
        known = load_paper(conn, first.id)
        history = load_earlier_changes(conn, [change.paper_key])
    assert known is not None
    assert known.paper == second
    assert [past.paper for past in history[change.paper_key]] == [first, second]
    assert [past.kind for past in history[change.paper_key]] == [Kind.NEW, Kind.REPLACEMENT]


def test_a_text_that_comes_back_is_the_row_it_was_the_first_time(store: Store) -> None:
    first = make_paper(comment="12 pages")
    other = make_paper(comment="13 pages")
    store_papers(store, [first])
    store_papers(store, [other], kind=Kind.METADATA)
    (change,) = store_papers(store, [replace(first, comment=r"12  pages")], kind=Kind.METADATA)
    assert (change.paper, change.previous) == (first, other)
    assert _count(store, versions) == 2
    with store.read() as conn:
        assert load_changes(conn, [change.id]) == {change.id: change}


def test_change_ids_grow_without_gaps_over_runs(store: Store) -> None:
    first = store_papers(store, [make_paper(1), make_paper(2)])
    second = store_papers(store, [make_paper(3)])
    assert [change.id for change in (*first, *second)] == [1, 2, 3]
    with store.read() as conn:
        assert [change.id for change in load_changes_after(conn, 1, limit=10)] == [2, 3]
        assert [change.id for change in load_changes_after(conn, 0, limit=2)] == [1, 2]


def test_a_rolled_back_page_leaves_no_trace(store: Store) -> None:
    with suppress(RuntimeError), store.begin() as conn:
        save_changes(conn, [Change(Kind.NEW, make_paper())], content_hash, run_id=1, at=NOW)
        raise RuntimeError
    for table in (papers, versions, changes):
        assert _count(store, table) == 0
    (change,) = store_papers(store, [make_paper()])
    assert change.id == 1


def test_what_another_process_stored_meanwhile_is_never_stored_twice(store: Store) -> None:
    stale = Change(Kind.NEW, make_paper())
    store_papers(store, [make_paper()])
    with pytest.raises(StoreBusy), store.begin() as conn:
        save_changes(conn, [stale], content_hash, run_id=2, at=NOW)
    assert _count(store, changes) == 1


def test_a_change_against_a_text_that_is_not_the_latest_any_more_is_refused(store: Store) -> None:
    store_papers(store, [make_paper()])
    with store.read() as conn:
        known = load_paper(conn, make_paper().id)
    store_papers(store, [make_paper(version=2)], kind=Kind.REPLACEMENT)
    late = Change(
        Kind.REPLACEMENT, make_paper(version=2, comment="late"), known, ("version", "comment")
    )
    with pytest.raises(StoreBusy), store.begin() as conn:
        save_changes(conn, [late], content_hash, run_id=2, at=NOW)
    assert _count(store, changes) == 2


def test_the_latest_changes_come_in_order_of_announcement_newest_first(store: Store) -> None:
    ids = ["2611.00002", "2611.00011", "2610.09999", "hep-th/9901001", "math/9901001", "2611.00003"]
    for text in ids:
        store_papers(store, [make_paper(id=ArxivId.parse(text))])
    (replaced,) = store_papers(store, [make_paper(2, version=2)], kind=Kind.REPLACEMENT)
    with store.read() as conn:
        latest = list_latest_changes(conn)
        found = load_changes(conn, latest.values())
    assert [str(found[id_].paper.id) for id_ in latest.values()] == [
        "2611.00011",
        "2611.00003",
        "2611.00002",
        "2610.09999",
        "math/9901001",
        "hep-th/9901001",
    ]
    assert latest[replaced.text_key] == replaced.id


def test_a_page_costs_as_many_statements_as_one_paper(store: Store) -> None:
    with recording(store) as for_one:
        store_papers(store, [make_paper(1)])
    with recording(store) as for_many:
        store_papers(store, [make_paper(number) for number in range(2, 302)])
    assert len(for_many) == len(for_one)
    ids = [ArxivId(202611, number) for number in range(400)]
    with store.read() as conn:
        assert len(load_known(conn, ids)) == 301


def _count(store: Store, table: Table) -> int:
    with store.read() as conn:
        return conn.execute(select(func.count()).select_from(table)).scalar_one()
