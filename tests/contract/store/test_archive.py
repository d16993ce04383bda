"""The stored papers of some days, and how far back everything is stored."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from digest.model.announcements import Kind, StoredChange
from digest.store import Store, changes, papers, runs
from digest.store.papers import AnnouncedText, StoredSpan
from tests.contract.store.made import DAY, NOW, make_paper, store_papers

TUESDAY = date(2026, 11, 17)


def harvest(store: Store, *, outcome: str = "complete", since: date = TUESDAY) -> None:
    """Note a first harvest that looked back to a day."""
    with store.begin() as conn:
        run_id = runs.start(conn, source="harvest", at=NOW, window_from=since, is_bootstrap=True)
        runs.finish(conn, run_id, outcome=outcome, at=NOW, pages=1, papers=1, new=0, changed=0)
        if outcome == "complete":
            runs.move_cursor(
                conn, source="harvest", run_id=run_id, started_at=NOW, mark=(202611, 2)
            )


def test_without_a_harvest_nothing_is_known_to_be_whole(store: Store) -> None:
    store_papers(store, [make_paper()])
    with store.read() as conn:
        assert papers.load_stored_span(conn) is None


def test_a_harvest_that_failed_reaches_nowhere(store: Store) -> None:
    store_papers(store, [make_paper()])
    harvest(store, outcome="failed")
    with store.read() as conn:
        assert papers.load_stored_span(conn) is None


def test_everything_is_stored_from_the_day_the_first_harvest_asked_from(store: Store) -> None:
    store_papers(store, [make_paper(number) for number in (1, 2, 3)])
    harvest(store, outcome="failed", since=date(2026, 1, 1))
    harvest(store)
    with store.read() as conn:
        assert papers.load_stored_span(conn) == StoredSpan(TUESDAY, NOW)


def test_papers_are_found_by_submission_both_ends_included(store: Store) -> None:
    at_start = make_paper(1, published=NOW - DAY)
    at_end = make_paper(2, published=NOW)
    too_late = make_paper(3, published=NOW + timedelta(seconds=1))
    store_papers(store, [at_start, at_end, too_late])
    with store.read() as conn:
        numbers = [paper.id.number for paper in papers.load_submitted(conn, NOW - DAY, NOW)]
    assert numbers == [1, 2]


def test_papers_are_read_in_batches_to_the_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.store.papers._BATCH", 3)
    store_papers(store, [make_paper(number) for number in range(1, 11)])
    with store.read() as conn:
        found = papers.load_submitted(conn, NOW - 9 * DAY, NOW)
        assert [paper.id.number for paper in found] == list(range(1, 11))


def test_papers_are_found_by_their_announcement_and_else_by_submission(store: Store) -> None:
    of_tuesday = make_paper(1, published=NOW - 9 * DAY)
    of_monday = make_paper(2, published=NOW - 9 * DAY)
    fresh = make_paper(3, published=NOW - DAY)
    held_back = make_paper(4, published=NOW - 8 * DAY)
    gone = make_paper(5, published=NOW, is_withdrawn=True)
    stored = store_papers(store, [of_tuesday, of_monday, fresh, held_back, gone])
    days = {stored[0].paper_key: TUESDAY, stored[1].paper_key: TUESDAY - DAY}
    since = NOW - 2 * DAY
    with store.begin() as conn:
        papers.assign_announcements(conn, days)
        found = papers.list_announced(conn, TUESDAY, since)
        all_found = papers.list_announced(conn, TUESDAY, since, with_held_back=True)
    assert found == [list_text(stored[0], TUESDAY), list_text(stored[2], None)]
    assert all_found == [*found, list_text(stored[3], None)]


def list_text(change: StoredChange, day: date | None) -> AnnouncedText:
    paper = change.paper
    categories = " ".join(paper.categories)
    return AnnouncedText(change.text_key, change.paper_key, day, paper.published, categories)


def test_cross_lists_are_found_by_the_runs_that_found_them(store: Store) -> None:
    store_papers(store, [make_paper(number) for number in (1, 2, 3)])
    with store.begin() as conn:
        first_run = runs.start(conn, source="harvest", at=NOW)
        second_run = runs.start(conn, source="harvest", at=NOW + DAY)
    crossed = ("cs.PF", "cs.DC", "cs.OS")
    for number, run_id in ((1, first_run), (2, second_run)):
        paper = make_paper(number, categories=crossed)
        store_papers(store, [paper], kind=Kind.CROSS_LIST, run_id=run_id, at=NOW)
    edited = make_paper(3, title="Another")
    store_papers(store, [edited], kind=Kind.METADATA, run_id=second_run, at=NOW)
    with store.read() as conn:
        (change,) = changes.load_cross_lists(conn, NOW)
        assert changes.load_cross_lists(conn, NOW + DAY) == []
    assert change.paper.id.number == 2
    assert change.previous == make_paper(2)


def test_the_changes_whose_papers_were_announced_last_come_first(store: Store) -> None:
    stored = store_papers(store, [make_paper(number) for number in (2, 9, 4)])
    (edited,) = store_papers(store, [make_paper(4, title="Another")], kind=Kind.METADATA)
    ids = [change.id for change in (*stored, edited)]
    with store.read() as conn:
        last = changes.load_last_announced(conn, ids, 3)
        assert changes.load_last_announced(conn, ids, 0) == []
    assert [change.id for change in last] == [stored[1].id, edited.id, stored[2].id]
    assert [change.paper.title for change in last[1:]] == ["Another", "Another"]
