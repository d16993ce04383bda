"""An installation beside servers of our own, for tests that live through whole passes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine

from digest.store import open_store
from tests.integration.web.world import World, live_in
from tests.postgres_servers import create_database

_numbers = count(1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An installation that has not asked anybody yet."""
    with live_in(tmp_path) as world:
        yield world


@pytest.fixture
def postgresql_url(postgresql_server: Engine) -> str:
    url = create_database(postgresql_server, f"filled_{next(_numbers)}")
    open_store(url, create=True).close()
    return url
