"""A replay of either database comes out in a SQLite file of its own, and leaves the database as it was."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from digest.clock import ManualClock
from digest.pipeline.replaying import replay
from digest.store import Store, open_store
from digest.store.schema import changes, metadata, papers, versions
from tests.conftest import IS_NIGHTLY
from tests.integration.replay_worlds import (
    START,
    LaggingArxiv,
    change_papers,
    configure,
    list_past,
    look,
    make_up,
    put_clock,
    spoil_answers,
)

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="weeks on either database are replayed by night")


def live_a_week(folder: Path, url: str) -> None:
    with LaggingArxiv(list_past(), ManualClock(START), page_size=15) as arxiv:
        configure(folder, arxiv, store=url)
        look(folder, arxiv)
        for day in (3, 4, 5, 6, 9):
            now = put_clock(arxiv, day)
            arxiv.add(make_up(100 + 2 * day, now), make_up(101 + 2 * day, now))
            change_papers(arxiv, day, now)
            spoil_answers(arxiv, day, "/oai")
            look(folder, arxiv)


def read_all(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    with store.read() as conn:
        return {
            table.name: sorted((tuple(row) for row in conn.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def test_a_week_comes_out_as_recorded_from_its_beginning_and_from_its_middle(
    store: Store, url: str, tmp_path: Path
) -> None:
    live_a_week(tmp_path, url)
    before = read_all(store)
    whole = replay(store, keep=tmp_path / "again.db")
    late = replay(store, since=date(2026, 3, 5))
    for report in (whole, late):
        assert (report.differences, report.untold, report.unsure) == ([], [], {})
    assert whole.changes == len(before["changes"]) > late.changes > 0
    assert read_all(store) == before
    kept = open_store(f"sqlite:///{tmp_path / 'again.db'}")
    again = read_all(kept)
    kept.close()
    assert {name: len(again[name]) for name in ("papers", "versions", "changes", "quarantine")} == {
        name: len(before[name]) for name in ("papers", "versions", "changes", "quarantine")
    }


def test_what_was_edited_in_either_database_is_named(store: Store, url: str, tmp_path: Path) -> None:
    live_a_week(tmp_path, url)
    with store.begin() as conn:
        found = select(changes.c["id"], papers.c.arxiv_id).join(papers).where(changes.c.kind == "withdrawal")
        change, paper = conn.execute(found).one()
        conn.execute(update(changes).where(changes.c.id == change).values(fields="version"))
        text = select(versions.c.id).join(papers, papers.c.id == versions.c.paper_id)
        first = conn.execute(text.where(papers.c.arxiv_id == "2602.00001")).scalar_one()
        conn.execute(update(versions).where(versions.c.id == first).values(submitter="Nobody"))
    named = {(difference.subject, difference.name) for difference in replay(store).differences}
    assert named == {("change", paper), ("text", "2602.00001")}
