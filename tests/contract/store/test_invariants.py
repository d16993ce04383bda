from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from digest.store import Store, backups, open_store
from digest.store.backups import INVARIANTS
from tests.contract.store.filled import fill

_FREE = """CREATE TABLE free AS SELECT * FROM {0}; DROP TABLE {0}; ALTER TABLE free RENAME TO {0};
CREATE UNIQUE INDEX free_id ON {0} (id);"""
"""A table without its constraints, as a damaged file may have it."""

BREAKERS = {
    "a match is in a digest of its own subscription": (
        "UPDATE matches SET digest_id = 3 - digest_id"
    ),
    "a digest with papers comes from matches": "UPDATE matches SET digest_id = NULL",
    "a digest has no more papers than were matched for it": (
        "UPDATE digests SET papers = 9 WHERE id = 1"
    ),
    "a slot has one digest": (
        f"{_FREE.format('digests')} UPDATE digests SET subscription_id = 1, slot = 'one'"
    ),
    "a part goes to a destination once": (
        f"{_FREE.format('deliveries')} UPDATE deliveries SET part = 0"
    ),
    "all parts of a digest are there": "UPDATE deliveries SET parts = 3 WHERE id = 1",
    "a part is sent after those before it": (
        "UPDATE deliveries SET state = 'sent' WHERE part AND id > 2"
    ),
    "a delivery has a known state": "UPDATE deliveries SET state = 'lost' WHERE id = 1",
    "a delivery has a time of its end once it has ended": "UPDATE deliveries SET ended_at = NULL",
    "a claim on a delivery has an end": "UPDATE deliveries SET state = 'claimed'",
    "every attempt is on record": "UPDATE deliveries SET attempts = attempts + 1 WHERE id = 1",
    "what was sent was attempted": "UPDATE attempts SET outcome = 'held'",
    "what may have been sent is kept": "UPDATE deliveries SET body = NULL, media_type = NULL",
    "only what is being sent has an open attempt": "UPDATE attempts SET ended_at = NULL",
    "nothing was sent to a destination that had unsubscribed": """INSERT INTO suppressions
        SELECT destination, '', 'page', '2020-01-01 00:00:00.000000'
        FROM deliveries WHERE id = 1""",
    "no change is numbered beyond the counter": "UPDATE marks SET value = 1",
    "nothing is matched that is not stored": "UPDATE marks SET value = 3 WHERE name = 'matched'",
    "every change is matched once": "UPDATE match_runs SET from_change = 0",
    "matching has come as far as its mark says": (
        "UPDATE marks SET value = 1 WHERE name = 'matched'"
    ),
    "a change belongs to the paper whose version it brought": (
        "UPDATE changes SET paper_id = 3 - paper_id"
    ),
    "a paper's latest version is its own": (
        "UPDATE papers SET latest_version_id = 3 - latest_version_id"
    ),
    "a source is checked as far as a complete run went": "UPDATE poll_runs SET outcome = 'failed'",
    "no source is checked beyond its last run": "UPDATE cursors SET last_complete_run_id = 2",
    "a saved query has one text at a time": """INSERT INTO query_revisions
        SELECT 9, query_id, 9, text, canonical, problem, active_from_change, created_at, ended_at
        FROM query_revisions WHERE id = 1""",
    "there is one installation": """INSERT INTO installation (id, secret, created_at)
        SELECT 2, secret, created_at FROM installation""",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "digest.db"
    store = open_store(f"sqlite:///{path}", create=True)
    fill(store)
    store.close()
    return path


@pytest.fixture
def broken(filled: Path, tmp_path: Path) -> Path:
    path = tmp_path / "digest.db"
    with closing(sqlite3.connect(filled)) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
    return path


def names(path: Path) -> list[str]:
    with closing(open_store(f"sqlite:///{path}")) as store, store.read() as conn:
        return [violation.name for violation in backups.load_violations(conn)]


def test_a_sound_store_breaks_none_of_them(store: Store) -> None:
    fill(store)
    with store.read() as conn:
        assert backups.load_violations(conn) == []


def test_each_of_them_is_broken_here_by_something() -> None:
    assert BREAKERS.keys() == INVARIANTS.keys()


@pytest.mark.parametrize("name", INVARIANTS)
def test_each_of_them_is_noticed_when_it_is_broken(broken: Path, name: str) -> None:
    with closing(sqlite3.connect(broken)) as connection:
        connection.executescript(BREAKERS[name])
        connection.commit()
    assert name in names(broken)


def test_a_reference_that_leads_nowhere_is_noticed(broken: Path) -> None:
    with closing(sqlite3.connect(broken)) as connection:
        connection.execute("UPDATE deliveries SET digest_id = 77 WHERE id = 1")
        connection.commit()
    assert "every reference leads somewhere (deliveries to digests)" in names(broken)


def test_a_damaged_page_is_noticed(broken: Path) -> None:
    with closing(sqlite3.connect(broken)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ix_papers_announcement'"
        ).fetchone()
        connection.execute("VACUUM")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ix_papers_announcement'"
        ).fetchone()
    content = bytearray(broken.read_bytes())
    content[(root - 1) * 4096 + 3 : (root - 1) * 4096 + 5] = (
        b"\x00\x00"  # the page says that it holds no cell
    )
    broken.write_bytes(content)
    assert any(name.startswith("the file is whole") for name in names(broken))
