"""An installation beside servers of our own, for tests that live through whole passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from digest.store import open_store
from tests.integration.web.world import World, live_in
from tests.postgres_servers import PostgresServer, own_server


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An installation that has not asked anybody yet."""
    with live_in(tmp_path) as world:
        yield world


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL that need not outlive the tests."""
    with own_server(fsync="off") as server:
        server.do("CREATE DATABASE made")
        open_store(server.url("made"), create=True).close()
        yield server


def renew_database(server: PostgresServer) -> str:
    """Make a database with every table, in place of the one before; return its URL."""
    server.do("DROP DATABASE IF EXISTS anew WITH (FORCE)")
    server.do("CREATE DATABASE anew TEMPLATE made STRATEGY file_copy")
    return server.url("anew")
