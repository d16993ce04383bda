"""Which announcements are missed if arXiv is searched for each saved query, as the alarm says."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from digest.config import Config, load_config
from digest.inspect.alarm_facts import load_alarms
from digest.model.announcements import announcement_moment
from digest.store import Store, queries, runs

OUT = announcement_moment(date(2026, 11, 19))
PERF = "cat:cs.PF"
GPU = "abs:gpu"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(None, {"DIGEST_ARXIV_SOURCE": "query"}, folder=tmp_path)


def save(store: Store, hours: float, **wanted: str) -> None:
    with store.begin() as conn:
        saved = {name: (text, text, "") for name, text in wanted.items()}
        queries.sync(conn, saved, "file", OUT + timedelta(hours=hours))


def look(store: Store, hours: float) -> None:
    at = OUT + timedelta(hours=hours)
    with store.begin() as conn:
        run = runs.start(conn, source="query", at=at)
        runs.finish(conn, run, outcome="complete", at=at, pages=1, papers=9, new=0, changed=0)


def missed(store: Store, config: Config, hours: float = 13) -> list[str]:
    with store.read() as conn:
        return [
            str(alarm.what) for alarm in load_alarms(conn, config, OUT + timedelta(hours=hours))
        ]


def test_a_query_that_comes_back_after_an_announcement_has_missed_none_of_it(
    store: Store, config: Config
) -> None:
    save(store, -480, perf=PERF)
    look(store, -470)
    save(store, -460)
    save(store, 12, perf=PERF)
    assert missed(store, config) == []


def test_a_look_soon_after_an_announcement_has_not_seen_it(store: Store, config: Config) -> None:
    save(store, -48, perf=PERF, gpu=GPU)
    look(store, -40)
    look(store, 3)
    assert missed(store, config) == ["the announcement of Thu 19 Nov was not fetched completely"], (
        "it was too early"
    )
    look(store, 5)
    assert missed(store, config) == []
