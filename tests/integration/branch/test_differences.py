"""A copy of a database, and the statements that make today's of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.branch.journal import apply_differences, copy_for_travel, write_differences

SCHEMA = """
    CREATE TABLE plain (id INTEGER PRIMARY KEY, word TEXT UNIQUE, value REAL, bytes BLOB);
    CREATE TABLE pairs (left INTEGER, right TEXT, PRIMARY KEY (left, right));
    CREATE TABLE deliveries (
        id INTEGER PRIMARY KEY, state TEXT, body BLOB, shared TEXT REFERENCES bodies (hash)
    );
    CREATE TABLE bodies (hash TEXT PRIMARY KEY, content BLOB);
    CREATE TABLE workers (owner TEXT PRIMARY KEY);
    CREATE TABLE job_turns (owner TEXT PRIMARY KEY);
    CREATE TABLE words (version_id INTEGER PRIMARY KEY, packed BLOB);
"""
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
ROWS = st.fixed_dictionaries(
    {
        "plain": st.dictionaries(
            st.integers(0, 5),
            st.tuples(
                WORDS,
                st.none() | st.floats(allow_nan=False, allow_infinity=False),
                st.none() | st.binary(),
            ),
        ),
        "pairs": st.sets(st.tuples(st.integers(0, 3), WORDS)),
        "deliveries": st.dictionaries(st.integers(0, 5), st.sampled_from(["ready", "sending"])),
    }
)


def fill(path: Path, rows: dict[str, Any]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for name in ("plain", "pairs", "deliveries"):
            conn.execute(f"DELETE FROM {name}")
        for id_, (word, value, content) in rows["plain"].items():
            conn.execute(
                "INSERT INTO plain VALUES (?, ?, ?, ?)", (id_, f"{word}{id_}", value, content)
            )
        conn.executemany("INSERT INTO pairs VALUES (?, ?)", rows["pairs"])
        conn.executemany(
            "INSERT INTO deliveries VALUES (?, ?, 'rendered', 'ab')", rows["deliveries"].items()
        )
        conn.execute("INSERT OR REPLACE INTO bodies VALUES ('ab', 'common')")
        conn.execute("INSERT OR REPLACE INTO workers VALUES ('me')")
        conn.execute("INSERT OR REPLACE INTO words VALUES (1, 'packed')")


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as conn:
        return sorted(line for line in conn.iterdump() if "workers" not in line)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, ROWS)
def test_a_copy_with_the_differences_is_the_database_without_what_stays_at_home(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    path, base, other = (tmp_path / name for name in ("now.db", "base.db", "other.db"))
    for old in tmp_path.iterdir():
        old.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(SCHEMA)
    fill(path, before)
    copy_for_travel(path, base)
    fill(path, after)
    changes = write_differences(path, base)
    assert changes is not None
    apply_differences(base, changes)
    copy_for_travel(path, other)
    assert dump(base) == dump(other)
    travelled = "".join(dump(other))
    assert "rendered" not in travelled
    assert "packed'" not in travelled
    assert "common" not in travelled
    assert write_differences(path, base) == ""


@pytest.mark.parametrize("table", ["plain", "words"])
def test_other_tables_have_no_differences(tmp_path: Path, table: str) -> None:
    path = tmp_path / "now.db"
    base = tmp_path / "base.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(SCHEMA)
    copy_for_travel(path, base)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"ALTER TABLE {table} ADD COLUMN more TEXT")
    assert write_differences(path, base) is None


def test_a_database_of_before_there_were_words_travels_too(tmp_path: Path) -> None:
    path = tmp_path / "now.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(SCHEMA)
        conn.execute("DROP TABLE words")
    fill_plain = "INSERT INTO plain VALUES (1, 'one', 1.5, NULL)"
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(fill_plain)
    copy = tmp_path / "copy.db"
    copy_for_travel(path, copy)
    with closing(sqlite3.connect(copy)) as conn:
        assert conn.execute("SELECT word FROM plain").fetchall() == [("one",)]
