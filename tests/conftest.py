"""What every test shares: how hypothesis draws, and that nothing of the surroundings leaks in."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Connection

from digest.store import migrating, open_store

settings.register_profile("suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "nightly", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("DIGEST_HYPOTHESIS", "suite"))

IS_NIGHTLY = bool(os.environ.get("DIGEST_NIGHTLY"))
"""Whether there is time for stories with thousands of papers, and for every fault: `.ci/nightly` sets it."""

_FOR_THE_NIGHT = (
    "integration/*_real_papers.py",
    "integration/test_faults_*.py",
    "integration/test_politeness.py",
    "integration/test_replaying.py",
    "integration/test_standing_in.py",
)
collect_ignore_glob = [] if IS_NIGHTLY else list(_FOR_THE_NIGHT)

_KEPT = {"DIGEST_REAL_DATA", "DIGEST_HYPOTHESIS", "DIGEST_WHEEL"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew and show what changed"
    )


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's own settings and proxies away from what is tested."""
    for name in list(os.environ):
        is_ours = name.startswith("DIGEST_") and name not in _KEPT
        if is_ours or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_log_left_to_the_next() -> Iterator[None]:
    """Take back the place for log lines that a command run in this process set up: it is closed with its test."""
    root = logging.getLogger()
    level = root.level
    yield
    for handler in [one for one in root.handlers if type(one).__module__.startswith("digest.")]:
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(autouse=True, scope="session")
def _tables_made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let an empty SQLite database get its tables from one that was migrated, which takes a third of a second.

    Only within this process; the same tables to the letter, and secrets drawn anew. What tests migrations
    goes on from a revision, or begins anew where the tables were dropped, and so goes through all of them.
    """
    path = tmp_path_factory.mktemp("tables") / "empty.db"
    open_store(f"sqlite:///{path}", create=True).close()
    with closing(sqlite3.connect(path)) as template:
        tables = list(template.iterdump())[1:-1]  # without its BEGIN and COMMIT
    migrate = migrating._run

    def run(conn: Connection, direction: str, revision: str) -> None:
        is_new = conn.dialect.name == "sqlite" and not conn.exec_driver_sql("SELECT 1 FROM sqlite_master").all()
        if is_new and (direction, revision) == ("upgrade", migrating.head_revision()):
            for statement in tables:
                conn.exec_driver_sql(statement)
            drawn = (secrets.token_urlsafe(32), secrets.token_hex(8))
            conn.exec_driver_sql("UPDATE installation SET secret = ?, generation = ?", drawn)
        else:
            migrate(conn, direction, revision)

    with patch.object(migrating, "_run", run):
        yield
